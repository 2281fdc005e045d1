"""The weighted vote: what is expected of each candidate, and its score.

A candidate's chance is the weighted mean of the votes on quality (all but the price), lowered by what has
already failed on this step. Its score is the weighted mean of that chance and the price's vote, where the
chance has the weight of all voters on quality, also of those that were silent: the price's share is the same
for everybody. Weights: those of the released router where it has the voter (arXiv 2606.22902).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from acr_cli.orchestrator.cost import Costs
from acr_cli.orchestrator.difficulty import given_failures
from acr_cli.orchestrator.voters.posterior import STRENGTH, own_outcomes
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Context, Forecast, Tally, Vote

_PRICE = "price"
_Z90 = 1.645


def forecasts(
    voters: Sequence[Voter], context: Context, candidates: Sequence[Candidate]
) -> tuple[Forecast, ...]:
    """A forecast for each candidate, best score first; those that failed already come last. Pure."""
    ballots = [voter.vote(context, candidates) for voter in voters]
    votes = {c.id: tuple(b[c.id] for b in ballots if c.id in b) for c in candidates}
    chances = {name: _chance(votes[name]) for name in votes}
    failures = [chances[name] for name in context.failed if name in chances]
    weight = sum(voter.weight for voter in voters if voter.name != _PRICE)
    costs = Costs(context)
    found = []
    for candidate in candidates:
        name = candidate.id
        chance = 0.0 if name in context.failed else given_failures(chances[name], failures)
        low, high = _interval(chance, STRENGTH + sum(own_outcomes(context, name)))
        found.append(
            Forecast(
                candidate=name,
                p_success=chance,
                p_low=low,
                p_high=high,
                cost_usd=costs.usd(candidate),
                score=_score(votes[name], chance, weight),
                votes=votes[name],
                note=next((v.note for v in votes[name] if v.voter == "prior"), ""),
            )
        )
    gone = {*context.failed, *context.unavailable}
    return tuple(sorted(found, key=lambda f: (f.candidate in gone, -f.score)))


def condensed(context: Context) -> Context:
    """The same with one tally a candidate, over all of its outcomes in this dimension: all that these voters
    tell apart, and few enough to be summed at every vote. Pure."""
    sums: dict[str, list[float]] = {}
    for t in context.tallies:
        if t.dimension == context.dimension:
            one = sums.setdefault(t.candidate, [0.0] * 6)
            for place, value in enumerate(
                (t.passed, t.failed, t.cost_usd, t.seconds, t.count or t.outcomes, t.outcomes)
            ):
                one[place] += value
    tallies = tuple(
        Tally(
            candidate=name,
            dimension=context.dimension,
            passed=passed,
            failed=failed,
            cost_usd=cost,
            seconds=seconds,
            count=count,
            outcomes=round(outcomes),
        )
        for name, (passed, failed, cost, seconds, count, outcomes) in sums.items()
    )
    return replace(context, tallies=tallies)


def _interval(chance: float, outcomes: float) -> tuple[float, float]:
    """About 90 %: that of a Beta distribution worth this many outcomes, by its standard deviation."""
    spread = _Z90 * math.sqrt(max(chance * (1 - chance), 1e-6) / (outcomes + 1))
    return max(0.0, chance - spread), min(1.0, chance + spread)


def _chance(votes: Sequence[Vote]) -> float:
    quality = [v for v in votes if v.voter != _PRICE]
    weight = sum(v.weight for v in quality)
    return sum(v.value * v.weight for v in quality) / weight if weight else 0.5


def _score(votes: Sequence[Vote], chance: float, weight: float) -> float:
    price = next((v for v in votes if v.voter == _PRICE), None)
    if price is None:  # not known: neither for nor against
        return chance
    return (weight * chance + price.weight * price.value) / (weight + price.weight)
