"""A test command of the user: recognised, given a report, or taken as one test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.protocols import TestPlan
from acr_cli.toolchains.python import Python

MakeTree = Callable[[Mapping[str, str]], Path]
TEST = "def test_it(): pass\n"
FILES = {"tests/test_x.py": TEST, "src/shop/__init__.py": "", "unit/test_y.py": ""}


def plan_for(root: Path, command: str | None, tests: tuple[str, ...] = ()) -> TestPlan:
    plan = Python().plan(root, command=command, tests=tests, scratch="/scratch")
    assert plan is not None
    return plan


@pytest.mark.parametrize(
    ("command", "own"),
    [
        ("pytest", ()),
        ("python -m pytest tests -k fast", ("tests", "-k", "fast")),
        ("poetry run pytest -q", ("-q",)),
        ("uv run python -m pytest", ()),
        ("coverage run --branch -m pytest tests", ("tests",)),
        ("pytest -k 'a and b*'", ("-k", "a and b*")),
    ],
)
def test_pytest_is_recognised_behind_its_usual_prefixes(
    tree: MakeTree, command: str, own: tuple[str, ...]
) -> None:
    plan = plan_for(tree(FILES), command)
    assert plan.argv[: len(own) + 4] == ("python3", "-m", "pytest", *own, "-p")
    assert "--junitxml=/scratch/report.xml" in plan.argv
    assert plan.report == "/scratch/report.xml"
    assert (plan.command, plan.reason) == (command, "given by --test")
    assert list(plan.files) == ["/scratch/acr/acr_pytest.py"]


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("python -m unittest", ()),
        ("python3 -m unittest discover -v -s tests -p 'check*.py'", ("--start=tests", "--pattern=check*.py")),
        ("python -m unittest discover tests", ("--start=tests",)),
        ("python -m unittest tests.test_x tests.test_y", ("tests.test_x", "tests.test_y")),
    ],
)
def test_unittest_is_recognised_with_its_arguments(
    tree: MakeTree, command: str, ends: tuple[str, ...]
) -> None:
    plan = plan_for(tree(FILES), command)
    assert plan.argv == ("python3", "/scratch/acr/acr_unittest.py", "--report=/scratch/report.xml", *ends)


OTHERS = (
    "make test",
    "tox -e py311",
    "./run-tests.sh",
    "pytest tests && mypy .",
    "python manage.py test",
    "python -m unittest --locals",
    "pytest $ARGS",
    'pytest "unclosed',
)


@pytest.mark.parametrize("command", OTHERS)
def test_any_other_command_runs_as_it_is_and_says_so(tree: MakeTree, command: str) -> None:
    plan = plan_for(tree(FILES), command)
    assert plan.argv == ("sh", "-c", command)
    assert "its exit code decides" in plan.reason
    assert "--junitxml=/scratch/report.xml" in plan.environment["PYTEST_ADDOPTS"]


def test_variables_before_the_command_are_kept(tree: MakeTree) -> None:
    plan = plan_for(tree(FILES), "MODE=fast PYTHONPATH=lib pytest tests")
    assert plan.environment["MODE"] == "fast"
    assert plan.environment["PYTHONPATH"] == "/scratch/acr:src:.:lib"


def test_named_tests_take_the_place_of_the_paths_in_the_command(tree: MakeTree) -> None:
    wanted = "tests/test_x.py::test_it"
    plan = plan_for(tree(FILES), "pytest tests unit/test_y.py::test_a --strict-markers", (wanted,))
    assert plan.argv[:5] == ("python3", "-m", "pytest", "--strict-markers", "-p")
    assert plan.argv[-1] == wanted


SETUPTOOLS = '[tool.setuptools.packages.find]\nwhere = ["lib"]\n'
HATCH = '[tool.hatch.build.targets.wheel]\npackages = ["py/a"]\n'


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({}, "/scratch/acr:."),
        ({"src/a.py": ""}, "/scratch/acr:src:."),
        ({"lib/a.py": "", "pyproject.toml": SETUPTOOLS}, "/scratch/acr:lib:."),
        ({"py/a/b.py": "", "pyproject.toml": HATCH}, "/scratch/acr:py:."),
    ],
)
def test_the_code_of_the_tree_is_on_the_import_path(tree: MakeTree, files: dict[str, str], path: str) -> None:
    plan = plan_for(tree({"test_x.py": TEST, **files}), None)
    assert plan.environment["PYTHONPATH"] == path


@pytest.mark.parametrize("kind", ["pytest", "unittest"])
def test_a_program_that_a_test_starts_in_another_folder_finds_the_code(
    kind: str, tree: MakeTree, tmp_path: Path
) -> None:
    check = "subprocess.run([sys.executable, '-c', 'import shop'], cwd='/', check=True)"
    plain = f"import subprocess, sys\ndef test_it(): {check}\n"
    of_class = (
        f"import subprocess, sys, unittest\nclass T(unittest.TestCase):\n    def test_it(self): {check}\n"
    )
    files = {"shop/__init__.py": "", "tests/test_x.py": plain if kind == "pytest" else of_class}
    root = tree(files)
    scratch = tmp_path / "scratch"
    plan = Python().plan(root, command=None, tests=(), scratch=str(scratch))
    assert plan is not None
    for path, content in plan.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
    ended = subprocess.run(
        [sys.executable, *plan.argv[1:]], cwd=root, env={**os.environ, **plan.environment}, check=False
    )
    assert ended.returncode == 0
