"""What is left of an outcome when it is counted: sums over all that a policy tells apart.

Live rows and the checkpoint of evicted ones are counted by the same code, so that what was learnt is the same
whether it is kept or folded. The repository is in the key so that it can still be forgotten after eviction.

Forgetting: with a half-life h, an outcome of age a counts 2^(-a/h). A sum keeps its numbers as they weigh at
the time of its newest outcome; to move it to a later moment is one multiplication, whatever is in it. So
counting in any order, in parts or at once gives the same. Plain counts are kept beside, for people to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp2, inf
from typing import NamedTuple

from acr_cli.memory.encoding import Row
from acr_cli.records import Tally

DAY = 86_400.0  # seconds


class Key(NamedTuple):
    """What is counted together."""

    dimension: str
    candidate: str
    language: str
    verifier: str
    failed_before: str  # JSON, sorted
    repository: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Decay:
    """Forgetting by age. `half_life` in seconds; None forgets nothing."""

    half_life: float | None = None

    @classmethod
    def of_days(cls, days: float | None) -> Decay:
        """0 days are None: nothing is forgotten."""
        return cls(half_life=days * DAY if days else None)

    def factor(self, then: float, now: float) -> float:
        """What a weight at `then` is `now`, (0, 1]; a `now` before `then` changes nothing."""
        if self.half_life is None or now <= then:
            return 1.0
        return exp2(-(now - then) / self.half_life)


@dataclass(kw_only=True, slots=True)
class Weights:
    """Discounted sums, as they weigh at the time `at` of the newest outcome in them."""

    at: float = -inf  # Unix time; -inf: nothing is in them
    passed: float = 0.0
    failed: float = 0.0
    cost_usd: float = 0.0
    seconds: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    count: float = 0.0
    gains: dict[str, float] = field(default_factory=dict)  # by voter

    def move(self, now: float, decay: Decay) -> None:
        """Let time pass until `now`, if that is later."""
        if now <= self.at:
            return
        factor = decay.factor(self.at, now)
        self.at = now
        if factor == 1.0:
            return
        self.passed *= factor
        self.failed *= factor
        self.cost_usd *= factor
        self.seconds *= factor
        self.input_tokens *= factor
        self.output_tokens *= factor
        self.count *= factor
        for voter in self.gains:
            self.gains[voter] *= factor

    def count_row(self, row: Row, decay: Decay) -> None:
        """Add one outcome."""
        self.move(row.time, decay)
        weight = decay.factor(row.time, self.at)
        if row.teaches:
            if row.verdict == "passed":
                self.passed += weight
            else:
                self.failed += weight
        self.cost_usd += weight * row.cost_usd
        self.seconds += weight * row.seconds
        self.input_tokens += weight * row.input_tokens
        self.output_tokens += weight * row.output_tokens
        self.count += weight
        for voter, gain in parsed_gains(row.gains):
            self.gains[voter] = self.gains.get(voter, 0.0) + weight * gain

    def add(self, other: Weights, decay: Decay) -> None:
        """Add all that another one weighs."""
        self.move(other.at, decay)
        weight = decay.factor(other.at, self.at)
        self.passed += weight * other.passed
        self.failed += weight * other.failed
        self.cost_usd += weight * other.cost_usd
        self.seconds += weight * other.seconds
        self.input_tokens += weight * other.input_tokens
        self.output_tokens += weight * other.output_tokens
        self.count += weight * other.count
        for voter, gain in other.gains.items():
            self.gains[voter] = self.gains.get(voter, 0.0) + weight * gain


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
    weights: Weights = field(default_factory=Weights)

    def count(self, row: Row, decay: Decay) -> None:
        """Add one outcome."""
        if row.teaches:
            if row.verdict == "passed":
                self.passed += 1
            else:
                self.failed += 1
        if not row.shared:
            self.u += row.u
            self.graded += 1
        self.outcomes += 1
        self.cost_usd += row.cost_usd
        self.seconds += row.seconds
        self.newest = max(self.newest, row.time)
        self.weights.count_row(row, decay)

    def add(self, other: Sum, decay: Decay) -> None:
        """Add all that another one has counted."""
        self.passed += other.passed
        self.failed += other.failed
        self.outcomes += other.outcomes
        self.cost_usd += other.cost_usd
        self.seconds += other.seconds
        self.u += other.u
        self.graded += other.graded
        self.newest = max(self.newest, other.newest)
        self.weights.add(other.weights, decay)


Sums = dict[Key, Sum]


def key_of(row: Row) -> Key:
    """Where an outcome is counted."""
    return Key(row.dimension, row.candidate, row.language, row.verifier, row.failed_before, row.repository)


def count(rows: Iterable[Row], decay: Decay) -> Sums:
    """The sums over rows."""
    sums: Sums = {}
    for row in rows:
        key = key_of(row)
        if (entry := sums.get(key)) is None:
            entry = sums[key] = Sum()
        entry.count(row, decay)
    return sums


def joined(left: Sums, right: Sums, decay: Decay) -> Sums:
    """The sums over both; neither argument is changed."""
    sums: Sums = {}
    for part in (left, right):
        for key, entry in part.items():
            sums.setdefault(key, Sum()).add(entry, decay)
    return sums


def tally(key: Key, entry: Sum, now: float, decay: Decay) -> Tally:
    """The numbers of one sum as they weigh `now`."""
    weights = entry.weights
    factor = decay.factor(weights.at, now)
    return Tally(
        candidate=key.candidate,
        dimension=key.dimension,
        language=key.language,
        verifier=key.verifier,
        failed_before=parsed_names(key.failed_before),
        passed=factor * weights.passed,
        failed=factor * weights.failed,
        cost_usd=factor * weights.cost_usd,
        seconds=factor * weights.seconds,
        input_tokens=factor * weights.input_tokens,
        output_tokens=factor * weights.output_tokens,
        count=factor * weights.count,
        outcomes=entry.outcomes,
        gains=tuple(sorted((voter, factor * gain) for voter, gain in weights.gains.items())),
    )


@lru_cache(maxsize=4096)
def parsed_names(text: str) -> tuple[str, ...]:
    """Names from their column."""
    return tuple(json.loads(text))


def parsed_gains(text: str) -> Iterable[tuple[str, float]]:
    """(voter, gain) pairs from their column."""
    return json.loads(text).items() if text else ()
