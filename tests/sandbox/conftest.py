"""The three sandboxes, opened as the loop opens them, with limits that are soon reached."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acr_cli.events import Event
from acr_cli.protocols import Limits, Recipe, Sandbox, Session
from acr_cli.sandbox.choose import open_sandbox

IMAGE = os.environ.get("ACR_TEST_IMAGE", "acr-test-python:ci")
LIMITS = Limits(memory_bytes=192 * 1024**2, pids=48, cpus=1.0, seconds=30, output_bytes=20_000)
EVERY = [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap", "none"]
WALLED = EVERY[:2]


@dataclass(kw_only=True)
class Opened:
    """A sandbox, and what it has told."""

    sandbox: Sandbox
    run_id: str
    home: Path
    events: list[Event] = field(default_factory=list)


Opener = Callable[..., Opened]


@pytest.fixture
def opener(acr_home: Path) -> Opener:
    """`opener("docker", environ={...}, repository=path, network=True) -> Opened`."""

    def make(name: str, *, limits: Limits = LIMITS, image: str | None = IMAGE, **more: object) -> Opened:
        events: list[Event] = []
        run_id = f"test-{secrets.token_hex(4)}"
        given = {"environ": dict(os.environ), **more}
        sandbox = open_sandbox(
            name,
            run_id=run_id,
            home=acr_home,
            image=image if name in {"docker", "auto"} else None,
            limits=limits,
            emit=events.append,
            **given,  # type: ignore[arg-type]
        )
        return Opened(sandbox=sandbox, run_id=run_id, home=acr_home, events=events)

    return make


@pytest.fixture(params=EVERY)
def opened(request: pytest.FixtureRequest, opener: Opener) -> Opened:
    """Each sandbox in turn."""
    return opener(request.param)


@pytest.fixture(params=WALLED)
def walled(request: pytest.FixtureRequest, opener: Opener) -> Opened:
    """Each sandbox that confines what runs in it."""
    return opener(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with an executable, links and unusual names."""
    root = tmp_path / "tree"
    (root / "a folder" / "größe").mkdir(parents=True)
    (root / "a folder" / "größe" / "ein file.txt").write_text("grüße\n")
    (root / "run.sh").write_text("#!/bin/sh\necho it runs\n")
    (root / "run.sh").chmod(0o755)
    (root / "plain.txt").write_text("plain\n")
    (root / "link.txt").symlink_to("plain.txt")
    (root / "dangling").symlink_to("nowhere")
    (root / "outside").symlink_to("/etc")
    (root / ".git").mkdir()
    (root / ".git" / "secret").write_text("history")
    return root


@pytest.fixture
def session(opened: Opened, tree: Path) -> Iterator[Session]:
    """A session in each sandbox in turn, with Python."""
    opened.sandbox.prepare(Recipe(language="python"), tree)
    with opened.sandbox.open(tree) as session:
        yield session


@pytest.fixture
def walled_session(walled: Opened, tree: Path) -> Iterator[Session]:
    """A session in each confining sandbox in turn, with Python."""
    walled.sandbox.prepare(Recipe(language="python"), tree)
    with walled.sandbox.open(tree) as session:
        yield session
