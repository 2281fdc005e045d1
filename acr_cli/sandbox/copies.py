"""Private copies on this machine's disk: made, written, read and swept."""

from __future__ import annotations

import contextlib
import errno
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from acr_cli.errors import PathRefused, SandboxBroken, SandboxUnavailable
from acr_cli.interrupts import uninterrupted
from acr_cli.sandbox import owner
from acr_cli.sandbox.disk import Disk, Folders
from acr_cli.sandbox.files import copy_tree, place, read_beneath, remove_tree, write_beneath

_numbers = itertools.count(1)
_PATIENCE = 10.0  # seconds of removing after which an interrupt ends even that
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)  # what a disk says that takes no more


@contextlib.contextmanager
def private_copy(home: Path, run_id: str, tree: Path, *, only: Sequence[str] | None = None) -> Iterator[Path]:
    """A folder with `work`, a copy of `tree`, and an empty `scratch`; gone when the context is left.

    Its name says who owns it, so that `sweep_copies` can tell what a dead process has left behind."""
    folder = home / "runs" / run_id / "sandbox" / f"{owner.current()}.{next(_numbers)}"
    try:
        try:
            (folder / "scratch").mkdir(parents=True)
            copy_tree(tree, folder / "work", only=only)
        except OSError as error:
            raise SandboxUnavailable(
                f"The tree cannot be copied to {folder}: {error.strerror or error}.",
                hint="Free some space, or set ACR_HOME to a folder that can be written.",
            ) from error
        try:
            yield folder
        except OSError as error:
            if error.errno not in _DISK:
                raise
            raise _unwritable(folder, error) from error
    finally:
        with uninterrupted(patience=_PATIENCE):
            remove_tree(folder)
            _remove_if_empty(folder.parent, folder.parent.parent)


def sweep_copies(home: Path) -> tuple[str, ...]:
    """Remove the copies of runs whose process is dead; the paths of what was removed."""
    removed = []
    for folder in sorted(home.glob("runs/*/sandbox/*")):
        whose = owner.parse(folder.name)
        if whose is not None and whose.dead():
            remove_tree(folder)
            removed.append(str(folder))
            _remove_if_empty(folder.parent, folder.parent.parent)
    return tuple(removed)


def _remove_if_empty(*folders: Path) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _unwritable(folder: Path, error: OSError) -> SandboxBroken:
    reason = (error.strerror or str(error)).lower()
    return SandboxBroken(
        f"The sandbox's files in {folder} cannot be written: {reason}.",
        hint="Free some space, or set ACR_HOME to a folder that can be written.",
    )


class Copy:
    """The files of a session whose copy lies in `folder`; the commands see it as `workdir` and `scratch`.

    `writable`: what else they may write."""

    def __init__(self, folder: Path, *, workdir: str, scratch: str, writable: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._disk = Disk(Folders(folder / "work", folder / "scratch", *writable))
        self._ended = False
        self._kills: list[Callable[[], None]] = []
        self.workdir = workdir
        self.scratch = scratch

    @contextlib.contextmanager
    def running(self, kill: Callable[[], None]) -> Iterator[None]:
        """A command that has not begun, and is over when the context is left.

        Raises: SandboxBroken where the session has ended meanwhile."""
        self._kills.append(kill)
        try:
            if self._ended:
                raise SandboxBroken("The session of this command has ended.")
            yield
        finally:
            self._kills.remove(kill)

    def end(self) -> None:
        """Kill what another thread still runs here; from now on nothing begins."""
        self._ended = True
        for kill in [*self._kills]:
            kill()

    def put(self, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            where, parts = place(path, workdir=self.workdir, scratch=self.scratch)
            try:
                write_beneath(self._folder / where, parts, data)
            except PathRefused as refused:
                error = refused.__cause__
                if isinstance(error, OSError) and error.errno in _DISK:  # it is not the path
                    raise _unwritable(self._folder, error) from error
                raise

    def get(self, path: str) -> bytes | None:
        where, parts = place(path, workdir=self.workdir, scratch=self.scratch)
        return read_beneath(self._folder / where, parts)
