"""The result of a replay: one JSON object, and what happened on each task in a Parquet file beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acr_cli import parquet
from acr_cli.bench.equal_cost import Field
from acr_cli.bench.metrics import Played, Summary, oracle, regrets
from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix
from acr_cli.records import SCHEMA

if TYPE_CHECKING:
    import polars as pl

DIGITS = 6
"""Decimals of a printed number: the last bits of a sum depend on the machine."""


def shape(
    matrix: Matrix,
    setting: Mapping[str, Any],
    summaries: Sequence[Summary],
    *,
    subjects: Sequence[str],
    left_out: Mapping[str, str],
) -> dict[str, Any]:
    """The JSON object of `acr bench replay`. `subjects` are compared with all others. Pure."""
    field = Field(summaries) if summaries else None
    score, cost = oracle(matrix)
    policies = [] if field is None else [_policy(one, field, one.policy in subjects) for one in summaries]
    whole = {
        "type": "bench",
        "schema": SCHEMA,
        "matrix": matrix.name,
        "tasks": matrix.tasks,
        "models": len(matrix.models),
        **setting,
        "oracle": {"avg_perf": 100 * float(score.mean()), "total_usd": float(cost.sum())},
        "policies": policies,
        "left_out": dict(left_out),
    }
    rounded: dict[str, Any] = _rounded(whole)
    return rounded


def _policy(one: Summary, field: Field, subject: bool) -> dict[str, Any]:
    low, high = field.own_interval(one.policy)
    entry: dict[str, Any] = {
        "policy": one.policy,
        **one.numbers,
        "avg_perf_low": low,
        "avg_perf_high": high,
        "spread": {name: asdict(each) for name, each in one.spread.items()},
    }
    if subject:
        entry["versus"] = [asdict(each) for each in field.versus(one.policy)]
    return entry


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, DIGITS) if np.isfinite(value) else None
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


def table(matrix: Matrix, played: Sequence[Played]) -> pl.DataFrame:
    """A row for every task of every stream: policy, seed, position, task_id, model (of the answer), score,
    cost_usd, attempts, regret. Pure."""
    import polars as pl

    models = pl.Series("model", [*matrix.models, None], dtype=pl.String)
    parts = [
        pl.DataFrame(
            {
                "policy": pl.Series([one.policy], dtype=pl.Categorical).extend_constant(
                    one.policy, matrix.tasks - 1
                ),
                "seed": np.full(matrix.tasks, one.seed, np.int32),
                "position": one.position,
                "task_id": matrix.ids,
                "model": models.gather(np.where(one.answer < 0, len(matrix.models), one.answer)).cast(
                    pl.Categorical
                ),
                "score": one.score,
                "cost_usd": one.cost,
                "attempts": one.attempts,
                "regret": regrets(matrix, one.score, one.cost),
            }
        )
        for one in played
    ]
    return pl.concat(parts)


def write(path: Path, result: Mapping[str, Any], rows: pl.DataFrame) -> None:
    """The result as `path`, and its rows beside it. Raises: UsageError where that cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result) + "\n", encoding="utf-8")
        rows.write_parquet(beside(path), compression="zstd")
    except OSError as error:
        raise UsageError(f"The result cannot be written to {path}: {error.strerror or error}.") from error


def beside(path: Path) -> Path:
    """Where the rows of a result are. Pure."""
    return path.with_suffix(".parquet")


def read(path: Path) -> dict[str, Any]:
    """A result that was written, or kept from `--json`. Raises: UsageError."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    try:
        result = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no result of `acr bench replay`: {error}.") from error
    if not isinstance(result, dict) or result.get("type") != "bench" or result.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no result of `acr bench replay`.")
    if not _complete(result.get("policies")):
        raise UsageError(f"{path} is a damaged result of `acr bench replay`: its policies are incomplete.")
    return result


def _complete(policies: object) -> bool:
    """Whether each policy has its name, its metrics and their spread. Pure."""
    needed = {"policy", "spread", "avg_perf", "avg_perf_low", "avg_perf_high", "cum_reg", "total_usd"}
    return isinstance(policies, list) and all(
        isinstance(one, dict)
        and needed <= one.keys()
        and isinstance(one["spread"], dict)
        and one["spread"].keys() <= one.keys()
        for one in policies
    )


def read_rows(path: Path) -> pl.DataFrame | None:
    """The rows beside a result; None where they were not kept. Raises: UsageError for a damaged file."""
    import polars as pl

    place = beside(path)
    if not place.is_file():
        return None
    try:
        parquet.check(place)
        return pl.read_parquet(place, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{place} cannot be read: {reason}.") from error
