"""Memory kNN: what became of the nearest past tasks, weighted by their similarity.

A candidate's vote is (sum of similarity over its successes + m * 0.5) / (sum of similarity + m), so that one
outcome alone does not decide. k = 10 and the threshold of 0.5 are the method's (arXiv 2606.22902) and are
applied by the store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from acr_cli.records import Candidate, Context, Neighbour, Vote

WEIGHT = 1.2
"""Of the released router v4.5 (arXiv 2606.22902)."""

_STRENGTH = 2.0  # m: how many outcomes an even vote is worth


class NeighbourVoter:
    """Implements `protocols.Voter`; silent on candidates that no neighbour was solved or failed by."""

    name = "neighbours"
    weight = WEIGHT

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        near: defaultdict[str, list[Neighbour]] = defaultdict(list)
        for neighbour in context.neighbours:
            near[neighbour.candidate].append(neighbour)
        return {c.id: self._vote(near[c.id]) for c in candidates if c.id in near}

    def _vote(self, near: Sequence[Neighbour]) -> Vote:
        total = sum(n.similarity for n in near)
        passed = sum(n.similarity for n in near if n.passed)
        value = (passed + 0.5 * _STRENGTH) / (total + _STRENGTH)
        solved = sum(n.passed for n in near)
        return Vote(
            voter=self.name, value=value, weight=WEIGHT, note=f"solved {solved} of {len(near)} similar tasks"
        )
