"""Reports of real runs of pytest and unittest, read as cases or as the reason why nothing started."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains.command import Command

RunTests = Callable[..., SuiteReport]

CALC = "def add(a, b):\n    return a - b\n"
PYTEST = """
import pytest
from calc import add

class TestAdd:
    def test_zero(self):
        assert add(1, 0) == 1

    @pytest.mark.parametrize("a, b", [(1, 2), ("x", "y[z]")])
    def test_pairs(self, a, b):
        print("about to add")
        assert add(a, b) == a + b

def test_raises():
    raise KeyError("gone")

@pytest.mark.skip(reason="later")
def test_skipped():
    pass

@pytest.mark.xfail
def test_expected():
    assert False

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_fixture(broken):
    pass

@pytest.fixture
def late():
    yield
    raise RuntimeError("in teardown")

def test_teardown(late):
    pass
"""


def by_id(report: SuiteReport) -> dict[str, CaseResult]:
    return {case.id: case for case in report.cases}


def test_pytests_cases_carry_node_ids_outcomes_and_messages(run_tests: RunTests) -> None:
    report = run_tests({"calc.py": CALC, "tests/test_calc.py": PYTEST})
    cases = by_id(report)
    assert report.fault == ""
    assert {name: case.outcome for name, case in cases.items()} == {
        "tests/test_calc.py::TestAdd::test_zero": "passed",
        "tests/test_calc.py::TestAdd::test_pairs[1-2]": "failed",
        "tests/test_calc.py::TestAdd::test_pairs[x-y[z]]": "failed",
        "tests/test_calc.py::test_raises": "failed",
        "tests/test_calc.py::test_skipped": "skipped",
        "tests/test_calc.py::test_expected": "skipped",
        "tests/test_calc.py::test_fixture": "error",
        "tests/test_calc.py::test_teardown": "error",
    }
    pair = cases["tests/test_calc.py::TestAdd::test_pairs[1-2]"]
    assert (pair.exception, pair.message) == ("AssertionError", "assert -1 == (1 + 2)")
    assert "about to add" in pair.detail
    assert pair.file == "tests/test_calc.py"
    raised = cases["tests/test_calc.py::test_raises"]
    assert (raised.exception, raised.message) == ("KeyError", "'gone'")
    fixture = cases["tests/test_calc.py::test_fixture"]
    assert (fixture.exception, fixture.message) == ("OSError", "no disk")


def test_a_test_inherited_from_another_file_keeps_the_id_that_pytest_gives_it(run_tests: RunTests) -> None:
    base = "class Base:\n    def test_it(self):\n        assert self.value\n"
    child = "from base import Base\nclass TestChild(Base):\n    value = 1\n"
    report = run_tests({"base.py": base, "test_child.py": child, "conftest.py": ""})
    assert report.passing() == ("test_child.py::TestChild::test_it",)


def test_only_the_named_tests_are_run(run_tests: RunTests) -> None:
    wanted = "tests/test_calc.py::TestAdd::test_pairs[1-2]"
    report = run_tests({"calc.py": CALC, "tests/test_calc.py": PYTEST}, tests=[wanted])
    assert report.failing() == (wanted,)
    assert len(report.cases) == 1


@pytest.mark.parametrize(
    "options",
    ["-x", "--maxfail=1", "--lf", "--ff", "--sw", "-p no:cacheprovider", "-v -rA", "--junitxml=mine.xml"],
)
def test_options_of_the_repository_hide_no_test(run_tests: RunTests, options: str) -> None:
    tests = "def test_a():\n    assert 0\n\ndef test_b():\n    assert 0\n\ndef test_c():\n    pass\n"
    report = run_tests({"pytest.ini": f"[pytest]\naddopts = {options}\n", "test_x.py": tests})
    assert report.failing() == ("test_x.py::test_a", "test_x.py::test_b")
    assert report.passing() == ("test_x.py::test_c",)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("while True:\n        pass", "a busy loop"),
        ("import time\n    time.sleep(60)", "a sleep"),
        (
            "while True:\n        try:\n            pass\n        except Exception:\n            pass",
            "Exception",
        ),
        ("import threading\n    threading.Lock().acquire() and threading.Event().wait()", "a wait"),
    ],
)
def test_a_test_that_hangs_fails_alone(run_tests: RunTests, body: str, why: str) -> None:
    report = run_tests(
        {"test_x.py": f"def test_hang():\n    {body}\n\ndef test_ok():\n    pass\n"}, limit=0.5
    )
    assert report.passing() == ("test_x.py::test_ok",)
    case = by_id(report)["test_x.py::test_hang"]
    assert case.outcome == "failed"
    assert "time limit of 0.5 s" in case.message


def test_a_test_that_swallows_its_time_limit_ends_the_run_and_is_named(run_tests: RunTests) -> None:
    body = (
        "import time\ndef test_stubborn():\n    while 1:\n        try: time.sleep(9)\n        except: pass\n"
    )
    report = run_tests({"test_x.py": body}, limit=0.2)
    assert report.fault == "test_x.py::test_stubborn went on after its time limit of 0.2 s"


UNITTEST = """
import unittest
from calc import add

