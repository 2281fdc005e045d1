"""Small matrices, made here, with a plain truth to find."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from acr_cli.matrix import Matrix

Truth = dict[str, Sequence[float]]

# Those who have the published matrices name their folder; nobody else's run is the poorer for it.
MATRICES = os.environ.get("ACR_MATRICES", "")
collect_ignore = ["test_published.py"] if os.environ.get("ACR_CI") == "1" and not MATRICES else []


@pytest.fixture
def matrices() -> str:
    """The folder of the published matrices."""
    if not MATRICES:
        pytest.skip("needs the published matrices; name their folder in ACR_MATRICES")
    return MATRICES


Make = Callable[..., Matrix]


@pytest.fixture
def make() -> Make:
    """`make({dimension: a chance of success for each model}, costs, tasks=..., seed=...)`.

    So many tasks a dimension, scores 0 or 1, the same costs for every task; a text is the dimension and a
    number."""

    def made(
        truth: Truth, costs: Sequence[float], *, tasks: int = 60, seed: int = 0, absent: float = 0.0
    ) -> Matrix:
        rng = np.random.default_rng(seed)
        dimensions = [dimension for dimension in truth for _ in range(tasks)]
        chance = np.array([truth[dimension] for dimension in dimensions])
        score = (rng.random(chance.shape) < chance).astype(float)
        cost = np.tile(np.asarray(costs, dtype=float), (len(dimensions), 1))
        gone = rng.random(chance.shape) < absent
        gone[:, 0] = False  # someone is always there
        score[gone], cost[gone] = np.nan, np.nan
        number = [str(place) for place in range(len(dimensions))]
        return Matrix(
            name="made",
            models=tuple(f"model-{place}" for place in range(chance.shape[1])),
            ids=pl.Series(number),
            texts=pl.Series([f"{d} {n}" for d, n in zip(dimensions, number, strict=True)]),
            splits=pl.Series([""] * len(number)),
            dimensions=pl.Series(dimensions),
            languages=pl.Series(["python" if place % 2 else "rust" for place in range(len(number))]),
            score=score,
            cost=cost,
        )

    return made
