"""What a rival is at equal cost, and how sure a difference is."""

from __future__ import annotations

import numpy as np
import pytest

from acr_cli.bench.equal_cost import GROUPS, MOST_TASKS, Field, Versus, interval, resampled, word
from acr_cli.bench.metrics import Summary

TASKS = 400


def one(name: str, perf: float, usd: float) -> Summary:
    """A policy that reaches `perf` points and costs `usd` a task, on the average."""
    solved = np.zeros(TASKS)
    solved[: round(TASKS * perf / 100)] = 1
    score = np.random.default_rng(abs(hash_of(name))).permutation(solved)
    return Summary(policy=name, numbers={}, spread={}, score=score, cost=np.full(TASKS, usd))


def hash_of(name: str) -> int:
    return int.from_bytes(name.encode(), "little") % 2**31


def against(ours: Summary, *others: Summary) -> dict[str, Versus]:
    return {each.rival: each for each in Field([ours, *others]).versus(ours.policy)}


def test_a_dearer_and_lower_rival_is_dominated() -> None:
    found = against(one("ours", 60, 1), one("dear", 50, 2))["dear"]
    assert (found.difference, found.against, found.dominated) == (pytest.approx(10), "dear", True)


def test_a_cheaper_and_lower_rival_is_mixed_with_the_next_better_one() -> None:
    rivals = one("cheap", 40, 0.5), one("better", 50, 1.5), one("best", 70, 1.1)
    found = against(one("ours", 60, 1), *rivals)["cheap"]
    assert found.against == "50 % cheap, 50 % better"
    assert found.difference == pytest.approx(60 - 45)


def test_a_cheaper_and_lower_rival_without_a_better_one_stands_alone() -> None:
    found = against(one("ours", 60, 1), one("cheap", 40, 0.5))["cheap"]
    assert (found.difference, found.against, found.dominated) == (pytest.approx(20), "cheap", False)


def test_a_dearer_and_better_rival_is_mixed_with_the_next_worse_one() -> None:
    rivals = one("dear", 80, 2), one("low", 30, 0.5), one("high", 50, 0.5)
    found = against(one("ours", 60, 1), *rivals)["dear"]
    assert found.against == "33 % dear, 67 % high"
    assert found.difference == pytest.approx(60 - (80 / 3 + 100 / 3))


def test_a_dearer_and_better_rival_alone_is_mixed_with_nothing() -> None:
    found = against(one("ours", 60, 1), one("dear", 80, 2))["dear"]
    assert (found.against, found.difference) == ("50 % dear, 50 % nothing", pytest.approx(20))


def test_a_cheaper_and_better_rival_is_met_as_it_is() -> None:
    found = against(one("ours", 60, 1), one("cheap", 70, 0.5), one("more", 90, 3))["cheap"]
    assert (found.against, found.difference, found.word) == ("cheap", pytest.approx(-10), "worse")


def test_a_curve_is_its_best_mix_at_our_cost() -> None:
    curve = one("ladder:1", 40, 0.5), one("ladder:2", 45, 0.9), one("ladder:3", 80, 1.5)
    found = against(one("ours", 60, 1), *curve)
    assert found["ladder:*"].against == "50 % ladder:1, 50 % ladder:3"
    assert found["ladder:*"].difference == pytest.approx(0)
    assert found["ladder:*"].word == "tie"


def test_a_curve_that_is_dearer_and_lower_is_dominated() -> None:
    found = against(one("ours", 60, 1), one("ladder:1", 50, 2), one("ladder:2", 55, 3))["ladder:*"]
    assert (found.against, found.dominated) == ("ladder:2", True)


def test_all_together_are_at_least_as_hard_to_beat_as_any_of_them() -> None:
    rivals = [one(f"r{n}", 20 + 7 * n, 0.3 * (n + 1)) for n in range(7)]
    found = against(one("ours", 45, 1), *rivals)
    assert (
        found["all"].difference
        <= min(each.difference for each in found.values() if not each.dominated) + 1e-9
    )


def test_other_parameters_of_our_own_policy_are_no_rivals() -> None:
    found = against(one("ours:1", 60, 1), one("ours:2", 70, 1), one("cheap", 40, 0.5))
    assert set(found) == {"cheap"}


def test_a_mix_costs_the_same_as_we_do_in_every_resample() -> None:
    rng = np.random.default_rng(5)

    def drawn(name: str, perf: float, usd: float) -> Summary:
        cost = rng.exponential(usd, TASKS)
        score = (rng.random(TASKS) < perf / 100).astype(float)
        return Summary(policy=name, numbers={}, spread={}, score=score, cost=cost)

    same = drawn("ours", 60, 1)
    found = against(same, Summary(policy="twin", numbers={}, spread={}, score=same.score, cost=same.cost))
    assert found["twin"].low == found["twin"].high == pytest.approx(0)
    assert found["twin"].word == "tie"


def test_intervals_are_those_of_the_mean() -> None:
    values = np.random.default_rng(0).random((500, 1))
    means = resampled(values)[:, 0]
    assert means.std() == pytest.approx(values.std() / np.sqrt(500), rel=0.05)
    low, high = interval(means)
    assert low < values.mean() < high


def test_many_tasks_are_resampled_in_groups_of_the_same_variance() -> None:
    values = np.random.default_rng(0).random((MOST_TASKS + 1, 1)) ** 2
    means = resampled(values, resamples=2000)[:, 0]
    assert len(values) > GROUPS
    assert means.mean() == pytest.approx(values.mean(), abs=1e-3)
    assert means.std() == pytest.approx(values.std() / np.sqrt(len(values)), rel=0.1)


def test_the_same_seed_gives_the_same_resamples() -> None:
    values = np.random.default_rng(0).random((50, 2))
    assert (resampled(values) == resampled(values)).all()
    assert (resampled(values) != resampled(values, seed=1)).any()


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 1, "better"), (-1, -0.1, "worse"), (-1, 1, "tie"), (0, 1, "tie")]
)
def test_an_interval_that_holds_zero_is_a_tie(low: float, high: float, said: str) -> None:
    assert word(low, high) == said
