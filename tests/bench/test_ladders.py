"""Fixed ladders: what they reach, and that the best one is found."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from acr_cli.bench.ladders import Order, attempts_allowed, best_in_hindsight, ladders, play
from acr_cli.matrix import Matrix


def made(score: np.ndarray, cost: np.ndarray, dimensions: list[str] | None = None) -> Matrix:
    tasks, width = score.shape
    blank = pl.Series([""] * tasks)
    return Matrix(
        name="made",
        models=tuple(f"m{place}" for place in range(width)),
        ids=pl.Series([str(row) for row in range(tasks)]),
        texts=blank,
        splits=blank,
        dimensions=pl.Series(dimensions or [""] * tasks),
        languages=blank,
        score=score,
        cost=cost,
    )


def drawn(seed: int, tasks: int = 40, width: int = 4, absent: float = 0.2) -> Matrix:
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 5, (tasks, width)) / 4
    cost = rng.random((tasks, width)).round(3)
    gone = rng.random((tasks, width)) < absent
    score[gone], cost[gone] = np.nan, np.nan
    return made(score, cost, rng.choice(["algorithm", "code_refactoring"], tasks).tolist())


def told(matrix: Matrix, passed: np.ndarray, order: Order, limit: int, row: int) -> tuple[float, float]:
    """Score and cost of one task, as a person would play it."""
    score = cost = 0.0
    for column in order:
        if limit and not np.isnan(matrix.score[row, column]):
            limit -= 1
            score, cost = matrix.score[row, column], cost + matrix.cost[row, column]
            if passed[row, column]:
                break
    return score, cost


@pytest.mark.parametrize("seed", range(5))
def test_every_ladder_reaches_what_playing_it_by_hand_reaches(seed: int) -> None:
    matrix = drawn(seed)
    passed, limits = matrix.score >= 0.5, attempts_allowed(matrix, 3)
    found = ladders(matrix, passed, 3, limits=limits)

    assert found.exhaustive
    assert found.orders == [order for n in (1, 2, 3) for order in permutations(range(4), n)]
    for order, score, cost in zip(found.orders, found.score, found.cost, strict=True):
        rows = [told(matrix, passed, order, int(limits[row]), row) for row in range(matrix.tasks)]
        assert (score, cost) == pytest.approx(tuple(np.sum(rows, axis=0)))
        each = play(matrix, passed, order, limits=limits)
        assert np.column_stack(each) == pytest.approx(np.array(rows))


@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_hindsight_finds_the_best_order_of_each_group(lam: float) -> None:
    matrix = drawn(7)
    passed, groups = matrix.score >= 0.5, matrix.dimensions.to_list()
    best = best_in_hindsight(matrix, passed, 3, lam, groups=groups)

    for group in set(groups):
        rows = [row for row, label in enumerate(groups) if label == group]

        def worth(order: Order, rows: list[int] = rows) -> float:
            score, cost = np.sum([told(matrix, passed, order, 3, row) for row in rows], axis=0)
            return float(score - lam * cost)

        highest = max(worth(order) for n in (1, 2, 3) for order in permutations(range(4), n))
        assert worth(best.orders[group]) == pytest.approx(highest)
        assert float((best.score - lam * best.cost)[rows].sum()) == pytest.approx(highest)


def test_without_groups_there_is_one_ladder() -> None:
    matrix = drawn(1)

    assert list(best_in_hindsight(matrix, matrix.score >= 0.5, 2, 1.0).orders) == [""]


def test_a_rung_that_never_helps_is_left_out() -> None:
    matrix = made(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[0.1, 0.5], [0.1, 0.5]]))

    assert ladders(matrix, matrix.score >= 0.5, 2).best(0.1) == (0,)


def test_the_answer_of_a_ladder_that_nobody_passes_is_the_last_attempt() -> None:
    matrix = made(np.array([[0.4, 0.2]]), np.array([[1.0, 2.0]]))
    score, cost = play(matrix, matrix.score >= 0.5, (0, 1))

    assert (score[0], cost[0]) == (0.2, 3.0)


def test_a_false_reject_costs_and_a_false_accept_ends_the_task() -> None:
    matrix = made(np.array([[1.0, 1.0], [0.0, 1.0]]), np.ones((2, 2)))
    passed = np.array([[False, True], [True, True]])
    score, cost = play(matrix, passed, (0, 1))

    assert score.tolist() == [1.0, 0.0]
    assert cost.tolist() == [2.0, 1.0]


def test_dimensions_that_nothing_can_execute_allow_one_attempt() -> None:
    matrix = made(np.zeros((2, 2)), np.ones((2, 2)), ["code_refactoring", "algorithm"])

    assert attempts_allowed(matrix, 3).tolist() == [1, 3]


def test_within_a_budget_the_best_score_wins() -> None:
    matrix = made(np.array([[0.0, 0.6, 1.0]]), np.array([[0.1, 0.5, 2.0]]))
    found = ladders(matrix, matrix.score >= 0.5, 2)

    assert found.best_within(3.0) == (2,)
    assert found.best_within(1.0) == (1,)
    assert found.best_within(0.05) is None


def test_a_model_that_is_there_for_no_task_reaches_nothing() -> None:
    score = np.array([[np.nan, 1.0]])
    matrix = made(score, score)
    found = ladders(matrix, matrix.score >= 0.5, 2)

    assert found.score[found.orders.index((0,))] == 0.0
    assert found.score[found.orders.index((0, 1))] == 1.0


def test_many_models_are_searched_by_a_beam_which_says_so() -> None:
    rng = np.random.default_rng(3)
    specialist = np.eye(3).repeat(20, axis=0)  # each solves a third of the tasks, and nobody else does
    score = np.hstack([np.zeros((60, 10)), specialist])
    matrix = made(score, 0.01 * rng.random((60, 13)))
    found = ladders(matrix, matrix.score >= 0.5, 5)

    assert not found.exhaustive
    assert sorted(found.best(0.1)) == [10, 11, 12]


def test_a_ladder_is_no_longer_than_there_are_models() -> None:
    matrix = drawn(2, width=2)

    assert max(map(len, ladders(matrix, matrix.score >= 0.5, 5).orders)) == 2


@pytest.mark.parametrize("attempts", [2, 40_000, 1_000_000_000])
def test_more_attempts_than_models_are_as_many_as_there_are_models(attempts: int) -> None:
    score = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    matrix = made(score, np.zeros((3, 2)), ["algorithm"] * 3)
    found = ladders(matrix, score >= 0.5, attempts, limits=attempts_allowed(matrix, attempts))
    assert found.score.max() == 2
