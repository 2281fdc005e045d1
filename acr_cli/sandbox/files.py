"""Private copies of trees, and single files in them, without ever following a link out of the copy.

Code in a sandbox may turn any folder of its copy into a link to anywhere. So every path is walked one
component at a time, and no link is followed.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import stat
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from acr_cli.errors import PathRefused

LARGEST_READ = 64 * 1024**2
"""Bytes; a larger file is treated as none, for it would be held in memory."""

SANDBOX_ID = 1000
"""Uid and gid of the commands in a sandbox."""

_WITHOUT = frozenset({".git"})  # history may hold the very fix that is looked for


def place(path: str, *, workdir: str, scratch: str) -> tuple[str, tuple[str, ...]]:
    """("work" or "scratch", components) of a path relative to the copy, or absolute below scratch. Pure.

    Raises: PathRefused."""
    pure = PurePosixPath(path)
    where = "work"
    for root, name in ((scratch, "scratch"), (workdir, "work")):
        if pure.is_absolute() and pure.is_relative_to(root):
            pure, where = pure.relative_to(root), name
            break
    return where, _components(pure)


def _components(path: PurePosixPath) -> tuple[str, ...]:
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in str(path):
        raise PathRefused(f"{str(path)!r} is not a path inside the sandbox's copy of the tree.")
    return path.parts


def is_inside(tree: Path, name: str | Path) -> bool:
    """Whether something of this name is in a tree, and not behind a link that leads out of it."""
    try:
        return (tree / name).resolve(strict=True).is_relative_to(tree.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False


def entries(tree: Path, *, only: Sequence[str] | None = None) -> Iterator[tuple[Path, str, os.stat_result]]:
    """Folders (before what is in them), regular files and links below `tree`: path, relative path, status.

    `only` names files and folders to take instead of all; behind a link there is nothing to take. The tree's
    own `.git` is left out, and so are sockets, pipes and devices."""
    if only is None:
        yield from _below(tree, "", leave_out=_WITHOUT)
        return
    seen: set[str] = set()
    for name in sorted(set(only)):
        parts = _components(PurePosixPath(name))
        for depth in range(1, len(parts) + 1):
            relative = "/".join(parts[:depth])
            path = tree / relative
            if relative not in seen and (path.is_symlink() or path.exists()):
                seen.add(relative)
                yield path, relative, path.lstat()
            if path.is_symlink():
                break
        else:
            if path.is_dir():
                yield from _below(path, "/".join(parts) + "/", leave_out=_WITHOUT)


def _below(
    folder: Path, prefix: str, *, leave_out: frozenset[str] = frozenset()
) -> Iterator[tuple[Path, str, os.stat_result]]:
    # Not by recursion: a repository may be deeper than Python's stack.
    levels = [(prefix, iter(_children(folder, leave_out)))]
    while levels:
        here, children = levels[-1]
        child = next(children, None)
        if child is None:
            levels.pop()
            continue
        status = child.stat(follow_symlinks=False)
        kind = stat.S_IFMT(status.st_mode)
        if kind not in {stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK}:
            continue
        yield Path(child.path), here + child.name, status
        if kind == stat.S_IFDIR:
            levels.append((f"{here}{child.name}/", iter(_children(Path(child.path), frozenset()))))


def _children(folder: Path, leave_out: frozenset[str]) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return sorted((one for one in found if one.name not in leave_out), key=lambda entry: entry.name)


def copy_tree(tree: Path, target: Path, *, only: Sequence[str] | None = None) -> None:
    """Copy `entries(tree)` to the new folder `target`: bits, times, links kept; its owner may write."""
    target.mkdir(parents=True)
    folders: list[tuple[Path, os.stat_result]] = []
    for path, relative, status in entries(tree, only=only):
        to = target / relative
        if stat.S_ISDIR(status.st_mode):
            to.mkdir(mode=0o755)
            folders.append((to, status))
        elif stat.S_ISLNK(status.st_mode):
            to.symlink_to(path.readlink())
        else:
            shutil.copyfile(path, to, follow_symlinks=False)
            to.chmod(_file_mode(status))
            os.utime(to, ns=(status.st_atime_ns, status.st_mtime_ns))
    for to, status in reversed(folders):
        to.chmod(_folder_mode(status))
        os.utime(to, ns=(status.st_atime_ns, status.st_mtime_ns))


def _file_mode(status: os.stat_result) -> int:
    return status.st_mode & 0o777 | 0o600


def _folder_mode(status: os.stat_result) -> int:
    return status.st_mode & 0o777 | 0o700


def remove_tree(folder: Path) -> None:
    """Remove a folder, however deep, also where code in it took away its own rights.

    One that is gone is no error. Every folder below is first moved to the top, so that no path is too long
    and no stack too deep. Raises: OSError."""
    if folder.is_symlink():
        return
    folders, unlike = 0, secrets.token_hex(8)  # a name that nobody can have taken
    try:
        top = _open_locked(folder.name, folder.parent)
        try:
            todo = _emptied(top, top, "")
            while todo:
                name = todo.pop()
                here = _open_locked(name, top)
                try:
                    folders += 1
                    todo += _emptied(here, top, f"{unlike}-{folders}-")
                finally:
                    os.close(here)
                os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        folder.rmdir()
    except FileNotFoundError:
        return


def _open_locked(name: str, parent: Path | int) -> int:
    """A folder, opened and made ours to read and to change."""
    within = (
        os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if isinstance(parent, Path) else parent
    )
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            handle = os.open(name, flags, dir_fd=within)
        except PermissionError:
            os.chmod(name, 0o700, dir_fd=within)
            handle = os.open(name, flags, dir_fd=within)
        if os.fstat(handle).st_mode & 0o300 != 0o300:
            os.fchmod(handle, 0o700)
        return handle
    finally:
        if within is not parent:
            os.close(within)


def _emptied(here: int, top: int, prefix: str) -> list[str]:
    """Remove what is in a folder, but its folders: these are moved to the top, and named."""
    moved = []
    with os.scandir(here) as found:
        children = list(found)
    for number, child in enumerate(children):
        if not child.is_dir(follow_symlinks=False):
            os.unlink(child.name, dir_fd=here)
            continue
        name = f"{prefix}{number}" if prefix else child.name
        if prefix:
            _move(child.name, here, name, top)
        moved.append(name)
    return moved


def _move(name: str, here: int, to: str, top: int) -> None:
    try:
        os.rename(name, to, src_dir_fd=here, dst_dir_fd=top)
    except PermissionError:
        # Moving a folder changes its "..", which takes the right to write it.
        os.chmod(name, 0o700, dir_fd=here)
        os.rename(name, to, src_dir_fd=here, dst_dir_fd=top)


# --- one file, beneath a root -----------------------------------------------------------------------------


def _open_folder(root: Path, parts: Sequence[str], *, make: bool) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(root, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=here)
            there = os.open(part, flags, dir_fd=here)
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


def write_beneath(root: Path, parts: Sequence[str], data: bytes) -> None:
    """Write a file below `root`; folders are made, a link in its place is replaced, its mode is kept.

    Raises: PathRefused when a link or a file stands where a folder is needed."""
    try:
        folder = _open_folder(root, parts[:-1], make=True)
    except OSError as error:
        raise PathRefused(f"{'/'.join(parts)!r} cannot be written: {error.strerror}.") from error
    name = parts[-1]
    try:
        mode, earlier = 0o644, 0.0
        try:
            before = os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        else:
            if stat.S_ISREG(before.st_mode):
                mode, earlier = _file_mode(before), before.st_mtime
            os.unlink(name, dir_fd=folder)
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
        changed = mtime_after(earlier)
        os.utime(name, (changed, changed), dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise PathRefused(f"{'/'.join(parts)!r} cannot be written: {error.strerror}.") from error
    finally:
        os.close(folder)


def mtime_after(earlier: float) -> float:
    """A time of change, in whole seconds, that no earlier version of the file has had.

    Python takes bytecode for fresh when size and second are the same: a changed operator within one second
    would go unseen."""
    return float(max(int(time.time()), int(earlier) + 1))


def read_beneath(root: Path, parts: Sequence[str]) -> bytes | None:
    """A regular file's bytes below `root`; None for anything else, and beyond `LARGEST_READ`."""
    try:
        folder = _open_folder(root, parts[:-1], make=False)
    except OSError:
        return None
    try:
        # Without O_NONBLOCK a pipe that nobody writes to would hold us for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(parts[-1], flags, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_READ:
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(LARGEST_READ)


