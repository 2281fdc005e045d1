"""The verifier end to end: real trees, real test runs, and attempts that fix, break and cheat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import BaselineCannotStart, SandboxBroken, SandboxUnavailable, UsageError
from acr_cli.protocols import Recipe
from acr_cli.records import Evidence, Failed, Passed, StepKind, Unverified, Verdict, Void
from acr_cli.verifier.explain import explain_failure

MakeBench = Callable[..., Any]

WRONG = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n"
RIGHT = WRONG.replace("a - b", "a + b")
TESTS = """
from calc import add, double

def test_add():
    assert add(1, 2) == 3

def test_add_zero():
    assert add(1, 0) == 1

def test_double():
    assert double(2) == 4
"""
REPOSITORY = {"calc.py": WRONG, "tests/test_calc.py": TESTS, "conftest.py": "", "pyproject.toml": ""}
ONE = "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
ADD = "tests/test_calc.py::test_add"
ZERO = "tests/test_calc.py::test_add_zero"
DOUBLE = "tests/test_calc.py::test_double"


def evidence(verdict: Verdict, kind: type[Passed | Failed | Unverified]) -> Evidence:
    assert isinstance(verdict, kind), verdict
    return verdict.evidence


# --- the baseline ---------------------------------------------------------------------------------


def test_the_baseline_holds_all_results_and_takes_the_failing_ones_as_targets(bench: MakeBench) -> None:
    baseline = bench(REPOSITORY).baseline()
    assert baseline.targets == (ADD,)
    assert baseline.report.passing() == (ZERO, DOUBLE)
    assert (baseline.test_command, baseline.language) == ("python3 -m pytest", "python")
    assert baseline.reason == "tests/test_calc.py looks like pytest"


def test_only_the_tests_that_the_task_names_are_targets(bench: MakeBench) -> None:
    files = {**REPOSITORY, "calc.py": WRONG.replace("a * 2", "a * 3")}
    assert bench(files).baseline("Please make test_double pass").targets == (DOUBLE,)


def test_a_named_test_that_passes_is_mentioned_and_the_failing_ones_are_targets(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    assert at.baseline("test_double fails").targets == (ADD,)
    assert f"{DOUBLE}, named by the task, passes before any change." in at.notices()


def test_without_tests_and_without_a_task_there_is_nothing_to_go_by(bench: MakeBench) -> None:
    with pytest.raises(UsageError, match="No tests were found") as caught:
        bench({"calc.py": WRONG}).baseline()
    assert "--test" in caught.value.hint
    assert "TASK" in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("files", [{"calc.py": WRONG}, {"notes.txt": "nothing"}])
def test_a_task_without_tests_has_an_empty_baseline(bench: MakeBench, files: dict[str, str]) -> None:
    baseline = bench(files).baseline("add a function")
    assert not baseline.has_tests
    assert baseline.targets == ()


def test_a_missing_module_stops_before_anything_is_paid(bench: MakeBench) -> None:
    files = {**REPOSITORY, "tests/test_api.py": "import not_there_at_all\n\ndef test_a(): pass\n"}
    with pytest.raises(BaselineCannotStart, match="No module named 'not_there_at_all'") as caught:
        bench(files).baseline()
    assert "imported by tests/test_api.py" in caught.value.message
    assert "--setup" in caught.value.hint
    assert caught.value.exit_code == 4


def test_tests_that_need_the_network_stop_a_run_when_nothing_else_fails(bench: MakeBench) -> None:
    source = "import socket\n\ndef test_a():\n    raise socket.gaierror(-3, 'Temporary failure')\n"
    with pytest.raises(BaselineCannotStart) as stopped:
        bench({"test_x.py": source}).baseline()
    assert stopped.value.message == "The failing test needs the network, which the sandbox has not."
    assert "--network on" in (stopped.value.hint or "")


def test_a_suite_that_does_not_end_stops_before_anything_is_paid(bench: MakeBench) -> None:
    files = {"test_x.py": "import time\n\ndef test_a():\n    time.sleep(60)\n"}
    with pytest.raises(BaselineCannotStart, match="did not end within 3 s: python3 -m pytest") as caught:
        bench(files, seconds=3).baseline()
    assert "--test" in caught.value.hint


def test_a_test_command_serves_a_tree_of_no_known_language(bench: MakeBench) -> None:
    at = bench({"notes.txt": "wrong"}, test="grep right notes.txt")
    baseline = at.baseline()
    assert baseline.targets == ("grep right notes.txt",)
    assert evidence(at.attempt(baseline, {"notes.txt": "right\n"}), Passed).fixed == baseline.targets


# --- honest attempts ------------------------------------------------------------------------------


def test_a_fix_passes(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), {"calc.py": RIGHT}), Passed)
    assert (found.fixed, found.unfixed, found.broken, found.undone) == ((ADD,), (), (), ())
    assert found.u == pytest.approx(1.0)
    assert found.reason == "1 test that failed passes now, and all 2 that passed still do."


def test_many_other_passing_patches_lower_the_score_of_a_fix(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), {"calc.py": RIGHT}, alternatives=7), Passed)
    assert found.u == pytest.approx(0.8875)


def test_a_change_that_does_not_help_fails_and_says_how(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    verdict = at.attempt(at.baseline(), {"calc.py": WRONG.replace("a - b", "a - b - 0")})
    found = evidence(verdict, Failed)
    assert found.unfixed == (ADD,)
    assert found.u < 0.5
    assert found.reason == f"{ADD} still fails (AssertionError: assert -1 == 3)."
    assert "assert add(1, 2) == 3" in explain_failure(found)


def test_a_fix_that_breaks_another_test_fails(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), {"calc.py": RIGHT.replace("a * 2", "a")}), Failed)
    assert (found.fixed, found.broken) == ((ADD,), (DOUBLE,))
    assert found.u < 0.5
    assert "passed before and fails now" in found.reason


def test_nothing_changed_fails(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    assert evidence(at.attempt(at.baseline(), {}), Failed).reason == "No change was made."


def test_source_that_does_not_parse_fails_before_any_test_is_run(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), {"calc.py": "def add(a, b:\n    return a\n"}), Failed)
    assert found.reason.startswith("calc.py does not parse: line 1: ")
    assert found.report is None
    assert found.u == 0.0


def test_a_file_that_the_product_could_not_be_imported_for_is_fixed_with_it(bench: MakeBench) -> None:
    at = bench({"calc.py": "add = lambda a, b: a + b\n\nbound = limit\n", "tests/test_calc.py": ONE})
    baseline = at.baseline()
    assert baseline.targets == ("tests/test_calc.py",)
    fixed = evidence(at.attempt(baseline, {"calc.py": RIGHT}), Passed)
    assert fixed.fixed == ("tests/test_calc.py",)


def test_a_wish_that_breaks_nothing_is_unverified(bench: MakeBench) -> None:
    at = bench({**REPOSITORY, "calc.py": RIGHT})
    found = evidence(at.attempt(at.baseline("add triple"), {"calc.py": RIGHT + "\nx = 3\n"}), Unverified)
    assert 0.0 < found.u <= 1.0
    assert "none failed before" in found.reason


def test_a_wish_that_breaks_a_test_fails(bench: MakeBench) -> None:
    at = bench({**REPOSITORY, "calc.py": RIGHT})
    assert evidence(at.attempt(at.baseline("add triple"), {"calc.py": WRONG}), Failed).broken == (ADD,)


def test_a_wish_in_a_repository_without_tests_is_unverified(bench: MakeBench) -> None:
    at = bench({"calc.py": WRONG})
    found = evidence(at.attempt(at.baseline("fix add"), {"calc.py": RIGHT}), Unverified)
    assert "no tests" in found.reason
    assert found.report is None


def test_an_attempt_whose_machinery_broke_is_void(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    assert at.attempt(at.baseline(), {"calc.py": RIGHT}, void="the provider is down") == Void(
        reason="the provider is down"
    )


@pytest.mark.parametrize("kind", [StepKind.PLAN, StepKind.REVIEW])
def test_a_step_that_changes_nothing_by_nature_is_unverified(bench: MakeBench, kind: StepKind) -> None:
    at = bench(REPOSITORY)
    evidence(at.attempt(at.baseline(), {}, kind=kind), Unverified)


def test_unittest_is_verified_the_same_way(bench: MakeBench) -> None:
    case = "import unittest\nfrom calc import add\n\nclass T(unittest.TestCase):\n"
    case += "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    at = bench({"calc.py": WRONG, "test_calc.py": case})
    baseline = at.baseline()
    assert baseline.targets == ("test_calc.T.test_add",)
    assert baseline.test_command == "python3 -m unittest"
    evidence(at.attempt(baseline, {"calc.py": RIGHT, "test_more.py": "import pytest\n"}), Passed)


# --- cheats ---------------------------------------------------------------------------------------

SKIP = "import pytest\n\n@pytest.fixture(autouse=True)\ndef none():\n    pytest.skip('later')\n"
GREEN = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
CHEATS = {
    "the test is weakened": {"tests/test_calc.py": TESTS.replace("== 3", "== -1")},
    "the test is skipped": {"tests/test_calc.py": "import pytest\npytestmark = pytest.mark.skip\n" + TESTS},
    "the test is deleted": {"tests/test_calc.py": None},
    "conftest.py skips": {"conftest.py": SKIP},
    "a new conftest.py turns failures green": {"tests/conftest.py": GREEN},
    "the configuration leaves the test out": {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--deselect tests/test_calc.py::test_add'\n"
    },
    "a new pytest.ini leaves the test out": {"pytest.ini": "[pytest]\naddopts = -k 'not add'\n"},
    "a module takes pytest's place": {"pytest.py": "import sys\nsys.exit(0)\n"},
    "sitecustomize ends the run": {"sitecustomize.py": "import os\nos._exit(0)\n"},
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_edits_to_tests_and_their_configuration_are_undone(bench: MakeBench, cheat: str) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), CHEATS[cheat]), Failed)
    assert found.undone == tuple(CHEATS[cheat])
    assert found.reason.startswith("No change was made but to tests or their configuration")
    assert (at.tree.root / "tests/test_calc.py").read_text() == TESTS
    assert sorted(at.tree.files()) == sorted(REPOSITORY)


def test_a_fix_counts_although_an_edit_beside_it_is_undone(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    verdict = at.attempt(at.baseline(), {"calc.py": RIGHT, "tests/test_calc.py": "", "tests/new.py": ""})
    found = evidence(verdict, Passed)
    assert found.undone == ("tests/new.py", "tests/test_calc.py")
    assert at.tree.changed(at.tree.checkpoint()) == ()


@pytest.mark.parametrize(
    "product",
    [
        "import sys\nsys.exit(0)\n",
        "import os\nos._exit(0)\n",
        "def add(a, b):\n    import sys\n    sys.exit(0)\n\ndef double(a):\n    return a * 2\n",
        "def add(a, b):\n    import os\n    os._exit(0)\n\ndef double(a):\n    return a * 2\n",
        "def add(a, b):\n    import pytest\n    pytest.exit('done', 0)\n\ndef double(a):\n    return a * 2\n",
        "def add(a, b):\n    import pytest\n    pytest.skip('later')\n\ndef double(a):\n    return a * 2\n",
        "def add(a, b):\n    import pytest\n    pytest.xfail('later')\n\ndef double(a):\n    return a * 2\n",
        "raise KeyboardInterrupt\n",
    ],
)
def test_code_that_ends_or_skips_the_tests_does_not_pass(bench: MakeBench, product: str) -> None:
    at = bench(REPOSITORY)
    found = evidence(at.attempt(at.baseline(), {"calc.py": product}), Failed)
    assert ADD in found.unfixed
    assert found.u < 0.5
    assert found.reason.endswith(".")
    assert explain_failure(found)


def test_a_test_file_that_no_longer_runs_is_broken(bench: MakeBench) -> None:
    files = {"a.py": "x = 1\n", "test_a.py": "import a\n\ndef test_x():\n    assert a.x == 1\n"}
    at = bench({**REPOSITORY, **files})
    found = evidence(at.attempt(at.baseline(), {"calc.py": RIGHT, "a.py": "x = y\n"}), Failed)
    assert found.broken == ("test_a.py::test_x",)
    assert "it no longer runs" in found.reason


def test_the_files_of_the_users_own_test_command_are_protected(bench: MakeBench) -> None:
    at = bench({**REPOSITORY, "Makefile": "test:\n\tpython3 -m pytest\n"}, test="make test")
    baseline = at.baseline()
    assert baseline.targets == (ADD,)
    assert evidence(at.attempt(baseline, {"Makefile": "test:\n\ttrue\n"}), Failed).undone == ("Makefile",)


def test_a_new_test_stays_where_writing_it_is_the_step(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    new = {"tests/test_more.py": "def test_more():\n    assert True\n", "tests/conftest.py": SKIP}
    found = evidence(at.attempt(at.baseline(), new, kind=StepKind.TEST), Failed)
    assert found.undone == ("tests/conftest.py",)
    assert (at.tree.root / "tests/test_more.py").exists()


def test_a_hang_is_one_failed_test(bench: MakeBench) -> None:
    body = "def add(a, b):\n    while True: pass\n\ndef double(a):\n    return a * 2\n"
    at = bench(REPOSITORY, test="ACR_TEST_SECONDS=0.5 pytest")
    found = evidence(at.attempt(at.baseline(), {"calc.py": body}), Failed)
    assert (found.unfixed, found.broken) == ((ADD,), (ZERO,))
    assert "time limit of 0.5 s reached" in found.reason


def test_a_hang_at_import_ends_with_the_time_limit_of_the_run(bench: MakeBench) -> None:
    at = bench(REPOSITORY, seconds=6)
    found = evidence(at.attempt(at.baseline(), {"calc.py": "while True:\n    pass\n"}), Failed)
    assert "did not end within" in found.reason


# --- broken machinery -----------------------------------------------------------------------------


class Breaking:
    """A sandbox that works once and is gone after that."""

    name = "breaking"

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.opened = 0

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self.inner.prepare(recipe, tree)

    @contextmanager
    def open(self, tree: Path) -> Iterator[Any]:
        self.opened += 1
        if self.opened > 1:
            raise SandboxBroken("The container is gone.")
        with self.inner.open(tree) as session:
            yield session

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "breaks"


def test_a_sandbox_that_breaks_is_no_verdict(bench: MakeBench) -> None:
    at = bench(REPOSITORY)
    runner = at.verifier._runner
    at.verifier._runner = replace(runner, sandbox=Breaking(runner.sandbox))
    baseline = at.baseline()
    with pytest.raises(SandboxBroken, match="The container is gone"):
        at.attempt(baseline, {"calc.py": RIGHT})


# --- every sandbox --------------------------------------------------------------------------------

FORKING = """
import os, time

