"""Outcome matrices: the true score and cost of every model on every task, read and checked.

A file is CSV (gzip allowed) or Parquet in long form, one row a pair: task_id, model, score, and if known
split, dimension, language, cost_usd, total_tokens. Rows stay columns of numbers: a million of them are a few
arrays. Every other column is ignored, a benchmark's name too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli import parquet
from acr_cli.errors import UsageError
from acr_cli.records import Price

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_NEEDED = ("task_id", "model", "score")
_KNOWN = {"split": "String", "dimension": "String", "language": "String"}
_MEASURED = ("cost_usd", "total_tokens")


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """T tasks x M models. Rows and columns stand in an order that neither the order of the file's rows nor
    any score or cost has a part in."""

    name: str
    models: tuple[str, ...]  # M
    ids: pl.Series  # T strings
    texts: pl.Series  # T strings, "" where not known
    splits: pl.Series  # T strings; so are the next two
    dimensions: pl.Series
    languages: pl.Series
    score: Numbers  # T x M, in [0, 1]; NaN where a model is not available
    cost: Numbers  # T x M, USD; NaN there too

    @property
    def tasks(self) -> int:
        return len(self.ids)

    @property
    def available(self) -> Flags:
        """T x M: where there is an outcome."""
        import numpy as np

        return ~np.isnan(self.score)

    def take(self, rows: Numbers | Flags | Sequence[int]) -> Matrix:
        """These tasks alone; `rows` holds T flags, or indexes."""
        import numpy as np

        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        columns = {
            name: getattr(self, name)[chosen]
            for name in ("ids", "texts", "splits", "dimensions", "languages")
        }
        return replace(self, score=self.score[chosen], cost=self.cost[chosen], **columns)

    def of_splits(self, names: Sequence[str]) -> Matrix:
        """The tasks of these splits. Raises: UsageError for a split without tasks."""
        for name in names:
            if not (self.splits == name).any():
                known = ", ".join(sorted(filter(None, self.splits.unique()))) or "none"
                raise UsageError(f"The matrix {self.name} has no split {name!r}.", hint=f"It has: {known}.")
        return self.take(self.splits.is_in(list(names)).to_numpy())

    def without_twins(self, warm: Matrix) -> Matrix:
        """The tasks whose text does not stand verbatim in `warm`."""
        known = self.texts != ""
        twins = self.texts.is_in(warm.texts.filter(warm.texts != "").unique().to_list()) & known
        return self.take((~twins).to_numpy())


def read_matrix(
    path: Path,
    *,
    tasks: Path | None = None,
    floor: bool = False,
    prices: Mapping[str, Price] | None = None,
) -> Matrix:
    """The matrix in a file. `tasks` is JSON Lines with task_id and prompt (gzip allowed).

    With `floor` a cost is at least tokens x the model's list input price, where both are known. Rows with 0
    tokens and score 0 are void: that model counts as not available there. A single missing cost is that
    model's mean in that dimension.

    Raises: UsageError."""
    import polars as pl

    frame = _frame(path)
    if "total_tokens" in frame.columns:
        ran = ~((pl.col("total_tokens") == 0) & (pl.col("score") == 0)).fill_null(value=False)
        frame = frame.with_columns(pl.when(ran).then(pl.col("score")).alias("score"))
    if "cost_usd" in frame.columns:
        frame = _costed(frame, floor=floor, prices=prices or {})
    else:
        frame = frame.with_columns(pl.lit(0.0).alias("cost_usd"))
    known = _tasks(frame)
    texts = (
        _texts(tasks, known["task_id"])
        if tasks
        else pl.Series("text", [""], dtype=pl.String).extend_constant("", known.height - 1)
    )
    known = known.with_columns(texts.alias("text")).sort("text", "dimension", "language", "tokens", "task_id")
    models = _models(frame)
    return Matrix(
        name=path.name.split(".")[0],
        models=tuple(models),
        ids=known["task_id"],
        texts=known["text"],
        splits=known["split"],
        dimensions=known["dimension"],
        languages=known["language"],
        score=_table(frame, known["task_id"], models, "score"),
        cost=_table(frame, known["task_id"], models, "cost_usd"),
    )


def read_prices(path: Path) -> dict[str, Price]:
    """What a user knows beforehand, by model: CSV with model and usd_per_task, or input and output in USD per
    million tokens. Raises: UsageError."""
    frame = _read(path)
    if "model" not in frame.columns:
        raise UsageError(f"The price list {path} has no column model.", hint="It needs model, input, output.")
    prices: dict[str, Price] = {}
    for row in frame.iter_rows(named=True):
        numbers = {name: row.get(name) for name in ("input", "output", "usd_per_task")}
        for name, number in numbers.items():
            if number is not None and not (isinstance(number, int | float) and 0 <= number < float("inf")):
                raise UsageError(f"{path}: {name} of {row['model']} is {number!r}, which is no price.")
        if row["model"] is None or str(row["model"]) in prices:
            raise UsageError(f"{path}: each row needs a model of its own, not {row['model']!r}.")
        prices[str(row["model"])] = Price(
            input=numbers["input"],
            output=numbers["output"],
            per_attempt=numbers["usd_per_task"],
            source="config",
        )
    return prices


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    if not path.is_file():
        raise UsageError(f"{path} is a folder." if path.is_dir() else f"There is no file {path}.")
    try:
        if path.name.endswith(".parquet"):
            parquet.check(path)
            return pl.read_parquet(path, glob=False)
        return pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"{path} cannot be read as a matrix: {reason}.", hint="It must be CSV or Parquet."
        ) from error


def _frame(path: Path) -> pl.DataFrame:
    """The columns that count, with their types, checked."""
    import polars as pl

    frame = _read(path)
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise UsageError(
            f"The matrix {path} has no column {' and no column '.join(missing)}.",
            hint="It needs task_id, model and score.",
        )
    if frame.is_empty():
        raise UsageError(f"The matrix {path} has no rows.")
    measured = [name for name in _MEASURED if name in frame.columns]
    try:
        frame = frame.select(
            pl.col("task_id", "model").cast(pl.String),
            pl.col("score", *measured).cast(pl.Float64),
            *(
                (pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(""))
                .fill_null("")
                .alias(name)
                for name in _KNOWN
            ),
        ).with_columns(pl.col("language").replace("null", ""))
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"The matrix {path} holds a value that is no number: {reason}.") from error
    _check(path, frame)
    return frame


def _check(path: Path, frame: pl.DataFrame) -> None:
    import polars as pl

    if frame["task_id"].null_count() or frame["model"].null_count():
        raise UsageError(f"The matrix {path} has rows without task_id or model.")
    twice = frame.select(pl.struct("task_id", "model").is_duplicated().sum()).item()
    if twice:
        raise UsageError(
            f"The matrix {path} holds {twice} rows for a pair of task and model that has others."
        )
    for name in _KNOWN:
        said = frame.filter(pl.col(name) != "").group_by("task_id").agg(pl.col(name).unique().sort())
        torn = said.filter(pl.col(name).list.len() > 1).sort("task_id")
        if not torn.is_empty():
            task, values = torn.row(0)
            raise UsageError(
                f"The matrix {path} gives the task {task} more than one {name}: {', '.join(values)}."
            )
    for name, limit in (("score", 1.0), ("cost_usd", float("inf")), ("total_tokens", float("inf"))):
        if name in frame.columns:
            bad = frame.filter(
                ~pl.col(name).is_between(0.0, limit) | pl.col(name).is_nan() | pl.col(name).is_infinite()
            )
            if not bad.is_empty():
                row = bad.row(0, named=True)
                raise UsageError(
                    f"The matrix {path}: {name} of {row['model']} on {row['task_id']} is {row[name]}.",
                    hint="Scores are in [0, 1], costs and tokens are not negative.",
                )


def _costed(frame: pl.DataFrame, *, floor: bool, prices: Mapping[str, Price]) -> pl.DataFrame:
    """Costs with the gaps filled, and floored if so wanted."""
    import polars as pl

    if floor and "total_tokens" in frame.columns:
        listed = {model: price.input for model, price in prices.items() if price.input is not None}
        rate = pl.col("model").replace_strict(listed, default=None, return_dtype=pl.Float64)
        least = pl.col("total_tokens") * rate / 1e6
        frame = frame.with_columns(pl.max_horizontal("cost_usd", least).alias("cost_usd"))
    ran = pl.when(pl.col("score").is_not_null()).then(pl.col("cost_usd"))
    own = ran.mean().over("model", "dimension")
    return frame.with_columns(
        pl.coalesce(pl.col("cost_usd"), own, ran.mean().over("model"), pl.lit(0.0)).alias("cost_usd")
    )


def _tasks(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a task, with the sum of its tokens, which serves as a name that renaming does not change."""
    import polars as pl

    tokens = pl.col("total_tokens").sum() if "total_tokens" in frame.columns else pl.lit(0.0)
    known = frame.group_by("task_id").agg(*(pl.col(name).max() for name in _KNOWN), tokens.alias("tokens"))
    return known.sort("task_id")


