"""Runs that end in mid-air: nothing of the user's is touched, and the next run cleans up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acr_cli.memory.store import Memory
from acr_cli.testing.answers import Answer, Stall
from acr_cli.testing.loopback import LoopbackServer, Request
from acr_cli.worktree.kept import undo
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import list_runs
from tests.conftest import DOCKER_IMAGE

Acr = Callable[..., subprocess.CompletedProcess[str]]

EVENTS = ["run_started", "sandbox_ready", "baseline", "choice"]


def snapshot(repo: Path) -> dict[str, bytes]:
    """Every file of the repository, `.git` included."""
    return {
        str(path.relative_to(repo)): path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()
    }


@contextmanager
def running(repo: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    program = Path(sys.executable).parent / "acr"
    process = subprocess.Popen(
        [program, "fix", "--json", *options],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], event: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == event:
            return
    raise AssertionError(f"no {event}: {process.stderr.read() if process.stderr else ''}")


def copies_left(acr_home: Path) -> list[str]:
    heavy = ("tree", "git", "sandbox")
    return [str(path) for path in acr_home.glob("runs/*/*") if path.name in heavy]


@pytest.fixture
def stalling(broken: Path, pool: Callable[..., None]) -> Iterator[Path]:
    """The broken repository, and a model that begins to answer and never ends."""

    def stall(request: Request) -> Answer:
        return Stall(text="slug.py\n```\n", seconds=60)

    with LoopbackServer({"weak": stall}) as server:
        pool(server, {"weak": 0.5})
        yield broken


@pytest.mark.parametrize("event", EVENTS)
def test_ctrl_c_leaves_the_tree_as_it_was(stalling: Path, acr_home: Path, event: str) -> None:
    before = snapshot(stalling)

    with running(stalling, "--sandbox", "bubblewrap", "--allow", "openai/weak") as process:
        wait_for(process, event)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)

    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    result: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    assert (result["type"], result["status"]) == ("result", "interrupted")
    hinted = f"`acr runs resume {result['run']}`" in result["hint"]
    assert hinted is (event in {"baseline", "choice"})  # before, nothing that could go on was kept
    assert snapshot(stalling) == before
    assert copies_left(acr_home) == []


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_kill_9_loses_nothing_and_the_next_run_cleans_up(
    acr: Acr, stalling: Path, acr_home: Path, sandbox: str
) -> None:
    before = snapshot(stalling)
    options = ["--sandbox", sandbox, *(["--image", DOCKER_IMAGE] if sandbox == "docker" else [])]

    with running(stalling, *options, "--allow", "openai/weak") as process:
        wait_for(process, "choice")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    untouched = snapshot(stalling)
    left = copies_left(acr_home)
    following = acr("fix", "--json", *options, "--model", "builtin/repair", cwd=stalling)

    assert untouched == before
    assert left != []
    assert "had been killed" in following.stdout
    assert copies_left(acr_home) == []
    assert labelled() == [] if sandbox == "docker" else True


def test_two_runs_at_once_do_not_disturb_each_other(git_repo: Callable[..., Path]) -> None:
    source = {"a.py": "def double(x):\n    return x * 3\n", "b.txt": "mine\n"}
    test = (
        "from a import double\n\n\ndef test_double():\n    assert double(4) == 8\n    assert double(0) == 0\n"
    )
    repo = git_repo({**source, "test_a.py": test})

    with running(repo, "--sandbox", "none") as first, running(repo, "--sandbox", "none") as second:
        results = [
            json.loads(p.communicate(timeout=120)[0].strip().splitlines()[-1]) for p in (first, second)
        ]

    assert "fixed" in {result["status"] for result in results}
    assert {result["exit_code"] for result in results} <= {0, 1}
    assert (repo / "a.py").read_text() == "def double(x):\n    return x * 2\n"
    assert list(repo.glob(".acr-*")) == []


def test_a_file_that_changed_meanwhile_is_not_overwritten_and_takes_the_verified_patch_later(
    stalling: Path, git_repo: Callable[..., Path], acr_home: Path, acr: Acr
) -> None:
    test = "from a import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
    repo = git_repo({"a.py": "def double(x):\n    return x * 3\n", "test_a.py": test}, name="racing")

    with running(repo, "--sandbox", "none", "--model", "builtin/repair") as process:
        wait_for(process, "choice")
        (repo / "a.py").write_text("# mine\n")
        output, _ = process.communicate(timeout=120)

    result = json.loads(output.strip().splitlines()[-1])
    assert (result["exit_code"], result["applied"], result["error"]["id"]) == (1, False, "conflict")
    assert "a.py has changed" in result["error"]["message"]
    assert (repo / "a.py").read_text() == "# mine\n"
    assert "x * 2" in result["patch"]
    assert (result["status"], result["verified"]) == ("fixed", True)
    assert f"acr apply {result['run']}" in result["error"]["hint"]
    assert "verified, not applied" in acr("runs", "list", cwd=repo).stdout
    assert acr("runs", "resume", result["run"], cwd=repo).returncode == 1
    assert acr("apply", cwd=repo).returncode == 1
    (repo / "a.py").write_text("def double(x):\n    return x * 3\n\n\nMINE = 1\n")
    applied = acr("apply", cwd=repo)
    assert (applied.returncode, applied.stderr) == (0, "")
    assert (repo / "a.py").read_text() == "def double(x):\n    return x * 2\n\n\nMINE = 1\n"
    assert "verified, not applied" not in acr("runs", "list", cwd=repo).stdout


def test_what_a_kill_kept_from_being_done_after_a_patch_is_told_or_done_by_the_next_run(
    acr: Acr, git_repo: Callable[..., Path], acr_home: Path, tmp_path: Path
) -> None:
    test = "from a import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
    repo = git_repo({"a.py": "def double(x):\n    return x * 3\n", "test_a.py": test})
    fix = ("fix", "--json", "--sandbox", "none", "--model", "builtin/repair")
    deadly = tmp_path / "bin" / "git"
    deadly.parent.mkdir()
    deadly.write_text(
        f'#!/bin/sh\ncase " $* " in *" commit "*) kill -9 $PPID; esac\nexec {shutil.which("git")} "$@"\n'
    )
    deadly.chmod(0o755)
    killed = acr(*fix, "--commit", cwd=repo, env={"PATH": f"{deadly.parent}:{os.environ['PATH']}"})
    assert killed.returncode == -signal.SIGKILL
    (run,) = list_runs(acr_home)
    assert (repo / "a.py").read_text().endswith("return x * 2\n")
    undo(open_repository(repo), run)  # as by an `acr undo` that is killed next
    memory = Memory(acr_home)
    believed = [outcome.verdict for outcome in memory.list()]

    following = acr(*fix, "--dry-run", cwd=repo)
    assert following.returncode == 0, following.stderr
    assert "is applied; `git log` tells whether it is committed." in following.stdout
    (outcome,) = [outcome for outcome in memory.list() if outcome.run == run.id]
    memory.close()
    assert (believed, outcome.verdict) == (["passed"], "failed")
    assert run.describe()["corrected"] is True


def labelled() -> list[str]:
    import docker  # only where a test needs it

    client = docker.from_env()
    deadline = time.monotonic() + 10
    try:
        while True:
            filters: dict[str, Any] = {"label": "acr.run"}
            found = [c.name for c in client.containers.list(all=True, filters=filters, ignore_removed=True)]
            found += [v.name for v in client.volumes.list(filters=filters)]
            ours = [str(name) for name in found if "acr-test" not in str(name)]
            if not ours or time.monotonic() > deadline:
                return ours
            time.sleep(0.2)
    finally:
        client.close()
