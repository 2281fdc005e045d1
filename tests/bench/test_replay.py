"""The protocol: what a player is shown, what it pays, and which answer counts."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import polars as pl
import pytest

from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.bench.replay import Rules, Verifier, anonymous, replay
from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context, Outcome, Price


def made(score: Sequence[Sequence[float]], *, dimension: str = "algorithm", cost: float = 0.1) -> Matrix:
    table = np.array(score, dtype=float)
    tasks, width = table.shape
    blank = pl.Series([""] * tasks)
    return Matrix(
        name="made",
        models=tuple(f"model-{column}" for column in range(width)),
        ids=pl.Series([f"task-{row}" for row in range(tasks)]),
        texts=pl.Series([f"text {row}" for row in range(tasks)]),
        splits=blank,
        dimensions=pl.Series([dimension] * tasks),
        languages=blank,
        score=table,
        cost=np.where(np.isnan(table), np.nan, cost * (1 + np.arange(width))),
    )


class InOrder(Baseline):
    """Tries the matrix's columns in this order, hands in the first, and remembers what it saw."""

    name = "in-order"

    def __init__(self, columns: Sequence[int], names: dict[str, int]) -> None:
        by_column = {column: name for name, column in names.items()}
        self.order = [by_column[column] for column in columns]
        self.contexts: list[Context] = []
        self.outcomes: list[Outcome] = []

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        self.contexts.append(context)
        open_ = left(context, candidates)
        return next((self.pick(name) for name in self.order if name in open_), None)

    def learn(self, context: Context, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def answer(self, context: Context) -> str:
        return context.failed[0]


def player(matrix: Matrix, *columns: int, seed: int = 0) -> InOrder:
    return InOrder(columns, anonymous(matrix, seed))


def test_the_first_accepted_attempt_is_the_answer_and_all_attempts_are_paid() -> None:
    matrix = made([[0.2, 0.7, 1.0]])
    record = replay(player(matrix, 0, 1, 2), matrix, Rules(attempts=3), seed=0)

    assert (record.answer[0], record.score[0], record.attempts[0]) == (1, 0.7, 2)
    assert record.cost[0] == pytest.approx(0.1 + 0.2)
    assert [(each.model, each.passed) for each in record.tries] == [(0, False), (1, True)]


def test_where_nothing_is_accepted_the_player_names_its_answer() -> None:
    matrix = made([[0.4, 0.1, 0.0]])
    record = replay(player(matrix, 0, 1, 2), matrix, Rules(attempts=2), seed=0)

    assert (record.answer[0], record.score[0], record.attempts[0]) == (0, 0.4, 2)


@pytest.mark.parametrize("dimension", ["code_refactoring", "code_understanding"])
def test_what_cannot_be_executed_gets_one_attempt_unless_all_are_wanted(dimension: str) -> None:
    matrix = made([[0.0, 1.0]], dimension=dimension)
    assert replay(player(matrix, 0, 1), matrix, Rules(attempts=2), seed=0).attempts[0] == 1
    every = Rules(attempts=2, all_attempts=True)
    assert replay(player(matrix, 0, 1), matrix, every, seed=0).attempts[0] == 2


def test_one_attempt_is_all_there_even_where_the_dimension_is_not_shown() -> None:
    matrix = made([[0.0, 1.0]], dimension="code_refactoring")
    one = player(matrix, 0, 1)
    record = replay(one, matrix, Rules(attempts=2, dimension="none"), seed=0)

    assert record.attempts[0] == 1
    assert {context.dimension for context in one.contexts} == {""}


def test_a_policy_sees_no_score_no_id_and_no_model_s_name() -> None:
    matrix = made([[0.3, 0.8]])
    one = player(matrix, 0, 1)
    replay(one, matrix, Rules(attempts=2), seed=0)

    shown = repr((one.contexts, one.outcomes, one.setting))
    assert "task-0" not in shown
    assert "model-" not in shown
    assert "0.3" not in shown.replace("0.30000000000000004", "")
    assert [outcome.u for outcome in one.outcomes] == [0.0, 1.0]


def test_a_model_that_is_not_available_is_no_candidate() -> None:
    matrix = made([[np.nan, 1.0], [1.0, np.nan]])
    record = replay(player(matrix, 0, 1), matrix, Rules(), seed=0)

    assert dict(zip(record.order.tolist(), record.answer.tolist(), strict=True)) == {0: 1, 1: 0}


def test_a_choice_that_is_not_there_is_an_error() -> None:
    class Twice(Baseline):
        name = "twice"

        def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
            return self.pick(candidates[0].id)

    matrix = made([[0.0, 0.0]])
    with pytest.raises(UsageError, match="twice chose m0, which is not there"):
        replay(Twice(), matrix, Rules(attempts=2), seed=0)


def test_the_stream_ends_where_the_budget_does() -> None:
    matrix = made([[1.0]] * 5)
    record = replay(player(matrix, 0), matrix, Rules(budget=0.25), seed=0)

    assert record.attempts.tolist() == [1, 1, 1, 0, 0]
    assert record.answer.tolist()[3:] == [-1, -1]
    assert record.score.tolist()[3:] == [0.0, 0.0]


def test_a_price_is_known_where_the_user_named_one() -> None:
    matrix = made([[1.0, 1.0]])
    one = player(matrix, 0)
    replay(one, matrix, Rules(prices={"model-1": Price(per_attempt=0.5)}), seed=0)

    known = {candidate.id: candidate.price.per_attempt for candidate in one.setting.candidates}
    assert sorted(known.values(), key=str) == [0.5, None]


@pytest.mark.parametrize(("accept", "reject"), [(0.1, 0.05), (0.3, 0.0), (0.0, 0.2)])
@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_verdicts_are_wrong_at_the_stated_rates(accept: float, reject: float, shared: float) -> None:
    matrix = made(np.tile([0.0, 1.0], (40_000, 2)).tolist())
    rules = Rules(false_accept=accept, false_reject=reject, shared_accepts=shared)
    passed = Verifier(matrix, rules, 1).passed

    assert passed[:, [0, 2]].mean() == pytest.approx(accept, abs=0.01)
    assert 1 - passed[:, [1, 3]].mean() == pytest.approx(reject, abs=0.01)
    both = (passed[:, 0] & passed[:, 2]).mean()
    weak = accept * shared
    alone = (accept - weak) / (1 - weak)
    assert both == pytest.approx(weak + (1 - weak) * alone**2, abs=0.01)


def test_all_players_meet_the_same_verdicts_and_orders_of_a_seed() -> None:
    matrix = made(np.random.default_rng(0).random((30, 3)).tolist())
    rules = Rules(attempts=3, false_accept=0.3, false_reject=0.3)
    first = replay(player(matrix, 0, 1, 2, seed=4), matrix, rules, seed=4)
    second = replay(player(matrix, 2, 1, 0, seed=4), matrix, rules, seed=4)

    assert first.order.tolist() == second.order.tolist()
    verdicts = {(each.task, each.model): each.passed for each in first.tries}
    for each in second.tries:
        assert verdicts.get((each.task, each.model), each.passed) == each.passed


def test_warm_rows_carry_the_candidates_names() -> None:
    matrix, warm = made([[1.0, 0.0]]), made([[0.9, 0.1]] * 3)
    one = player(matrix, 0, seed=3)
    replay(one, matrix, Rules(), seed=3, warm=warm)

    setting: Setting = one.setting
    assert setting.warm is not None
    assert setting.warm.models == tuple(candidate.id for candidate in setting.candidates)
    column = setting.warm.models.index(one.order[0])
    assert setting.warm.score[:, column].tolist() == [0.9] * 3
