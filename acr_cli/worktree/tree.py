"""The run's own copy of the user's working tree, with a private git directory beside it.

Not `git worktree`: that fails without a commit, runs hooks, writes into the user's `.git` and points out of a
container. Files are cloned by reflink where the file system can. In the private git directory no attribute
applies (no line-end conversion, no filter), so that every byte is kept.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from acr_cli.errors import PatchConflict, PathRefused, SandboxUnavailable
from acr_cli.worktree.hardened_git import GitFailed, git

_ATTRIBUTES = "* -text !eol -filter -ident !diff !merge !working-tree-encoding -export-subst\n"
_FICLONE = 0x40049409
_MAX_NAME = 255
_WINDOWS_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


class RunTree:
    """Implements `protocols.Tree` over `folder/tree` and `folder/git`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.directory = folder / "git"

    @classmethod
    def copy(cls, source: Path, files: Sequence[str], folder: Path) -> RunTree:
        """A copy of these files of `source`; files that vanish meanwhile are left out.

        Raises: SandboxUnavailable when the disk is full or may not be written."""
        tree = cls(folder)
        try:
            tree.root.mkdir(parents=True, mode=0o700)
            _copy_files(source, files, tree.root)
            tree._init()
        except OSError as error:
            raise SandboxUnavailable(
                f"The working copy in {folder} cannot be made: {(error.strerror or str(error)).lower()}.",
                hint="Free space, or move ~/.acr with ACR_HOME.",
            ) from error
        return tree

    def path(self, relative: str) -> Path:
        """See `protocols.Tree.path`. Links inside the tree are followed, links out of it are refused."""
        parts = _checked_parts(relative)
        resolved = self.root.joinpath(*parts).resolve()
        root = self.root.resolve()
        if not resolved.is_relative_to(root) or resolved == root:
            raise PathRefused(f"{relative!r} leads out of the repository through a link.")
        _checked_parts(resolved.relative_to(root).as_posix())
        return self.root / resolved.relative_to(root)

    def files(self) -> tuple[str, ...]:
        found = [
            (Path(folder) / name).relative_to(self.root).as_posix()
            for folder, folders, names in os.walk(self.root)
            for name in (*names, *(f for f in folders if (Path(folder) / f).is_symlink()))
        ]
        return tuple(sorted(found))

    def checkpoint(self) -> str:
        self._git("add", "--all", "--force")
        return self._git("write-tree").decode().strip()

    def diff(self, since: str) -> str:
        output = self._git("diff-tree", "-p", "-r", "--binary", "--no-renames", since, self.checkpoint())
        return output.decode("utf-8", "surrogateescape")

    def changed(self, since: str) -> tuple[str, ...]:
        output = self._git("diff-tree", "-r", "--name-only", "--no-renames", "-z", since, self.checkpoint())
        return tuple(sorted(os.fsdecode(name) for name in output.split(b"\0") if name))

    def restore(self, checkpoint: str, paths: Sequence[str] = ()) -> None:
        for name in paths or self.changed(checkpoint):
            target = self.root / name
            if self.read(checkpoint, name) is None:
                target.unlink(missing_ok=True)
                _remove_empty(target.parent, self.root)
            else:
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                self._git("checkout", "--force", checkpoint, "--", name)

    def read(self, checkpoint: str, name: str) -> tuple[str, bytes] | None:
        """(mode, content) of a file at a checkpoint, or None. Modes are git's: 100644, 100755, 120000."""
        listing = self._git("ls-tree", "-z", "--full-tree", checkpoint, "--", name)
        if not listing:
            return None
        mode, _, blob = listing.split(b"\t")[0].decode().split(" ")
        return mode, self._git("cat-file", "blob", blob)

    def apply(self, patch: str, *, reverse: bool = False) -> None:
        data = patch.encode("utf-8", "surrogateescape")
        try:
            for name in touched(patch):
                self.path(name)
            self._git("apply", "--whitespace=nowarn", *(["--reverse"] if reverse else []), stdin=data)
        except GitFailed as error:
            raise PatchConflict(f"The patch does not apply: {error.reason}.") from error

    def _init(self) -> None:
        self.directory.mkdir(mode=0o700)
        self._git("init", "--quiet", "--template=")
        (self.directory / "info").mkdir(exist_ok=True)
        (self.directory / "info" / "attributes").write_text(_ATTRIBUTES)
        self._git("config", "core.autocrlf", "false")
        self._git("config", "core.fileMode", "true")
        self._git("config", "core.bare", "false")

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return git(*arguments, directory=self.directory, work_tree=self.root, private=True, stdin=stdin)


def touched(patch: str) -> tuple[str, ...]:
    """The paths that a git diff names, sorted.

    Raises: PatchConflict when it is not a git diff."""
    with tempfile.TemporaryDirectory() as empty:
        place = Path(empty)
        data = patch.encode("utf-8", "surrogateescape")
        try:
            listing = git(
                "apply", "--numstat", "-z", directory=place / "git", work_tree=place, private=True, stdin=data
            )
        except GitFailed as error:
            raise PatchConflict(f"The patch cannot be read: {error.reason}.") from error
    return tuple(
        sorted(os.fsdecode(e.split(b"\t", 2)[2]) for e in listing.split(b"\0") if e.count(b"\t") > 1)
    )


def _checked_parts(relative: str) -> tuple[str, ...]:
    """The parts of a path that stays in the tree. Pure.

    Raises: PathRefused."""
    if any(ord(c) < 32 or ord(c) == 127 for c in relative):
        raise PathRefused(f"{relative!r} holds a control character.")
    path = PurePosixPath(relative.replace("\\", "/") if "/" not in relative else relative)
    parts = tuple(p for p in path.parts if p != ".")
    if path.is_absolute() or ".." in parts or not parts or re.match(r"[A-Za-z]:", relative):
        raise PathRefused(f"{relative!r} is not a path inside the repository; give one relative to its root.")
    for part in parts:
        plain = part.casefold().rstrip(". ").encode("ascii", "ignore").decode()
        if plain in (".git", "git~1") or part.casefold().startswith(".git:"):
            raise PathRefused(f"{relative!r} is git's own; it may not be touched.")
        if len(os.fsencode(part)) > _MAX_NAME or _WINDOWS_DEVICES.fullmatch(part):
            raise PathRefused(f"{relative!r} is not a name that every system can hold.")
    return parts


def _copy_files(source: Path, files: Sequence[str], target: Path) -> None:
    clone = _Cloner()
    made: set[Path] = set()
    for name in files:
        to = target / name
        if to.parent not in made:
            to.parent.mkdir(parents=True, exist_ok=True)
            made.add(to.parent)
        try:
            clone.file(source / name, to)
        except FileNotFoundError:
            continue


class _Cloner:
    """Copies files by reflink until the file system says no, then byte by byte."""

    def __init__(self) -> None:
        self.reflink = sys.platform == "linux"

    def file(self, source: Path, target: Path) -> None:
        if source.is_symlink():
            target.symlink_to(source.readlink())
            return
        if not source.is_file():
            return
        if not (self.reflink and self._clone(source, target)):
            shutil.copyfile(source, target)
        target.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)

    def _clone(self, source: Path, target: Path) -> bool:
        import fcntl

        try:
            with source.open("rb") as from_, target.open("wb") as to:
                fcntl.ioctl(to.fileno(), _FICLONE, from_.fileno())
        except FileNotFoundError:
            raise
        except OSError:
            self.reflink = False
            return False
        return True


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
