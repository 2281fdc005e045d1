"""Trees, sandboxes and steps for the agent's tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.errors import SandboxBroken
from acr_cli.protocols import CommandResult, Limits
from acr_cli.records import Candidate, CaseResult, Dimension, Price, Step, StepKind
from acr_cli.worktree.tree import RunTree

FILES = {
    "a.py": b"x = 1\n",
    "b.py": b"y = 1\n",
    "calc.py": b"def add(a, b):\n    return a - b\n",
    "test_calc.py": b"from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> RunTree:
    source = tmp_path / "source"
    source.mkdir()
    for name, content in FILES.items():
        (source / name).write_bytes(content)
    return RunTree.copy(source, tuple(FILES), tmp_path / "run")


@dataclass
class PlainSession:
    """A `Session` that runs commands on this machine, in a copy."""

    workdir: str
    scratch: str
    broken: bool = False

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        if self.broken:
            raise SandboxBroken("The container is gone.")
        argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
        done = subprocess.run(
            argv, cwd=self.workdir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return CommandResult(exit_code=done.returncode, output=done.stdout, seconds=0.0)

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            Path(self.workdir, name).write_bytes(content)

    def get(self, path: str) -> bytes | None:
        found = Path(self.workdir, path)
        return found.read_bytes() if found.is_file() else None


@dataclass
class PlainSandbox:
    """A `Sandbox` without walls, for commands that a test wrote itself. Counts what is opened."""

    name: str = "plain"
    broken: bool = False
    opened: int = 0
    open_now: int = 0
    commands: list[str] = field(default_factory=list)

    def prepare(self, recipe: object, tree: Path) -> None: ...

    @contextmanager
    def open(self, tree: Path) -> Iterator[PlainSession]:
        self.opened += 1
        self.open_now += 1
        with TemporaryDirectory() as folder:
            copy = copytree(tree, Path(folder) / "copy", symlinks=True)
            try:
                yield PlainSession(str(copy), folder, self.broken)
            finally:
                self.open_now -= 1

    def sweep(self) -> tuple[str, ...]:
        return ()

    def describe(self) -> str:
        return "plain"


@pytest.fixture
def sandbox() -> PlainSandbox:
    return PlainSandbox()


@pytest.fixture
def budget() -> RunBudget:
    return RunBudget(max_cost=1.0, max_steps=20, max_time=900, clock=lambda: 0.0)


def step(**fields: object) -> Step:
    known = {
        "id": "s1",
        "kind": StepKind.EDIT,
        "text": "",
        "dimension": Dimension.AGENTIC_PROGRAMMING,
        "language": "python",
        "failures": (
            CaseResult(
                id="test_calc.py::test_add",
                outcome="failed",
                exception="AssertionError",
                message="assert -1 == 3",
                detail="test_calc.py:5: AssertionError\ncalc.py:2: in add",
                file="test_calc.py",
            ),
        ),
        "test_command": f"{sys.executable} -m pytest -q -p no:cacheprovider",
    }
    return Step(**{**known, **fields})


def candidate(**fields: object) -> Candidate:
    known = {
        "id": "test/model",
        "backend": "agent",
        "model": "test/model",
        "price": Price(input=1.0, output=1.0, source="config"),
        "tools": True,
    }
    return Candidate(**{**known, **fields})
