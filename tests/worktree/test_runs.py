"""Run folders: found by name, swept when their process is dead, left alone while it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.records import Receipt, RunResult, Status
from acr_cli.worktree.delivery import JOURNAL
from acr_cli.worktree.runs import RunFolder, find_run, list_runs, new_run, newest_run, sweep_runs

SOURCE = Path(__file__).parents[2]


def started(home: Path, *, repository: str = "/repo") -> RunFolder:
    """A run whose process is over: nobody holds its lock."""
    run, lock = new_run(home, repository=Path(repository), task="fix it")
    lock.release()
    return run


def named(home: Path, *names: str) -> None:
    for name in names:
        (home / "runs" / name).mkdir(parents=True)


def test_a_new_run_says_what_it_is(tmp_path: Path) -> None:
    run, lock = new_run(tmp_path, repository=Path("/repo"), task="fix it\ud800")
    with lock:
        state = run.describe()
    assert (state["repository"], state["task"], state["status"]) == ("/repo", "fix it\ud800", "running")
    assert state["pid"] == os.getpid()
    assert run.path.parent == tmp_path / "runs"
    assert run.path.stat().st_mode & 0o077 == 0


def test_runs_are_listed_newest_first_also_within_a_second(tmp_path: Path) -> None:
    made = []
    for _ in range(5):
        made.append(started(tmp_path).id)
        # Another millisecond: ids are in the order of time down to that.
        while started(tmp_path / "clock").id[:19] == made[-1][:19]:
            pass
    assert [run.id for run in list_runs(tmp_path)] == made[::-1]


def test_a_home_without_runs_has_none(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "absent") == ()
    assert sweep_runs(tmp_path / "absent") == ()


def test_a_run_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(SandboxUnavailable) as caught:
        started(tmp_path)
    assert "cannot be made: " in caught.value.message
    assert "ACR_HOME" in caught.value.hint
    assert caught.value.exit_code == 4


# --- finding ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("20250101-000000-aaaa", "20250101-000000-aaaa"),
        ("20250101-000000-aaaab", "20250101-000000-aaaab"),
        ("20250102", "20250102-000000-bbbb"),
    ],
)
def test_a_run_is_found_by_its_name_or_a_unique_beginning(tmp_path: Path, name: str, found: str) -> None:
    named(tmp_path, "20250101-000000-aaaa", "20250101-000000-aaaab", "20250102-000000-bbbb")
    assert find_run(tmp_path, name).id == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("20250101", "'20250101' is the beginning of several runs."),
        ("2024", "'2024' is not a run."),
        ("../runs", "'../runs' is not a run."),
        ("", "'' is not a run."),
    ],
)
def test_a_name_that_is_no_run_is_a_usage_error(tmp_path: Path, name: str, message: str) -> None:
    named(tmp_path, "20250101-000000-aaaa", "20250101-000000-aaaab")
    with pytest.raises(UsageError) as caught:
        find_run(tmp_path, name)
    assert (caught.value.message, caught.value.exit_code) == (message, 2)
    assert "acr runs list" in caught.value.hint


def test_the_newest_run_of_a_repository_that_fits_is_found(tmp_path: Path) -> None:
    runs = {}
    for name, repository, patch in [("1", "/a", "p"), ("2", "/a", "p"), ("3", "/a", ""), ("4", "/b", "p")]:
        named(tmp_path, name)
        runs[name] = RunFolder(path=tmp_path / "runs" / name)
        runs[name].update(repository=repository)
        runs[name].keep_patch(patch)
    assert newest_run(tmp_path, Path("/a"), lambda run: bool(run.patch)) == runs["2"]
    assert newest_run(tmp_path, Path("/c"), lambda _: True) is None


# --- keeping ----------------------------------------------------------------------------------------------


def test_a_patch_of_any_bytes_is_kept(tmp_path: Path) -> None:
    run = started(tmp_path)
    assert run.patch == ""
    run.keep_patch("+\udcff\r\n")
    assert run.patch == "+\udcff\r\n"


def test_events_are_kept_and_a_line_that_a_kill_cut_short_is_skipped(tmp_path: Path) -> None:
    run = started(tmp_path)
    assert list(run.events()) == []
    run.log({"type": "one", "path": Path("/x")})
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"type": "cut')
    assert list(run.events()) == [{"type": "one", "path": "/x"}]


def test_damaged_lines_of_the_log_are_left_out(tmp_path: Path) -> None:
    run = started(tmp_path)
    run.log({"type": "first"})
    damage = b"\xff\xfe{{\n[]\n5\nnull\n" + b"[" * 100_000 + b"\n"
    (run.path / "events.jsonl").write_bytes((run.path / "events.jsonl").read_bytes() + damage)
    run.log({"type": "last"})
    assert [event["type"] for event in run.events()] == ["first", "last"]


def test_a_description_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    run = started(tmp_path)
    for content in ("{", "[]", "", "[" * 100_000):
        (run.path / "run.json").write_text(content)
        assert run.describe() == {}


def test_a_finished_run_says_how_it_ended(tmp_path: Path) -> None:
    run = started(tmp_path)
    run.finish(
        RunResult(
            run=run.id,
            status=Status.FIXED,
            exit_code=0,
            receipt=Receipt(paid_usd=0.5),
            patch="p",
            files=("a",),
        )
    )
    state = run.describe()
    assert (state["status"], state["files"], state["cost_usd"], run.patch) == ("fixed", ["a"], 0.5, "p")
    assert next(run.events())["type"] == "result"


# --- sweeping ---------------------------------------------------------------------------------------------


def test_a_live_run_is_not_swept(tmp_path: Path) -> None:
    run, lock = new_run(tmp_path, repository=Path("/repo"), task="")
    (run.path / "tree").mkdir()
    with lock:
        assert sweep_runs(tmp_path) == ()
    assert (run.path / "tree").exists()


def test_a_dead_run_loses_its_copies_and_keeps_the_rest(tmp_path: Path) -> None:
    run = started(tmp_path)
    for name in ("tree", "git", "sandbox", "apply-x"):
        (run.path / name / "deep").mkdir(parents=True)
        (run.path / name / "deep" / "file").write_text("")
    run.keep_patch("p")
    assert sweep_runs(tmp_path) == (run,)
    assert sorted(p.name for p in run.path.iterdir() if p.is_dir()) == []
    assert (run.patch, run.describe()["status"], run.describe()["applied"]) == ("p", "killed", False)
    assert sweep_runs(tmp_path) == ()


@pytest.mark.parametrize("copy", ["tree", "git", "sandbox", "apply-x1"])
def test_a_run_that_was_killed_while_it_cleaned_up_is_cleaned_up(tmp_path: Path, copy: str) -> None:
    run = started(tmp_path)
    run.update(status="interrupted")
    (run.path / copy / "deep").mkdir(parents=True)
    assert [swept.id for swept in sweep_runs(tmp_path)] == [run.id]
    assert not (run.path / copy).exists()
    assert run.describe()["status"] == "interrupted"
    assert sweep_runs(tmp_path) == ()


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    run = started(tmp_path)
    run.update(status="fixed")
    run.keep_patch("a patch")
    assert sweep_runs(tmp_path) == ()
    assert (run.patch, run.describe()["status"]) == ("a patch", "fixed")


def test_read_only_folders_are_removed_too(tmp_path: Path) -> None:
    run = started(tmp_path)
    locked = run.path / "tree" / "locked" / "inner"
    locked.mkdir(parents=True)
    (locked / "file").write_text("")
    (run.path / "tree" / "out").symlink_to(tmp_path)
    locked.chmod(0)
    locked.parent.chmod(0o555)
    program = (
        "import sys; from pathlib import Path; from acr_cli.worktree.runs import sweep_runs\n"
        "print(len(sweep_runs(Path(sys.argv[1]))))\n"
    )
    command = [sys.executable, "-B", "-c", program, str(tmp_path)]
    if os.geteuid() == 0:
        for outer in tmp_path.parents:
            outer.chmod(outer.stat().st_mode | 0o055)
        subprocess.run(["chown", "-R", "1000:1000", tmp_path], check=True)
        command = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *command]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert not (run.path / "tree").exists()


HOLDER = """
import sys, time
from pathlib import Path
from acr_cli.worktree.runs import new_run
run, lock = new_run(Path(sys.argv[1]), repository=Path("/repo"), task="")
(run.path / "tree").mkdir()
print(run.id, flush=True)
time.sleep(600)
"""


def test_a_run_of_another_process_is_swept_only_once_that_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert sweep_runs(tmp_path) == ()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert [run.id for run in sweep_runs(tmp_path)] == [name]


def test_a_tree_that_cannot_be_reached_now_is_seen_to_by_the_next_sweep(tmp_path: Path) -> None:
    run = started(tmp_path)
    (run.path / JOURNAL).mkdir()  # reading it fails
    assert sweep_runs(tmp_path) == ()
    (run.path / JOURNAL).rmdir()
    assert sweep_runs(tmp_path) == (run,)


def test_a_run_is_let_go_of_once_it_is_not_at_rest_any_more(tmp_path: Path) -> None:
    run = started(tmp_path)
    with run.at_rest() as lock:
        assert lock.is_locked
        with pytest.raises(UsageError, match="is at work"), run.at_rest():
            pass
    assert not lock.is_locked