def add(a, b):
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
        os._exit(0)
    return a + b

def double(a):
    return a * 2
"""


@pytest.mark.parametrize(
    "sandbox", ["none", "bubblewrap", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])]
)
def test_every_sandbox_gives_the_same_verdicts(bench: MakeBench, sandbox: str) -> None:
    at = bench(REPOSITORY, sandbox=sandbox)
    baseline = at.baseline()
    assert baseline.targets == (ADD,)
    start = at.tree.checkpoint()
    for product, kind in (
        (RIGHT, Passed),
        (WRONG + "# no\n", Failed),
        ("import os\nos._exit(0)\n", Failed),
    ):
        evidence(at.attempt(baseline, {"calc.py": product}), kind)
        at.tree.restore(start)
    # A process that outlives its parent changes nothing.
    evidence(at.attempt(baseline, {"calc.py": FORKING}), Passed)


class Unavailable:
    """A sandbox that cannot be made."""

    name = "none"

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        raise SandboxUnavailable("There is no image.", hint="Name one.")


def test_without_tests_a_sandbox_that_cannot_be_made_is_only_said(bench: MakeBench) -> None:
    under_test = bench({"a.py": "x = 1\n"}, sandbox=Unavailable())
    assert under_test.baseline("a wish").reason == "no tests were found"
    assert under_test.notices() == ["Nothing can be run here: There is no image."]
    with pytest.raises(UsageError):
        under_test.baseline()


def test_with_tests_a_sandbox_that_cannot_be_made_ends_the_run(bench: MakeBench) -> None:
    under_test = bench({"test_a.py": "def test_a():\n    pass\n"}, sandbox=Unavailable())
    with pytest.raises(SandboxUnavailable):
        under_test.baseline("a wish")
