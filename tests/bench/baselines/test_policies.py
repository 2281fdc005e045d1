"""What each baseline does that the others do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest

from acr_cli.bench.baselines import open_baseline
from acr_cli.bench.baselines.bandits import EpsilonGreedy
from acr_cli.bench.baselines.frugalgpt import FrugalGpt
from acr_cli.bench.baselines.text import Knn
from acr_cli.bench.ladders import best_in_hindsight
from acr_cli.bench.player import Player, Setting
from acr_cli.bench.replay import Record, Rules, candidate, replay
from acr_cli.matrix import Matrix
from acr_cli.records import Context, Price
from tests.bench.baselines.conftest import Make

TWO = {"algorithm": (0.9, 0.1), "bug_fixing": (0.1, 0.9)}
EVEN = (0.01, 0.01)


def play(player: Player | str, stream: Matrix, warm: Matrix | None = None, **rules: object) -> Record:
    chosen = open_baseline(player) if isinstance(player, str) else player
    return replay(chosen, stream, Rules(**rules), seed=0, warm=warm)  # type: ignore[arg-type]


def firsts(record: Record, matrix: Matrix) -> dict[str, Counter[int]]:
    """By dimension, how often each column was tried first."""
    counts: dict[str, Counter[int]] = {dimension: Counter() for dimension in matrix.dimensions.unique()}
    seen = set()
    for one in record.tries:
        if one.task not in seen:
            seen.add(one.task)
            counts[matrix.dimensions[one.task]][one.model] += 1
    return counts


def prepared(player: Player, prices: dict[str, Price], *, warm: Matrix | None = None) -> Player:
    names = [candidate(name, price) for name, price in prices.items()]
    player.prepare(Setting(candidates=tuple(names), attempts=3, warm=warm))
    return player


# --- plain ---------------------------------------------------------------------------------------


def test_always_tries_its_candidate_and_nobody_else(make: Make) -> None:
    stream = make(TWO, EVEN)
    record = play("always:m0", stream, attempts=3)

    assert len({one.model for one in record.tries}) == 1
    assert (record.attempts == 1).all()


def test_random_tries_each_about_as_often(make: Make) -> None:
    record = play("random", make({"algorithm": (0.5, 0.5)}, EVEN, tasks=400))

    assert 160 < Counter(one.model for one in record.tries)[0] < 240
    assert {one.propensity for one in record.tries} == {0.5}


# --- tables --------------------------------------------------------------------------------------


def test_dimension_best_takes_the_best_of_each_dimension_then_the_next(make: Make) -> None:
    stream = make(TWO, EVEN)
    record = play("dimension_best", stream, make(TWO, EVEN, seed=1), attempts=2)

    assert firsts(record, stream) == {"algorithm": Counter({0: 60}), "bug_fixing": Counter({1: 60})}
    assert (record.attempts == 2).any()


def test_its_cost_aware_form_takes_a_cheap_one_that_is_nearly_as_good(make: Make) -> None:
    truth = {"algorithm": (0.85, 0.9)}
    stream, warm = make(truth, (0.001, 0.5)), make(truth, (0.001, 0.5), tasks=900)

    assert firsts(play("dimension_best", stream, warm), stream)["algorithm"] == Counter({1: 60})
    assert firsts(play("dimension_best_cost:1", stream, warm), stream)["algorithm"] == Counter({0: 60})


def test_dimension_language_best_tells_languages_apart(make: Make) -> None:
    warm = make({"algorithm": (0.5, 0.5)}, EVEN)
    python = (warm.languages == "python").to_numpy()
    warm = replace(warm, score=np.column_stack([python, ~python]).astype(float))
    record = play("dimension_language_best", warm, warm)

    assert record.score.mean() == 1.0


# --- bandits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["thompson", "epsilon_greedy", "linucb", "lints"])
def test_a_bandit_finds_the_best_of_each_dimension_by_itself(name: str, make: Make) -> None:
    stream = make(TWO, EVEN, tasks=300)
    counts = firsts(play(name, stream), stream)

    assert counts["algorithm"][0] > 200
    assert counts["bug_fixing"][1] > 200


@pytest.mark.parametrize("name", ["linucb", "lints"])
def test_linear_bandits_are_fitted_on_warm_rows(name: str, make: Make) -> None:
    stream = make(TWO, EVEN, tasks=20)
    counts = firsts(play(name, stream, make(TWO, EVEN, seed=1, tasks=400)), stream)

    assert counts == {"algorithm": Counter({0: 20}), "bug_fixing": Counter({1: 20})}


def test_the_propensity_of_epsilon_greedy_sums_to_one() -> None:
    player = prepared(EpsilonGreedy(0.2), {"m0": Price(), "m1": Price()})
    context, rng = Context(text="", dimension="algorithm"), Random(0)
    there = player.setting.candidates  # type: ignore[attr-defined]
    chosen = [player.choose(context, there, rng) for _ in range(200)]

    assert {c.candidate: round(c.propensity, 12) for c in chosen if c} == {"m0": 0.9, "m1": 0.1}


def test_litellms_bandit_moves_to_those_that_pass_and_stops_learning_at_its_cap(make: Make) -> None:
    stream = make({"algorithm": (0.95, 0.05)}, EVEN, tasks=400)
    player = open_baseline("litellm_bandit")
    record = play(player, stream)

    assert firsts(record, stream)["algorithm"][0] > 300
    cells = player.cells.values()  # type: ignore[attr-defined]
    assert max(cell.alpha + cell.beta for cell in cells) == 200


# --- cascades ------------------------------------------------------------------------------------


def test_the_cascade_learns_who_is_cheap_and_goes_up_after_a_rejection(make: Make) -> None:
    stream = make({"algorithm": (0.5, 0.5, 0.5)}, (0.3, 0.01, 0.1), tasks=50)
    record = play("cascade", stream, attempts=3)
    tried = {row: [one.model for one in record.tries if one.task == row] for row in range(stream.tasks)}

    later = [tried[row] for row in record.order[3:]]
    assert all(order == [1, 2, 0][: len(order)] for order in later)


def test_the_cascade_goes_by_known_prices_before_it_has_paid(make: Make) -> None:
    prices = {
        "m0": Price(per_attempt=0.5),
        "m1": Price(input=1.0, output=5.0),  # 0.006 USD at 1,000 tokens in and out
        "m2": Price(per_attempt=0.001),
    }
    player = prepared(open_baseline("cascade"), prices)
    there = player.setting.candidates  # type: ignore[attr-defined]
    order: list[str] = []
    while choice := player.choose(Context(text="", failed=tuple(order)), there, Random(0)):
        order.append(choice.candidate)

    assert order == ["m2", "m1", "m0"]


def test_the_ladder_is_the_best_order_of_its_warm_rows(make: Make) -> None:
    truth = {"algorithm": (0.3, 0.6, 0.9), "bug_fixing": (0.9, 0.6, 0.3)}
    warm = make(truth, (0.01, 0.05, 0.2), absent=0.05)
    best = best_in_hindsight(warm, warm.score >= 0.5, 3, 1.0, groups=warm.dimensions.to_list())
    record = play("ladder", warm, warm, attempts=3)

    assert record.score.sum() == pytest.approx(best.score.sum())
    assert record.cost.sum() == pytest.approx(best.cost.sum())


def test_a_dearer_lambda_gives_a_cheaper_ladder(make: Make) -> None:
    truth = {"algorithm": (0.3, 0.6, 0.9)}
    warm = make(truth, (0.01, 0.05, 0.2), tasks=200)
    costs = [play(f"ladder:{lam}", warm, warm, attempts=3).cost.sum() for lam in (0, 1, 10, 100)]

    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_frugalgpt_stays_within_its_budget_and_uses_it(make: Make) -> None:
    warm = make({"algorithm": (0.3, 0.6, 0.9)}, (0.01, 0.05, 0.2), tasks=200)
    poor, rich = (play(f"frugalgpt:{usd}", warm, warm, attempts=3) for usd in (0.06, 0.2))

    assert poor.cost.mean() <= 0.06
    assert rich.cost.mean() <= 0.2
    assert poor.score.mean() < rich.score.mean()


def test_frugalgpt_hands_in_the_rejected_answer_that_is_most_often_right(make: Make) -> None:
    warm = make({"algorithm": (0.95, 0.05)}, EVEN, tasks=300)
    warm = replace(warm, models=("m0", "m1"))
    player = FrugalGpt()
    names = tuple(candidate(name, None) for name in warm.models)
    player.prepare(Setting(candidates=names, attempts=2, warm=warm, false_reject=0.3))

    assert player.answer(Context(text="", failed=("m0", "m1"))) == "m0"


def test_automix_begins_with_the_smallest_and_passes_over_one_that_is_no_better(make: Make) -> None:
    warm = make({"algorithm": (0.5, 0.5, 0.9)}, (0.01, 0.02, 0.03), tasks=300)
    # Whatever the smallest fails, the middle one fails too.
    warm.score[:, 1] = warm.score[:, 0]
    record = play("automix", warm, warm, attempts=2)
    tried = {tuple(one.model for one in record.tries if one.task == row) for row in range(warm.tasks)}

    assert tried == {(0,), (0, 2)}


def test_automix_keeps_an_answer_where_a_larger_model_is_not_worth_its_price(make: Make) -> None:
    warm = make({"algorithm": (0.5, 0.6)}, (0.01, 5.0), tasks=300)

    assert (play("automix", warm, warm, attempts=2).attempts == 1).all()


# --- text ----------------------------------------------------------------------------------------


def by_words(make: Make, seed: int) -> Matrix:
    """Who is right stands in the text alone."""
    matrix = make({"algorithm": (0.5, 0.5)}, EVEN, tasks=200, seed=seed)
    graph = np.arange(matrix.tasks) % 3 == 0
    texts = ["shortest path in a graph" if yes else "parse a string of numbers" for yes in graph]
    return replace(matrix, texts=pl.Series(texts), score=np.column_stack([graph, ~graph]).astype(float))


@pytest.mark.parametrize("name", ["knn", "tfidf_logreg", "tfidf_mlp"])
def test_text_is_read(name: str, make: Make) -> None:
    assert play(name, by_words(make, 0), by_words(make, 1)).score.mean() > 0.95


@pytest.mark.parametrize("name", ["knn", "tfidf_logreg", "tfidf_mlp"])
@pytest.mark.parametrize("text", ["", "{ } ;"])
def test_without_any_words_the_dimension_is_still_known(name: str, text: str, make: Make) -> None:
    def bare(seed: int) -> Matrix:
        matrix = make(TWO, EVEN, seed=seed)
        return replace(matrix, texts=pl.Series([text] * matrix.tasks))

    counts = firsts(play(name, stream := bare(0), bare(1)), stream)
    assert counts == {"algorithm": Counter({0: 60}), "bug_fixing": Counter({1: 60})}


def test_knn_takes_vectors_that_are_given(make: Make) -> None:
    def encode(texts: list[str]) -> np.ndarray:
        return np.array([[3.0, 0.0] if "graph" in text else [0.0, 2.0] for text in texts])

    assert play(Knn(encode), by_words(make, 0), by_words(make, 1)).score.mean() == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tfidf_logreg", "tfidf_mlp"])
def test_a_classifier_with_nothing_to_tell_apart_is_a_table(name: str, make: Make) -> None:
    warm = make({"algorithm": (1.0, 0.0)}, EVEN)

    assert play(name, warm, warm).score.mean() == 1.0
