"""Edits put into files: all of a reply's or none. Links stay links, and modes stay as they are.

How a search text finds its place, and what of a file never changes, is told in `matching`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from acr_cli.agent.matching import replaced, rewritten
from acr_cli.agent.text import Text
from acr_cli.errors import BadReply, PathRefused
from acr_cli.protocols import Edit, Tree

_LARGEST = 1_000_000  # bytes of a file that a command has written
_MACHINERY = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
"""What is wrong with the disk and not with the edit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """What was written: paths in their order, and a sentence for each search text that did not stand
    there exactly."""

    paths: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _File:
    """What a path holds, or is to hold. `link`: what it points at, if it is a link."""

    content: bytes = b""
    mode: int | None = None
    link: Path | None = None


def apply_edits(
    tree: Tree, edits: Sequence[Edit], *, check: Callable[[str], None], inline: bool = False
) -> Applied:
    """Write all edits to the tree, or none. `check` refuses paths by PathRefused or BadReply.

    Raises: BadReply and PathRefused, for the model to read; nothing is written then."""
    before: dict[Path, _File | None] = {}
    after: dict[Path, _File | None] = {}
    remarks: list[str] = []

    def now(path: Path) -> _File | None:
        if path not in before:
            before[path] = after[path] = _read(path)
        return after[path]

    for edit in edits:
        check(edit.path)
        path = tree.path(edit.path)
        if edit.target:
            check(edit.target)
            source, target = _entry(tree, edit.path), _entry(tree, edit.target)
            after[target] = _moved(edit, now(source), now(target), source.is_dir() or target.is_dir())
            after[source] = None
            continue
        if path.is_dir():
            raise PathRefused(f"{edit.path} is a folder.")
        if edit.replace is None:
            entry = _entry(tree, edit.path)
            if now(entry) is None:
                raise BadReply(f"{edit.path} does not exist and cannot be deleted.")
            after[entry] = None
            continue
        after[path], remark = _edited(edit, now(path), inline=inline)
        remarks += [remark] if remark else []
    _write(tree, before, after)
    paths = tuple(path.relative_to(tree.root).as_posix() for path in after)
    return Applied(paths=paths, remarks=tuple(remarks))


def keep_files(tree: Tree, contents: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Write whole text files as they are, all or none; the paths of those that were not like that before.

    Raises: BadReply, PathRefused."""
    before: dict[Path, _File | None] = {}
    after: dict[Path, _File | None] = {}
    for name, content in contents.items():
        path = tree.path(name)
        if content is None or path.is_dir():
            raise BadReply(f"{name} is no file that could be kept; nothing was kept.")
        if len(content) > _LARGEST:
            raise BadReply(f"{name} is too large to be kept; nothing was kept.")
        Text.of(content, name)
        before[path] = _read(path)
        after[path] = replace(before[path] or _File(), content=content)
    _write(tree, before, after)
    changed = (path for path in after if after[path] != before[path])
    return tuple(path.relative_to(tree.root).as_posix() for path in changed)


def _entry(tree: Tree, relative: str) -> Path:
    """The file of this name itself, not what a link of this name points at. Raises: PathRefused."""
    tree.path(relative)
    path = PurePosixPath(relative)
    folder = tree.root if path.parent == PurePosixPath(".") else tree.path(str(path.parent))
    return folder / path.name


def _read(path: Path) -> _File | None:
    if path.is_symlink():
        return _File(link=path.readlink())
    if not path.is_file():
        return None
    return _File(content=path.read_bytes(), mode=path.stat().st_mode & 0o777)


def _moved(edit: Edit, source: _File | None, target: _File | None, is_folder: bool) -> _File:
    if is_folder:
        raise PathRefused(
            f"{edit.path} cannot be moved to {edit.target}: only files are moved, to a new path."
        )
    if source is None:
        raise BadReply(f"{edit.path} does not exist and cannot be moved.")
    if target is not None:
        raise BadReply(f"{edit.target} exists; {edit.path} was not moved.")
    return source


def _edited(edit: Edit, file: _File | None, *, inline: bool) -> tuple[_File, str]:
    """The file after an edit, and what is to be said of it."""
    new = edit.replace or ""
    if file is None or not file.content.strip():
        if edit.search is not None and edit.search.strip():
            what = "does not exist" if file is None else "is empty"
            raise BadReply(f"{edit.path} {what}, so nothing can be searched in it.")
        try:
            return replace(file or _File(), content=new.encode()), ""
        except UnicodeEncodeError as error:
            raise BadReply(f"{edit.path}: {error.object[error.start]!r} is no character.") from error
    if edit.search is None:
        return replace(file, content=rewritten(file.content, new, path=edit.path)), ""
    done = replaced(file.content, edit.search, new, path=edit.path, inline=inline, near=edit.line)
    remark = f"{edit.path}, line {done.line}: {done.forgiven}." if done.forgiven else ""
    return replace(file, content=done.content), remark


def _write(tree: Tree, before: dict[Path, _File | None], after: dict[Path, _File | None]) -> None:
    """Raises: PathRefused where a file cannot be there; all is as it was then."""
    changed = [path for path in after if after[path] != before[path]]
    try:
        for path in sorted(changed, key=lambda each: after[each] is not None):
            _put(tree, path, after[path])
    except OSError as error:
        for path in changed:
            _put(tree, path, before[path])
        if error.errno in _MACHINERY:
            raise
        why = (error.strerror or str(error)).lower()
        raise PathRefused(f"{Path(error.filename or '').name} cannot be written: {why}.") from error


def _put(tree: Tree, path: Path, file: _File | None) -> None:
    if file is None:
        tree.delete(path.relative_to(tree.root).as_posix())
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.link is not None:
        path.symlink_to(file.link)
        return
    path.write_bytes(file.content)
    if file.mode is not None:
        path.chmod(file.mode)
