"""How results of replays differ: settings, and each policy with a paired interval where tasks were kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acr_cli.bench.equal_cost import interval, resampled, word
from acr_cli.bench.metrics import TIMED
from acr_cli.bench.results import read, read_rows
from acr_cli.errors import UsageError
from acr_cli.records import SCHEMA

if TYPE_CHECKING:
    import polars as pl

_NOT_SETTINGS = {"type", "schema", "policies", "oracle", "left_out"}
_BIGGER_IS_WORSE = {"total_usd"}


def compared(paths: Sequence[Path]) -> dict[str, Any]:
    """Each policy of a later result against the first result that has it: by metric the value before and
    after, their difference, and for avg_perf and total_usd the central 95 % of a paired bootstrap over tasks.

    Raises: UsageError."""
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{twice} is named twice: a result does not differ from itself.")
    results = {str(path): read(path) for path in paths}
    rows = {str(path): read_rows(path) for path in paths}
    first, *others = results
    names = list(dict.fromkeys(name for one in results.values() for name in one if name not in _NOT_SETTINGS))
    settings = {name: [one.get(name) for one in results.values()] for name in names}
    base: dict[str, str] = {one["policy"]: first for one in results[first]["policies"]}
    policies, notes = [], []
    for file in others:
        for one in results[file]["policies"]:
            policy = one["policy"]
            if (before := base.setdefault(policy, file)) == file:
                continue
            metrics = _metrics(_entry(results[before], policy), one)
            pair = _paired(rows[before], rows[file], policy)
            if pair is None:
                notes.append(f"{policy}: no interval; the same tasks were not kept with both results.")
            else:
                for name, (low, high) in pair.items():
                    metrics[name] |= {"low": low, "high": high, "word": _word(name, low, high)}
            policies.append({"policy": policy, "base": before, "file": file, "metrics": metrics})
    return {
        "type": "bench_comparison",
        "schema": SCHEMA,
        "first": first,
        "others": others,
        "settings": {
            name: values for name, values in settings.items() if any(v != values[0] for v in values)
        },
        "policies": policies,
        "notes": list(dict.fromkeys(notes)),
    }


def _entry(result: Mapping[str, Any], policy: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = next(one for one in result["policies"] if one["policy"] == policy)
    return entry


def _metrics(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    names = [name for name in before["spread"] if name in after["spread"] and name != TIMED]
    return {
        name: {"before": before[name], "after": after[name], "difference": after[name] - before[name]}
        for name in names
        if before[name] is not None and after[name] is not None
    }


def _paired(
    before: pl.DataFrame | None, after: pl.DataFrame | None, policy: str
) -> dict[str, tuple[float, float]] | None:
    """Intervals of the differences of avg_perf and total_usd; None unless both hold the same tasks."""
    if before is None or after is None:
        return None
    left, right = _by_task(before, policy), _by_task(after, policy)
    if not left.height or not left["task_id"].equals(right["task_id"]):
        return None
    columns = [right[name].to_numpy() - left[name].to_numpy() for name in ("score", "cost_usd")]
    means = resampled(np.column_stack(columns))
    return {"avg_perf": interval(100 * means[:, 0]), "total_usd": interval(left.height * means[:, 1])}


def _by_task(rows: pl.DataFrame, policy: str) -> pl.DataFrame:
    import polars as pl

    mine = rows.filter(pl.col("policy") == policy)
    return mine.group_by("task_id").agg(pl.col("score").mean(), pl.col("cost_usd").mean()).sort("task_id")


def _word(name: str, low: float, high: float) -> str:
    return word(-high, -low) if name in _BIGGER_IS_WORSE else word(low, high)
