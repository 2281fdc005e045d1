"""What memory holds, in numbers, and what routing has saved, as far as the records can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from acr_cli.memory.encoding import Row
from acr_cli.memory.sums import Decay, Key, Sum, Sums
from acr_cli.records import SCHEMA

ENOUGH = 5
"""Outcomes of a model below which its mean cost is no basis for an estimate."""

Z = 1.96  # half-width of a 95 % interval, in standard deviations


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Outcomes counted together, evicted ones included.

    `success_rate` is raw, over verified outcomes: escalation sends the hard tasks to the strong models."""

    outcomes: int
    success_rate: float | None  # None without a verified outcome
    mean_u: float | None  # None without an outcome of its own credit
    mean_cost_usd: float
    passed: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair(Group):
    """One candidate in one dimension."""

    model: str
    dimension: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What the live steps would have cost with `reference` alone, less what they did cost; may be negative.

    The reference is the model with the highest mean cost. A step that it took part in counts its own first
    attempt there; any other step its mean cost. `low` and `high` are a 95 % prediction interval."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    reference: str = ""
    steps: int = 0
    reason: str = ""  # why there is no estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionState:
    """The Chroma collection as its own notes tell it; it is not opened for this."""

    state: str = "absent"  # "absent" | "current" | "behind" | "stale": the next settling builds it anew
    documents: int = 0
    behind: int = 0  # outcomes that it does not hold yet


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryStats:
    """The whole of memory. Times are Unix times; `None` where there is no live outcome."""

    outcomes: int = 0  # live
    evicted: int = 0  # in the checkpoint
    damaged: int = 0  # set aside
    bound: int
    bytes: int = 0
    embedder: str = ""  # of the newest vector
    total_usd: float = 0.0  # evicted outcomes included
    total_seconds: float = 0.0
    oldest: float | None = None
    newest: float | None = None
    now: float
    models: Mapping[str, Group] = field(default_factory=dict)
    dimensions: Mapping[str, Group] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    saved: Saved = field(default_factory=lambda: Saved(reason="no outcome yet"))
    collection: CollectionState = field(default_factory=CollectionState)

    def as_json(self) -> dict[str, Any]:
        """The shape of `acr memory stats --json`."""
        record = asdict(self)
        saved = record.pop("saved")
        return {"type": "memory_stats", "schema": SCHEMA, **record, "saved_usd": saved}


def group_by(sums: Sums, name: Callable[[Key], str]) -> dict[str, Group]:
    """The sums merged by a name, sorted by it."""
    merged: dict[str, Sum] = {}
    for key, entry in sums.items():
        merged.setdefault(name(key), Sum()).add(entry, Decay())
    return {label: Group(**_means(entry)) for label, entry in sorted(merged.items())}


def pairs(sums: Sums) -> tuple[Pair, ...]:
    """The sums merged by candidate and dimension, sorted by both."""
    merged: dict[tuple[str, str], Sum] = {}
    for key, entry in sums.items():
        merged.setdefault((key.candidate, key.dimension), Sum()).add(entry, Decay())
    return tuple(
        Pair(model=model, dimension=dimension, **_means(entry))
        for (model, dimension), entry in sorted(merged.items())
    )


def _means(entry: Sum) -> dict[str, Any]:
    verified = entry.passed + entry.failed
    return {
        "outcomes": entry.outcomes,
        "success_rate": entry.passed / verified if verified else None,
        "mean_u": entry.u / entry.graded if entry.graded else None,
        "mean_cost_usd": entry.cost_usd / entry.outcomes if entry.outcomes else 0.0,
        "passed": entry.passed,
        "failed": entry.failed,
    }


def saved(rows: Sequence[Row]) -> Saved:
    """See `Saved`; from live rows alone, those with shared credit left out."""
    costs: dict[str, list[float]] = {}
    steps: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if not row.shared:
            costs.setdefault(row.candidate, []).append(row.cost_usd)
            steps.setdefault((row.run, row.step), []).append(row)
    known = {candidate: paid for candidate, paid in costs.items() if len(paid) >= ENOUGH}
    if not steps:
        return Saved(reason="no outcome yet")
    if not known:
        return Saved(reason=f"no model has {ENOUGH} outcomes yet")
    if len(costs) < 2:
        return Saved(reason="only one model was used, so that there is nothing to compare it with")
    reference = max(known, key=lambda candidate: (fmean(known[candidate]), candidate))
    mean, deviation, seen = fmean(known[reference]), stdev(known[reference]), len(known[reference])
    if mean <= 0:
        return Saved(reason="nothing was paid")
    estimate, without = 0.0, 0
    for attempts in steps.values():
        own = next((row.cost_usd for row in attempts if row.candidate == reference), None)
        without += own is None
        estimate += (mean if own is None else own) - sum(row.cost_usd for row in attempts)
    # The sum of `without` new costs, whose mean is itself estimated from `seen` of them.
    half = Z * deviation * sqrt(without + without**2 / seen)
    return Saved(
        estimate=estimate, low=estimate - half, high=estimate + half, reference=reference, steps=len(steps)
    )
