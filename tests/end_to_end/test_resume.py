"""A run that was cut short goes on at its last finished step; what is done is neither done nor paid again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from acr_cli.memory.store import Memory
from acr_cli.records import Usage
from acr_cli.testing.answers import Answer, Say, Stall
from acr_cli.testing.loopback import LoopbackServer, Request
from acr_cli.worktree.runs import RunFolder
from tests.end_to_end.conftest import result_of
from tests.end_to_end.test_interruptions import copies_left, running, snapshot, wait_for

Acr = Callable[..., subprocess.CompletedProcess[str]]

TASK = "Do this:\n- write one.txt\n- write two.txt\n- write three.txt"
NAMES = ("one", "two", "three")
USAGE = Usage(input_tokens=1000, output_tokens=100, calls=1)
COST = (1000 * 1.0 + 100 * 5.0) / 1e6  # USD a call, at the price of the pool below
PLAN = json.dumps([{"kind": "edit", "text": f"write {name}.txt"} for name in NAMES])


def written(name: str) -> Say:
    return Say(text=f"{name}.txt\n```\n{name}\n```\n", usage=USAGE)


@dataclass(kw_only=True, slots=True)
class Model:
    """Plans, and writes the file that a step is about; never ends its answer to the call with this number."""

    stalls_at: int = 0
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        said = str(request.messages[-1]["content"])
        part = next((n for n in NAMES if f"write {n}.txt\n\nThis is one part" in said), "plan")
        self.asked.append(part)
        if len(self.asked) == self.stalls_at:
            return Stall(text="begins", seconds=60)
        return Say(text=PLAN, usage=USAGE) if part == "plan" else written(part)

    @property
    def answered(self) -> int:
        return len(self.asked) - bool(0 < self.stalls_at <= len(self.asked))


@pytest.fixture
def model(pool: Callable[..., None]) -> Iterator[Model]:
    model = Model()
    with LoopbackServer({"writer": model}) as server:
        pool(server, {"writer": 1.0})
        yield model
        server.assert_clean()


@pytest.fixture
def repo(git_repo: Callable[..., Path]) -> Path:
    """Without tests, with a file that is not committed as it is."""
    repo = git_repo({"a.txt": "old\n"})
    (repo / "a.txt").write_text("mine\n")
    return repo


OPTIONS = ("--sandbox", "none", "--allow", "openai/writer", TASK)


def killed(repo: Path, event: str) -> None:
    """A run that is killed the moment after it has said this event."""
    with running(repo, *OPTIONS) as process:
        wait_for(process, event)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def killed_in_call(repo: Path, model: Model, call: int) -> None:
    """A run that is killed while the model is at its n-th answer."""
    model.stalls_at = call
    with running(repo, *OPTIONS) as process:
        deadline = time.monotonic() + 120
        while len(model.asked) < call and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    assert len(model.asked) == call


def the_run(acr_home: Path) -> RunFolder:
    (folder,) = (acr_home / "runs").iterdir()
    return RunFolder(path=folder)


def resumed(acr: Acr, repo: Path, run: RunFolder, *options: str) -> dict[str, Any]:
    done = acr("runs", "resume", run.id, "--json", *options, cwd=repo.parent)
    return {**result_of(done.stdout), "stderr": done.stderr}


def assert_whole(result: dict[str, Any], model: Model, acr_home: Path) -> None:
    """The result of the whole task, each call paid once, each outcome kept once."""
    assert result["status"] == "changed_unverified", result
    assert result["files"] == ["one.txt", "three.txt", "two.txt"]
    assert result["cost_usd"] == pytest.approx(model.answered * COST)
    kept = [outcome.id for outcome in Memory(acr_home).outcomes()]
    assert len(kept) == len(set(kept)) == 4
    assert copies_left(acr_home) == []


@pytest.mark.parametrize("call", [1, 2, 4])
def test_what_is_finished_is_not_done_again(
    acr: Acr, acr_home: Path, repo: Path, model: Model, call: int
) -> None:
    before = snapshot(repo)
    killed_in_call(repo, model, call)
    run = the_run(acr_home)

    result = resumed(acr, repo, run)

    everything = ["plan", *NAMES]
    assert model.asked == [*everything[:call], *everything[call - 1 :]]
    assert_whole(result, model, acr_home)
    assert snapshot(repo) == before


@pytest.mark.parametrize("event", ["run_started", "attempt", "remembered"])
def test_a_run_that_was_killed_at_any_moment_goes_on(
    acr: Acr, acr_home: Path, repo: Path, model: Model, event: str
) -> None:
    killed(repo, event)
    run = the_run(acr_home)
    if run.kept("begun.json") is None:
        done = acr("runs", "resume", run.id, cwd=repo)
        assert (done.returncode, model.asked) == (2, [])
        assert "before anything of it was kept" in done.stderr
        return

    result = resumed(acr, repo, run)

    assert result["status"] == "changed_unverified", result
    assert result["files"] == ["one.txt", "three.txt", "two.txt"]
    ids = [outcome.id for outcome in Memory(acr_home).outcomes()]
    assert sorted(ids) == sorted({f"{run.id}.{step}.1" for step in ("s1", "s1.1", "s1.2", "s1.3")})


def test_a_run_that_its_budget_stopped_goes_on_with_more(
    acr: Acr, acr_home: Path, repo: Path, model: Model
) -> None:
    stopped = result_of(acr("fix", "--json", *OPTIONS, "--max-steps", "2", cwd=repo).stdout)
    run = the_run(acr_home)

    again = resumed(acr, repo, run)
    result = resumed(acr, repo, run, "--max-steps", "9")
    once_more = acr("runs", "resume", run.id, cwd=repo)

    assert (stopped["status"], stopped["exit_code"]) == ("budget", 6)
    assert f"acr runs resume {run.id}" in stopped["hint"]
    assert (again["status"], len(model.asked)) == ("budget", 4)
    assert_whole(result, model, acr_home)
    assert once_more.returncode == 8
    assert "at its end (changed unverified)" in once_more.stdout
    assert len(model.asked) == 4


def test_it_goes_on_from_the_files_as_they_were(acr: Acr, acr_home: Path, repo: Path, model: Model) -> None:
    killed_in_call(repo, model, 2)
    (repo / "a.txt").write_text("mine, and later\n")
    (repo / "later.txt").write_text("later\n")

    result = resumed(acr, repo, the_run(acr_home))

    assert_whole(result, model, acr_home)
    assert (repo / "a.txt").read_text() == "mine, and later\n"


def test_a_file_that_the_run_changes_and_the_user_changed_since_is_named(
    acr: Acr, acr_home: Path, repo: Path, model: Model
) -> None:
    killed_in_call(repo, model, 3)
    (repo / "one.txt").write_text("by hand\n")

    result = resumed(acr, repo, the_run(acr_home))

    assert (result["status"], result["exit_code"], len(model.asked)) == ("error", 1, 3)
    assert result["error"]["message"].startswith("one.txt changed since the run ")
    assert (repo / "one.txt").read_text() == "by hand\n"


def test_a_run_that_is_at_work_is_not_resumed(acr: Acr, acr_home: Path, repo: Path, model: Model) -> None:
    killed_in_call(repo, model, 1)
    run = the_run(acr_home)

    with run.lock():
        done = acr("runs", "resume", run.id, cwd=repo)

    assert (done.returncode, len(model.asked)) == (2, 1)
    assert f"The run {run.id} is at work." in done.stderr
