"""Which protected files a task is about, and what a run may then do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acr_cli.records import Failed, Unverified
from acr_cli.verifier.tampering import asked_for

ABOUT = [
    ("Set line-length in pyproject.toml to 100.", "pyproject.toml"),
    ("Please update the snapshots of the menu.", "ui/__snapshots__/menu.snap"),
    ("Bump the dependencies", "uv.lock"),
    ("Add a GitHub workflow that runs the tests", ".github/workflows/ci.yml"),
    ("Rename the fixture in tests/conftest.py to client", "tests/conftest.py"),
    ("Raise the coverage threshold to 90 %", ".coveragerc"),
]
NOT_ABOUT = [
    ("test_calc.py fails, please fix add()", "test_calc.py"),
    ("Change add() so that tests/test_calc.py::test_add passes", "tests/test_calc.py"),
    ('add() is wrong:\n  File "tests/conftest.py", line 3, in change\n', "tests/conftest.py"),
    ("> set up in conftest.py", "conftest.py"),
    ("Update the menu", "ui/__snapshots__/menu.snap"),
    ("Add a fixture to the garden", "conftest.py"),
    ("Change my-conftest.py", "conftest.py"),
    ("", "conftest.py"),
]


@pytest.mark.parametrize(("words", "path"), ABOUT)
def test_a_task_that_asks_for_it_is_about_a_protected_file(words: str, path: str) -> None:
    assert asked_for(words, path)


@pytest.mark.parametrize(("words", "path"), NOT_ABOUT)
def test_what_only_mentions_it_is_not(words: str, path: str) -> None:
    assert not asked_for(words, path)


FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "pyproject.toml": "[tool.black]\nline-length = 80\n",
}


def test_the_file_that_a_task_is_about_may_be_changed_and_the_verdict_says_so(
    bench: Callable[..., Any],
) -> None:
    at = bench(FILES)
    baseline = at.baseline("Set line-length in pyproject.toml to 100")
    verdict = at.attempt(
        baseline, {"pyproject.toml": "[tool.black]\nline-length = 100\n", "tox.ini": "[tox]\n"}
    )
    assert isinstance(verdict, Unverified)
    assert verdict.evidence.undone == ("tox.ini",)
    assert "pyproject.toml was changed, as the task asks for it." in verdict.evidence.notes
    assert "100" in (at.tree.root / "pyproject.toml").read_text()


def test_a_test_that_is_the_target_stays_whatever_the_task_says(bench: Callable[..., Any]) -> None:
    at = bench({**FILES, "calc.py": "def add(a, b):\n    return a - b\n"})
    baseline = at.baseline("Update test_calc.py")
    weak = FILES["test_calc.py"].replace("== 3", "== -1")
    verdict = at.attempt(baseline, {"test_calc.py": weak})
    assert isinstance(verdict, Failed)
    assert verdict.evidence.undone == ("test_calc.py",)
