"""A past state of the repository, written into a tree that knows no history."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from acr_cli.errors import PathRefused
from acr_cli.history.commits import entries, read
from acr_cli.history.records import Change, Git, Prospect
from acr_cli.protocols import Tree

MOST_FILES = 20_000
MOST_BYTES = 300 * 1024**2
_LINK, _SUBMODULE = "120000", "160000"
_LONGEST_LINK = 4096  # bytes, from which on no system takes one


def lay_task(git: Git, prospect: Prospect, tree: Tree) -> str:
    """The files of a commit's parent, with the commit's own tests, into an empty tree; why not, else "".

    Raises: AcrError of git, OSError."""
    if reason := lay_out(git, prospect.commit.parents[0], tree):
        return reason
    try:
        change(tree, prospect.division.tests, prospect.blobs)
    except PathRefused as error:
        return _refused(error)
    return ""


def lay_out(git: Git, commit: str, tree: Tree) -> str:
    """The files of a commit into an empty tree, submodules left out; why that cannot be, else "".

    Raises: AcrError of git, OSError."""
    files = [entry for entry in entries(git, commit) if entry.mode != _SUBMODULE]
    if len(files) > MOST_FILES or sum(entry.size for entry in files) > MOST_BYTES:
        return "its tree is too large"
    blobs = read(git, [entry.blob for entry in files])
    if any(entry.blob not in blobs for entry in files):
        return "its files are not in this clone"
    try:
        # Links last: nothing is written through one.
        for entry in sorted(files, key=lambda each: each.mode == _LINK):
            _write(tree, entry.path, entry.mode, blobs[entry.blob])
    except PathRefused as error:
        return _refused(error)
    return ""


def change(tree: Tree, changes: Iterable[Change], blobs: Mapping[str, bytes]) -> None:
    """These changes of a commit into the tree of its parent. Raises: PathRefused, OSError."""
    for each in sorted(changes, key=lambda each: each.status != "D"):
        if each.status == "D":
            tree.delete(each.path)
        else:
            _write(tree, each.path, each.new_mode, blobs[each.new])


def _refused(error: PathRefused) -> str:
    return f"holds a name that cannot be written: {error.message.rstrip('.')}"


def _write(tree: Tree, path: str, mode: str, data: bytes) -> None:
    place = tree.path(path)
    _make_room(place, tree.root)
    if mode == _LINK:
        if not 0 < len(data) < _LONGEST_LINK or b"\0" in data:
            raise PathRefused(f"{path!r} is a link to what is no path.")
        place.symlink_to(data.decode("utf-8", "surrogateescape"))
        return
    place.write_bytes(data)
    place.chmod(0o755 if mode == "100755" else 0o644)


def _make_room(place: Path, root: Path) -> None:
    """Folders above a file; what stands in the way, a file there or a folder here, the commit deleted."""
    for folder in reversed([parent for parent in place.parents if parent.is_relative_to(root)]):
        if folder.is_file() and folder != root:
            folder.unlink()
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
