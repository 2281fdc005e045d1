"""The one way back: writes a patch into the user's working tree, whole or not at all.

Every touched file must be as it was when the run began. Beside each of them the new content is staged and the
old one is kept as a second link; a journal in the run's folder says what is about to be renamed; only then is
anything renamed. An error or an interrupt between two renames takes all of them back. A process that was
killed leaves the journal, and `recover` completes the patch or takes it back. What the run is to say of
itself once the patch is there stands in the journal too, which goes only when that has been written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from acr_cli.errors import PatchConflict
from acr_cli.interrupts import uninterrupted

JOURNAL = "delivery.json"
_STAGING, _COMMITTED, _DONE = "staging", "committed", "done"  # states of a delivery
_NOTHING: Mapping[str, Any] = MappingProxyType({})
Keep = Callable[[Mapping[str, Any]], None]
"""Writes what a run says of itself into its folder. Raises: OSError."""


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
    """One file of the journal; paths relative to the root, digests "" for absent."""

    path: str
    new: str  # where the new content is staged
    old: str  # where the old one is kept
    before: str
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What a journal holds besides its state."""

    journal: Path
    root: Path
    entries: Sequence[_Entry]
    note: Mapping[str, Any]

    def write(self, state: str) -> None:
        content = {
            "root": str(self.root),
            "state": state,
            "note": dict(self.note),
            "entries": [asdict(entry) for entry in self.entries],
        }
        temporary = self.journal.with_suffix(".new")
        with temporary.open("w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.journal)


def deliver(
    root: Path,
    changes: Mapping[str, Change],
    folder: Path,
    *,
    note: Mapping[str, Any] = _NOTHING,
    keep: Keep = lambda _: None,
) -> None:
    """Write the changes (paths relative to `root`); `folder` holds the journal. Once they are there, `keep`
    is given `note`: where it raises OSError or is killed, `recover` gives it to its own.

    Raises: PatchConflict when a file is not as `before` says or cannot be written; nothing is changed
    then."""
    entries = _entries(root, changes, f".acr-{folder.name}")
    plan = _Plan(journal=folder / JOURNAL, root=root, entries=entries, note=note)
    with _as_conflict(root, folder):
        try:
            _prepare(plan, changes)
            _go_forward(root, entries)
            with uninterrupted():
                plan.write(_DONE)
                _conclude(plan, keep)
        except BaseException:  # an interrupt as well
            with uninterrupted():
                _take_back(plan)
            raise


def is_there(root: Path, changes: Mapping[str, Change]) -> bool:
    """Whether all files are as the changes would make them."""
    return all(content_of(root / name) == change.after for name, change in changes.items())


def recover(folder: Path, keep: Keep = lambda _: None) -> tuple[str, ...]:
    """After a delivery that was killed: complete it, or take it back where the user has gone on since; the
    paths that now are as the patch wants them. `keep` is given what the delivery was to note, if it is done.

    Raises: OSError when the user's tree cannot be reached, or of `keep`; the journal is kept then."""
    journal = folder / JOURNAL
    try:
        content = json.loads(journal.read_text())
        root, state = Path(content["root"]), str(content["state"])
        entries = [_Entry(**{key: str(part) for key, part in each.items()}) for each in content["entries"]]
        note = dict(content.get("note") or {})
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _forget(folder, (), journal)
        return ()
    plan = _Plan(journal=journal, root=root, entries=entries, note=note)
    done = [entry for entry in entries if _is(root / entry.path, entry.after)]
    if state == _COMMITTED:
        if all(entry in done or _can_go_forward(root, entry) for entry in entries):
            _go_forward(root, entries, done)
            state = _DONE
            plan.write(state)
        else:
            _go_back(root, entries)
    _clear(root, entries)
    if state == _DONE:
        keep(note)
    _drop(journal)
    return tuple(entry.path for entry in entries) if state == _DONE else ()


def content_of(path: Path) -> Content | None:
    """What is at a path: a file, a link, or None for absent (a folder is no file)."""
    try:
        if path.is_symlink():
            return Content(mode="120000", data=os.fsencode(path.readlink()))
        data = path.read_bytes()
        return Content(mode="100755" if path.stat().st_mode & 0o111 else "100644", data=data)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


# --- before anything is renamed ---------------------------------------------------------------------------


def _prepare(plan: _Plan, changes: Mapping[str, Change]) -> None:
    _check(plan.root, plan.entries)
    plan.write(_STAGING)
    for entry, change in zip(plan.entries, changes.values(), strict=True):
        _stage(plan.root, entry, change.after)
    _check(plan.root, plan.entries)
    plan.write(_COMMITTED)


def _entries(root: Path, changes: Mapping[str, Change], prefix: str) -> list[_Entry]:
    """Staged beside the file, in a folder that exists and that no change makes of a file, or a file of."""
    entries = []
    for number, (name, change) in enumerate(changes.items()):
        place = PurePosixPath(name).parent
        while place.parts and (
            not (root / place).is_dir() or any(str(p) in changes for p in (place, *place.parents))
        ):
            place = place.parent
        entries.append(
            _Entry(
                path=name,
                new=str(place / f"{prefix}-{number}.new"),
                old=str(place / f"{prefix}-{number}.old"),
                before=change.before.digest if change.before else "",
                after=change.after.digest if change.after else "",
            )
        )
    return entries


def _check(root: Path, entries: Sequence[_Entry]) -> None:
    if not root.is_dir():
        raise PatchConflict(f"{root} is not there any more; nothing was written.")
    for entry in entries:
        target = root / entry.path
        if target.parent.resolve() != root.resolve() / PurePosixPath(entry.path).parent:
            raise PatchConflict(f"{entry.path} lies behind a link; nothing was written.")
        if not _is(target, entry.before):
            raise PatchConflict(
                f"{entry.path} has changed while acr was working; nothing was written.",
                hint="The patch is kept: look at it with `acr apply`, or run `acr fix` again.",
            )


def _stage(root: Path, entry: _Entry, content: Content | None) -> None:
    target, new = root / entry.path, root / entry.new
    if entry.before:
        _link(target, root / entry.old)
    if content is None:
        return
    if content.mode == "120000":
        new.symlink_to(os.fsdecode(content.data))
        return
    with new.open("xb") as file:
        file.write(content.data)
        file.flush()
        os.fsync(file.fileno())
    # What the file has stays, but for the executable bits, which are the patch's.
    if entry.before and not target.is_symlink():
        _take_over(target, new)
    mode = stat.S_IMODE(new.stat().st_mode)
    new.chmod(mode | (mode & 0o444) >> 2 if content.mode == "100755" else mode & ~0o111)


def _link(target: Path, old: Path) -> None:
    """A second name for the same file, so that it can be put back untouched; else a copy."""
    try:
        os.link(target, old, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # not every file system has links
        shutil.copy2(target, old, follow_symlinks=False)


def _take_over(target: Path, new: Path) -> None:
    """Permissions, access lists and owner; the times are new."""
    shutil.copystat(target, new)
    os.utime(new)
    status = target.stat()
    with suppress(PermissionError):  # only the superuser gives files away
        os.chown(new, status.st_uid, status.st_gid)


# --- there and back ---------------------------------------------------------------------------------------


def _go_forward(root: Path, entries: Sequence[_Entry], done: Sequence[_Entry] = ()) -> None:
    """Deletions first: a folder may take the place of a file, and a file that of a folder."""
    for entry in entries:
        if not entry.after:
            if entry not in done:
                (root / entry.path).unlink()
            _remove_empty((root / entry.path).parent, root)
    for entry in entries:
        if entry.after and entry not in done:
            (root / entry.path).parent.mkdir(parents=True, exist_ok=True)
            (root / entry.new).replace(root / entry.path)


def _can_go_forward(root: Path, entry: _Entry) -> bool:
    staged = not entry.after or _is(root / entry.new, entry.after)
    return staged and _is(root / entry.path, entry.before)


def _go_back(root: Path, entries: Sequence[_Entry]) -> None:
    """What was carried out is undone; what was not, or has been changed since, is left alone."""
    for entry in entries:
        if not entry.before:
            if not os.path.lexists(root / entry.new) and _is(root / entry.path, entry.after):
                (root / entry.path).unlink()
            _remove_empty((root / entry.path).parent, (root / entry.new).parent)
    for entry in entries:
        carried_out = not os.path.lexists(root / entry.new) and _is(root / entry.path, entry.after)
        if entry.before and carried_out and os.path.lexists(root / entry.old):
            (root / entry.path).parent.mkdir(parents=True, exist_ok=True)
            (root / entry.old).replace(root / entry.path)


def _take_back(plan: _Plan) -> None:
    """Nothing is changed then, and nothing is left. Raises: PatchConflict where the disk does not let it."""
    state = _state(plan.journal)
    if state == _DONE:  # all is there, and stays
        return
    try:
        if state == _COMMITTED:
            _go_back(plan.root, plan.entries)
            with suppress(OSError):  # what cannot be cleared away now is not to be completed later
                plan.write(_STAGING)
        _forget(plan.root, plan.entries, plan.journal)
    except OSError as error:
        raise PatchConflict(
            f"The patch was broken off, and {plan.root} cannot be cleaned up: {_why(error)}.",
            hint="`acr doctor --fix`, and the next run, complete the patch or take it back.",
        ) from error


def _conclude(plan: _Plan, keep: Keep) -> None:
    """The patch is there: say so in the run, then forget how it came there."""
    with suppress(OSError):  # then the journal stays, and the next recovery sees to it
        _clear(plan.root, plan.entries)
        keep(plan.note)
        _drop(plan.journal)


def _forget(root: Path, entries: Sequence[_Entry], journal: Path) -> None:
    """Remove what was staged and kept, and last the journal."""
    _clear(root, entries)
    _drop(journal)


def _clear(root: Path, entries: Sequence[_Entry]) -> None:
    """Remove what was staged and kept, and folders that a deletion has left empty."""
    for entry in entries:
        for place in (root / entry.new, root / entry.old):
            if os.path.lexists(place):  # a read-only file system refuses also to remove what is not there
                place.unlink(missing_ok=True)
        if not entry.after:
            _remove_empty((root / entry.path).parent, root)


def _drop(journal: Path) -> None:
    journal.with_suffix(".new").unlink(missing_ok=True)
    journal.unlink(missing_ok=True)


def _remove_empty(folder: Path, stop: Path) -> None:
    while folder != stop and not (folder.is_dir() and any(folder.iterdir())):
        if folder.is_dir():
            folder.rmdir()
        folder = folder.parent


def _is(path: Path, digest: str) -> bool:
    content = content_of(path)
    return (content.digest if content else "") == digest


@contextmanager
def _as_conflict(root: Path, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = folder if str(error.filename or "").startswith(f"{folder}/") else root
        raise PatchConflict(
            f"The patch cannot be written to {place}: {_why(error)}.",
            hint="Nothing was changed; the patch is kept in the run.",
        ) from error


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _state(journal: Path) -> str:
    try:
        return str(json.loads(journal.read_text())["state"])
    except (FileNotFoundError, ValueError):
        return ""
