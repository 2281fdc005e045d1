"""Which commits are tasks, by what their tests showed: a verifier that reports what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.errors import BaselineCannotStart, SandboxBroken, SandboxUnavailable
from acr_cli.history.examining import examine
from acr_cli.history.records import Change, Commit, Division, Prospect
from acr_cli.protocols import Tree
from acr_cli.records import (
    Attempt,
    Baseline,
    CaseResult,
    Evidence,
    Failed,
    Passed,
    Step,
    SuiteReport,
    Task,
    Verdict,
    Void,
)
from acr_cli.worktree.tree import RunTree

Outcomes = Mapping[str, str]
OLD, FIX = "old\n", "new\n"


class Told:
    """A `Verifier` that has a list of outcomes for the tree without the fix and one for that with it."""

    def __init__(self, without: list[Outcomes | Exception], with_it: list[Outcomes | str]) -> None:
        self.without, self.with_it = list(without), list(with_it)

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        assert (tree.root / "a.py").read_text() == OLD
        told = self.without.pop(0)
        if isinstance(told, Exception):
            raise told
        report = suite(told)
        return Baseline(report=report, targets=report.failing(), test_command="run", language="python")

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        assert (tree.root / "a.py").read_text() == FIX
        told = self.with_it.pop(0)
        if isinstance(told, str):
            return Void(reason=told)
        report = suite(told)
        fixed = tuple(t for t in baseline.targets if told.get(t) == "passed")
        broken = tuple(t for t in baseline.report.passing() if told.get(t) != "passed")
        unfixed = tuple(t for t in baseline.targets if t not in fixed)
        evidence = Evidence(u=1.0, fixed=fixed, unfixed=unfixed, broken=broken, report=report)
        return Failed(evidence=evidence) if unfixed or broken else Passed(evidence=evidence)


def suite(outcomes: Outcomes) -> SuiteReport:
    return SuiteReport(
        cases=tuple(CaseResult(id=i, outcome=o, file="test_a.py") for i, o in outcomes.items())
    )


@pytest.fixture
def tree(tmp_path: Path, git_repo: Callable[..., Path]) -> RunTree:
    source = git_repo({"a.py": OLD, "test_a.py": "tests\n"})
    return RunTree.copy(source, ("a.py", "test_a.py"), tmp_path / "run")


def prospect() -> Prospect:
    fix = Change(path="a.py", status="M", old_mode="100644", new_mode="100644", old="o", new="n")
    commit = Commit(id="c" * 40, parents=("p",), message="m", time=0, changes=(fix,))
    return Prospect(
        commit=commit,
        division=Division(sources=(fix,)),
        blobs={"o": OLD.encode(), "n": FIX.encode()},
        text="m",
    )


RED, GREEN = {"x": "failed", "y": "passed"}, {"x": "passed", "y": "passed"}
BOTH = {"x": "failed", "y": "passed", "z": "failed"}


def test_tests_that_fail_without_and_pass_with_the_commit_are_a_task(tree: RunTree) -> None:
    found = examine(prospect(), tree, Told([RED, RED], [GREEN, GREEN]))

    assert (found.reason, found.targets, found.test_command) == ("", ("x",), "run")
    assert found.bytes == len("tests\n")
    assert (tree.root / "a.py").read_text() == OLD


def test_a_test_that_fails_with_the_commit_too_is_no_target(tree: RunTree) -> None:
    fixed = {**GREEN, "z": "failed"}

    assert examine(prospect(), tree, Told([BOTH, BOTH], [fixed, fixed])).targets == ("x",)


@pytest.mark.parametrize(
    ("why", "without", "with_it"),
    [
        ("its tests pass without it", [GREEN], []),
        ("its tests fail with it, too", [RED], [RED]),
        ("other tests fail with it", [RED], [{"x": "passed", "y": "failed"}]),
        ("its tests are flaky", [RED, GREEN], [GREEN]),
        ("its tests are flaky", [RED, {**RED, "y": "failed"}], [GREEN]),
        ("its tests are flaky", [RED, RED], [GREEN, RED]),
        ("its tests are flaky", [BOTH, BOTH], [{**GREEN, "z": "failed"}, {**GREEN, "z": "passed"}]),
    ],
)
def test_what_proves_nothing_is_no_task(
    tree: RunTree, why: str, without: list[Outcomes | Exception], with_it: list[Outcomes | str]
) -> None:
    found = examine(prospect(), tree, Told(without, with_it))

    assert (found.reason, found.kept) == (why, True)
    assert (tree.root / "a.py").read_text() == OLD


@pytest.mark.parametrize(
    ("why", "error"),
    [
        ("its tests cannot start: no pytest", BaselineCannotStart("The tests cannot start: no pytest.")),
        ("its dependencies cannot be installed: no pip", SandboxUnavailable("no pip.")),
    ],
)
def test_what_may_be_different_tomorrow_is_not_kept(tree: RunTree, why: str, error: Exception) -> None:
    found = examine(prospect(), tree, Told([error], []))

    assert (found.reason, found.kept) == (why, False)


def test_a_broken_sandbox_says_nothing_about_a_commit(tree: RunTree) -> None:
    with pytest.raises(SandboxBroken, match="gone"):
        examine(prospect(), tree, Told([RED], ["gone"]))
    with pytest.raises(SandboxBroken, match="broke"):
        examine(prospect(), tree, Told([SandboxBroken("broke")], []))
    assert (tree.root / "a.py").read_text() == OLD
