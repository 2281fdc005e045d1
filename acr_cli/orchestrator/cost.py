"""What a step with a candidate is expected to cost: own experience, shrunk towards price x expected
tokens."""

from __future__ import annotations

from acr_cli.records import Candidate, Context

_CALLS = 6
"""Calls of a model in one step; each sends the conversation again."""

_OVERHEAD_TOKENS = 2_000  # instructions, tools, what is read on the way
_OUTPUT_TOKENS = 2_500
_LOCAL_SECONDS = 30.0
_STRENGTH = 2.0  # how many own outcomes the estimate from the price list is worth


def expected_usd(context: Context, candidate: Candidate) -> float | None:
    """Money in USD for one attempt, or None for a candidate that has no known price and was never tried in
    this dimension. Pure."""
    listed = _listed_usd(context, candidate)
    cost, _, count = _own(context, candidate)
    if listed is None:
        return cost / count if count else None
    return (listed * _STRENGTH + cost) / (_STRENGTH + count)


def expected_seconds(context: Context, candidate: Candidate) -> float:
    """Seconds for one attempt. Pure."""
    _, seconds, count = _own(context, candidate)
    return (_LOCAL_SECONDS * _STRENGTH + seconds) / (_STRENGTH + count)


def expected_price(context: Context, candidate: Candidate) -> float | None:
    """Money plus time at the candidate's price of a second, in USD. Pure."""
    usd = expected_usd(context, candidate)
    if usd is None:
        return None
    return usd + expected_seconds(context, candidate) * candidate.price.per_second


def _listed_usd(context: Context, candidate: Candidate) -> float | None:
    price = candidate.price
    if price.per_attempt is not None:
        return price.per_attempt
    if not candidate.model:
        return 0.0
    if price.input is None or price.output is None:
        return None
    sent = _CALLS * (context.size_tokens + _OVERHEAD_TOKENS)
    return (sent * price.input + _OUTPUT_TOKENS * price.output) / 1e6


def _own(context: Context, candidate: Candidate) -> tuple[float, float, float]:
    """(USD, seconds, outcomes) of own experience in this dimension."""
    found = [t for t in context.tallies if t.candidate == candidate.id and t.dimension == context.dimension]
    return (
        sum(t.cost_usd for t in found),
        sum(t.seconds for t in found),
        sum(t.count or t.outcomes for t in found),
    )