class AddTest(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(add(1, 0), 1)

    def test_pair(self):
        self.assertEqual(add(1, 2), 3)

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(add(n, 1), n + 1)

    def test_error(self):
        raise KeyError("gone")

    @unittest.skip("later")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    def test_exit(self):
        raise SystemExit(0)

class Prepared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no disk")

    def test_one(self):
        pass
"""


@pytest.mark.parametrize("prefix", ["", "tests."])
def test_unittests_cases_carry_dotted_ids_outcomes_and_messages(run_tests: RunTests, prefix: str) -> None:
    package = {"tests/__init__.py": ""} if prefix else {}
    report = run_tests({"calc.py": CALC, "tests/test_calc.py": UNITTEST, **package})
    cases = by_id(report)
    assert report.fault == ""
    assert {name.removeprefix(prefix): case.outcome for name, case in cases.items()} == {
        "test_calc.AddTest.test_zero": "passed",
        "test_calc.AddTest.test_pair": "failed",
        "test_calc.AddTest.test_parts": "failed",
        "test_calc.AddTest.test_error": "error",
        "test_calc.AddTest.test_skipped": "skipped",
        "test_calc.AddTest.test_expected": "skipped",
        "test_calc.AddTest.test_exit": "error",
        "test_calc.Prepared.test_one": "error",
    }
    pair = cases[f"{prefix}test_calc.AddTest.test_pair"]
    assert (pair.exception, pair.message) == ("AssertionError", "-1 != 3")
    assert pair.file == "tests/test_calc.py"
    assert "test_calc.py" in pair.detail


_LEFT_BEHIND = """
def test_leaves_a_thread(self=None):
    import threading
    threading.Thread(target=threading.Event().wait).start()

def test_fails(self=None):
    assert 1 == 2
"""


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_a_thread_that_tests_leave_behind_does_not_hold_the_run(
    runner: str, run_tests: Callable[..., SuiteReport]
) -> None:
    body = _LEFT_BEHIND
    if runner == "unittest":
        body = "import unittest\nclass T(unittest.TestCase):" + body.replace("\n", "\n    ")
    report = run_tests({"test_x.py": body}, command="pytest" if runner == "pytest" else "python -m unittest")
    assert sorted(case.outcome for case in report.cases) == ["failed", "passed"]
    assert not report.timed_out


def test_unittest_runs_only_the_named_tests(run_tests: RunTests) -> None:
    report = run_tests({"calc.py": CALC, "test_calc.py": UNITTEST}, tests=["test_calc.AddTest.test_pair"])
    assert [case.id for case in report.cases] == ["test_calc.AddTest.test_pair"]


def test_unittest_modules_of_the_same_name_in_two_folders_are_both_run(run_tests: RunTests) -> None:
    body = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
    report = run_tests({"a/test_x.py": body, "b/test_x.py": body})
    assert set(report.passing()) == {"test_x.T.test_it", "b.test_x.T.test_it"}


def test_a_unittest_that_hangs_fails_alone(run_tests: RunTests) -> None:
    body = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_hang(self):\n        while True: pass\n"
        "    def test_ok(self): pass\n"
    )
    report = run_tests({"test_x.py": body}, limit=0.5)
    assert report.passing() == ("test_x.T.test_ok",)
    assert "time limit of 0.5 s" in by_id(report)["test_x.T.test_hang"].message


OK = "def test_ok():\n    pass\n"
FAULTS = {
    "a module that is not installed": (
        {"test_x.py": "import not_there_at_all\n" + OK},
        "No module named 'not_there_at_all', imported by test_x.py",
    ),
    "one among files that run": (
        {"test_a.py": OK, "tests/test_x.py": "import not_there_at_all\n" + OK},
        "No module named 'not_there_at_all', imported by tests/test_x.py",
    ),
    "imported by the code under test": (
        {"test_x.py": "import mod\n" + OK, "mod.py": "import not_there_at_all\n"},
        "No module named 'not_there_at_all', imported by test_x.py",
    ),
    "imported by conftest.py": (
        {"test_x.py": OK, "conftest.py": "import not_there_at_all\n"},
        "No module named 'not_there_at_all', imported by conftest.py",
    ),
    "a test file that does not parse": (
        {"test_x.py": OK + "def broken(:\n", "pytest.ini": "[pytest]\n"},
        "test_x.py cannot be parsed: SyntaxError in line 3",
    ),
    "an unknown option": (
        {"test_x.py": OK, "pytest.ini": "[pytest]\naddopts = --no-such-option\n"},
        "pytest refused its command line: unrecognized arguments: --no-such-option",
    ),
    "no tests": ({"test_x.py": "import pytest\n"}, "pytest found no tests"),
    "unittest, a module that is not installed": (
        {"test_x.py": "import unittest, not_there_at_all\nclass T(unittest.TestCase): pass\n"},
        "No module named 'not_there_at_all', imported by test_x.py",
    ),
    "unittest, no tests": (
        {"test_x.py": "import unittest\nclass T(unittest.TestCase): pass\n"},
        "unittest found no tests",
    ),
    "the process ends": (
        {"test_x.py": "import os\ndef test_a():\n    os._exit(0)\n"},
        "the test run left no report: exit code 0",
    ),
    "pytest is stopped": (
        {"test_x.py": "def test_a():\n    raise KeyboardInterrupt\n" + OK},
        "pytest stopped with exit code 2:",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_keeps_the_tests_from_running_is_named(run_tests: RunTests, name: str) -> None:
    files, fault = FAULTS[name]
    assert run_tests(files).fault.startswith(fault)


@pytest.mark.parametrize(
    ("product", "exception"),
    [("def f(:\n", "SyntaxError"), ("f = g\n", "NameError"), ("def g():\n    pass\n", "ImportError")],
)
@pytest.mark.parametrize("style", ["pytest", "unittest"])
def test_code_that_cannot_be_imported_puts_its_test_file_in_error(
    run_tests: RunTests, product: str, exception: str, style: str
) -> None:
    test = "from mod import f\n" + OK
    if style == "unittest":
        test = (
            "import unittest\nfrom mod import f\nclass T(unittest.TestCase):\n    def test_ok(self): pass\n"
        )
    report = run_tests({"mod.py": product, "tests/test_x.py": test})
    assert report.fault == ""
    [case] = report.cases
    assert (case.id, case.outcome, case.exception) == ("tests/test_x.py", "error", exception)
    assert case.message


def test_pytest_that_is_not_installed_is_named(run_tests: RunTests) -> None:
    shadow = {
        "test_x.py": OK,
        "pytest/__init__.py": "raise ModuleNotFoundError(\"No module named 'pytest'\")\n",
    }
    assert run_tests(shadow).fault == "pytest is not installed in the sandbox"


def test_a_command_of_ones_own_is_one_test_that_its_exit_code_decides(run_tests: RunTests) -> None:
    passed = run_tests({"a.py": ""}, command="true && true")
    failed = run_tests({"a.py": ""}, command="echo it broke && exit 3")
    assert [(c.id, c.outcome) for c in passed.cases] == [("true && true", "passed")]
    assert [(c.outcome, c.message) for c in failed.cases] == [("failed", "it broke")]
    missing = run_tests({"a.py": ""}, command="no-such-program --now")
    assert missing.fault.startswith("the test command cannot be run:")


def test_pytest_below_another_command_still_leaves_its_report(run_tests: RunTests) -> None:
    files = {"Makefile": "test:\n\tpython3 -m pytest\n", "test_x.py": OK + "def test_bad():\n    assert 0\n"}
    report = run_tests(files, command="make test")
    assert [(c.id, c.outcome) for c in report.cases] == [
        ("test_x.py::test_ok", "passed"),
        ("test_x.py::test_bad", "failed"),
    ]


def test_a_command_that_fails_although_its_tests_pass_has_failed(run_tests: RunTests) -> None:
    files = {"Makefile": "test:\n\tpython3 -m pytest\n\techo style is wrong; false\n", "test_x.py": OK}
    report = run_tests(files, command="make test")
    assert [(c.id, c.outcome) for c in report.cases] == [
        ("test_x.py::test_ok", "passed"),
        ("make test", "failed"),
    ]


def test_without_a_language_the_exit_code_decides(run_tests: RunTests) -> None:
    report = run_tests({"a.txt": ""}, command="test -f b.txt", toolchain=Command())
    assert report.failing() == ("test -f b.txt",)
