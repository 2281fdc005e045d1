"""From a task to steps."""

from __future__ import annotations

import pytest

from acr_cli.agent.planning import RepositoryPlanner, read_plan
from acr_cli.records import Baseline, CaseResult, Dimension, StepKind, SuiteReport, Task
from tests.agent.conftest import step

FAILING = CaseResult(id="t.py::a", outcome="failed")
RED = Baseline(
    report=SuiteReport(cases=(FAILING,)), targets=("t.py::a",), test_command="pytest", language="python"
)
GREEN = Baseline(report=SuiteReport(), language="python")
LIST = "Please:\n- add a flag\n- document it\n- test it\n"


@pytest.mark.parametrize(
    ("task", "baseline", "plan_only", "kind"),
    [
        (Task(), RED, False, StepKind.EDIT),
        (Task(), RED, True, StepKind.EDIT),
        (Task(text=LIST), RED, False, StepKind.EDIT),
        (Task(text="Add a flag --loud."), GREEN, False, StepKind.EDIT),
        (Task(text="Add a flag --loud."), GREEN, True, StepKind.PLAN),
        (Task(text=LIST), GREEN, False, StepKind.PLAN),
        (Task(text="word " * 200), GREEN, False, StepKind.PLAN),
    ],
)
def test_a_model_is_paid_for_a_plan_only_where_it_is_worth_it(task, baseline, plan_only, kind) -> None:
    (only,) = RepositoryPlanner(plan_only=plan_only).outline(task, baseline)
    assert only.kind is kind
    assert only.dimension is Dimension.AGENTIC_PROGRAMMING
    assert only.failures == baseline.failures()


def test_a_step_looks_first_at_files_that_the_task_names() -> None:
    task = Task(text="In src/app.py, `load` ignores config.toml.", log='File "/x/src/app.py", line 3')
    (only,) = RepositoryPlanner().outline(task, GREEN)
    assert only.files[:2] == ("src/app.py", "config.toml")
    assert "The log of a failure:" in only.text


@pytest.mark.parametrize(
    "reply",
    [
        '[{"text": "One.", "kind": "edit"}, {"text": "Two.", "kind": "review"}]',
        'Here it is:\n```json\n[{"text": "One."}, {"text": "Two.", "kind": "review"}]\n```',
        '{"steps": [{"text": "One."}, {"text": "Two.", "kind": "review"}]}',
        '["One.", {"text": "Two.", "kind": "review", "files": "x"}, {"text": ""}, 5]',
    ],
)
def test_a_plan_is_read_from_what_models_write(reply) -> None:
    first, second = read_plan(reply, step(kind=StepKind.PLAN, text="All."))
    assert (first.kind, second.kind) == (StepKind.EDIT, StepKind.REVIEW)
    assert first.text.startswith("One.")
    assert "All." in first.text
    assert second.dimension is Dimension.CODE_UNDERSTANDING


@pytest.mark.parametrize(
    "reply", ["", "No.", "[]", "[1, 2]", '[{"text": "Look.", "kind": "review"}]', "[[[["]
)
def test_a_plan_that_cannot_be_read_is_one_edit_of_the_whole_task(reply) -> None:
    (only,) = read_plan(reply, step(kind=StepKind.PLAN, text="All."))
    assert (only.kind, only.text, only.id) == (StepKind.EDIT, "All.", "s1.1")


def test_a_plan_has_at_most_six_steps() -> None:
    assert len(read_plan(str([{"text": "x"}] * 50).replace("'", '"'), step(text="All."))) == 6


TESTED = Baseline(
    report=SuiteReport(cases=(CaseResult(id="t.py::a", outcome="passed"),)),
    test_command="pytest",
    language="python",
)


def test_a_wish_that_a_test_can_show_begins_with_a_test_step() -> None:
    test, edit = RepositoryPlanner().outline(Task(text="load should skip empty lines."), TESTED)
    assert (test.kind, test.dimension, test.id) == (StepKind.TEST, Dimension.TEST_GENERATION, "s1")
    assert (edit.kind, edit.id, edit.text) == (StepKind.EDIT, "s2", test.text)
    assert "fails before" in test.check
    assert "test that was written for it" in edit.check


@pytest.mark.parametrize(
    ("text", "baseline", "own_tests"),
    [
        ("load should skip empty lines.", TESTED, False),
        ("load should skip empty lines.", GREEN, True),  # nothing here runs tests
        ("load should skip empty lines.", RED, True),
        ("Say in README.md and docs/usage.rst how to install it.", TESTED, True),
        ("Fix the typos in the messages", TESTED, True),
        ("Refactor load into two functions", TESTED, True),
        ("please rename load to read", TESTED, True),
        ("Add docstrings to calc.py", TESTED, True),
        ("Add tests for load", TESTED, True),
    ],
)
def test_no_test_is_written_where_one_is_there_or_could_show_nothing(text, baseline, own_tests) -> None:
    (only,) = RepositoryPlanner(own_tests=own_tests).outline(Task(text=text), baseline)
    assert only.kind is StepKind.EDIT


def test_a_step_of_a_plan_says_how_it_is_verified() -> None:
    reply = '[{"text": "One.", "kind": "test"}, {"text": "Two.", "check": "`acr --loud`  prints"}]'
    first, second = read_plan(reply, step(kind=StepKind.PLAN, text="All."))
    assert (first.check, second.check) == ("it fails before the change", "`acr --loud` prints")
