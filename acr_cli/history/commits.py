"""The commits of a repository, newest first along the first parents; only plumbing commands, nothing written.

Messages become tasks for models: a key or password in one is left out.
Replacements (`git replace`) are not followed, so that a commit is what its id says.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from acr_cli.errors import AcrError
from acr_cli.history.records import Change, Commit, Git
from acr_cli.redaction import without_keys

_ID = re.compile(rb"[0-9a-f]{40,64}")
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"})
"""Codecs of Python's that no commit is written in; some take time that grows with the square."""
_CHUNK = 200  # objects that are asked for at once


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """The newest commits; `shallow`: the clone may end before the history does."""

    commits: tuple[Commit, ...]
    shallow: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file of a commit's tree."""

    mode: str  # git's: 100644, 100755, 120000 for a link, 160000 for a submodule
    blob: str
    size: int
    path: str


def walk(git: Git, limit: int) -> Walk:
    """The newest `limit` commits of HEAD; none where there is no commit yet. Raises: AcrError."""
    try:
        git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except AcrError:
        return Walk(commits=(), shallow=False)
    shallow = git("rev-parse", "--is-shallow-repository").strip() == b"true"
    listing = git("--no-replace-objects", "rev-list", "--first-parent", "--parents", f"-n{limit}", "HEAD")
    rows = [line.split() for line in listing.decode().splitlines()]
    names = [row[0] for row in rows]
    headers = read(git, names)
    changes = _changes(git, [row[0] for row in rows if len(row) == 2])
    commits = tuple(
        Commit(
            id=name,
            parents=tuple(parents),
            message=without_keys(_message(headers[name])),
            time=_time(headers[name]),
            changes=changes.get(name, ()),
        )
        for name, *parents in rows
        if name in headers
    )
    return Walk(commits=commits, shallow=shallow)


def entries(git: Git, commit: str) -> tuple[Entry, ...]:
    """All files of a commit. Raises: AcrError."""
    listing = git("--no-replace-objects", "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    found = []
    for line in listing.split(b"\0"):
        if line:
            about, _, path = line.partition(b"\t")
            mode, _, blob, size = about.decode().split()
            found.append(Entry(mode=mode, blob=blob, size=_whole(size), path=os.fsdecode(path)))
    return tuple(found)


def read(git: Git, names: Sequence[str]) -> dict[str, bytes]:
    """The objects of these ids. One that is missing is left out; in a partial clone, where git stops at the
    first of them since nothing is fetched, so may others be."""
    found: dict[str, bytes] = {}
    wanted = list(dict.fromkeys(names))
    for start in range(0, len(wanted), _CHUNK):
        asked = "".join(f"{name}\n" for name in wanted[start : start + _CHUNK]).encode()
        with suppress(AcrError):
            found.update(_batch(git("--no-replace-objects", "cat-file", "--batch", stdin=asked)))
    return found


def _batch(output: bytes) -> Iterator[tuple[str, bytes]]:
    """What `cat-file --batch` printed: "ID TYPE SIZE", the bytes, a line end; or "ID missing". Pure."""
    position = 0
    while position < len(output):
        end = output.index(b"\n", position)
        name, *about = output[position:end].decode().split()
        position = end + 1
        if len(about) == 2:
            size = int(about[1])
            yield name, output[position : position + size]
            position += size + 1


def _changes(git: Git, names: Sequence[str]) -> Mapping[str, tuple[Change, ...]]:
    """What each commit with one parent changed."""
    if not names:
        return {}
    how = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--always", "--no-ext-diff")
    asked = "".join(f"{name}\n" for name in names).encode()
    try:
        listing = git("--no-replace-objects", *how, "-M", stdin=asked)
    except AcrError:  # a partial clone: renames that also change the file cannot be told
        listing = git("--no-replace-objects", *how, "-M100%", stdin=asked)
    fields = iter(listing.split(b"\0"))
    found: dict[str, list[Change]] = {}
    current = ""
    for field in fields:
        text = field.strip(b"\n")
        if _ID.fullmatch(text):
            current = text.decode()
            found[current] = []
        elif text.startswith(b":"):
            old_mode, new_mode, old, new, status = text[1:].decode().split()
            path = os.fsdecode(next(fields))
            if status[0] in "RC":
                path = os.fsdecode(next(fields))
            found[current].append(
                Change(
                    path=path,
                    status=status[0],
                    old_mode=old_mode,
                    new_mode=new_mode,
                    old="" if status[0] == "A" else old,
                    new="" if status[0] == "D" else new,
                )
            )
    return {name: tuple(changes) for name, changes in found.items()}


def _message(header: bytes) -> str:
    head, _, message = header.partition(b"\n\n")
    named = re.search(rb"^encoding ([\w.:-]+)$", head, re.MULTILINE)
    try:
        name = codecs.lookup(named[1].decode()).name if named else "utf-8"
        return message.decode("utf-8" if name in _NO_CHARSETS else name)
    except (UnicodeError, LookupError):
        return message.decode("utf-8", "replace")


def _time(header: bytes) -> int:
    found = re.search(rb"^committer .*> (\d{1,18}) [+-]\d{4}$", header.partition(b"\n\n")[0], re.MULTILINE)
    return int(found[1]) if found else 0


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else 0  # "-" for a submodule
