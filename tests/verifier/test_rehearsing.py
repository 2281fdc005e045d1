"""The first run of a verdict, made before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acr_cli.records import (
    Attempt,
    Baseline,
    CaseResult,
    Dimension,
    Failed,
    Passed,
    Step,
    StepKind,
    SuiteReport,
)
from acr_cli.verifier.rehearsing import worth_it

MakeBench = Callable[..., Any]
WRONG, RIGHT = (f"def add(a, b):\n    return a {sign} b\n\n\ndef one():\n    return 1\n" for sign in "-+")
ADD = "def test_add():\n    from calc import add\n    assert add(1, 2) == 3\n"


class Rehearsing:
    """An attempt that asks before it ends; each run of all tests leaves a mark in `runs`."""

    def __init__(self, bench: MakeBench, runs: Path, **files: str) -> None:
        counted = f"def test_b():\n    with open({str(runs)!r}, 'a') as file:\n        file.write('x')\n"
        self.at = bench({"calc.py": WRONG, "test_a.py": ADD, "test_b.py": counted, **files})
        self.runs = runs
        self.before: Baseline = self.at.baseline()
        self.start = self.at.tree.checkpoint()
        self.step = Step(
            id="s1", kind=StepKind.EDIT, text="", dimension=Dimension.BUG_FIXING, language="python",
            failures=self.before.failures(),
        )  # fmt: skip
        runs.unlink()

    def said(self, seconds: float = 60.0) -> str | None:
        said: str | None = self.at.verifier.rehearse(self.step, self.at.tree, seconds)
        return said

    def verdict(self) -> Passed | Failed:
        check = self.at.verifier.check
        found = check(self.step, self.before, Attempt(candidate="x"), self.at.tree, self.start)
        assert isinstance(found, Passed | Failed)
        return found

    def ran(self) -> int:
        return len(self.runs.read_text()) if self.runs.exists() else 0


@pytest.fixture
def trial(bench: MakeBench, tmp_path: Path) -> Rehearsing:
    return Rehearsing(bench, tmp_path / "runs")


def test_it_serves_as_the_verdicts_first_run_and_is_the_only_one(trial: Rehearsing) -> None:
    trial.at.write({"calc.py": RIGHT})
    assert trial.said() == ""
    assert trial.said() is None  # nobody tries again until chance is kind
    found = trial.verdict()
    assert isinstance(found, Passed)
    assert (found.evidence.u, found.evidence.fixed, trial.ran()) == (1.0, ("test_a.py::test_add",), 1)
    assert trial.said() == ""  # of the next attempt


def test_what_fails_is_told_and_what_is_changed_then_is_run_anew(trial: Rehearsing) -> None:
    trial.at.write({"calc.py": WRONG.replace("a - b", "a * b")})
    told = trial.said() or ""
    assert told.startswith("test_a.py::test_add\n")
    assert "assert 2 == 3" in told
    trial.at.write({"calc.py": RIGHT})
    assert (isinstance(trial.verdict(), Passed), trial.ran()) == (True, 2)


def test_it_does_not_serve_where_an_edit_to_tests_is_undone(trial: Rehearsing) -> None:
    trial.at.write({"calc.py": WRONG + "\n\nTWO = 2\n", "test_a.py": "def test_add():\n    pass\n"})
    assert trial.said() == ""
    found = trial.verdict()
    assert isinstance(found, Failed)
    assert (found.evidence.unfixed, found.evidence.undone) == (("test_a.py::test_add",), ("test_a.py",))
    assert trial.ran() == 2


def test_code_that_makes_every_assertion_pass_is_seen_as_before(trial: Rehearsing) -> None:
    cheat = "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n\n\n"
    trial.at.write({"calc.py": cheat + RIGHT})
    assert trial.said() == ""
    found = trial.verdict()
    assert isinstance(found, Failed)
    assert "must fail" in found.evidence.reason
    assert trial.ran() == 1


def test_a_run_that_does_not_end_in_time_tells_nothing(trial: Rehearsing) -> None:
    slow = "import time\ntime.sleep(3)\n\n\n"
    trial.at.write({"calc.py": slow + RIGHT})
    assert trial.said(1.0) is None
    assert (isinstance(trial.verdict(), Passed), trial.ran() >= 1) == (True, True)


def baseline(*seconds: float, whole: float, partial: bool = False) -> Baseline:
    cases = tuple(
        CaseResult(id=str(number), outcome="passed" if number else "failed", seconds=each)
        for number, each in enumerate(seconds)
    )
    return Baseline(report=SuiteReport(cases=cases, seconds=whole, partial=partial), targets=("0",))


@pytest.mark.parametrize(
    ("before", "ids", "worth"),
    [
        (baseline(0.1, 0.1, whole=1.0), ["0"], True),  # most of it is the start
        (baseline(3.0, 2.0, whole=5.5), ["0"], True),
        (baseline(0.1, 8.0, whole=8.6), ["0"], False),
        (baseline(25.0, whole=25.0), ["0"], False),
        (baseline(0.1, whole=1.0, partial=True), ["0"], False),
        (baseline(0.1, whole=1.0), [], False),
        (baseline(0.1, whole=1.0), ["0", "written since"], False),
    ],
)
def test_all_tests_run_beside_those_that_fail_where_that_takes_little_longer(
    before: Baseline, ids: list[str], worth: bool
) -> None:
    assert worth_it(before, ids) is worth
