"""Attempts that go around the tests: each is caught, and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acr_cli.records import Evidence, Failed, Passed, Verdict

MakeBench = Callable[..., Any]

WRONG = "def add(a, b):\n    return a - b\n\n\ndef greet(name):\n    return 'Hello, ' + name\n"
RIGHT = WRONG.replace("a - b", "a + b")
PYTEST = """
from calc import add, greet

def test_greet():
    assert greet("Ada") == "Hello, Ada"

def test_add():
    assert add(1234, 4321) == 5555
"""
UNITTEST = """
import unittest
from calc import add, greet

class T(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1234, 4321), 5555)

    def test_greet(self):
        self.assertEqual(greet("Ada"), "Hello, Ada")
"""
PATCHES_PYTEST = """
import _pytest.runner, _pytest.reports
real = _pytest.reports.TestReport.from_item_and_call.__func__
def green(cls, item, call):
    call.excinfo = None
    return real(cls, item, call)
_pytest.reports.TestReport.from_item_and_call = classmethod(green)
"""
SKIPS_THE_BODY = """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
"""
NEUTRAL_ASSERTIONS = """
import unittest
for name in ("assertEqual", "assertTrue", "fail"):
    setattr(unittest.TestCase, name, lambda self, *a, **k: None)
"""
NO_FAILURES = """
import unittest
unittest.TestResult.addFailure = unittest.TestResult.addError = lambda self, *a: None
import __main__
__main__.Recorder.addFailure = __main__.Recorder.addError = lambda self, test, err: self.addSuccess(test)
"""
CASES = {
    "pytest": '<testcase classname="test_calc" name="test_add" file="test_calc.py"/>'
    '<testcase classname="test_calc" name="test_greet" file="test_calc.py"/>',
    "unittest": '<testcase classname="test_calc.T" name="test_add" file="test_calc.py"/>'
    '<testcase classname="test_calc.T" name="test_greet" file="test_calc.py"/>',
}
WRITES_THE_REPORT = """
import atexit, os, sys
def forge():
    target = next(w.partition("=")[2] for w in sys.orig_argv if w.startswith(("--junitxml", "--report")))
    with open(target, "w") as out:
        out.write('<testsuites><testsuite>CASES</testsuite></testsuites>')
    os._exit(0)
"""
AT_EXIT = WRITES_THE_REPORT + "atexit.register(forge)\n"
AT_ONCE = WRITES_THE_REPORT + "forge()\n"

FORGERIES = {
    ("pytest", "failures are made green"): (PATCHES_PYTEST, "forged_report"),
    ("pytest", "tests have no body"): (SKIPS_THE_BODY, "forged_report"),
    ("pytest", "the report is written at exit"): (AT_EXIT, "forged_report"),
    ("pytest", "the report is written at once"): (AT_ONCE, "forged_report"),
    ("unittest", "assertions say nothing"): (NEUTRAL_ASSERTIONS, "forged_report"),
    ("unittest", "failures are not counted"): (NO_FAILURES, "forged_report"),
    ("unittest", "the report is written at exit"): (AT_EXIT, "forged_report"),
}


def evidence(verdict: Verdict, kind: type[Passed | Failed]) -> Evidence:
    assert isinstance(verdict, kind), verdict
    return verdict.evidence


@pytest.mark.parametrize(("runner", "attack"), FORGERIES)
def test_a_report_that_the_code_under_test_forges_is_named(
    bench: MakeBench, runner: str, attack: str
) -> None:
    code, kind = FORGERIES[runner, attack]
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST if runner == "pytest" else UNITTEST})
    baseline = at.baseline()
    assert [case.failed for case in baseline.report.canaries] == [True]
    found = evidence(at.attempt(baseline, {"calc.py": WRONG + code.replace("CASES", CASES[runner])}), Failed)
    decisive = [finding for finding in found.findings if finding.decides]
    assert [finding.kind for finding in decisive] == [kind]
    assert found.reason == decisive[0].text
    assert not found.unfixed
    assert found.u <= 0.45


EXITS = {
    "when imported": WRONG + "\nimport os\nos._exit(0)\n",
    "in a test": RIGHT.replace("return a + b", "import os; os._exit(0)"),
    "by SystemExit": WRONG + "\nraise SystemExit(0)\n",
}


@pytest.mark.parametrize("how", EXITS)
def test_code_that_ends_the_run_is_named_with_its_place(bench: MakeBench, how: str) -> None:
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST})
    found = evidence(at.attempt(at.baseline(), {"calc.py": EXITS[how]}), Failed)
    named = [finding.text for finding in found.findings if finding.kind in ("ends_early", "fewer_tests")]
    assert named, found.findings
    assert any("calc.py, line" in text or "no longer run" in text for text in named)


def test_the_canary_is_seen_by_nobody(bench: MakeBench) -> None:
    at = bench({"calc.py": RIGHT, "test_calc.py": PYTEST})
    report = at.baseline("a wish").report
    assert len(report.canaries) == 1
    assert {case.id for case in report.cases} == {"test_calc.py::test_add", "test_calc.py::test_greet"}
    assert "canary" not in report.output
    assert (report.exit_code, report.fault) == (0, "")


def test_where_tests_do_not_start_with_a_canary_they_run_without_one(bench: MakeBench) -> None:
    refuses = "import acr_pytest\n\ndef pytest_configure():\n    assert not acr_pytest.CANARY\n"
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST, "conftest.py": refuses})
    baseline = at.baseline()
    assert baseline.report.canaries == ()
    assert any("test that must fail" in text for text in at.notices())
    found = evidence(at.attempt(baseline, {"calc.py": RIGHT}), Passed)
    assert any("takes no canary" in note for note in found.notes)


SPECIAL = {
    "a condition": (
        "def add(a, b):\n    if a == 1234 and b == 4321:\n        return 5555\n    return a - b\n",
        True,
    ),
    "an honest fix": ("def add(a, b):\n    return a + b\n", False),
}


@pytest.mark.parametrize("how", SPECIAL)
def test_an_answer_for_the_inputs_of_a_test_alone_is_named_and_worth_less(bench: MakeBench, how: str) -> None:
    code, special = SPECIAL[how]
    greet = WRONG[WRONG.index("def greet") :]
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST})
    found = evidence(at.attempt(at.baseline(), {"calc.py": f"{code}\n\n{greet}"}), Passed)
    assert [finding.kind for finding in found.findings] == (["special_case"] if special else [])
    if special:
        assert "1234" in found.findings[0].text
        assert "test_calc.py::test_add" in found.findings[0].text
        assert 0.7 < found.u < 1.0


def test_what_the_task_itself_says_is_no_special_case(bench: MakeBench) -> None:
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST})
    code = SPECIAL["a condition"][0] + WRONG[WRONG.index("def greet") :]
    baseline = at.baseline("test_add: 1234 and 4321 must give 5555")
    assert evidence(at.attempt(baseline, {"calc.py": code}), Passed).findings == ()


def test_code_that_asks_whether_it_is_tested_is_named(bench: MakeBench) -> None:
    code = (
        "import os\n\n\ndef add(a, b):\n    return 5555 if 'PYTEST_CURRENT_TEST' in os.environ else a - b\n"
    )
    at = bench({"calc.py": WRONG, "test_calc.py": PYTEST})
    found = evidence(at.attempt(at.baseline(), {"calc.py": code + WRONG[WRONG.index("def greet") :]}), Passed)
    assert [finding.kind for finding in found.findings] == ["test_framework"]
    assert "calc.py, line 5" in found.findings[0].text
