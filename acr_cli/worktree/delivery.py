"""The one way back: writes a patch into the user's working tree, whole or not at all.

Every touched file must be as it was when the run began. The new contents are staged beside the files, a
journal in the run's folder says what is about to be renamed, and only then are they renamed. A process killed
between two renames leaves the journal, and `recover` completes or removes what it finds.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from acr_cli.errors import PatchConflict

JOURNAL = "delivery.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """A file's bytes and git mode ("100644", "100755", "120000": a link, its target as bytes)."""

    mode: str
    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.mode.encode() + b"\0" + self.data).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One file: what it must be now, and what it becomes; None: absent."""

    before: Content | None
    after: Content | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    path: str
    temporary: str  # "" for a deletion
    before: str  # digest, "" for absent


def deliver(root: Path, changes: Mapping[str, Change], folder: Path) -> None:
    """Write the changes (paths relative to `root`); `folder` holds the journal.

    Raises: PatchConflict when a file is not as `before` says or cannot be written; nothing is changed
    then."""
    for name, change in changes.items():
        _refuse_unless_same(root, name, _digest(change.before))
    entries: list[_Entry] = []
    journal = folder / JOURNAL
    try:
        for number, (name, change) in enumerate(changes.items()):
            temporary = str(Path(name).parent / f".acr-{folder.name}-{number}.tmp") if change.after else ""
            entries.append(_Entry(path=name, temporary=temporary, before=_digest(change.before)))
        _write_journal(journal, root, entries, committed=False)
        for entry, change in zip(entries, changes.values(), strict=True):
            if change.after:
                _stage(root / entry.temporary, change.after, root / entry.path)
        for entry in entries:
            _refuse_unless_same(root, entry.path, entry.before)
        _write_journal(journal, root, entries, committed=True)
    except OSError as error:
        _remove_temporaries(root, entries)
        journal.unlink(missing_ok=True)
        raise PatchConflict(
            f"The patch cannot be written to {root}: {(error.strerror or str(error)).lower()}.",
            hint="Nothing was changed; the patch is kept in the run.",
        ) from error
    except BaseException:  # an interrupt as well: nothing has been renamed yet
        _remove_temporaries(root, entries)
        journal.unlink(missing_ok=True)
        raise
    with _uninterrupted():
        _rename(root, entries)
        journal.unlink(missing_ok=True)


def recover(folder: Path) -> tuple[str, ...]:
    """Complete a delivery that was killed half-way, or remove its staged files; the paths completed."""
    journal = folder / JOURNAL
    try:
        state = json.loads(journal.read_text())
        root = Path(state["root"])
        entries = [_Entry(**entry) for entry in state["entries"]]
        committed = bool(state["committed"])
    except (OSError, ValueError, KeyError, TypeError):
        journal.unlink(missing_ok=True)
        return ()
    done: list[str] = []
    if committed:
        pending = [e for e in entries if _digest(content_of(root / e.path)) == e.before]
        waiting = [e for e in pending if not e.temporary or content_of(root / e.temporary)]
        _rename(root, waiting)
        done = [e.path for e in waiting]
    _remove_temporaries(root, entries)
    journal.unlink(missing_ok=True)
    return tuple(done)


def content_of(path: Path) -> Content | None:
    """What is at a path: a file, a link, or None for absent (a folder is no file)."""
    try:
        if path.is_symlink():
            return Content(mode="120000", data=os.fsencode(path.readlink()))
        data = path.read_bytes()
        return Content(mode="100755" if path.stat().st_mode & 0o111 else "100644", data=data)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _digest(content: Content | None) -> str:
    return content.digest if content else ""


def _refuse_unless_same(root: Path, name: str, digest: str) -> None:
    target = root / name
    if not target.parent.resolve().is_relative_to(root.resolve()):
        raise PatchConflict(f"{name} lies behind a link that leaves the repository; nothing was written.")
    if _digest(content_of(target)) != digest or (target.is_dir() and not target.is_symlink()):
        raise PatchConflict(
            f"{name} has changed while acr was working; nothing was written.",
            hint="The patch is kept: look at it with `acr apply`, or run `acr fix` again.",
        )


def _stage(temporary: Path, content: Content, target: Path) -> None:
    temporary.parent.mkdir(parents=True, exist_ok=True)
    if content.mode == "120000":
        temporary.symlink_to(os.fsdecode(content.data))
        return
    # The mode that the file has, but for the executable bits, which are the patch's.
    mode = target.stat().st_mode & 0o777 if target.is_file() else 0o666 & ~_umask()
    executable = (mode & 0o444) >> 2
    mode = mode | executable if content.mode == "100755" else mode & ~0o111
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.data)
        file.flush()
        os.fsync(file.fileno())
    temporary.chmod(mode)


def _rename(root: Path, entries: list[_Entry]) -> None:
    for entry in entries:
        if entry.temporary:
            (root / entry.temporary).replace(root / entry.path)
        else:
            (root / entry.path).unlink(missing_ok=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Holds Ctrl-C and SIGTERM back for the moment between the first rename and the last."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _remove_temporaries(root: Path, entries: list[_Entry]) -> None:
    for entry in entries:
        if entry.temporary:
            (root / entry.temporary).unlink(missing_ok=True)


def _write_journal(journal: Path, root: Path, entries: list[_Entry], *, committed: bool) -> None:
    state = {"root": str(root), "committed": committed, "entries": [asdict(e) for e in entries]}
    temporary = journal.with_suffix(".new")
    with temporary.open("w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(journal)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
