"""What a test leaves behind: processes, temporary files, locks that are held, mounts.

A process is ours if its command, its environment or its folder names the session's folder, which holds every
home.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

PATIENCE = 5.0  # seconds that a process which is ending may take


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """One that outlived the test which began it."""

    pid: int
    started: int
    command: str
    test: str

    def __str__(self) -> str:
        return f"process {self.pid} of {self.test}: {self.command[:200]}"

    def lives(self) -> bool:
        return _started(self.pid) == self.started

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            if self.lives():
                os.kill(self.pid, signal.SIGKILL)


class Processes:
    """Those that belong to a session, found among all that are new since one last looked."""

    def __init__(self, *folders: Path) -> None:
        self._marks = [os.fsencode(folder) for folder in folders]
        self._known = _pids()
        self._outlived: list[Process] = []

    def look(self, test: str) -> None:
        """Note what a test that has ended leaves running: the fixtures of its module may still end it."""
        now = _pids()
        for pid in now - self._known:
            started = _started(pid)
            if started is not None and self._is_ours(pid):
                command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")
                if "multiprocessing.resource_tracker" in command:
                    continue  # Python's own: it ends with the process that began it
                self._outlived.append(Process(pid=pid, started=started, command=command, test=test))
        self._known = now

    def left(self, patience: float = PATIENCE) -> list[Process]:
        """Those noted that still live `patience` seconds from now; each is named once."""
        until = time.monotonic() + patience
        while (alive := [one for one in self._outlived if one.lives()]) and time.monotonic() < until:
            time.sleep(0.05)
        self._outlived = []
        return alive

    def _is_ours(self, pid: int) -> bool:
        try:
            folder = os.fsencode(os.readlink(f"/proc/{pid}/cwd"))  # noqa: PTH115
        except OSError:
            folder = b""
        texts = (folder, _read(pid, "cmdline"), _read(pid, "environ"))
        return any(mark in text for mark in self._marks for text in texts)


def _pids() -> frozenset[int]:
    with suppress(OSError):
        return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return frozenset()


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""


def _started(pid: int) -> int | None:
    """When a process began, in the system's unit; None once it has ended, its parent told or not."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[19]) if fields and fields[0] not in (b"Z", b"X") else None


def below_the_folders_of(
    folder: Path, *, only: Sequence[str] = ("*",), patience: float = PATIENCE
) -> list[str]:
    """What the folders in a folder hold that are to be empty by now, of names like `only`."""
    until = time.monotonic() + patience
    while (left := list(_inner(folder, only))) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _inner(folder: Path, only: Sequence[str]) -> Iterator[str]:
    for each in _names(folder):
        for name in _names(folder / each):
            if any(fnmatch(name, one) for one in only):
                yield f"{each}/{name}"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []


def locks() -> list[str]:
    """Files that this process holds a lock on: `/proc/locks` names them by their inode."""
    held = [line.split() for line in _lines("/proc/locks")]
    inodes = {line[-3].rpartition(":")[2] for line in held if len(line) >= 8 and line[-4] == str(os.getpid())}
    found = []
    for descriptor in _names(Path("/proc/self/fd")) if inodes else ():
        with suppress(OSError):
            if str(os.stat(f"/proc/self/fd/{descriptor}").st_ino) in inodes:  # noqa: PTH116
                found.append(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
    return sorted(set(found))


def mounts(folder: Path) -> list[str]:
    """What is mounted below a folder."""
    return [line.split()[4] for line in _lines("/proc/self/mountinfo") if f" {folder}/" in line]


def _lines(path: str) -> list[str]:
    with suppress(OSError):
        return Path(path).read_text().splitlines()
    return []