# --- archives ---------------------------------------------------------------------------------------------


def add_tree(archive: tarfile.TarFile, tree: Path, at: str, *, only: Sequence[str] | None = None) -> None:
    """Add `entries(tree)` to an archive below the folder `at`, owned by the sandbox's user."""
    add_folder(archive, at)
    for path, relative, status in entries(tree, only=only):
        member = tarfile.TarInfo(f"{at}/{relative}")
        member.uid = member.gid = SANDBOX_ID
        member.mtime = max(0, int(status.st_mtime))
        if stat.S_ISDIR(status.st_mode):
            member.type, member.mode = tarfile.DIRTYPE, _folder_mode(status)
            archive.addfile(member)
        elif stat.S_ISLNK(status.st_mode):
            member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
            archive.addfile(member)
        else:
            with path.open("rb") as file:
                member.size, member.mode = os.fstat(file.fileno()).st_size, _file_mode(status)
                archive.addfile(member, file)


def add_folder(archive: tarfile.TarFile, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.mtime = tarfile.DIRTYPE, 0o755, int(time.time())
    member.uid = member.gid = SANDBOX_ID
    archive.addfile(member)


def add_file(archive: tarfile.TarFile, name: str, data: bytes, *, mode: int = 0o644, mtime: float) -> None:
    """Add one file owned by the sandbox's user; not the folders that it lies in."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), mode, mtime
    member.uid = member.gid = SANDBOX_ID
    archive.addfile(member, io.BytesIO(data))


def only_file(archive: IO[bytes] | io.RawIOBase) -> bytes | None:
    """The bytes of the one regular file in a tar stream, or None."""
    with tarfile.open(fileobj=archive, mode="r|") as members:
        member = members.next()
        if member is None or not member.isreg() or member.size > LARGEST_READ:
            return None
        file = members.extractfile(member)
        return file.read() if file is not None else None
