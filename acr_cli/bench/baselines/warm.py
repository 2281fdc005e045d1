"""What the baselines that are fitted beforehand read of the warm rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from acr_cli.bench.player import Setting
from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix

Numbers = NDArray[np.float64]


def warm_rows(setting: Setting, policy: str) -> Matrix:
    """The warm rows. Raises: UsageError where there are none."""
    if setting.warm is None or not setting.warm.tasks:
        raise UsageError(
            f"The policy {policy} is fitted on rows that are known beforehand.",
            hint="Name a split with --warm.",
        )
    return setting.warm


def column_means(values: Numbers, absent: float) -> Numbers:
    """M means over the rows that are known; `absent` for a column without any. Pure."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), absent)


def worth(matrix: Matrix, lam: float) -> Numbers:
    """M values of mean score - lam x mean cost, over a candidate's own rows. Pure."""
    cost = column_means(matrix.cost, 0.0)
    return column_means(matrix.score, 0.0) - lam * cost


def ranked(matrix: Matrix, values: Numbers) -> list[str]:
    """The candidates' ids, the highest value first; equals as they stand. Pure."""
    return [matrix.models[column] for column in np.argsort(-values, kind="stable")]


def rows_by(labels: Iterable[object]) -> Mapping[object, list[int]]:
    """The places of each label. Pure."""
    places: dict[object, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    return places
