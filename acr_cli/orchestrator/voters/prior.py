"""DimensionBest: the published success rate of each model in the step's dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.orchestrator.prior import Rates, published_rate
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 0.9
"""Of the released router v4.5 (arXiv 2606.22902)."""


class PriorVoter:
    """Implements `protocols.Voter`; votes for every candidate, neutrally where nothing is published."""

    name = "prior"
    weight = WEIGHT

    def __init__(self, rates: Rates = published_rate) -> None:
        self._rates = rates

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        votes = {}
        for candidate in candidates:
            prior = self._rates(candidate, context.dimension)
            votes[candidate.id] = Vote(voter=self.name, value=prior.value, weight=WEIGHT, note=prior.note)
        return votes
