"""Run the backend over the development programs: `python -m tests.repair.develop [NAME...]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from acr_cli.records import Attempt, Candidate, CaseResult, Dimension, Step, StepKind
from acr_cli.repair.backend import Repair
from tests.repair.folders import FolderSandbox, FolderTree, OpenBudget
from tests.repair.programs import PROGRAMS, Program


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def failing(root: Path, seconds: float = 8.0) -> list[str]:
    """Node ids that fail; a test that hangs is found by running each file's tests one by one."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "--rootdir=."],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    ids = [line for line in listed.splitlines() if "::" in line]
    failed = []
    for test in ids:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", test],
                cwd=root,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
            if done.returncode:
                failed.append(test)
        except subprocess.TimeoutExpired:
            failed.append(test)
    return failed


def step_for(ids: list[str]) -> Step:
    return Step(
        id="s",
        kind=StepKind.EDIT,
        text="",
        dimension=Dimension.BUG_FIXING,
        language="python",
        failures=tuple(CaseResult(id=test, outcome="failed") for test in ids),
        test_command="python -m pytest",
    )


def repair(root: Path, ids: list[str], time_limit: float) -> Attempt:
    backend = Repair(emit=lambda _: None, time_limit=time_limit, interpreter=sys.executable)
    return backend.attempt(
        step_for(ids),
        Candidate(id="builtin/repair", backend="repair"),
        FolderTree(root),
        FolderSandbox(),
        OpenBudget(),
    )


def main(names: list[str]) -> None:
    fixed = 0
    chosen: list[Program] = [p for p in PROGRAMS if not names or p.name in names]
    for program in chosen:
        with tempfile.TemporaryDirectory() as place:
            root = Path(place)
            write(root, program.files())
            attempt = repair(root, failing(root, 3.0), 60.0)
            write(root, program.held_back())
            good = bool(attempt.patch) and not failing(root, 3.0)
            fixed += good
            word = "fixed" if good else "overfit" if attempt.patch else "none"
            print(
                f"{program.name:12} {word:8} {attempt.seconds:6.1f}s tried {attempt.tried:5} "
                f"alt {attempt.alternatives:3} {attempt.void or attempt.summary}",
                flush=True,
            )
    print(f"{fixed} of {len(chosen)}")


if __name__ == "__main__":
    main(sys.argv[1:])
