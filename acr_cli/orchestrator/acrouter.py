"""`acrouter`: the weighted vote, the best score first, with a little exploration.

With probability `exploration` the candidate is drawn evenly from all that are left; the propensity that is
recorded follows from both (an epsilon-greedy policy, conditional on what has failed on this step).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from acr_cli.orchestrator.explain import reason
from acr_cli.orchestrator.vote import forecasts
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Choice, Context, Forecast, Rung


class AcRouter:
    """Implements `protocols.Policy`."""

    name = "acrouter"

    def __init__(self, voters: Sequence[Voter], *, exploration: float, attempts: int) -> None:
        self.voters = voters
        self.exploration = exploration
        self.attempts = attempts

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        ranked = forecasts(self.voters, context, candidates)
        left = _left(context, ranked)
        if not left:
            return None
        chosen, explored = left[0], False
        if rng is not None and rng.random() < self.exploration:
            chosen = rng.choice(left)
            explored = chosen is not left[0]
        even = self.exploration / len(left)
        return Choice(
            candidate=chosen.candidate,
            propensity=even if explored else 1 - self.exploration + even,
            policy=self.name,
            reason=reason(context, chosen, [f for f in left if f is not chosen], explored=explored),
            explored=explored,
            forecasts=ranked,
            neighbours=context.neighbours,
            ladder=self._ladder(context, candidates),
        )

    def _ladder(self, context: Context, candidates: Sequence[Candidate]) -> tuple[Rung, ...]:
        """Who would come next, each failure known to the one after it, up to the number of attempts."""
        rungs: list[Rung] = []
        missed, cost = 1.0, 0.0
        while len(context.failed) < self.attempts:
            left = _left(context, forecasts(self.voters, context, candidates))
            if not left:
                break
            best = left[0]
            cost += missed * (best.cost_usd or 0.0)
            missed *= 1 - best.p_success
            rungs.append(Rung(candidate=best.candidate, p_cumulative=1 - missed, cost_cumulative_usd=cost))
            context = replace(context, failed=(*context.failed, best.candidate))
        return tuple(rungs)


def _left(context: Context, ranked: Sequence[Forecast]) -> list[Forecast]:
    gone = {*context.failed, *context.unavailable}
    return [f for f in ranked if f.candidate not in gone]
