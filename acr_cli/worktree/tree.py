"""The run's own copy of the user's working tree, with a private git directory beside it.

Not `git worktree`: that fails without a commit, runs hooks, writes into the user's `.git` and points out of a
container. Files are cloned by reflink where the file system can. In the private git directory no attribute
applies (no line-end conversion, no filter), so that every byte is kept.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from acr_cli.errors import PatchConflict, PathRefused, SandboxUnavailable, TreeDamaged
from acr_cli.worktree.hardened_git import GitFailed, git
from acr_cli.worktree.names import checked_parts, is_gits_own, is_portable, not_there, twin

_ATTRIBUTES = "* -text !eol -filter -ident !diff !merge !working-tree-encoding -export-subst\n"
_FICLONE = 0x40049409
_INTO_NOTHING = re.compile(r"^@@ -(\d+,0 \+|\d+(,\d+)? \+\d+,0 )", re.MULTILINE)  # a hunk with an empty side
_FULL = "Free space, or move ~/.acr with ACR_HOME."
_UNREADABLE = "acr copies every file that git does not ignore: make it readable, or have git ignore it."

_RACY, _RACY_COARSE = 50_000_000, 2_000_000_000
"""Nanoseconds within which two changes of a file may bear the same time; where times are whole seconds."""
_Look = dict[str, tuple[int, ...]]

_CORE = {
    "autocrlf": "false",
    "fileMode": "true",
    "bare": "false",
    # Names that only other file systems mistake are files like others in a copy.
    "protectNTFS": "false",
    "protectHFS": "false",
}
"""Settings of a run's own git directory; of a name that stands there twice the last counts."""


