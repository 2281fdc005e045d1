"""`acrouter`: the weighted vote, the best score first, with a little exploration.

With probability `exploration` the candidate is drawn evenly from all that are left; the propensity that is
recorded follows from both (an epsilon-greedy policy, conditional on what has failed on this step).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from acr_cli.orchestrator.explain import reason
from acr_cli.orchestrator.ladder import ladder, still_there
from acr_cli.orchestrator.vote import condensed, forecasts
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Choice, Context, Forecast


class AcRouter:
    """Implements `protocols.Policy`."""

    name = "acrouter"

    def __init__(self, voters: Sequence[Voter], *, exploration: float) -> None:
        self.voters = voters
        self.exploration = exploration

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        context = condensed(context)

        def rank(known: Context) -> list[Forecast]:
            return still_there(known, forecasts(self.voters, known, candidates))

        left = rank(context)
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
            forecasts=forecasts(self.voters, context, candidates),
            neighbours=context.neighbours,
            ladder=ladder(context, rank),
        )
