"""Own outcomes by dimension: a Beta posterior whose prior is the published rate.

Mean (s * p + passed) / (s + passed + failed), with the published rate p and its strength s in outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.orchestrator.prior import Rates, published_rate
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 1.0
"""Within the range of the released router's further voters, 0.82 to 1.3 (arXiv 2606.22902)."""

STRENGTH = 4.0
"""How many own outcomes the published rate is worth."""


class PosteriorVoter:
    """Implements `protocols.Voter`; silent on candidates without verified outcomes in this dimension."""

    name = "posterior"
    weight = WEIGHT

    def __init__(self, rates: Rates = published_rate) -> None:
        self._rates = rates

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        votes = {}
        for candidate in candidates:
            passed, failed = own_outcomes(context, candidate.id)
            if passed + failed:
                alpha, beta = beta_parameters(context, candidate, self._rates)
                note = f"solved {passed:g} of {passed + failed:g} here"
                value = alpha / (alpha + beta)
                votes[candidate.id] = Vote(voter=self.name, value=value, weight=WEIGHT, note=note)
        return votes


def own_outcomes(context: Context, candidate: str) -> tuple[float, float]:
    """(passed, failed) of the user's own outcomes of a candidate in the context's dimension. Pure."""
    found = [t for t in context.tallies if t.candidate == candidate and t.dimension == context.dimension]
    return sum(t.passed for t in found), sum(t.failed for t in found)


def beta_parameters(
    context: Context, candidate: Candidate, rates: Rates = published_rate
) -> tuple[float, float]:
    """(alpha, beta) of the posterior of a candidate's success rate in the context's dimension. Pure."""
    rate = rates(candidate, context.dimension).value
    passed, failed = own_outcomes(context, candidate.id)
    return STRENGTH * rate + passed, STRENGTH * (1 - rate) + failed
