"""What examining commits has shown, kept: running tests costs time, and a commit never changes.

One small JSON file a commit, replaced as a whole. `key` names all that the result depends on beside the
commit: test command, installation, sandbox. Losing the files costs nothing but that time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.history.records import Examined
from acr_cli.records import CaseResult

_SCHEMA = 1


def folder_of(home: Path, repository: str) -> Path:
    """Where what is known of the commits of a repository (its identity) is kept. Pure."""
    return home / "cache" / "warm" / repository


@contextmanager
def alone(home: Path, repository: str) -> Iterator[None]:
    """One call at a time for a repository: two would pay for the same tasks.

    Raises: UsageError while there is another, SandboxUnavailable where nothing can be written."""
    folder = folder_of(home, repository)
    lock = FileLock(folder / "lock", timeout=0)
    try:
        for place in (home, home / "cache", folder.parent, folder):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            "Another `acr warm` is at work on this repository.", hint="Wait until it ends."
        ) from error
    except OSError as error:
        raise SandboxUnavailable(
            f"{folder} cannot be written: {(error.strerror or str(error)).lower()}.",
            hint="acr keeps its files there; free space, or choose another place with ACR_HOME.",
        ) from error
    try:
        yield
    finally:
        lock.release()


class Examinations:
    """What is known of the commits of one repository, under `folder`."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = hashlib.sha256(key.encode()).hexdigest()[:16]

    def get(self, commit: str) -> Examined | None:
        """What was found out about a commit; None where nothing is known, or it cannot be read."""
        try:
            kept = json.loads(self._file(commit).read_bytes())
            return _examined(kept) if kept["schema"] == _SCHEMA and kept["key"] == self._key else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def keep(self, examined: Examined) -> None:
        """Keep it, unless it says nothing about the commit; a disk that takes no more of it ends nothing."""
        if not examined.kept:
            return
        file = self._file(examined.commit)
        temporary = file.with_suffix(".new")
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps({"schema": _SCHEMA, "key": self._key, **asdict(examined)}))
            temporary.replace(file)

    def _file(self, commit: str) -> Path:
        return self._folder / f"{commit}-{self._key[:8]}.json"


def _examined(kept: dict[str, Any]) -> Examined:
    return Examined(
        commit=str(kept["commit"]),
        reason=str(kept["reason"]),
        failures=tuple(CaseResult(**case) for case in kept["failures"]),
        test_command=str(kept["test_command"]),
        language=str(kept["language"]),
        bytes=int(kept["bytes"]),
    )
