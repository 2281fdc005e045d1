"""Price: the cheaper, the higher the vote: 1 / (1 + price / scale).

Price is USD plus seconds at the candidate's price of time, so that local models and repair are compared by
the time that they take. A candidate whose price is not known gets no vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.orchestrator.cost import Costs
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 0.9
SCALE_USD = 0.05
"""The price of a step at which the vote is one half."""


class PriceVoter:
    """Implements `protocols.Voter`."""

    name = "price"
    weight = WEIGHT

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        votes = {}
        costs = Costs(context)
        for candidate in candidates:
            price = costs.price(candidate)
            if price is not None:
                value = 1 / (1 + price / SCALE_USD)
                note = f"about {price:.4f} USD a step, time included"
                votes[candidate.id] = Vote(voter=self.name, value=value, weight=WEIGHT, note=note)
        return votes
