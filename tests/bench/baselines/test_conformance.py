"""What holds for every baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acr_cli.bench.baselines import BASELINES, NOT_RUN, open_baseline
from acr_cli.bench.baselines.extra import require
from acr_cli.bench.replay import Record, Rules, replay
from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.matrix import Matrix
from tests.bench.baselines.conftest import Make

NAMES = [name if name != "always" else "always:m1" for name in BASELINES]
FITTED = {
    *("dimension_best", "dimension_best_cost", "dimension_language_best", "ladder", "knn"),
    *("tfidf_logreg", "tfidf_mlp", "frugalgpt", "automix"),
}
TRUTH = {"algorithm": (0.9, 0.2, 0.5), "bug_fixing": (0.2, 0.8, 0.5), "code_refactoring": (0.5, 0.4, 0.7)}
COSTS = (0.01, 0.002, 0.05)


def played(name: str, stream: Matrix, warm: Matrix, attempts: int = 3, seed: int = 1) -> Record:
    return replay(open_baseline(name), stream, Rules(attempts=attempts), seed=seed, warm=warm)


@pytest.fixture
def stream(make: Make) -> Matrix:
    return make(TRUTH, COSTS, tasks=25, seed=5, absent=0.1)


@pytest.fixture
def warm(make: Make) -> Matrix:
    return make(TRUTH, COSTS, seed=6, absent=0.1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_it_plays_a_stream_to_its_end(name: str, attempts: int, stream: Matrix, warm: Matrix) -> None:
    record = played(name, stream, warm, attempts)

    assert (record.attempts <= attempts).all()
    assert (record.cost >= 0).all()
    assert len(record.answer) == stream.tasks
    assert all(0 < one.propensity <= 1 for one in record.tries)
    if not name.startswith("always"):
        assert (record.attempts >= 1).mean() > 0.9  # fixed orders may name nobody who is there


@pytest.mark.parametrize("name", NAMES)
def test_it_plays_behind_a_verifier_that_errs(name: str, stream: Matrix, warm: Matrix) -> None:
    rules = Rules(attempts=3, false_accept=0.1, false_reject=0.05, dimension="none")
    record = replay(open_baseline(name), stream, rules, seed=2, warm=warm)

    assert np.isfinite(record.score).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_stream(name: str, stream: Matrix, warm: Matrix) -> None:
    assert played(name, stream, warm).tries == played(name, stream, warm).tries


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_paid_for_changes_no_decision(name: str, stream: Matrix, warm: Matrix) -> None:
    first = played(name, stream, warm)
    unpaid = stream.available
    for one in first.tries:
        unpaid[one.task, one.model] = False
    score, cost = stream.score.copy(), stream.cost.copy()
    score[unpaid] = 1 - score[unpaid]
    cost[unpaid] = 9.0

    assert played(name, replace(stream, score=score, cost=cost), warm).tries == first.tries


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_models_and_tasks_change_no_decision(name: str, stream: Matrix, warm: Matrix) -> None:
    first = played(name, stream, warm)
    models = tuple(f"z{place}" for place in range(3))
    renamed = replace(stream, models=models, ids=stream.ids + "x"), replace(warm, models=models)

    assert played(name, *renamed).tries == first.tries


@pytest.mark.parametrize("name", sorted(FITTED))
def test_what_is_fitted_beforehand_says_that_it_needs_warm_rows(name: str, stream: Matrix) -> None:
    with pytest.raises(UsageError, match=rf"{name} is fitted on rows") as caught:
        replay(open_baseline(name), stream, Rules(), seed=0)
    assert "--warm" in caught.value.hint


@pytest.mark.parametrize("name", [n for n in NAMES if n not in FITTED])
def test_the_others_start_without_knowledge(name: str, stream: Matrix) -> None:
    assert len(replay(open_baseline(name), stream, Rules(attempts=2), seed=0).answer) == stream.tasks


def test_a_dimension_that_the_warm_rows_do_not_know_is_played_too(make: Make, warm: Matrix) -> None:
    foreign = make({"poetry": (0.5, 0.5, 0.5)}, COSTS, tasks=10)

    for name in NAMES:
        assert np.isfinite(played(name, foreign, warm).score).all()


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError, match="No policy is named 'oracle'") as caught:
        open_baseline("oracle")
    assert "dimension_best" in caught.value.hint


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_a_peer_that_does_not_run_says_why(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} does not run: "):
        open_baseline(name)


@pytest.mark.parametrize(
    "name",
    [
        "always",
        "always:",
        "ladder:dear",
        "ladder:nan",
        "automix:-1",
        "frugalgpt:inf",
        "random:1",
        "knn:5",
        "epsilon_greedy:2",
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name.split(':', maxsplit=1)[0]} cannot be made with"):
        open_baseline(name)


def test_a_parameter_stays_in_the_name() -> None:
    assert open_baseline("ladder:10").name == "ladder:10"


def test_a_missing_library_is_one_clear_sentence() -> None:
    with pytest.raises(ConfigurationError, match="The policy linucb needs acr_no_such_library") as caught:
        require("acr_no_such_library.mab", "linucb")
    assert caught.value.hint == "pip install 'acr-cli[bench]'"
