"""Outcomes that the journal could not take: kept as files, until it can.

A full disk, a folder without the right to write, a journal that is locked or damaged must not cost an outcome
that was paid for. Each goes into a file of its own, first beside the journal and, where that cannot be
written either, in the system's folder for temporary files; the next write that succeeds takes them up. The
format is that of an export, and so outlives changes of the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from acr_cli.memory.exchange import from_json, to_json
from acr_cli.memory.schema import FILE_MODE, FOLDER_MODE
from acr_cli.records import Outcome


class Pending:
    """The waiting outcomes of one memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def places(self) -> tuple[Path, ...]:
        """Where they may be, the best place first."""
        mark = hashlib.blake2b(os.fsencode(self._folder.absolute()), digest_size=6).hexdigest()
        places = [self._folder / "pending"]
        with suppress(OSError):  # there may be no folder at all that takes a file
            places.append(Path(tempfile.gettempdir()) / f"acr-pending-{os.getuid()}-{mark}")
        return tuple(places)

    def hold(self, outcome: Outcome) -> Path | None:
        """Keep it, durably; where it is, or None where no place takes it."""
        name = hashlib.blake2b(outcome.id.encode("utf-8", "replace"), digest_size=12).hexdigest()
        text = json.dumps(to_json(outcome), separators=(",", ":"))
        for place in self.places:
            try:
                _make(place)
                path = place / f"{name}.json"
                _write(path, text)
            except OSError:
                continue
            return path
        return None

    def waiting(self) -> Iterator[tuple[Path, Outcome]]:
        """What waits, oldest first. A file that cannot be read as an outcome is set aside."""
        for place in self.places:
            try:
                if not _is_ours(place):
                    continue
                paths = sorted(place.glob("*.json"), key=_age)
            except OSError:
                continue
            for path in paths:
                try:
                    yield path, from_json(json.loads(path.read_text(encoding="utf-8")))
                except (ValueError, RecursionError):
                    with suppress(OSError):
                        path.rename(path.with_suffix(".damaged"))
                except OSError:  # another process has just taken it up
                    continue

    def drop(self, fits: Callable[[Outcome], bool]) -> int:
        """Remove those that fit, and whatever was set aside; how many outcomes."""
        count = 0
        for path, outcome in list(self.waiting()):
            if fits(outcome):
                path.unlink(missing_ok=True)
                count += 1
        for place in self.places:
            for path in [*place.glob("*.damaged"), *place.glob("*.new")]:
                path.unlink(missing_ok=True)
        return count


def _make(place: Path) -> None:
    place.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if not _is_ours(place):
        raise PermissionError(f"{place} is not ours alone")


def _is_ours(place: Path) -> bool:
    """Whether it is a folder that nobody else can write to. Raises: OSError where it is not there."""
    found = place.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _age(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(f".{os.getpid()}.new")
    handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
