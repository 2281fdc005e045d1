"""Tests that a test step writes: evidence where they fail before the change and pass after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from acr_cli.records import OWN_TEST, Baseline, Failed, Passed, StepKind, Unverified, Verdict
from acr_cli.verifier.own_tests import PASSES
from tests.verifier.conftest import Bench, Files

CALC = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
REPOSITORY = {"calc.py": CALC, "tests/test_calc.py": TEST, "conftest.py": ""}
MINUS = "\n\ndef minus(a, b):\n    return a - b\n"
NEW = "from calc import minus\n\n\ndef test_minus():\n    assert minus(3, 1) == 2\n"
HALF = "import calc\n\n\ndef test_minus():\n    assert calc.minus(3, 1) == 2\n"

MakeBench = Callable[..., Bench]


def written(at: Bench, files: Files) -> tuple[Baseline, Verdict]:
    baseline = at.baseline("Add minus(a, b) to calc.")
    return baseline, at.attempt(baseline, files, kind=StepKind.TEST)


def told(baseline: Baseline, verdict: Verdict) -> Baseline:
    """The baseline as the loop goes on with it."""
    assert isinstance(verdict, Unverified)
    fresh = tuple(c for c in verdict.evidence.report.cases if c not in baseline.report.cases)  # type: ignore[union-attr]
    cases = (*baseline.report.cases, *(c for c in fresh if c.id in verdict.evidence.unfixed))
    own = verdict.evidence.unfixed
    return replace(baseline, report=replace(baseline.report, cases=cases), targets=own, own=own)


@pytest.mark.parametrize("body", [NEW, HALF], ids=["cannot be imported", "fails"])
def test_a_new_test_that_lacks_what_is_to_be_made_is_the_aim_of_the_edit(bench: MakeBench, body: str) -> None:
    at = bench(REPOSITORY)
    baseline, verdict = written(at, {"tests/test_minus.py": body})
    assert isinstance(verdict, Unverified)
    evidence = verdict.evidence
    assert evidence.verifier == OWN_TEST
    (aim,) = evidence.unfixed
    assert aim.startswith("tests/test_minus.py")
    assert "1 test that acr wrote fails before the change" in evidence.reason

    after = told(baseline, verdict)
    broken = at.attempt(after, {"calc.py": CALC + MINUS.replace("a - b", "b - a")})
    assert isinstance(broken, Failed)
    assert broken.evidence.unfixed == (aim,)
    done = at.attempt(after, {"calc.py": CALC + MINUS, "tests/test_minus.py": "def test_minus(): pass\n"})
    assert isinstance(done, Passed)
    assert (done.evidence.verifier, done.evidence.fixed) == (OWN_TEST, (aim,))
    assert done.evidence.undone == ("tests/test_minus.py",)
    assert "that acr wrote" in done.evidence.reason
    assert 0.5 < done.evidence.u <= 0.8  # less than what a test that was there before would give


NO_EVIDENCE: Mapping[str, tuple[Files, str]] = {
    "passes before": ({"tests/test_more.py": TEST}, PASSES),
    "does not parse": ({"tests/test_more.py": "def test_minus(:\n"}, "tests/test_more.py does not parse"),
    "a name of its own": (
        {"tests/test_more.py": "def test_minus():\n    assert subtract(3, 1) == 2\n"},
        "a reason of its own",
    ),
    "a fixture of its own": (
        {"tests/test_more.py": "def test_minus(calculator):\n    assert 0\n"},
        "fixture",
    ),
    "a library that is not there": (
        {"tests/test_more.py": "import absent_library\n\n\ndef test_minus():\n    assert 0\n"},
        "absent_library",
    ),
    "no test in it": ({"tests/test_more.py": "x = 1\n"}, "runs none of the new tests"),
    "breaks others": (
        {"tests/test_a_first.py": "import calc\n\ncalc.add = None\n\n\ndef test_minus():\n    assert 0\n"},
        "which passed, fails",
    ),
    "not a test": ({"calc.py": CALC + MINUS}, "edits to other files were undone: calc.py"),
    "an old test": ({"tests/test_calc.py": HALF}, "edits to other files were undone: tests/test_calc.py"),
    "configuration": ({"tests/conftest.py": "assert 0\n"}, "edits to other files were undone"),
}


@pytest.mark.parametrize("what", NO_EVIDENCE)
def test_what_is_no_evidence_is_said(bench: MakeBench, what: str) -> None:
    files, reason = NO_EVIDENCE[what]
    at = bench(REPOSITORY)
    _, verdict = written(at, files)
    assert isinstance(verdict, Failed)
    assert reason in verdict.evidence.reason
    assert (at.tree.root / "calc.py").read_text() == CALC
    assert (at.tree.root / "tests/test_calc.py").read_text() == TEST


def test_no_test_at_all_ends_the_step_without_a_verdict(bench: MakeBench) -> None:
    _, verdict = written(bench(REPOSITORY), {})
    assert isinstance(verdict, Unverified)
    assert verdict.evidence.unfixed == ()


def test_a_test_that_is_written_after_the_edit_is_run_on_the_code_before_it(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    baseline = at.baseline("Add minus(a, b) to calc.")
    assert isinstance(at.attempt(baseline, {"calc.py": CALC + MINUS}), Unverified)
    shown = at.attempt(baseline, {"tests/test_minus.py": NEW}, kind=StepKind.TEST)
    assert isinstance(shown, Passed)
    assert shown.evidence.verifier == OWN_TEST
    assert (at.tree.root / "calc.py").read_text() == CALC + MINUS
    idle = at.attempt(baseline, {"tests/test_more.py": TEST}, kind=StepKind.TEST)
    assert isinstance(idle, Failed)
    assert idle.evidence.reason == PASSES
