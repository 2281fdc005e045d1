"""Faults thrown at a run, by a seed; and whether every byte of the user's was safe afterwards.

One trial makes a repository with everything that a user could lose, starts `acr fix` in it, lets one thing go
wrong at a moment that the seed says, lets another run clean up, and compares.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from acr_cli.sandbox.copies import sweep_copies
from acr_cli.worktree.runs import sweep_runs
from tests.security.hostile import PROGRAM

ACR = Path(sys.executable).parent / "acr"
FIXED = PROGRAM["limit.py"].replace("value > low", "value < low")
MINE = "# mine\n"
EVENTS = (
    "run_started",
    "sandbox_ready",
    "baseline",
    "plan",
    "choice",
    "attempt",
    "verdict",
    "applied",
    "result",
)
SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM, "hup": signal.SIGHUP}
FAULTS = (*SIGNALS, "edited", "edited beside", "switched", "tree deleted", "two at once", "disk", "rebase")
ENDS = {0, 1, 4, 6, 8, 9, 130, 143, -signal.SIGKILL, -signal.SIGHUP, -signal.SIGTERM, -signal.SIGINT}
"""What a run may end with; a signal that kills is no answer of the program's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What was done to a run, and what was lost: nothing, if all is well."""

    seed: int
    fault: str
    moment: str
    code: int
    files: int  # whose state was compared
    losses: tuple[str, ...]


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def repository(root: Path, *, rebase: bool) -> Path:
    """A repository with staged, unstaged, untracked and ignored files, a stash, a branch, hooks, a link."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "--initial-branch=main")
    for name, text in {
        **PROGRAM,
        "other.txt": "1\n",
        ".gitignore": "*.log\n",
        "run.sh": "#!/bin/sh\n",
    }.items():
        (root / name).write_text(text)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("other.txt")
    git(root, "add", "--all")
    git(root, "commit", "-qm", "first")
    git(root, "switch", "-qc", "other")
    (root / "other.txt").write_text("2\n")
    git(root, "commit", "-qam", "second")
    git(root, "switch", "-q", "main")
    if rebase:
        (root / "other.txt").write_text("3\n")
        git(root, "commit", "-qam", "third")
        subprocess.run(["git", "rebase", "other"], cwd=root, check=False, capture_output=True)
    else:
        (root / "run.sh").write_text("#!/bin/sh\n# put away\n")
        git(root, "stash", "-q")
        (root / "staged.txt").write_text("staged\n")
        git(root, "add", "staged.txt")
        (root / "staged.txt").write_text("staged, and changed since\n")
    (root / "untracked.txt").write_text("untracked\n")
    (root / "ignored.log").write_text("ignored\n")
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    git(root, "config", "user.nickname", "mine")
    return root


def state(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file of the user's, git's own included."""
    return {
        path.relative_to(root).as_posix(): (
            path.lstat().st_mode,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def start(repo: Path, environ: Mapping[str, str], *flags: str) -> subprocess.Popen[str]:
    command = [str(ACR), "fix", "--json", "--sandbox", "none", "--yes", "--model", "builtin/repair", *flags]
    return subprocess.Popen(
        command,
        cwd=repo,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trial(seed: int, folder: Path, library: Path | None, *, environ: Mapping[str, str]) -> Trial:
    """One fault, by its seed. `library`: the shim that makes calls to the disk fail; None: there is none."""
    rng = Random(seed)
    fault = FAULTS[seed % len(FAULTS)]
    if fault == "disk" and library is None:
        fault = "kill"
    moment = rng.choice(EVENTS)
    repo, home = repository(folder / "repo", rebase=fault == "rebase"), folder / "home"
    environ = {**environ, "ACR_HOME": str(home), "VIRTUAL_ENV": sys.prefix}
    before = state(repo)
    process = start(repo, environ | _broken_disk(rng, fault, library, home, repo))
    second = start(repo, environ) if fault == "two at once" else None
    _wait_for(process, moment)
    user = _act(fault, process, repo, home)
    _, errors = process.communicate(timeout=300)
    if second is not None:
        errors += second.communicate(timeout=300)[1]
    sweep_runs(home)  # what the next run does first
    sweep_copies(home)
    losses = [*_differences(before, state(repo), user), *_left_behind(home)]
    losses += [errors.splitlines()[-1]] if "Traceback" in errors else []
    if process.returncode not in ENDS:
        losses.append(f"exit code {process.returncode}")
    shutil.rmtree(folder, ignore_errors=True)
    return Trial(
        seed=seed,
        fault=fault,
        moment=moment,
        code=process.returncode,
        files=len(before),
        losses=tuple(losses),
    )


def _broken_disk(rng: Random, fault: str, library: Path | None, home: Path, repo: Path) -> dict[str, str]:
    if fault != "disk":
        return {}
    return {
        "LD_PRELOAD": str(library),
        "FAULT_AT": str(rng.randint(1, 120)),
        "FAULT_MORE": str(rng.choice([0, 3, 10**6])),
        "FAULT_ERROR": str(rng.choice([errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT])),
        "FAULT_UNDER": str(rng.choice([home, repo])),
    }


def _wait_for(process: subprocess.Popen[str], event: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == event:
            return


def _act(fault: str, process: subprocess.Popen[str], repo: Path, home: Path) -> Callable[[str], bytes | None]:
    """Let it go wrong. Returns what the user has written since, by path."""
    written: dict[str, bytes] = {}
    if fault in SIGNALS:
        process.send_signal(SIGNALS[fault])
    elif fault == "edited":
        (repo / "limit.py").write_text(MINE)
        written["limit.py"] = MINE.encode()
    elif fault == "edited beside":
        (repo / "untracked.txt").write_text(MINE)
        written["untracked.txt"] = MINE.encode()
    elif fault == "switched":
        git(repo, "switch", "-q", "other")
        written["other.txt"] = b"2\n"
    elif fault == "tree deleted":
        for tree in home.glob("runs/*/tree"):
            shutil.rmtree(tree, ignore_errors=True)
    return written.get


def _differences(
    before: Mapping[str, tuple[int, bytes]],
    after: Mapping[str, tuple[int, bytes]],
    user: Callable[[str], bytes | None],
) -> list[str]:
    """Every file that is neither as it was, nor as the user has made it since, nor the verified fix."""
    switched = user("other.txt") is not None
    found = []
    for name in sorted({*before, *after}):
        if switched and name.startswith(".git/"):  # git itself writes them as it switches
            continue
        was, now = before.get(name), after.get(name)
        wanted = user(name)
        if wanted is not None:
            if now is None or now[1] != wanted:
                found.append(f"{name}: what the user wrote is gone")
        elif now != was and not (name == "limit.py" and now is not None and now[1] == FIXED.encode()):
            found.append(f"{name}: {'gone' if now is None else 'new' if was is None else 'changed'}")
    return found


def _left_behind(home: Path) -> list[str]:
    heavy = ("tree", "git", "sandbox")
    left = [str(path) for path in home.glob("runs/*/*") if path.name in heavy]
    return left + [f"process {pid}" for pid in _processes(home)]


def _processes(home: Path) -> list[str]:
    """Processes that still work for this home."""
    marker, found = f"ACR_HOME={home}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            alive = b"Z" not in (folder / "stat").read_bytes().rpartition(b")")[2][:3]
            if alive and marker in (folder / "environ").read_bytes().split(b"\0"):
                found.append(folder.name)
        except OSError:
            continue
    return found
