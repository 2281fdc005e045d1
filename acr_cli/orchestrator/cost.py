"""What a step with a candidate is expected to cost, before it is called.

The price list says what its tokens cost; how many there will be is learned from own outcomes, of the
candidate where there are some, else of all in the dimension. Own costs then take the place of the list, those
in the step's language first, within what today's list makes of their tokens: a list that has changed counts
at once. A candidate that has answered in this run finds the beginning of its prompt in its provider's cache;
to switch to another one means to pay for it anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acr_cli.records import Candidate, Context, Tally

_CALLS = 6
"""Calls of a model in one step; each sends the conversation again."""

_OVERHEAD_TOKENS = 2_000  # instructions, tools, what is read on the way
_OUTPUT_TOKENS = 2_500
_LOCAL_SECONDS = 30.0
_STRENGTH = 2.0  # how many own outcomes the estimate from the price list is worth
_SURCHARGE = 1.25  # what writing to a provider's cache may cost, in prices of input
_ELSEWHERE = 5.0  # how many outcomes in the step's language those in other languages are worth


@dataclass(kw_only=True, slots=True)
class Spent:
    """Sums over outcomes."""

    usd: float = 0.0
    seconds: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    count: float = 0.0
    with_tokens: float = 0.0  # how many of them used tokens

    def add(self, tally: Tally) -> None:
        count = tally.count or tally.outcomes
        self.usd += tally.cost_usd
        self.seconds += tally.seconds
        self.input_tokens += tally.input_tokens
        self.output_tokens += tally.output_tokens
        self.count += count
        self.with_tokens += count if tally.input_tokens else 0.0


class Spending:
    """What was spent, by candidate and in all."""

    def __init__(self, tallies: Iterable[Tally]) -> None:
        self.own: dict[str, Spent] = {}
        self.all = Spent()
        for tally in tallies:
            self.own.setdefault(tally.candidate, Spent()).add(tally)
            self.all.add(tally)


class Costs:
    """Expectations for the candidates of one step. Pure. `whole` is what was spent in its dimension, `here`
    that in its language, where the caller has them."""

    def __init__(self, context: Context, whole: Spending | None = None, here: Spending | None = None) -> None:
        self._context = context
        if whole is None or here is None:
            tallies = [t for t in context.tallies if t.dimension == context.dimension]
            whole, here = Spending(tallies), Spending(t for t in tallies if t.language == context.language)
        self._here, self._own, self._all = here.own, whole.own, whole.all

    def usd(self, candidate: Candidate) -> float | None:
        """Money for one attempt, or None for a candidate that has no known price and was never tried."""
        listed = self._listed(candidate)
        own = self._own.get(candidate.id)
        if listed is None:
            other = own or self._anywhere(candidate.id)
            if not other.count:
                return None
            expected = other.usd / other.count
        elif own:
            expected = (listed * _STRENGTH + today(own, candidate)) / (_STRENGTH + own.count)
        else:
            expected = listed
        here = self._here.get(candidate.id)
        if here and own and here.count < own.count:
            expected = (expected * _ELSEWHERE + today(here, candidate)) / (_ELSEWHERE + here.count)
        return expected

    def seconds(self, candidate: Candidate) -> float:
        """Seconds for one attempt."""
        own = self._own.get(candidate.id) or Spent()
        return (_LOCAL_SECONDS * _STRENGTH + own.seconds) / (_STRENGTH + own.count)

    def price(self, candidate: Candidate, per_second: float = 0.0) -> float | None:
        """Money, plus time at the price of a second, in USD: the candidate's own, or the given one if that is
        more."""
        usd = self.usd(candidate)
        per_second = max(candidate.price.per_second, per_second)
        return None if usd is None else usd + (self.seconds(candidate) * per_second if per_second else 0.0)

    def _anywhere(self, candidate: str) -> Spent:
        spent = Spent()
        for tally in self._context.tallies:
            if tally.candidate == candidate:
                spent.add(tally)
        return spent

    def _listed(self, candidate: Candidate) -> float | None:
        price = candidate.price
        if price.per_attempt is not None:
            return price.per_attempt
        if not candidate.model:
            return 0.0
        if price.input is None or price.output is None:
            return None
        sent, written = self._tokens(candidate)
        cached = 0.0
        if price.cached_input is not None and candidate.id in self._context.warm:
            beginning = min(self._context.size_tokens + _OVERHEAD_TOKENS, sent)
            cached = beginning * (price.input - price.cached_input)
        return (sent * price.input + written * price.output - cached) / 1e6

    def _tokens(self, candidate: Candidate) -> tuple[float, float]:
        """(input, output) of one attempt: the candidate's own mean, drawn to that of all in the dimension and
        this to a rule of thumb."""
        sent = float(_CALLS * (self._context.size_tokens + _OVERHEAD_TOKENS))
        written = float(_OUTPUT_TOKENS)
        for known in (self._all, self._own.get(candidate.id)):
            if known and known.with_tokens:
                total = _STRENGTH + known.with_tokens
                sent = (sent * _STRENGTH + known.input_tokens) / total
                written = (written * _STRENGTH + known.output_tokens) / total
        return sent, written


def today(spent: Spent, candidate: Candidate) -> float:
    """USD that these outcomes have cost, or as near to it as today's list allows for their tokens. Pure."""
    price = candidate.price
    if price.input is None or price.output is None or price.per_attempt is not None or not spent.with_tokens:
        return spent.usd
    least = price.input if price.cached_input is None else price.cached_input
    written = spent.output_tokens * price.output
    all_have = spent.count / spent.with_tokens / 1e6
    low = (spent.input_tokens * least + written) * all_have
    high = (spent.input_tokens * price.input * _SURCHARGE + written) * all_have
    return min(max(spent.usd, low), high)