def _models(frame: pl.DataFrame) -> list[str]:
    import polars as pl

    tokens = pl.col("total_tokens").sum() if "total_tokens" in frame.columns else pl.lit(0.0)
    return frame.group_by("model").agg(tokens.alias("tokens")).sort("tokens", "model")["model"].to_list()


def _texts(path: Path, ids: pl.Series) -> pl.Series:
    import polars as pl

    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    try:
        lines: Any = pl.read_ndjson(
            path, schema={"task_id": pl.String, "prompt": pl.String}, ignore_errors=False
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} cannot be read as JSON Lines of tasks: {reason}.") from error
    known = lines.unique("task_id", keep="first")
    joined = ids.to_frame().join(known, on="task_id", how="left", maintain_order="left")
    if not known["task_id"].is_in(ids.to_list()).any():
        raise UsageError(
            f"{path} has no text of any task of the matrix.", hint="It needs task_id and prompt."
        )
    return joined["prompt"].fill_null("").alias("text")


def _table(frame: pl.DataFrame, ids: pl.Series, models: Sequence[str], column: str) -> Numbers:
    """T x M numbers of one column; NaN where there is no score."""
    import numpy as np
    import polars as pl

    tasks = pl.DataFrame({"task_id": ids}).with_row_index("row")
    columns = pl.DataFrame({"model": list(models)}).with_row_index("column")
    placed = frame.filter(pl.col("score").is_not_null()).join(tasks, on="task_id").join(columns, on="model")
    table = np.full((len(ids), len(models)), np.nan)
    table[placed["row"].to_numpy(), placed["column"].to_numpy()] = placed[column].to_numpy()
    return table
