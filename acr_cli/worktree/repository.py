"""The user's repository: found, checked, and only ever read.

Refused, each with one sentence: no repository, a bare one, the home directory, a submodule, a path that
loops.
"""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from acr_cli.errors import RepositoryRefused
from acr_cli.worktree.hardened_git import GitFailed, discover, git

_COMMIT_RUNS = r"^(filter\..*\.(clean|process)|gpg\.(.*\.)?(program|defaultkeycommand))$"
_HARMLESS = ("", "git-lfs clean -- %f", "git-lfs filter-process")
"""What `git lfs install --local` writes: its program is the machine's own."""
_UNDER_WAY = {"rebase-merge": "rebase", "rebase-apply": "rebase", "BISECT_LOG": "bisection"}
"""Names in git's folder, and what they tell of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A working tree with its git directory."""

    root: Path
    directory: Path
    identity: str  # 16 hexadecimal digits: of the root commit, or of the path where there is no commit

    def files(self) -> tuple[str, ...]:
        """Tracked and untracked-not-ignored files that exist, sorted; links count, submodules do not.

        Raises: RepositoryRefused when git cannot list them."""
        return self._list("--cached", "--others")

    def ignored(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Ignored files whose path or name matches one of the shell patterns (`copy_ignored`)."""
        if not patterns:
            return ()
        return tuple(
            name for name in self._list("--others", "--ignored") if any(_matches(name, p) for p in patterns)
        )

    def indexed(self) -> frozenset[str]:
        """Ids of the contents that git has in its index."""
        try:
            listing = self._git("ls-files", "-z", "--stage")
        except GitFailed:
            return frozenset()
        return frozenset(entry.split()[1].decode() for entry in listing.split(b"\0") if entry)

    def blob(self, oid: str) -> bytes:
        """A content that git has. Raises: GitFailed where it has not."""
        return self._git("cat-file", "blob", oid)

    def commit(self, files: tuple[str, ...], message: str) -> str:
        """Commit exactly these files, whatever else is staged; the short id of the commit.

        The user's own filters run, since they say what is committed; hooks do not.

        Raises: GitFailed with git's reason; the index is then as it was."""
        index = self.directory / "index"
        self._refuse_programs()
        self._refuse_under_way()
        before = index.read_bytes() if index.exists() else None
        tracked = self._git("ls-files", "-z", "--", *files).split(b"\0")
        # A file that was never git's and is gone again is nothing to commit.
        names = [os.fsencode(f) for f in files if os.path.lexists(self.root / f) or os.fsencode(f) in tracked]
        listed = b"\0".join(names)
        from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
        try:
            self._git("add", "--all", *from_stdin, stdin=listed)
            said = (f"--message={message}", *from_stdin)
            self._git("commit", "--quiet", "--no-verify", "--only", *said, stdin=listed)
        except GitFailed:
            if before is None:
                index.unlink(missing_ok=True)
            else:
                index.write_bytes(before)
            raise
        return self._git("rev-parse", "--short", "HEAD").decode().strip()

    def _refuse_under_way(self) -> None:
        """A commit would stand among those that git is just about to make, or look at; in a merge git itself
        refuses. Raises: GitFailed."""
        for mark, what in _UNDER_WAY.items():
            if (self.directory / mark).exists():
                raise GitFailed(f"a {what} is under way")

    def _refuse_programs(self) -> None:
        """A commit would run the filters and the signing program that git's configuration names: those of the
        user may run, those that the repository brings may not. Raises: GitFailed."""
        try:
            listing = self._git("config", "--includes", "--show-scope", "-z", "--get-regexp", _COMMIT_RUNS)
        except GitFailed as error:
            if error.reason == "exit status 1":  # nothing of the kind is configured
                return
            raise
        parts = listing.decode(errors="replace").split("\0")
        for scope, entry in zip(parts[::2], parts[1::2], strict=False):
            name, _, value = entry.partition("\n")
            if scope in ("local", "worktree") and value not in _HARMLESS:
                raise GitFailed(f"the repository's own configuration names a program for it to run ({name})")

    def _list(self, *arguments: str) -> tuple[str, ...]:
        try:
            listing = self._git("ls-files", "-z", "--exclude-standard", *arguments)
        except GitFailed as error:
            raise RepositoryRefused(f"git cannot read this repository: {error.reason}.") from error
        names = {os.fsdecode(name) for name in listing.split(b"\0") if name}
        return tuple(sorted(name for name in names if self._is_file(name)))

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return git(*arguments, directory=self.directory, work_tree=self.root, stdin=stdin)

    def _is_file(self, name: str) -> bool:
        """Whether it is a file of this tree: an index that git did not write may name any other."""
        pure = PurePosixPath(name)
        if str(pure) != name or pure.is_absolute() or ".." in pure.parts:
            return False
        path = self.root / name
        try:
            return path.is_symlink() or path.is_file()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return False
            raise


def open_repository(where: Path, *, home: Path | None = None) -> Repository:
    """The repository around `where`.

    Raises: RepositoryRefused, one sentence for each kind of refusal."""
    try:
        place = where.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise RepositoryRefused(
            f"{where} cannot be entered: {_why(error)}.", hint="Give another place with -C DIR."
        ) from error
    folder = place if place.is_dir() else place.parent
    found = discover(folder)
    if found is None:
        raise RepositoryRefused(
            f"{folder} is not in a git repository.",
            hint="Run `git init` there first, or give one with -C DIR.",
        )
    if found.bare or found.working_tree_dir is None:
        raise RepositoryRefused(
            f"{place} is a bare repository; there are no files to repair.", hint="Clone it and work there."
        )
    root, directory = Path(found.working_tree_dir).resolve(), Path(found.git_dir).resolve()
    if root in (home.resolve() if home else _home(), Path(root.anchor)):
        raise RepositoryRefused(
            f"{root} is your home directory or the whole disk; acr would copy all of it.",
            hint="Run it inside a project's own repository.",
        )
    if _is_submodule(directory):
        raise RepositoryRefused(
            f"{root} is a submodule of another repository.", hint="Clone it on its own and run acr there."
        )
    return Repository(root=root, directory=directory, identity=_identity(root, directory))


def _home() -> Path | None:
    """The user's home directory; there are users without one, as in a container."""
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None


def _is_submodule(directory: Path) -> bool:
    """Whether a git directory lies in another's `modules`. Pure."""
    parts = directory.parts
    return ".git" in parts and "modules" in parts[parts.index(".git") :]


def _identity(root: Path, directory: Path) -> str:
    """The same for every clone: of the root commit; of the path where there is no commit."""
    try:
        commits = git("rev-list", "--max-parents=0", "HEAD", directory=directory, work_tree=root)
        name = min(commits.split())
    except (GitFailed, ValueError):
        name = os.fsencode(root)
    return hashlib.sha256(name).hexdigest()[:16]


def _matches(name: str, pattern: str) -> bool:
    path = PurePosixPath(name)
    return fnmatch(name, pattern) or any(fnmatch(part, pattern.rstrip("/")) for part in path.parts)


def _why(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
