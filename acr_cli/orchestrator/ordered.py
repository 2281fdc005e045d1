"""Policies that follow a fixed order: `escalate` (the cheapest first) and `fixed` (as the pool lists them).

Both go to the next candidate after a verified failure; nothing is explored, and nothing is learnt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from acr_cli.orchestrator.cost import Costs
from acr_cli.orchestrator.ladder import ladder, still_there
from acr_cli.orchestrator.vote import condensed, forecasts
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Choice, Context, Forecast


class Ordered:
    """Implements `protocols.Policy`; `voters` only inform the forecasts that are shown."""

    def __init__(self, name: str, voters: Sequence[Voter]) -> None:
        self.name = name
        self.voters = voters

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        del rng  # nothing is drawn
        context = condensed(context)
        order = [candidate.id for candidate in self._order(context, candidates)]

        def rank(known: Context) -> list[Forecast]:
            expected = {f.candidate: f for f in forecasts(self.voters, known, candidates)}
            return still_there(known, [expected[name] for name in order])

        left = rank(context)
        if not left:
            return None
        return Choice(
            candidate=left[0].candidate,
            propensity=1.0,
            policy=self.name,
            reason=self._reason(context, candidates),
            forecasts=forecasts(self.voters, context, candidates),
            neighbours=context.neighbours,
            ladder=ladder(context, rank),
        )

    def _order(self, context: Context, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        if self.name != "escalate":
            return candidates

        costs = Costs(context)

        def price(candidate: Candidate) -> float:
            known = costs.price(candidate)
            return math.inf if known is None else known

        return sorted(candidates, key=price)

    def _reason(self, context: Context, candidates: Sequence[Candidate]) -> str:
        if len(candidates) == 1:
            return "the only candidate"
        first = "the cheapest" if self.name == "escalate" else "the first of the pool"
        return f"{first} that has not failed on this step" if context.failed else first
