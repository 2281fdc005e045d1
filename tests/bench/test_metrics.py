"""The measures of a replay, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from acr_cli.bench.metrics import TIMED, measured, oracle, regrets, summary
from acr_cli.bench.replay import Log, Record
from tests.bench.test_replay import made

MATRIX = made([[1.0, 0.0], [0.4, 1.0], [np.nan, np.nan]], cost=1.0)  # the models cost 1 and 2 USD


def record(order: list[int], score: list[float], cost: list[float]) -> Record:
    return Record(
        order=np.array(order),
        answer=np.array([0] * len(order)),
        score=np.array(score),
        cost=np.array(cost),
        attempts=np.array([1, 2, 0]),
        decisions=4,
        seconds=0.002,
        log=Log(),
    )


def test_the_oracle_takes_the_best_reward_of_each_task() -> None:
    score, cost = oracle(MATRIX)
    assert (score.tolist(), cost.tolist()) == ([1.0, 1.0, 0.0], [1.0, 2.0, 0.0])


def test_a_stream_in_numbers() -> None:
    one = measured("p", 0, record([1, 0, 2], [0.4, 1.0, 0.0], [1.0, 3.0, 0.0]), MATRIX, {1.0: (2.0, 2.5)})

    assert one.score.tolist() == [1.0, 0.4, 0.0]
    assert one.position.tolist() == [1, 0, 2]
    assert one.numbers["avg_perf"] == pytest.approx(100 * 1.4 / 3)
    assert one.numbers["total_usd"] == 4.0
    assert one.numbers["perf_per_usd"] == pytest.approx(100 * 1.4 / 3 / 4)
    assert one.numbers["mean_attempts"] == 1.0
    assert one.numbers[TIMED] == pytest.approx(0.5)
    # (1 - 0.1 + 1 - 0.2) - (1.4 - 0.4)
    assert one.numbers["cum_reg"] == pytest.approx(0.7)
    assert regrets(MATRIX, one.score, one.cost).tolist() == pytest.approx([0.2, 0.5, 0.0])
    assert one.numbers["ladder_reg_1"] == pytest.approx((2.0 - 2.5) - (1.4 - 4.0))


def test_what_costs_nothing_has_no_performance_a_dollar() -> None:
    one = measured("p", 0, record([0, 1, 2], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]), MATRIX, {})
    assert np.isnan(one.numbers["perf_per_usd"])


def test_seeds_are_averaged_by_task_and_their_spread_is_kept_apart() -> None:
    first = measured("p", 0, record([0, 1, 2], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]), MATRIX, {})
    second = measured("p", 1, record([2, 1, 0], [0.0, 1.0, 1.0], [0.0, 3.0, 1.0]), MATRIX, {})
    both = summary([first, second])

    assert both.score.tolist() == [1.0, 0.5, 0.0]
    assert both.cost.tolist() == [1.0, 2.0, 0.0]
    assert both.numbers["avg_perf"] == pytest.approx(50)
    spread = both.spread["avg_perf"]
    assert (spread.min, spread.max) == (pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert spread.sd == pytest.approx(np.std([100 / 3, 200 / 3], ddof=1))
