"""The backend end to end, on a folder: what it changes, what it says, and what it leaves alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acr_cli.errors import BudgetExhausted, SandboxBroken
from acr_cli.events import Event, Progress, ToolCalled
from acr_cli.records import Attempt, Candidate, CaseResult, Dimension, Step, StepKind
from acr_cli.repair.backend import Repair, is_test_path
from tests.repair.develop import failing, step_for, write
from tests.repair.folders import FolderSandbox, FolderSession, FolderTree, OpenBudget
from tests.repair.programs import PROGRAMS

CANDIDATE = Candidate(id="builtin/repair", backend="repair")
MODULE = "def double(x):\n    return x + x + 1\n"
TESTS = (
    "from calc import double\n\ndef test_double():\n    assert double(2) == 4\n    assert double(5) == 10\n"
)
TARGET = "tests/test_calc.py::test_double"


def attempt(
    root: Path, ids: list[str], events: list[Event] | None = None, time_limit: float = 60.0
) -> Attempt:
    said = events if events is not None else []
    backend = Repair(emit=said.append, time_limit=time_limit, interpreter=sys.executable)
    return backend.attempt(step_for(ids), CANDIDATE, FolderTree(root), FolderSandbox(), OpenBudget())


@pytest.fixture
def calc(tmp_path: Path) -> Path:
    write(tmp_path, {"calc.py": MODULE, "tests/test_calc.py": TESTS})
    return tmp_path


def test_a_fix_is_written_into_the_tree_and_told(calc: Path) -> None:
    events: list[Event] = []
    made = attempt(calc, [TARGET], events)
    assert (calc / "calc.py").read_text() == "def double(x):\n    return x + x\n"
    assert made.files == ("calc.py",)
    assert "-    return x + x + 1" in made.patch
    assert made.summary.startswith("calc.py:2 `return x + x + 1` became `return x + x`;")
    assert made.tried > 0
    assert made.cost_usd == 0.0
    assert made.void == ""
    assert any(isinstance(event, Progress) for event in events)
    assert [event.ok for event in events if isinstance(event, ToolCalled)] == [True]


def test_what_cannot_be_fixed_leaves_the_tree_alone(tmp_path: Path) -> None:
    write(tmp_path, {"calc.py": "def f():\n    return 1\n"})
    write(
        tmp_path,
        {"tests/test_calc.py": "from calc import f\n\ndef test_f():\n    assert f() == {f(): 'never'}\n"},
    )
    made = attempt(tmp_path, ["tests/test_calc.py::test_f"], time_limit=20.0)
    assert made.patch == ""
    assert made.files == ()
    assert "nothing was changed" in made.summary
    assert (tmp_path / "calc.py").read_text() == "def f():\n    return 1\n"


def test_a_test_that_passes_there_is_no_reason_to_change_anything(calc: Path) -> None:
    write(calc, {"calc.py": "def double(x):\n    return x + x\n"})
    made = attempt(calc, [TARGET])
    assert made.patch == ""
    assert "could not make the failing tests fail" in made.summary


def test_tests_are_never_changed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"tests/test_only.py": "def value():\n    return 1\n\ndef test_it():\n    assert value() == 2\n"},
    )
    made = attempt(tmp_path, ["tests/test_only.py::test_it"])
    assert made.patch == ""
    assert "no line outside the tests" in made.summary


class BrokenSandbox(FolderSandbox):
    @contextmanager
    def open(self, tree: Path) -> Iterator[FolderSession]:
        raise SandboxBroken("The container is gone.")
        yield


def test_a_broken_sandbox_is_no_matter_of_the_attempt(calc: Path) -> None:
    backend = Repair(emit=lambda _: None, interpreter=sys.executable)
    with pytest.raises(SandboxBroken, match="The container is gone"):
        backend.attempt(step_for([TARGET]), CANDIDATE, FolderTree(calc), BrokenSandbox(), OpenBudget())
    assert (calc / "calc.py").read_text() == MODULE


class SpentBudget(OpenBudget):
    def check(self) -> None:
        raise BudgetExhausted("The time is up.")


def test_a_spent_budget_stops_it(calc: Path) -> None:
    backend = Repair(emit=lambda _: None, interpreter=sys.executable)
    with pytest.raises(BudgetExhausted):
        backend.attempt(step_for([TARGET]), CANDIDATE, FolderTree(calc), FolderSandbox(), SpentBudget())


@pytest.mark.parametrize(
    ("kind", "language", "failures", "eligible"),
    [
        (StepKind.EDIT, "python", 1, True),
        (StepKind.EDIT, "python", 0, False),
        (StepKind.EDIT, "go", 1, False),
        (StepKind.PLAN, "python", 1, False),
    ],
)
def test_it_takes_failing_tests_in_python_only(
    kind: StepKind, language: str, failures: int, eligible: bool
) -> None:
    step = Step(
        id="s",
        kind=kind,
        text="",
        dimension=Dimension.BUG_FIXING,
        language=language,
        failures=(CaseResult(id="t", outcome="failed"),) * failures,
    )
    assert Repair(emit=lambda _: None).eligible(step) is eligible


def test_two_defects_are_fixed_together_when_each_fix_shows(tmp_path: Path) -> None:
    program = next(program for program in PROGRAMS if program.name == "twice")
    write(tmp_path, program.files())
    made = attempt(tmp_path, failing(tmp_path))
    assert "+    return text.split()[0]" in made.patch
    assert "+    return text.split()[-1]" in made.patch


def test_where_one_test_cannot_pass_what_mends_the_others_is_told_and_not_written(tmp_path: Path) -> None:
    module = "def here():\n    return os.getcwd()\n\nFOLDER = here()\n"
    write(tmp_path, {"place.py": module, "tests/test_place.py": "import place\n\ndef test_it():\n    pass\n"})
    write(tmp_path, {"tests/test_other.py": "import place, never_installed\n\ndef test_other():\n    pass\n"})
    made = attempt(tmp_path, ["tests/test_place.py", "tests/test_other.py"], time_limit=12.0)
    assert made.patch == ""
    assert (tmp_path / "place.py").read_text() == module
    said = "place.py:1 `import os` was put before it: that alone makes 1 of 2 pass and breaks none."
    assert made.summary.endswith(said)


def test_a_change_that_breaks_another_test_is_not_told(calc: Path) -> None:
    tests = (
        "\ndef test_kept():\n    assert double(2) == 5 and double(9) == 19\n"
        "\ndef test_never():\n    assert double({}) == 4\n"
    )
    write(calc, {"tests/test_calc.py": TESTS + tests})
    made = attempt(calc, [TARGET, "tests/test_calc.py::test_never"], time_limit=12.0)
    assert made.patch == ""
    assert "nothing was changed" in made.summary
    assert "that alone" not in made.summary


@pytest.mark.parametrize("name", ["collatz", "stack", "account", "shapes"])
def test_a_development_program_is_fixed(tmp_path: Path, name: str) -> None:
    program = next(program for program in PROGRAMS if program.name == name)
    write(tmp_path, program.files())
    made = attempt(tmp_path, failing(tmp_path, 3.0))
    assert made.patch, made.summary
    write(tmp_path, program.held_back())
    assert failing(tmp_path) == []


def test_source_that_is_not_utf_8_is_kept_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_calc.py": TESTS})
    text = b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\n" + MODULE.encode()
    (tmp_path / "calc.py").write_bytes(text)
    tree = FolderTree(tmp_path)
    tree._texts = lambda: {path: tree.path(path).read_text(encoding="latin-1") for path in tree.files()}  # type: ignore[method-assign]
    backend = Repair(emit=lambda _: None, interpreter=sys.executable)
    backend.attempt(step_for([TARGET]), CANDIDATE, tree, FolderSandbox(), OpenBudget())
    assert (tmp_path / "calc.py").read_bytes() == text.replace(b" + 1", b"")


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/test_a.py", True),
        ("a/tests/data.py", True),
        ("test_a.py", True),
        ("a_test.py", True),
        ("conftest.py", True),
        ("a/contest.py", False),
        ("latest.py", False),
        ("testing_tools.py", False),
    ],
)
def test_test_paths(path: str, test: bool) -> None:
    assert is_test_path(path) is test
