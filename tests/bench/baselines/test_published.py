"""What is known of the published matrices, for whoever has them (ACR_MATRICES names the folder)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from acr_cli.bench.baselines import open_baseline
from acr_cli.bench.ladders import ladders
from acr_cli.bench.replay import Record, Rules, replay
from acr_cli.matrix import Matrix, read_matrix

pytestmark = pytest.mark.slow


@cache
def read(folder: str, name: str) -> Matrix:
    return read_matrix(Path(folder) / name)


def on_test_split(folder: str, policy: str, attempts: int) -> Record:
    matrix = read(folder, "id.csv.gz")
    warm = matrix.of_splits(["train", "val"])
    return replay(
        open_baseline(policy), matrix.of_splits(["test"]), Rules(attempts=attempts), seed=0, warm=warm
    )


@pytest.mark.parametrize(
    ("policy", "attempts", "score", "usd"),
    [
        ("dimension_best", 1, 51.68, 13.23),
        ("dimension_best_cost", 1, 51.52, 10.59),
        ("dimension_language_best", 1, 51.88, 18.02),
        ("ladder:2", 2, 55.19, 16.65),
        ("ladder:1", 3, 56.49, 18.80),
        ("ladder:8", 3, 54.49, 8.16),
    ],
)
def test_policies_that_are_fitted_on_warm_rows(
    policy: str, attempts: int, score: float, usd: float, matrices: str
) -> None:
    record = on_test_split(matrices, policy, attempts)

    assert round(100 * record.score.mean(), 2) == score
    assert record.cost.sum() == pytest.approx(usd, abs=0.006)


def test_the_regret_of_dimension_best(matrices: str) -> None:
    matrix = read(matrices, "id.csv.gz").of_splits(["test"])
    record = on_test_split(matrices, "dimension_best", 1)
    oracle = np.nanmax(matrix.score - 0.1 * matrix.cost, axis=1).sum()

    assert oracle - (record.score - 0.1 * record.cost).sum() == pytest.approx(244.36, abs=0.01)


@pytest.mark.parametrize(("usd", "score"), [(28, 69.89), (60, 71.59)])
def test_the_best_chain_in_hindsight(usd: float, score: float, matrices: str) -> None:
    matrix = read(matrices, "ood176.csv.gz")
    found = ladders(matrix, matrix.score >= 0.5, 5)
    best = found.orders.index(found.best_within(usd) or ())

    assert round(100 * found.score[best] / matrix.tasks, 2) == score
