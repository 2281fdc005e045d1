"""Which part of a commit is its tests and which its fix, and whether it can be a task at all. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from acr_cli.history.records import Change, Commit, Division

MOST_FILES = 30  # that a task's commit changes
MOST_BYTES = 1_000_000  # of what it changes, before and after
_TEST_FOLDERS = frozenset(["test", "tests", "spec", "specs", "__tests__", "testing"])
_TEST_NAME = re.compile(r"tests?|test[_-].*|.*[_-]tests?|.*[._-](test|spec)|.*Tests?|.*_spec", re.DOTALL)
_DOCUMENTS = frozenset([".md", ".rst", ".adoc", ".org", ".mdx"])
_DOCUMENT_NAMES = re.compile(
    r"(README|CHANGE(S|LOG)|NEWS|HISTORY|AUTHORS|CONTRIBUT|LICEN[SC]E|COPYING|TODO|RELEASE)", re.IGNORECASE
)
_LINK, _SUBMODULE = "120000", "160000"


def divide(commit: Commit, protected: Callable[[str], bool]) -> Division:
    """A commit's changes by what they are; `protected`: whether a path belongs to the tests for certain."""
    tests, sources, others = [], [], []
    for change in commit.changes:
        if protected(change.path) or is_test(change.path):
            tests.append(change)
        elif _is_document(change.path):
            others.append(change)
        else:
            sources.append(change)
    return Division(tests=tuple(tests), sources=tuple(sources), others=tuple(others))


def unfit(commit: Commit, division: Division, *, shallow: bool, is_test_file: Callable[[str], bool]) -> str:
    """Why a commit can be no task, as far as one can say without reading files; "" where it may be one."""
    if not commit.parents:
        return "the clone is shallow and ends here" if shallow else "the first commit"
    if len(commit.parents) > 1:
        return "a merge"
    if not commit.changes:
        return "changes nothing"
    if any(_SUBMODULE in (change.old_mode, change.new_mode) for change in commit.changes):
        return "changes a submodule"
    if any(change.status == "R" for change in commit.changes):
        return "renames files"
    if any(_LINK in (change.old_mode, change.new_mode) for change in commit.changes):
        return "changes links"
    if not any(change.new and is_test_file(change.path) for change in division.tests):
        return "changes no tests"
    if not division.sources:
        return "changes no sources"
    return f"changes more than {MOST_FILES} files" if len(commit.changes) > MOST_FILES else ""


def unreadable(changes: Iterable[Change], blobs: Mapping[str, bytes]) -> str:
    """Why what a commit changes cannot be shown to anybody; "" where it can. `blobs`: by id."""
    names = [name for change in changes for name in (change.old, change.new) if name]
    if any(name not in blobs for name in names):
        return "its files are not in this clone"
    if sum(len(blobs[name]) for name in names) > MOST_BYTES:
        return f"changes more than {MOST_BYTES // 1000:,} kB"
    if any(b"\0" in blobs[name][:8000] for name in names):
        return "changes binary files"
    return ""


def is_test(path: str) -> bool:
    """Whether a path is a test by the customs of most languages."""
    place = PurePosixPath(path)
    folders = {part.lower() for part in place.parts[:-1]}
    return bool(folders & _TEST_FOLDERS) or _TEST_NAME.fullmatch(place.stem) is not None


def _is_document(path: str) -> bool:
    place = PurePosixPath(path)
    in_docs = place.parts[0].lower() in ("doc", "docs") and len(place.parts) > 1
    return place.suffix.lower() in _DOCUMENTS or bool(_DOCUMENT_NAMES.match(place.name)) or in_docs
