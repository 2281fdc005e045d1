"""Own outcomes by dimension: a Beta posterior whose prior is the published rate.

Mean (s * p + passed) / (s + passed + failed), with the published rate p and its strength s in outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.orchestrator.prior import published
from acr_cli.records import Candidate, Context, Tally, Vote

WEIGHT = 1.0
"""Within the range of the released router's further voters, 0.82 to 1.3 (arXiv 2606.22902)."""

STRENGTH = 4.0
"""How many own outcomes the published rate is worth."""


class PosteriorVoter:
    """Implements `protocols.Voter`; silent on candidates without verified outcomes in this dimension."""

    name = "posterior"
    weight = WEIGHT

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        votes = {}
        for candidate in candidates:
            tally = own_tally(context, candidate.id)
            if tally and tally.passed + tally.failed:
                alpha, beta = beta_parameters(context, candidate)
                note = f"solved {tally.passed:g} of {tally.passed + tally.failed:g} here"
                value = alpha / (alpha + beta)
                votes[candidate.id] = Vote(voter=self.name, value=value, weight=WEIGHT, note=note)
        return votes


def own_tally(context: Context, candidate: str) -> Tally | None:
    """The user's own outcomes of a candidate in the context's dimension. Pure."""
    found = (t for t in context.tallies if t.candidate == candidate and t.dimension == context.dimension)
    return next(found, None)


def beta_parameters(context: Context, candidate: Candidate) -> tuple[float, float]:
    """(alpha, beta) of the posterior of a candidate's success rate in the context's dimension. Pure."""
    rate = published(candidate.model or candidate.id, candidate.family, context.dimension).value
    tally = own_tally(context, candidate.id)
    passed, failed = (tally.passed, tally.failed) if tally else (0.0, 0.0)
    return STRENGTH * rate + passed, STRENGTH * (1 - rate) + failed
