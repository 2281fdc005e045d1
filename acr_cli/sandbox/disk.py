"""What commands write to the disk: looked at once a second, measured when in doubt, ended when too much.

A look asks the file system for its free bytes and inodes. Only when these have dropped by what a command may
write is the copy itself measured, so that what other programs write is not blamed on the command. What the
measuring cannot see (a folder without permissions, a path too long) is taken to be all that is missing. Of
files that are deleted and still open nothing is seen: for these there is the floor, at which whatever runs is
ended. Between two looks a command may overshoot.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from acr_cli.errors import SandboxBroken
from acr_cli.protocols import Limits

LOOK = 1.0  # seconds between two looks
_NO_COUNT = 1 << 62  # inodes of a file system that makes them as they are needed
_SMALL = 512  # bytes that a file takes at least where inodes are not counted
_HINT = "Free some space, or set ACR_HOME to a folder on a larger disk."


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """Bytes and files (folders and links too): used, or free."""

    bytes: int
    files: int
    whole: bool = True  # nothing was hidden from the measuring

    def within(self, limits: Limits) -> bool:
        """Whether a command may have written so much. Pure."""
        return self.bytes <= limits.disk_bytes and self.files <= limits.files

    def since(self, before: Size) -> Size:
        """What has been added, none where something was removed. Pure."""
        return Size(
            bytes=max(0, self.bytes - before.bytes), files=max(0, self.files - before.files), whole=self.whole
        )


_FLOOR = Size(bytes=512 * 1024**2, files=10_000)


class Place(Protocol):
    """What commands can write, all on one file system."""

    name: str
    hint: str  # what to do when others have filled it

    def free(self) -> Size:
        """What the file system has left. Raises: SandboxBroken."""
        ...

    def measure(self, most: Size | None = None) -> Size:
        """What lies there takes on the disk; may end early beyond `most`. Raises: SandboxBroken."""
        ...


class Folders:
    """Folders of this machine, all on the file system of the first."""

    def __init__(self, *folders: Path, hint: str = _HINT) -> None:
        self._folders = folders
        self.name = str(folders[0])
        self.hint = hint

    def free(self) -> Size:
        return free(self._folders[0])

    def measure(self, most: Size | None = None) -> Size:
        return measure(self._folders, most=most)


class Disk:
    """What commands write to a place. Not thread-safe."""

    def __init__(self, place: Place, *, begun: Size | None = None, floor: Size | None = None) -> None:
        """`begun`: what lay there before any command, where one has begun already; None: what lies there."""
        self._place = place
        found = place.measure()
        self._begun = begun or found
        self._known = found.since(self._begun)
        self._first = self._free = place.free()
        # Who begins on a disk that is almost full may use half of what is left.
        self._floor = floor or Size(
            bytes=min(_FLOOR.bytes, self._first.bytes // 2), files=min(_FLOOR.files, self._first.files // 2)
        )

    def over(self, limits: Limits) -> bool:
        """Whether the commands together have written more than allowed, or have filled the disk.

        Raises: SandboxBroken when others have filled it."""
        now = self._place.free()
        drop = self._free.since(now)
        guess = Size(bytes=self._known.bytes + drop.bytes, files=self._known.files + drop.files)
        if self._first.files == _NO_COUNT:
            guess = Size(bytes=guess.bytes, files=guess.bytes // _SMALL)
        low = now.bytes < self._floor.bytes or now.files < self._floor.files
        # What others have freed meanwhile must not hide what is written next.
        more = Size(bytes=max(self._free.bytes, now.bytes), files=max(self._free.files, now.files))
        if not low and guess.within(limits):
            self._free = more
            return False
        found = self._place.measure(self._most(limits)).since(self._begun)
        self._known, self._free = (found if found.whole else guess), now
        if not self._known.within(limits):
            return True
        if not low:
            return False
        gone = self._first.since(now)
        if (now.bytes < self._floor.bytes and 2 * self._known.bytes > gone.bytes) or (
            now.files < self._floor.files and 2 * self._known.files > gone.files
        ):
            return True
        raise SandboxBroken(f"The disk that holds {self._place.name} is almost full.", hint=self._place.hint)

    def _most(self, limits: Limits) -> Size:
        return Size(bytes=self._begun.bytes + limits.disk_bytes, files=self._begun.files + limits.files)


def said(limits: Limits) -> bytes:
    """What is added to the output of a command that was ended for what it wrote. Pure."""
    bytes_ = limits.disk_bytes / 1024**2
    size = f"{bytes_:.4g} MiB" if bytes_ < 1024 else f"{bytes_ / 1024:.4g} GiB"
    allowed = f"{size} or {limits.files} files"
    return f"\nacr: killed, for it wrote more than {allowed} to the disk, or filled it\n".encode()


def free(folder: Path) -> Size:
    """What the file system of a folder has left for this user. Raises: SandboxBroken when it is gone."""
    try:
        status = os.statvfs(folder)
    except OSError as error:
        raise SandboxBroken(f"{folder} cannot be looked at: {(error.strerror or '').lower()}.") from error
    files = status.f_favail if status.f_files else _NO_COUNT
    return Size(bytes=status.f_bavail * status.f_frsize, files=files)


def measure(folders: Sequence[Path], *, most: Size | None = None) -> Size:
    """What lies in these folders takes on the disk; ends early beyond `most`. No link is followed."""
    used = files = 0
    whole = True
    todo = [str(folder) for folder in folders]
    while todo and (most is None or (used <= most.bytes and files <= most.files)):
        try:
            with os.scandir(todo.pop()) as found:
                for entry in found:
                    files += 1
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(entry.path)
                        used += status.st_blocks * 512
                    else:
                        used += status.st_blocks * 512 // max(1, status.st_nlink)
        except (FileNotFoundError, NotADirectoryError):
            continue  # removed while it was looked at
        except OSError:
            whole = False
    return Size(bytes=used, files=files, whole=whole)


@dataclass(kw_only=True, slots=True)
class Found:
    """What watching has found so far."""

    over: bool = False
    error: SandboxBroken | None = None


@contextlib.contextmanager
def watching(look: Callable[[], bool], kill: Callable[[], None]) -> Iterator[Found]:
    """Look once a second while the context lasts; at the first True or error `kill`, and look no more."""
    found, done = Found(), threading.Event()

    def watch() -> None:
        while not done.wait(LOOK):
            try:
                found.over = look()
            except SandboxBroken as error:
                found.error = error
            if found.over or found.error is not None:
                kill()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
