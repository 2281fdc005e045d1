"""The folder of a run: `runs/ID` with its lock, events, patch and result; and what dead runs left behind."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.events import RunFinished, to_json
from acr_cli.records import RunResult
from acr_cli.redaction import redact, redacted
from acr_cli.worktree.delivery import JOURNAL, Change, deliver, recover

_DESCRIPTION, _PATCH, _EVENTS, _LOCK = "run.json", "patch.diff", "events.jsonl", "lock"
_HEAVY = ("tree", "git", "sandbox")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFolder:
    """One run on disk. While it is going on, its process holds `lock`."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    def describe(self) -> dict[str, Any]:
        """`run.json`: repository, task, status, time, and the result once there is one."""
        content = self.kept(_DESCRIPTION)
        return content if isinstance(content, dict) else {}

    def update(self, **fields: Any) -> None:
        """Change fields of `run.json`, atomically."""
        self.keep(_DESCRIPTION, {**self.describe(), **fields})

    def keep(self, name: str, value: Any) -> None:
        """Write a JSON file of the run, whole or not at all; it is on the disk afterwards."""
        temporary = self.path / f"{name}.new"
        with temporary.open("w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / name)

    def kept(self, name: str) -> Any:
        """What was kept under this name; None where there is nothing, or it is damaged."""
        try:
            return json.loads((self.path / name).read_text())
        except (OSError, ValueError, RecursionError):
            return None

    def finish(self, result: RunResult) -> None:
        """Keep how the run ended."""
        self.keep_patch(result.patch)
        self.log(to_json(RunFinished(result=result)))
        self.update(
            status=result.status.value,
            applied=result.applied,
            exit_code=result.exit_code,
            files=result.files,
            summary=redact(result.summary),
            cost_usd=result.receipt.paid_usd,
        )

    @property
    def patch(self) -> str:
        try:
            return (self.path / _PATCH).read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""

    def keep_patch(self, patch: str) -> None:
        (self.path / _PATCH).write_bytes(patch.encode("utf-8", "surrogateescape"))

    def log(self, event: dict[str, Any]) -> None:
        """Append an event to the run's log, without secrets."""
        plain = redacted(json.loads(json.dumps(event, default=str)))
        with (self.path / _EVENTS).open("a") as file:
            file.write(json.dumps(plain) + "\n")

    def sync(self) -> None:
        """Make what is in the run's log durable."""
        with (self.path / _EVENTS).open("ab") as file:
            os.fsync(file.fileno())

    def events(self) -> Iterator[dict[str, Any]]:
        """What is in the log; a line that a kill cut short, or that is damaged, is left out."""
        try:
            lines = (self.path / _EVENTS).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event

    def deliver(self, root: Path, changes: Mapping[str, Change], **note: Any) -> None:
        """Write changes into the user's files, and then these fields into `run.json`: neither without the
        other, whatever is killed.

        Raises: PatchConflict when that cannot be; nothing is changed then."""
        deliver(root, changes, self.path, note=note, keep=lambda fields: self.update(**fields))

    def recover(self) -> tuple[str, ...]:
        """Finish a delivery that was killed; under the lock. Raises: OSError when that cannot be now."""
        return recover(self.path, keep=lambda fields: self.update(**fields))

    def copies(self) -> list[Path]:
        """The working copies that are there."""
        found = (
            *(self.path / name for name in _HEAVY),
            *self.path.glob("apply-*"),
            *self.path.glob("beside-*"),
        )
        return [place for place in found if os.path.lexists(place)]

    def drop_copies(self) -> None:
        """Remove the working copies; patch, events and result stay."""
        for place in self.copies():
            _remove(place)

    def lock(self) -> FileLock:
        return FileLock(self.path / _LOCK, timeout=0)

    @contextmanager
    def at_rest(self) -> Iterator[FileLock]:
        """The lock, held; a delivery that was killed is finished first.

        Raises: UsageError when a process is at work on this run, SandboxUnavailable when its folder or what
        it delivers to cannot be written."""
        lock = self.lock()
        try:
            held = lock.acquire()
        except Timeout as error:
            raise UsageError(f"The run {self.id} is at work.", hint="Wait until it ends.") from error
        except OSError as error:
            raise _unwritable(self.path, error) from error
        with held:  # not `lock`, which would be held once more, and so for good
            try:
                self.recover()
            except OSError as error:
                raise _unwritable(self.path, error) from error
            yield lock


def new_run(home: Path, *, repository: Path, task: str) -> tuple[RunFolder, FileLock]:
    """A new run's folder, and its lock, held until it is released or the process dies.

    Raises: SandboxUnavailable when the folder cannot be made."""
    now = time.time()
    # In the order of time, also within a second.
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    name = f"{stamp}-{int(now * 1000) % 1000:03d}{secrets.token_hex(2)}"
    folder = RunFolder(path=home / "runs" / name)
    try:
        for place in (home, home / "runs"):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.path.mkdir(mode=0o700)
        lock = folder.lock()
        lock.acquire()
        folder.update(
            repository=str(repository), task=redact(task), status="running", time=now, pid=os.getpid()
        )
    except OSError as error:
        raise _unwritable(folder.path, error, how="made") from error
    return folder, lock


def list_runs(home: Path) -> tuple[RunFolder, ...]:
    """All runs, newest first."""
    place = home / "runs"
    names = sorted((p for p in place.iterdir() if p.is_dir()), reverse=True) if place.is_dir() else []
    return tuple(RunFolder(path=p) for p in names)


def find_run(home: Path, name: str) -> RunFolder:
    """The run of this id or unique beginning.

    Raises: UsageError."""
    runs = list_runs(home)
    found = [r for r in runs if r.id == name] or [r for r in runs if name and r.id.startswith(name)]
    if len(found) != 1:
        problem = "is the beginning of several runs" if found else "is not a run"
        raise UsageError(f"{name!r} {problem}.", hint="`acr runs list` shows them.")
    return found[0]


def newest_run(
    home: Path, repository: Path, fits: Callable[[RunFolder], bool], *, by: str = "time"
) -> RunFolder | None:
    """The newest run of a repository that fits, if there is one, by this field of `run.json`."""
    ours = [r for r in list_runs(home) if r.describe().get("repository") == str(repository) and fits(r)]
    return max(ours, key=lambda run: run.describe().get(by) or 0.0, default=None)


def sweep_runs(home: Path) -> tuple[RunFolder, ...]:
    """Clean up after runs whose process died: half-written deliveries, working copies. Those found."""
    return tuple(run for run in list_runs(home) if _sweep(run))


def is_unclean(run: RunFolder) -> bool:
    """Whether a run is at work, or died before it had cleaned up: its lock tells which.

    A run that had ended may have been killed while it cleaned up, and so may `acr apply` of its patch."""
    return _is_running(run) or (run.path / JOURNAL).exists() or bool(run.copies())


def _is_running(run: RunFolder) -> bool:
    return bool(run.describe().get("status") == "running")


def _sweep(run: RunFolder) -> bool:
    """Whether the run was dead, and has been cleaned up."""
    if not is_unclean(run):
        return False
    try:
        with run.lock():
            run.recover()
            run.drop_copies()
            if _is_running(run):  # it may have ended while the lock was waited for
                run.update(status="killed", applied=bool(run.describe().get("applied")))
    except OSError:  # it lives (Timeout is an OSError), or cannot be reached now: the next sweep sees to it
        return False
    return True


def _unwritable(folder: Path, error: OSError, how: str = "written") -> SandboxUnavailable:
    return SandboxUnavailable(
        f"{folder} cannot be {how}: {(error.strerror or str(error)).lower()}.",
        hint="acr keeps its files there; free space, or choose another place with ACR_HOME.",
    )


def _remove(folder: Path) -> None:
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except PermissionError:  # a read-only folder in the copy: its owner may still open it
        folders = [folder]
        while folders:
            place = folders.pop()
            place.chmod(0o700)
            folders += [entry for entry in place.iterdir() if entry.is_dir() and not entry.is_symlink()]
        shutil.rmtree(folder)
