"""What is left of an outcome when it is counted: sums per dimension, candidate and repository.

Live rows and the checkpoint of evicted ones are counted by the same code, so that what was learnt is the same
whether it is kept or folded. The repository is in the key so that it can still be forgotten after eviction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from acr_cli.memory.encoding import Row
from acr_cli.records import Tally


class Key(NamedTuple):
    """What is counted together."""

    dimension: str
    candidate: str
    repository: str


@dataclass(kw_only=True, slots=True)
class Sum:
    """An accumulator. `graded` outcomes have a u of their own; those with shared credit have none."""

    passed: int = 0
    failed: int = 0
    outcomes: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    u: float = 0.0  # sum over graded outcomes
    graded: int = 0
    newest: float = 0.0  # Unix time of the latest

    def count(self, row: Row) -> None:
        """Add one outcome."""
        if row.teaches:
            self.passed += row.verdict == "passed"
            self.failed += row.verdict == "failed"
        if not row.shared:
            self.u += row.u
            self.graded += 1
        self.outcomes += 1
        self.cost_usd += row.cost_usd
        self.seconds += row.seconds
        self.newest = max(self.newest, row.time)

    def add(self, other: Sum) -> None:
        """Add all that another one has counted."""
        self.passed += other.passed
        self.failed += other.failed
        self.outcomes += other.outcomes
        self.cost_usd += other.cost_usd
        self.seconds += other.seconds
        self.u += other.u
        self.graded += other.graded
        self.newest = max(self.newest, other.newest)


Sums = dict[Key, Sum]


def count(rows: Iterable[Row]) -> Sums:
    """The sums over rows."""
    sums: Sums = {}
    for row in rows:
        key = Key(row.dimension, row.candidate, row.repository)
        if (entry := sums.get(key)) is None:
            entry = sums[key] = Sum()
        entry.count(row)
    return sums


def joined(left: Sums, right: Sums) -> Sums:
    """The sums over both; neither argument is changed."""
    sums: Sums = {}
    for part in (left, right):
        for key, entry in part.items():
            sums.setdefault(key, Sum()).add(entry)
    return sums


def tallies(sums: Sums) -> tuple[Tally, ...]:
    """One tally per dimension and candidate, sorted by both."""
    merged: dict[tuple[str, str], Sum] = {}
    for key, entry in sums.items():
        merged.setdefault((key.dimension, key.candidate), Sum()).add(entry)
    return tuple(
        Tally(
            candidate=candidate,
            dimension=dimension,
            passed=float(entry.passed),
            failed=float(entry.failed),
            cost_usd=entry.cost_usd,
            seconds=entry.seconds,
            outcomes=entry.outcomes,
        )
        for (dimension, candidate), entry in sorted(merged.items())
    )
