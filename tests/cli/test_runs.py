"""`acr runs list`: which runs are shown; and what is said of a run that cannot go on."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.cli.runs import described
from acr_cli.worktree.runs import RunFolder, new_run

Acr = Callable[..., subprocess.CompletedProcess[str]]
HOUR = 3600.0


@pytest.fixture
def three(acr_home: Path, tmp_path: Path) -> list[RunFolder]:
    """A fixed run of a day ago, one that was killed an hour ago after a step, one that its budget stopped."""
    made = []
    for status, hours in (("fixed", 24.0), ("killed", 1.0), ("budget", 0.0)):
        run, lock = new_run(acr_home, repository=tmp_path, task=f"a task that was {status}")
        lock.release()
        run.update(status=status, time=time.time() - hours * HOUR)
        made.append(run)
    made[1].keep("checkpoint.json", {"spent_usd": 0.25})
    return made


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ["budget", "killed", "fixed"]),
        (["--status", "killed,fixed"], ["killed", "fixed"]),
        (["--status", "not-fixed"], []),
        (["--since", "2h"], ["budget", "killed"]),
        (["--since", "2h", "--status", "killed", "-n", "5"], ["killed"]),
        (["-n", "1"], ["budget"]),
    ],
)
def test_runs_are_filtered(
    acr: Acr, three: list[RunFolder], options: list[str], shown: list[str], tmp_path: Path
) -> None:
    done = acr("runs", "list", "--json", *options, cwd=tmp_path)

    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [run["status"] for run in runs] == shown
    assert all(run["cost_usd"] == (0.25 if run["status"] == "killed" else 0.0) for run in runs)


@pytest.mark.parametrize("status", ["running", "killed", "interrupted", "error"])
def test_what_a_run_had_spent_that_was_cut_short_is_shown(three: list[RunFolder], status: str) -> None:
    three[1].update(status=status)
    assert described(three[1])["cost_usd"] == 0.25


def test_what_no_run_can_be_is_said(acr: Acr, three: list[RunFolder], tmp_path: Path) -> None:
    unknown = acr("runs", "list", "--status", "fixd", cwd=tmp_path)
    odd = acr("runs", "list", "--since", "soon", cwd=tmp_path)
    none = acr("runs", "list", "--status", "refused", cwd=tmp_path)

    assert (unknown.returncode, odd.returncode, none.returncode) == (2, 2, 0)
    assert "--status knows no 'fixd'." in unknown.stderr
    assert "--since must be a duration like 90, 90s, 15m or 1h, not 'soon'." in odd.stderr
    assert none.stdout == "No run fits.\n"


def test_a_run_that_kept_nothing_cannot_go_on_and_one_at_its_end_need_not(
    acr: Acr, three: list[RunFolder], tmp_path: Path
) -> None:
    fixed, killed, _ = three

    nothing = acr("runs", "resume", killed.id, cwd=tmp_path)
    ended = acr("runs", "resume", fixed.id, cwd=tmp_path)
    killed.keep("begun.json", {"tree": "1", "flags": {}, "secret_flags": ["setup"]})
    secret = acr("runs", "resume", killed.id, cwd=tmp_path)

    assert (nothing.returncode, ended.returncode, secret.returncode) == (2, 0, 2)
    assert "cannot go on: it ended before anything of it was kept." in nothing.stderr
    assert "at its end (verified, not applied): nothing is left to do." in ended.stdout
    assert "--setup held a secret, which was not kept." in secret.stderr


def test_a_run_that_was_taken_back_since_says_so(acr: Acr, three: list[RunFolder], tmp_path: Path) -> None:
    three[0].update(applied=True, undone=True)
    ended = acr("runs", "resume", three[0].id, cwd=tmp_path)
    assert ended.stdout.endswith("at its end (applied, and taken back since): nothing is left to do.\n")
