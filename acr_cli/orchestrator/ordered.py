"""Policies that follow a fixed order: `escalate` (the cheapest first) and `fixed` (as the pool lists them).

Both go to the next candidate after a verified failure; nothing is explored, and nothing is learnt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from acr_cli.orchestrator.cost import expected_price
from acr_cli.orchestrator.vote import forecasts
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Choice, Context, Rung


class Ordered:
    """Implements `protocols.Policy`; `voters` only inform the forecasts that are shown."""

    def __init__(self, name: str, voters: Sequence[Voter], *, attempts: int) -> None:
        self.name = name
        self.voters = voters
        self.attempts = attempts

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        del rng  # nothing is drawn
        gone = {*context.failed, *context.unavailable}
        left = [c for c in self._order(context, candidates) if c.id not in gone]
        if not left:
            return None
        expected = forecasts(self.voters, context, candidates)
        return Choice(
            candidate=left[0].id,
            propensity=1.0,
            policy=self.name,
            reason=self._reason(context, candidates),
            forecasts=expected,
            neighbours=context.neighbours,
            ladder=self._ladder(context, left, {f.candidate: f.p_success for f in expected}),
        )

    def _order(self, context: Context, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        if self.name != "escalate":
            return candidates

        def price(candidate: Candidate) -> float:
            known = expected_price(context, candidate)
            return math.inf if known is None else known

        return sorted(candidates, key=price)

    def _reason(self, context: Context, candidates: Sequence[Candidate]) -> str:
        if len(candidates) == 1:
            return "the only candidate"
        first = "the cheapest" if self.name == "escalate" else "the first of the pool"
        return f"{first} that has not failed on this step" if context.failed else first

    def _ladder(
        self, context: Context, left: Sequence[Candidate], chances: dict[str, float]
    ) -> tuple[Rung, ...]:
        rungs: list[Rung] = []
        missed, cost = 1.0, 0.0
        for candidate in left[: max(0, self.attempts - len(context.failed))]:
            cost += missed * (expected_price(context, candidate) or 0.0)
            missed *= 1 - chances[candidate.id]
            rungs.append(Rung(candidate=candidate.id, p_cumulative=1 - missed, cost_cumulative_usd=cost))
        return tuple(rungs)
