"""What the baselines that are fitted beforehand read of the warm rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from acr_cli.bench.player import Setting
from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix

Numbers = NDArray[np.float64]
Indexes = NDArray[np.int64]


def warm_rows(setting: Setting, policy: str) -> Matrix:
    """The warm rows. Raises: UsageError where there are none."""
    if setting.warm is None or not setting.warm.tasks:
        raise UsageError(
            f"The policy {policy} is fitted on rows that are known beforehand.",
            hint="Name a split with --warm.",
        )
    return setting.warm


def amount(value: float | str) -> float:
    """A parameter of money, or of what money is worth. Pure. Raises: ValueError unless finite and >= 0."""
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{value} is no amount")
    return number


def column_means(values: Numbers) -> Numbers:
    """M means over the rows that are known; 0 for a column without any. Pure."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    means: Numbers = total / np.maximum(count, 1)
    return means


def ranked(matrix: Matrix, lam: float = 0.0) -> list[str]:
    """The candidates' ids by mean score - lam x mean cost, each over its own rows; equals the cheaper first.

    Pure."""
    cost = column_means(matrix.cost)
    worth = column_means(matrix.score) - lam * cost
    return [matrix.models[column] for column in np.lexsort((cost, -np.round(worth, 12)))]


def rows_by(labels: Iterable[object]) -> Mapping[object, list[int]]:
    """The places of each label. Pure."""
    places: dict[object, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    return places
