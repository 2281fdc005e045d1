"""The classifier: learns a rule, is kept without pickle, votes for those that it has seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acr_cli.advisor import classifier as words
from acr_cli.errors import ConfigurationError
from acr_cli.orchestrator.voters.classifier import ClassifierVoter
from acr_cli.records import Candidate, Context
from acr_cli.testing.voters import CANDIDATES, check_voter
from acr_cli.training.fitting import fit, measured, predicted
from acr_cli.training.tasks import Tasks
from tests.training.rule import rule_card, rule_tasks


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return rule_tasks()


@pytest.fixture(scope="module")
def fitted(tasks: Tasks) -> words.Classifier:
    return fit(tasks)


def test_it_learns_the_rule_and_says_how_sure_it_is(tasks: Tasks, fitted: words.Classifier) -> None:
    found = measured(fitted, tasks)

    assert found["alone"]["accuracy"] == 1.0
    assert found["majority"]["accuracy"] < 0.5
    assert found["alone"]["log_loss"] < 0.1
    assert found["alone"]["cum_reg"] == pytest.approx(0.0)


def test_the_weights_are_those_of_another_solver() -> None:
    tasks = rule_tasks(120, 20)
    linear = pytest.importorskip("sklearn.linear_model")
    from acr_cli.training import fitting

    features, idf = fitting.vocabulary(tasks.train)
    place = {name: index for index, name in enumerate(features)}
    rows = [fitting._row(tasks.train, at, place, idf) for at in range(tasks.train.tasks)]
    dense = np.zeros((len(rows), len(features)))
    for at, (columns, values) in enumerate(rows):
        dense[at, columns] = values
    solved = fitting._solved(tasks.train)

    shape = (len(features), 4)
    penalty = fitting._penalties(idf, 3, 1.0, 10.0)

    ours = fitting._whole(fitting._newton(fitting._sparse(rows, shape[0]), solved, np.zeros(shape), penalty))

    # One row a pair of task and candidate: what is shared, then each candidate's own, each by its penalty.
    pairs = [np.kron(np.r_[1.0, np.eye(3)[column]], row) for row in dense for column in range(3)]
    scale = np.sqrt(penalty.T.reshape(-1))
    theirs = linear.LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=5000)
    theirs.fit(np.array(pairs) / scale, solved.reshape(-1))
    parts = (theirs.coef_[0] / scale).reshape(4, -1).T
    assert np.abs(ours - (parts[:, :1] + parts[:, 1:])).max() < 0.01


def test_what_was_not_tried_has_no_part_in_it() -> None:
    whole = rule_tasks()
    half = rule_tasks()
    half.train.score[::2, 0] = np.nan
    few = fit(half)

    everything = fit(whole)

    assert np.abs(predicted(few, whole.held)[:, 0] - predicted(everything, whole.held)[:, 0]).max() > 0.001
    assert (predicted(few, whole.held).argmax(axis=1) == whole.held.score.argmax(axis=1)).mean() > 0.9


def test_what_is_read_answers_as_what_was_written(tmp_path: Path, fitted: words.Classifier) -> None:
    fitted.write(tmp_path / words.FILE)
    again = words.read(tmp_path, fitted.candidates)

    with np.load(tmp_path / words.FILE, allow_pickle=False) as kept:
        assert set(kept) == {"features", "idf", "weights", "candidates", "temperature"}
    for text in ("fix the socket", "", "a parser of matrices " * 500):
        first, second = (each.chances(text, "bug_fixing", "go") for each in (fitted, again))
        assert second == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", None])
def test_a_damaged_file_is_one_sentence(
    tmp_path: Path, fitted: words.Classifier, damage: bytes | None
) -> None:
    path = tmp_path / words.FILE
    fitted.write(path)
    path.write_bytes(path.read_bytes()[:-400] if damage is None else damage)

    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        words.read(tmp_path, fitted.candidates)

    assert "acr train policy" in caught.value.hint
    assert caught.value.exit_code == 3


def test_it_keeps_to_what_a_voter_must(tasks: Tasks, fitted: words.Classifier) -> None:
    from dataclasses import replace

    known = replace(fitted, candidates=("gpt-5.4", "local/unknown", "nobody"))

    check_voter(ClassifierVoter(rule_card(tasks, kind="classifier"), known))


def test_a_candidate_that_it_never_saw_gets_no_vote(tasks: Tasks, fitted: words.Classifier) -> None:
    voter = ClassifierVoter(rule_card(tasks, kind="classifier"), fitted)
    asked = [
        Candidate(id="acme/beta-20260101@high", backend="agent", model="acme/beta-20260101"),
        Candidate(id="acme/gamma", backend="agent", model="acme/gamma"),
    ]

    votes = voter.vote(Context(text="the socket is broken", dimension="bug_fixing"), asked)

    assert set(votes) == {"acme/beta-20260101@high"}
    assert votes["acme/beta-20260101@high"].value > 0.8
    assert voter.vote(Context(text="x"), CANDIDATES) == {}
