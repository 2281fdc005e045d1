"""Candidates come, go and change while a stream is replayed: late arrival, outage, price, drift."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from acr_cli.bench.replay import Record, Rules, replay
from acr_cli.build.players import make_player
from acr_cli.matrix import Matrix
from acr_cli.orchestrator.trait import Numbers
from tests.orchestrator.worlds import matrix

TASKS = 160
HALF = TASKS // 2
ABILITY = np.array([-1.5, -0.5, 0.5, 1.5])
COST = np.array([0.01, 0.05, 0.1, 0.2])


def scores(ability: Numbers, *, seed: int = 0) -> Numbers:
    """T x C, of abilities C or T x C."""
    rng = np.random.default_rng(seed)
    wide = np.broadcast_to(ability, (TASKS, ability.shape[-1]))
    z = rng.normal(size=(TASKS, 1))
    solved: Numbers = (rng.random(wide.shape) < 1 / (1 + np.exp(1.5 * z - wide))).astype(float)
    return solved


def played(made: Matrix, *, attempts: int = 2, half_life: float | None = None, seed: int = 0) -> Record:
    player = make_player("learned", half_life=half_life)(made, seed)
    return replay(player, made, Rules(attempts=attempts), seed=seed, order=range(TASKS))


def share(record: Record, model: int, tasks: range) -> float:
    """In how many of these tasks the model was tried."""
    return sum(each.model == model for each in record.tries if each.task in tasks) / len(tasks)


def first(record: Record, model: int) -> int:
    """The task that it was tried on first."""
    return next(each.task for each in record.tries if each.model == model)


def spread(measure: Callable[[int], float], seeds: int = 2) -> float:
    return float(np.mean([measure(seed) for seed in range(seeds)]))


# --- coming and going -------------------------------------------------------------------------------------


def test_one_that_comes_late_is_tried_and_taken_up() -> None:
    """The newcomer is as good as the best and costs a fifth of it."""
    ability, cost = np.append(ABILITY, 1.5), np.append(COST, 0.04)

    def taken(seed: int) -> float:
        table = scores(ability, seed=seed)
        table[:HALF, 4] = np.nan
        record = played(matrix(table, cost), seed=seed)
        assert HALF <= first(record, 4) < HALF + 15
        return share(record, 4, range(HALF + 30, TASKS))

    assert spread(taken) > 0.6


def test_one_that_comes_late_and_is_no_good_is_soon_left_alone() -> None:
    ability, cost = np.append(ABILITY, -3.0), np.append(COST, 0.15)

    def taken(seed: int) -> float:
        table = scores(ability, seed=seed)
        table[:HALF, 4] = np.nan
        return share(played(matrix(table, cost), seed=seed), 4, range(HALF + 30, TASKS))

    assert spread(taken) < 0.25


def test_when_the_favourite_leaves_the_others_take_over() -> None:
    cost = np.array([0.01, 0.05, 0.1, 0.01])  # the ablest is as cheap as any
    table = scores(ABILITY)
    table[HALF:, 3] = np.nan
    record = played(matrix(table, cost))

    assert share(record, 3, range(30, HALF)) > 0.5
    assert share(record, 3, range(HALF, TASKS)) == 0.0
    assert record.attempts[HALF:].min() >= 1
    assert record.score[HALF:].mean() > table[HALF:, 0].mean()


def test_after_an_outage_the_favourite_is_taken_up_again_and_nothing_was_held_against_it() -> None:
    cost = np.array([0.01, 0.05, 0.1, 0.01])
    table = scores(ABILITY)
    table[60:100, 3] = np.nan
    record = played(matrix(table, cost))

    assert share(record, 3, range(30, 60)) > 0.5
    assert share(record, 3, range(60, 100)) == 0.0
    assert share(record, 3, range(100, 130)) > 0.5


def test_when_all_are_out_for_a_while_nobody_is_tried() -> None:
    table = scores(ABILITY)
    table[50:60] = np.nan
    record = played(matrix(table, COST))
    assert record.attempts[50:60].tolist() == [0] * 10
    assert record.attempts[60:].min() >= 1


# --- change -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [None, 40.0])
def test_when_the_favourite_s_price_rises_it_is_left_for_another(half_life: float | None) -> None:
    """Two are equally able; the one that was cheaper costs twenty times as much from the middle on."""
    ability, before = np.array([-2.0, 1.0, 1.0]), np.array([0.01, 0.05, 0.15])
    cost = np.where(np.arange(TASKS)[:, None] < HALF, before, before * np.array([1, 20, 1]))

    def moved(seed: int) -> float:
        record = played(matrix(scores(ability, seed=seed), cost), half_life=half_life, seed=seed)
        return share(record, 1, range(30, HALF)) - share(record, 1, range(TASKS - 40, TASKS))

    assert spread(moved) > 0.4


def test_one_that_grows_weak_is_left_sooner_with_forgetting() -> None:
    """The favourite fails nearly everything from the middle on."""
    before, after = np.array([-2.0, 2.0, 1.2]), np.array([-2.0, -3.0, 1.2])
    ability = np.where(np.arange(TASKS)[:, None] < HALF, before, after)
    cost = np.array([0.01, 0.05, 0.08])

    def late(half_life: float | None, seed: int) -> float:
        record = played(matrix(scores(ability, seed=seed), cost), half_life=half_life, seed=seed)
        return share(record, 1, range(HALF + 30, TASKS))

    never = spread(lambda seed: late(None, seed))
    forgetting = spread(lambda seed: late(30.0, seed))
    assert forgetting < 0.6
    assert forgetting < never - 0.2


def test_one_that_has_recovered_is_found_again_with_forgetting() -> None:
    """Weak in the first half, the best for its price in the second."""
    before, after = np.array([-3.0, 0.5]), np.array([2.5, 0.5])
    ability = np.where(np.arange(TASKS)[:, None] < HALF, before, after)

    def late(seed: int) -> float:
        made = matrix(scores(ability, seed=seed), np.array([0.1, 0.2]))
        return share(played(made, half_life=30.0, seed=seed), 0, range(TASKS - 40, TASKS))

    assert spread(late) > 0.5


# --- all of it at once ------------------------------------------------------------------------------------


def test_a_stream_of_changes_is_played_the_same_twice() -> None:
    table = scores(ABILITY)
    table[:60, 1] = np.nan
    table[80:110, 2] = np.nan
    one, other = (played(matrix(table, COST), half_life=50.0) for _ in range(2))
    assert one.tries == other.tries
