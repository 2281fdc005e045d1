"""The set of defective programs is sound: each is defective, its fix is right, every kind is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent / "repair_programs"
PROGRAMS = sorted(path.parent.name for path in ROOT.glob("*/defect.toml"))
KINDS = frozenset(
    {
        "operator",
        "comparison",
        "off_by_one",
        "constant",
        "wrong_variable",
        "argument_order",
        "negated_condition",
        "missing_guard",
        "missing_wrap",
        "extra_wrap",
        "return_value",
        "statement_position",
        "missing_statement",
    }
)
LIMIT_S = 20.0
HANGING_LIMIT_S = 5.0
FIXED_LIMIT_S = 60.0
TESTS_FAILED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One pytest process: its exit code, None when it was killed at the limit, and what it printed."""

    code: int | None
    output: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The visible tests on the defective program; visible and held-back ones on the fixed program."""

    defective: Run
    fixed: Run


def defect(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name / "defect.toml").read_text(encoding="utf-8"))


def copy_program(name: str, target: Path) -> Path:
    shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return target


def run_pytest(folder: Path, *tests: str, limit_s: float) -> Run:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--noconftest"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(code=None, output=f"killed after {limit_s:g} s")
    return Run(code=done.returncode, output=done.stdout)


def apply_fix(folder: Path) -> None:
    # Without the ceiling, git takes a repository above the folder for its own and skips the files.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", "fix.patch"], cwd=folder, env=environment, check=True)


def run_both(name: str, scratch: Path) -> Outcome:
    visible = f"test_{name}.py"
    limit_s = HANGING_LIMIT_S if defect(name).get("hangs", False) else LIMIT_S
    defective = run_pytest(copy_program(name, scratch / "defective" / name), visible, limit_s=limit_s)
    fixed = copy_program(name, scratch / "fixed" / name)
    apply_fix(fixed)
    return Outcome(defective=defective, fixed=run_pytest(fixed, visible, "held_back", limit_s=FIXED_LIMIT_S))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Outcome]]]:
    """All programs, run two at a time; each test waits for its own."""
    scratch = tmp_path_factory.mktemp("repair_programs")
    with ThreadPoolExecutor(max_workers=2) as executor:
        # Those that hang wait rather than compute for most tests, so they go first.
        order = sorted(PROGRAMS, key=lambda name: not defect(name).get("hangs", False))
        futures = {name: executor.submit(run_both, name, scratch) for name in order}
        yield futures
        executor.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_defect_fails_a_visible_test_and_its_fix_passes_all(
    name: str, outcomes: dict[str, Future[Outcome]]
) -> None:
    outcome = outcomes[name].result()
    assert outcome.defective.code in (TESTS_FAILED, None), outcome.defective.output
    if defect(name).get("hangs", False):
        assert outcome.defective.code is None, outcome.defective.output
    assert outcome.fixed.code == 0, outcome.fixed.output


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_has_all_its_files(name: str) -> None:
    folder = ROOT / name
    modules = {path.name for path in folder.glob("*.py")} - {f"test_{name}.py"}
    assert (folder / f"test_{name}.py").is_file()
    assert (folder / "held_back" / f"test_{name}_held_back.py").is_file()
    assert 1 <= len(modules) <= 3
    patch = (folder / "fix.patch").read_text(encoding="utf-8")
    patched = re.findall(r"^\+\+\+ b/(.+)$", patch, re.MULTILINE)
    assert len(patched) == 1
    assert patched[0] in modules


@pytest.mark.parametrize("name", PROGRAMS)
def test_defect_is_described(name: str) -> None:
    described = defect(name)
    assert described["kind"] in KINDS
    assert described["description"].endswith(".")
    assert set(described) <= {"kind", "description", "hangs"}


def test_there_are_at_least_forty_programs() -> None:
    assert len(PROGRAMS) >= 40


def test_every_kind_of_defect_comes_three_times() -> None:
    counts = Counter(defect(name)["kind"] for name in PROGRAMS)
    assert {kind for kind in KINDS if counts[kind] < 3} == set()


def test_some_programs_hang() -> None:
    assert sum(defect(name).get("hangs", False) for name in PROGRAMS) >= 4
