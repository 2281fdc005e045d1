"""Look-up tables of mean scores: the best of each dimension, or of each dimension and language."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from acr_cli.bench.baselines.warm import amount, ranked, rows_by, warm_rows
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context


class DimensionBest(Baseline):
    """The candidate of the highest mean score in the task's dimension, then the next.

    Source: the DimensionBest heuristic of arXiv 2606.22902, whose table is the mean over a probing set: here
    the warm rows. Exact for one attempt; the paper tries no second one. An unknown dimension gets the means
    over all rows."""

    name = "dimension_best"

    def __init__(self) -> None:
        self.lam = 0.0  # score that a US dollar is worth

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        self.overall = ranked(warm, self.lam)
        self.tables = self._tables(warm)

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        order = self._order(context)
        return next((self.pick(name) for name in order if name in there), None)

    def _tables(self, warm: Matrix) -> dict[object, list[str]]:
        return {label: ranked(warm.take(rows), self.lam) for label, rows in rows_by(warm.dimensions).items()}

    def _order(self, context: Context) -> list[str]:
        return self.tables.get(context.dimension, self.overall)


class DimensionBestCost(DimensionBest):
    """DimensionBest by mean score - lam x mean cost; `lam` is in score per USD."""

    name = "dimension_best_cost"

    def __init__(self, lam: float | str = 3.0) -> None:
        super().__init__()
        self.lam = amount(lam)


class DimensionLanguageBest(DimensionBest):
    """The highest mean score in the task's dimension and language.

    A pair that the warm rows do not know gets its dimension's order."""

    name = "dimension_language_best"

    def _tables(self, warm: Matrix) -> dict[object, list[str]]:
        pairs = rows_by(zip(warm.dimensions, warm.languages, strict=True))
        return super()._tables(warm) | {pair: ranked(warm.take(rows)) for pair, rows in pairs.items()}

    def _order(self, context: Context) -> list[str]:
        return self.tables.get((context.dimension, context.language), super()._order(context))
