"""What memory holds, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from acr_cli.memory.savings import Saved
from acr_cli.memory.steps import Bucket
from acr_cli.memory.sums import Decay, Key, Sum, Sums
from acr_cli.records import SCHEMA


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
class Interval:
    """A mean and the interval around it, as whoever estimated it says."""

    mean: float
    low: float
    high: float


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
    adjusted: Mapping[str, Interval] = field(default_factory=dict)  # success by model, of equal difficulty
    saved: Saved = field(default_factory=lambda: Saved(reason="no outcome yet"))  # against the strongest
    saved_cheapest: Saved = field(default_factory=lambda: Saved(reason="no outcome yet"))
    curve: tuple[Bucket, ...] = ()
    narrowed: bool = False  # to a part of memory
    collection: CollectionState = field(default_factory=CollectionState)

    def as_json(self) -> dict[str, Any]:
        """The shape of `acr memory stats --json`."""
        record = asdict(self)
        saved = {"saved_usd": record.pop("saved"), "saved_usd_cheapest": record.pop("saved_cheapest")}
        return {"type": "memory_stats", "schema": SCHEMA, **record, **saved}


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
