"""The user's tree as it was when a run began, so that the run can go on, or be replayed, later.

Kept are the ids of all files, and the contents of those that git does not have: uncommitted ones. Ignored
files, files that hold what looks like a secret, and what is beyond some megabytes are not; they must be
unchanged later.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from acr_cli.redaction import redact
from acr_cli.worktree.contents import kept_changes
from acr_cli.worktree.delivery import Content, content_of
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.repository import Repository
from acr_cli.worktree.tree import RunTree

BEGINNING = "beginning.json.gz"
MOST_BYTES = 2_000_000  # of contents
Files = Mapping[str, tuple[str, str]]
"""By path: git mode and id of the content."""


def keep_beginning(folder: Path, repository: Repository, tree: RunTree, checkpoint: str) -> None:
    """Keep what the tree holds at this checkpoint, the run's first; a full disk keeps nothing."""
    files = tree.listing(checkpoint)
    in_git = repository.indexed()
    left = MOST_BYTES
    contents: dict[str, str] = {}
    ours = set(repository.files()) if any(oid not in in_git for _, oid in files.values()) else set()
    for name, (_, oid) in files.items():
        if oid in in_git or name not in ours or left <= 0:
            continue
        found = content_of(tree.root / name)
        if found is None or len(found.data) > left or _is_secret(found.data):
            continue
        left -= len(found.data)
        contents[oid] = base64.b64encode(found.data).decode()
    packed = gzip.compress(json.dumps({"files": files, "contents": contents}).encode(), 6)
    temporary = folder / f"{BEGINNING}.new"
    with suppress(OSError):
        temporary.write_bytes(packed)
        temporary.replace(folder / BEGINNING)


def bring_back(folder: Path, repository: Repository, tree: RunTree) -> tuple[str, ...]:
    """Make the tree, a copy of the user's files as they are now, what it was when the run began.

    The paths whose content is not to be had."""
    kept = _read(folder)
    wanted: Files = {name: (entry[0], entry[1]) for name, entry in kept["files"].items()}
    now = tree.listing(tree.checkpoint())
    had, missing = _had(folder, kept), []
    for name in sorted(now.keys() - wanted.keys()):
        (tree.root / name).unlink()
    for name, entry in wanted.items():
        if now.get(name) == entry:
            continue
        mode, oid = entry
        try:
            data = had[oid] if oid in had else repository.blob(oid)
        except GitFailed:
            missing.append(name)
        else:
            _write(tree.root / name, Content(mode=mode, data=data))
    return tuple(missing)


def changed_since(folder: Path, root: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Which of these files below `root` are not what they were when the run began."""
    files = _read(folder)["files"]

    def now(name: str) -> list[str] | None:
        found = content_of(root / name)
        return [found.mode, _id(found.data)] if found else None

    return tuple(name for name in names if now(name) != files.get(name))


def _had(folder: Path, kept: Mapping[str, Any]) -> dict[str, bytes]:
    """By id, the contents that the run has kept: at its beginning, and of the files that it changed."""
    changed = [change.before.data for change in (kept_changes(folder) or {}).values() if change.before]
    packed = kept["contents"]
    return {
        **{_id(data): data for data in changed},
        **{oid: base64.b64decode(content) for oid, content in packed.items()},
    }


def _id(data: bytes) -> str:
    """git's name for a content. Pure."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _write(place: Path, content: Content) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if content.mode == "120000":
        place.symlink_to(os.fsdecode(content.data))
        return
    place.write_bytes(content.data)
    place.chmod(0o755 if content.mode == "100755" else 0o644)


def _is_secret(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return redact(text) != text


def _read(folder: Path) -> dict[str, Any]:
    """What was kept, its files and contents; of a damaged file what is sound of it."""
    try:
        kept = json.loads(gzip.decompress((folder / BEGINNING).read_bytes()))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        kept = {}
    tables: Any = kept if isinstance(kept, dict) else {}
    files, contents = (
        found if isinstance(found := tables.get(name), dict) else {} for name in ("files", "contents")
    )
    return {
        "files": {
            name: entry
            for name, entry in files.items()
            if isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) for part in entry)
        },
        "contents": {oid: packed for oid, packed in contents.items() if isinstance(packed, str)},
    }
