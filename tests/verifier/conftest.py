"""A bench: a run's tree, a real sandbox and a verifier, and edits that stand for an attempt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acr_cli.events import Event, Notice
from acr_cli.protocols import Limits, Sandbox
from acr_cli.records import Attempt, Baseline, Dimension, Step, StepKind, Task, Verdict
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.toolchains.command import Command
from acr_cli.toolchains.python import Python
from acr_cli.verifier.verifier import Verifier
from acr_cli.worktree.tree import RunTree

IMAGE = os.environ.get("ACR_TEST_IMAGE", "acr-test-python:ci")

Files = Mapping[str, str | None]


@dataclass
class Bench:
    """One repository under test; `events` holds all that the verifier said."""

    tree: RunTree
    verifier: Verifier
    events: list[Event] = field(default_factory=list)

    def baseline(self, text: str = "", *, log: str = "") -> Baseline:
        return self.verifier.baseline(Task(text=text, log=log), self.tree)

    def write(self, files: Files) -> None:
        for name, content in files.items():
            path = self.tree.root / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)

    def attempt(
        self,
        baseline: Baseline,
        files: Files,
        *,
        kind: StepKind = StepKind.EDIT,
        alternatives: int = 0,
        void: str = "",
    ) -> Verdict:
        """The verdict on these edits (None deletes a file)."""
        since = self.tree.checkpoint()
        self.write(files)
        step = Step(
            id="s1", kind=kind, text="", dimension=Dimension.BUG_FIXING, language="python",
            failures=baseline.failures(),
        )  # fmt: skip
        attempt = Attempt(candidate="someone", alternatives=alternatives, void=void)
        return self.verifier.check(step, baseline, attempt, self.tree, since)

    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


@pytest.fixture
def bench(tmp_path: Path, acr_home: Path) -> Callable[..., Bench]:
    """Makes a bench: `bench(files, sandbox="none", test=None, setup=None, seconds=60)`."""

    def make(
        files: Mapping[str, str],
        *,
        sandbox: str | Sandbox = "none",
        test: str | None = None,
        setup: str | None = None,
        seconds: float = 60.0,
    ) -> Bench:
        source = tmp_path / "source"
        for name, text in files.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tree = RunTree.copy(source, sorted(files), tmp_path / "run")
        events: list[Event] = []
        limits = Limits(seconds=seconds)
        where = sandbox if not isinstance(sandbox, str) else open_sandbox(
            sandbox,
            run_id="r1",
            home=acr_home,
            image=IMAGE if sandbox == "docker" else None,
            limits=limits,
            emit=events.append,
            environ={**os.environ, "VIRTUAL_ENV": sys.prefix},
        )  # fmt: skip
        verifier = Verifier(
            toolchains=[Python(), Command()],
            sandbox=where,
            emit=events.append,
            test=test,
            setup=setup,
            limits=limits,
            repository="a test's repository",
            image=IMAGE if sandbox == "docker" else None,
        )
        return Bench(tree=tree, verifier=verifier, events=events)

    return make