class RunTree:
    """Implements `protocols.Tree` over `folder/tree` and `folder/git`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.directory = folder / "git"
        self._last: tuple[_Look, str] | None = None  # the last checkpoint, and the tree that it was made of
        self._compared: tuple[str, dict[tuple[str, ...], bytes]] = ("", {})  # that checkpoint with others
        self._deleted: set[str] = set()  # by `delete`, `apply` and `restore`

    @classmethod
    def copy(cls, source: Path, files: Sequence[str], folder: Path) -> RunTree:
        """A copy of these files of `source`; files that vanish meanwhile are left out.

        Raises: SandboxUnavailable when the disk is full or may not be written."""
        tree = cls(folder)
        try:
            tree.root.mkdir(parents=True, mode=0o700)
            _copy_files(source, files, tree.root)
            tree._init()
        except (OSError, GitFailed) as error:
            shutil.rmtree(tree.root, ignore_errors=True)
            raise SandboxUnavailable(
                f"The working copy in {folder} cannot be made: {_why(error)}.",
                hint=_UNREADABLE if _is_unreadable(error, source) else _FULL,
            ) from error
        return tree

    def fork(self, folder: Path) -> RunTree:
        """A second tree in `folder`, as this one is now; it knows the checkpoints of this one. Several may be
        made at the same time.

        Raises: SandboxUnavailable as `copy` does."""
        other = RunTree.copy(self.root, self.files(), folder)
        other._deleted = set(self._deleted)  # noqa: SLF001  of its own kind
        borrowed = other.directory / "objects" / "info" / "alternates"
        borrowed.parent.mkdir(parents=True, exist_ok=True)
        borrowed.write_text(f"{(self.directory / 'objects').absolute()}\n")
        return other

    def path(self, relative: str) -> Path:
        """See `protocols.Tree.path`. Links inside the tree are followed, links out of it are refused."""
        parts = checked_parts(relative)
        root = self.root.resolve()
        try:
            resolved = root.joinpath(*parts).resolve()
            loops = resolved.is_symlink()
        except (OSError, RuntimeError) as error:
            raise PathRefused(f"{relative!r} is a link that loops, or too long.") from error
        if loops or resolved == root or not resolved.is_relative_to(root):
            raise PathRefused(f"{relative!r} leads out of the repository through a link.")
        inside = resolved.relative_to(root)
        checked_parts(inside.as_posix())
        if not resolved.exists():
            folder, new = not_there(root, inside)
            if not all(map(is_portable, new)):
                raise PathRefused(f"{relative!r} is not a name that every system can hold.")
            if other := twin(folder, new[0]):
                raise PathRefused(
                    f"{relative!r} is taken for {other!r} by systems that ignore case or accents' form."
                )
        return self.root / inside

    def files(self) -> tuple[str, ...]:
        found = [
            (Path(folder) / name).relative_to(self.root).as_posix()
            for folder, folders, names in os.walk(self.root)
            for name in (*names, *(f for f in folders if (Path(folder) / f).is_symlink()))
        ]
        return tuple(sorted(found))

    def checkpoint(self) -> str:
        look = _look(self.root)
        if self._last is not None and look is not None and self._last[0] == look:
            return self._last[1]
        self._git("add", "--all", "--force")
        made = self._git("write-tree").decode().strip()
        self._last = None if look is None else (look, made)
        return made

    def delete(self, relative: str) -> None:
        """See `protocols.Tree.delete`."""
        self.path(relative)
        place = PurePosixPath(relative)
        folder = self.root if place.parent == PurePosixPath(".") else self.path(str(place.parent))
        with suppress(FileNotFoundError, NotADirectoryError):  # also below what is a file
            (folder / place.name).unlink()
        self._deleted.add((folder / place.name).relative_to(self.root).as_posix())

    def diff(self, since: str) -> str:
        patch = self._patch(since)
        if b"\ndeleted file mode " in patch:
            self._check_whole(since)
        return patch.decode("utf-8", "surrogateescape")

    def _check_whole(self, since: str) -> None:
        """What another program deletes in a copy is no patch. Raises: TreeDamaged."""
        was, now = self.listing(since), self.listing(self.checkpoint())
        moved = {entry[1] for name, entry in now.items() if was.get(name) != entry}
        gone = [name for name in was if was[name][1] not in moved and name not in {*now, *self._deleted}]
        if gone:
            others = f" and {len(gone) - 1} others" if gone[1:] else ""
            raise TreeDamaged(
                f"The run's working copy in {self.root} has lost {gone[0]!r}{others}, "
                "which nobody was asked to delete; nothing of it was applied."
            )

    def changed(self, since: str) -> tuple[str, ...]:
        output = self._compare(since, ("-r", "--name-only", "--no-renames", "-z"))
        return tuple(sorted(os.fsdecode(name) for name in output.split(b"\0") if name))

    def restore(self, checkpoint: str, paths: Sequence[str] = ()) -> None:
        if not paths:
            self.checkpoint()
            before = self.files()
            self._git("read-tree", "--reset", "-u", checkpoint)
            self._deleted = {*before, *self._deleted}.difference(self.files())
        elif patch := self._patch(checkpoint, *paths):
            before = self.files()
            self._git("apply", "--reverse", "--whitespace=nowarn", stdin=patch)
            self._deleted.update(set(before).difference(self.files()))

    def read(self, checkpoint: str, name: str) -> tuple[str, bytes] | None:
        """(mode, content) of a file at a checkpoint, or None. Modes are git's: 100644, 100755, 120000."""
        listing = self._git("ls-tree", "-z", "--full-tree", checkpoint, "--", name)
        mode, kind, blob = (listing.split(b"\t")[0].decode() or "0 none 0").split(" ")
        return (mode, self._git("cat-file", "blob", blob)) if kind == "blob" else None

    def listing(self, checkpoint: str) -> dict[str, tuple[str, str]]:
        """By path, git's mode and id of every file at a checkpoint."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", checkpoint)
        entries = [entry.split(b"\t", 1) for entry in listed.split(b"\0") if entry]
        return {
            os.fsdecode(name): (about.split()[0].decode(), about.split()[2].decode())
            for about, name in entries
        }

    def apply(self, patch: str, *, reverse: bool = False) -> None:
        """See `Tree.apply`. Raises: also SandboxUnavailable when the disk is full or may not be written."""
        if not patch:
            return
        names = touched(patch)
        for name in names:
            checked_parts(name)  # git itself goes behind no link
        data = _encoded(patch)
        how = ("apply", "--whitespace=nowarn", *(["--reverse"] if reverse else []))
        self._deleted.update(names)
        try:
            self._git(*how, stdin=data)
        except GitFailed as error:
            if self._accepts(*how, "--cached", "--check", stdin=data):  # it is not the patch
                raise SandboxUnavailable(
                    f"The working copy in {self.root} cannot be written: {error.reason}.", hint=_FULL
                ) from error
            # A change in the last lines is tied to the file's end, though lines were added there since.
            if _INTO_NOTHING.search(patch) or not self._accepts(*how, "--unidiff-zero", stdin=data):
                raise PatchConflict(f"The patch does not apply: {error.reason}.") from error

    def _accepts(self, *arguments: str, stdin: bytes) -> bool:
        try:
            self._git(*arguments, stdin=stdin)
        except GitFailed:
            return False
        return True

    def _patch(self, since: str, *paths: str) -> bytes:
        return self._compare(since, ("-p", "-r", "--binary", "--no-renames"), *paths)

    def _compare(self, since: str, how: Sequence[str], *paths: str) -> bytes:
        """`git diff-tree` from a checkpoint to the tree as it is now, once for each that is asked for."""
        now = self.checkpoint()
        if now == since:
            return b""
        if self._compared[0] != now:
            self._compared = (now, {})
        known, asked = self._compared[1], (*how, since, "--", *paths)
        if asked not in known:
            known[asked] = self._git("diff-tree", *how, since, now, "--", *paths)
        return known[asked]

    def _init(self) -> None:
        self.directory.mkdir(mode=0o700)
        self._git("init", "--quiet", "--template=")
        (self.directory / "info").mkdir(exist_ok=True)
        (self.directory / "info" / "attributes").write_text(_ATTRIBUTES)
        with (self.directory / "config").open("a", encoding="utf-8") as config:
            config.write("[core]\n" + "".join(f"\t{name} = {value}\n" for name, value in _CORE.items()))

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        try:
            return git(*arguments, directory=self.directory, work_tree=self.root, private=True, stdin=stdin)
        except GitFailed as error:
            if self.root.is_dir() and self.directory.is_dir():
                raise
            raise TreeDamaged(
                f"The run's working copy in {self.root.parent} is not there any more; nothing was applied."
            ) from error


def _look(root: Path) -> _Look | None:
    """Of every file what tells that it was written to, which is what git's own index goes by; None where one
    is so new that it could be written to again without that being seen, and where they cannot be read."""
    now = time.time_ns()
    found: _Look = {}
    folders = [os.fspath(root)]
    try:
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(about.st_mode):
                        folders.append(entry.path)
                        continue
                    changed = about.st_ctime_ns
                    if changed > now - (_RACY if changed % 1_000_000_000 else _RACY_COARSE):
                        return None
                    what = (about.st_mode, about.st_size, about.st_ino)
                    found[entry.path] = (*what, about.st_mtime_ns, changed)
    except OSError:  # git says what is wrong
        return None
    return found


def _encoded(patch: str) -> bytes:
    """The bytes that git made it of. Raises: PatchConflict."""
    try:
        return patch.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PatchConflict(
            f"The patch holds {error.object[error.start]!r}, which is no character."
        ) from error


def touched(patch: str) -> tuple[str, ...]:
    """The paths that a git diff names, old and new, sorted.

    Raises: PatchConflict when it is not a git diff."""
    if not patch:
        return ()
    data = _encoded(patch)
    names: set[str] = set()
    with tempfile.TemporaryDirectory() as empty:
        place = Path(empty)
        for direction in ((), ("--reverse",)):  # each names one side of a renaming
            try:
                listing = git(
                    *("apply", "--numstat", "-z", *direction),
                    directory=place / "git",
                    work_tree=place,
                    private=True,
                    stdin=data,
                )
            except GitFailed as error:
                raise PatchConflict(f"The patch cannot be read: {error.reason}.") from error
            names |= {os.fsdecode(e.split(b"\t", 2)[2]) for e in listing.split(b"\0") if e.count(b"\t") > 1}
    return tuple(sorted(names))


def _copy_files(source: Path, files: Sequence[str], target: Path) -> None:
    clone = _Cloner()
    real: dict[PurePosixPath, bool] = {PurePosixPath("."): True}  # folder -> no link, nor behind one

    def is_real(folder: PurePosixPath) -> bool:
        if folder not in real:
            place = source / folder
            real[folder] = is_real(folder.parent) and place.is_dir() and not place.is_symlink()
        return real[folder]

    for name in files:
        path = PurePosixPath(name)
        # Left out: names that git itself refuses, and what only seems to be there, behind a link.
        refused = path.is_absolute() or any(part == ".." or is_gits_own(part) for part in path.parts)
        if refused or not is_real(path.parent):
            continue
        (target / path.parent).mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError, NotADirectoryError):
            clone.file(source / name, target / name)


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


def _is_unreadable(error: OSError | GitFailed, source: Path) -> bool:
    """Whether it is a file of the user's that could not be read."""
    named = error.filename if isinstance(error, PermissionError) else None
    return named is not None and Path(os.fsdecode(named)).is_relative_to(source)


def _why(error: OSError | GitFailed) -> str:
    if isinstance(error, GitFailed):
        return error.reason
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason
