"""The data set: who is best, which tasks teach it, and how tasks are divided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix
from acr_cli.records import Outcome, Price, Usage
from acr_cli.training.measures import figures
from acr_cli.training.tasks import AGREED, divided, joined, labels, of_memory, rates
from tests.training.rule import rule_matrix

NAN = float("nan")


def matrix(score: list[list[float]], cost: list[list[float]] | None = None) -> Matrix:
    rows, columns = len(score), len(score[0])
    same = pl.Series("same", ["x"] * rows)
    return Matrix(
        name="m",
        models=tuple(f"m{column}" for column in range(columns)),
        ids=pl.Series("id", [f"t{row}" for row in range(rows)]),
        texts=pl.Series("text", [f"text {row}" for row in range(rows)]),
        splits=pl.Series("split", [""] * rows),
        dimensions=same,
        languages=same,
        score=np.array(score),
        cost=np.array(cost) if cost else np.zeros((rows, columns)),
    )


@pytest.mark.parametrize(
    ("score", "cost", "expected"),
    [
        ([1.0, 0.0], [0.5, 0.0], [(0, 1.0)]),  # better is best, whatever it costs
        ([1.0, 1.0], [0.5, 0.1], [(1, AGREED)]),  # all solve it: only who is cheap
        ([0.0, 0.0], [0.5, 0.1], [(1, AGREED)]),  # nobody does
        ([1.0, 1.0], [0.1, 0.1], []),  # a tie
        ([0.9, 0.8], [2.0, 0.5], [(1, AGREED)]),  # a tenth of a score a USD
        ([1.0, NAN], [0.1, NAN], [(0, 1.0)]),  # the only one that tried has solved it
        ([0.0, NAN], [0.1, NAN], []),  # the only one that tried has not
    ],
)
def test_the_best_has_the_highest_reward_and_ties_teach_nothing(
    score: list[float], cost: list[float], expected: list[tuple[int, float]]
) -> None:
    _, best, weights = labels(matrix([score], [cost]))

    assert list(zip(best.tolist(), weights.tolist(), strict=True)) == expected


def test_a_held_out_task_never_has_the_text_of_one_that_was_trained_on() -> None:
    whole = rule_matrix(200)
    doubled = whole.texts.to_list()
    doubled[190] = doubled[0]
    whole = replace(whole, texts=pl.Series("text", doubled))

    by_split = divided(whole, train=["train"], held=["val"], source="")
    by_hash = divided(
        replace(whole, splits=pl.Series("split", [""] * 200)), train=["train"], held=["val"], source=""
    )

    assert by_split.train.tasks == 120
    assert by_split.held.tasks == 79
    for tasks in (by_split, by_hash):
        assert not set(tasks.train.texts) & set(tasks.held.texts)
    assert 15 < by_hash.held.tasks < 60


def test_a_split_that_is_not_there_is_said() -> None:
    with pytest.raises(UsageError, match="no split 'dev'") as caught:
        divided(rule_matrix(100), train=["train"], held=["dev"], source="")

    assert "train, val" in caught.value.hint


def outcome(run: str, candidate: str, verdict: str, text: str, **changes: object) -> Outcome:
    plain = Outcome(
        id=f"{run}.{candidate}", run=run, step="1", attempt=1, time=0.0, text=text, vector=(), embedder="",
        kind="edit", dimension="bug_fixing", language="python", repository="r", candidate=candidate,
        family="", price=Price(), available=(), failed_before=(), policy="learned", propensity=1.0,
        verdict=verdict, verifier="tests", u=0.0, signals=(), cost_usd=0.02, usage=Usage(), seconds=1.0,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_memory_gives_a_task_a_step_and_only_what_was_verified() -> None:
    own = of_memory(
        [
            outcome("a", "x/alpha-large", "failed", "one"),
            outcome("a", "x/beta", "passed", "one"),
            outcome("b", "x/beta", "unverified", "two"),
            outcome("c", "x/beta", "passed", "three", shared_credit=True),
            outcome("d", "x/beta", "failed", "four"),
        ]
    )

    assert own.models == ("x/alpha-large", "x/beta")
    assert own.texts.to_list() == ["one", "four"]
    assert np.array_equal(own.score, [[0.0, 1.0], [NAN, 0.0]], equal_nan=True)


def test_memory_beside_a_matrix_keeps_the_names_of_the_pool() -> None:
    own = of_memory([outcome("a", "x/beta@high", "passed", "one")])
    both = joined(rule_matrix(50, 10), own, lambda name: name.rsplit("/")[-1].split("@")[0])

    assert both.models == ("alpha-large", "x/beta@high", "beta-mini")
    assert both.tasks == 51
    assert both.score[50, 1] == 1.0
    assert np.isnan(both.score[50, [0, 2]]).all()
    assert both.splits[50] == "memory"


def test_a_model_with_too_few_outcomes_is_not_learned() -> None:
    thin = rule_matrix(100, 20)
    thin.score[4:, 2] = NAN

    tasks = divided(thin, train=["train"], held=["val"], source="")

    assert tasks.train.models == ("alpha-large", "beta")
    assert tasks.held.models == tasks.train.models
    assert tasks.held.score.shape == (20, 2)


def test_what_was_held_out_is_of_models_that_are_learned() -> None:
    thin = rule_matrix(100, 20)
    thin.score[:80, 2] = NAN
    thin.score[80:, :2] = NAN

    with pytest.raises(UsageError, match="20 held-out tasks") as caught:
        divided(thin, train=["train"], held=["val"], source="")

    assert "alpha-large, beta" in caught.value.hint


def test_a_split_is_trained_on_or_held_out() -> None:
    with pytest.raises(UsageError, match="'val' cannot be trained on and held out"):
        divided(rule_matrix(100), train=["train", "val"], held=["val"], source="")


def test_of_tasks_that_the_chosen_did_not_try_there_are_no_means() -> None:
    untried = matrix([[NAN, 1.0], [NAN, 0.0]])

    assert figures(untried, np.array([0, 0])) == {"tasks": 0, "cum_reg": 0.0, "total_usd": 0.0}
    assert figures(untried, np.array([1, 1]))["avg_perf"] == pytest.approx(50.0)


def test_an_empty_memory_and_too_few_tasks_are_said() -> None:
    with pytest.raises(UsageError, match="no verified outcome"):
        of_memory([outcome("b", "x/beta", "unverified", "two")])
    with pytest.raises(UsageError, match="too few"):
        divided(rule_matrix(20, 5), train=["train"], held=["val"], source="")


def test_rates_are_of_each_dimension_and_of_all() -> None:
    found = rates(matrix([[1.0, 0.0], [0.2, NAN]], [[0.1, 0.2], [0.3, NAN]]))

    assert found["x"] == found[""]
    assert found["x"]["m0"] == pytest.approx((0.5, 0.2))
    assert found["x"]["m1"] == pytest.approx((0.0, 0.2))


def test_the_fingerprint_changes_with_any_outcome_and_any_setting() -> None:
    first = divided(rule_matrix(100, 20), train=["train"], held=["val"], source="")
    other = rule_matrix(100, 20)
    other.score[3, 0] = 0.5
    second = divided(other, train=["train"], held=["val"], source="")

    assert first.fingerprint(seed=0) == first.fingerprint(seed=0)
    assert len({first.fingerprint(seed=0), first.fingerprint(seed=1), second.fingerprint(seed=0)}) == 3
