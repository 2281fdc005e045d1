"""Edits to tests, fixtures and test configuration are undone before anything is run, and reported."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import PurePosixPath

from acr_cli.protocols import Tree

_FILES_OF = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile"),
    "npm": ("package.json",),
}
"""Files that decide what a command runs."""


def undo(tree: Tree, since: str, protected: Callable[[str], bool], *, new_tests: bool) -> tuple[str, ...]:
    """Bring protected files back to what they were, remove new ones; the paths.

    Where `new_tests` is set, a test that was not there before stays: writing it is what the step is for."""
    touched = [path for path in tree.changed(since) if protected(path)]
    if new_tests:
        added = added_by(tree.diff(since))
        touched = [path for path in touched if path not in added or not is_test(path)]
    if touched:
        tree.restore(since, touched)
    return tuple(touched)


def added_by(diff: str) -> frozenset[str]:
    """The files that a git diff creates. Pure."""
    added, current = set(), ""
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            current = line.rpartition(" b/")[2].strip('"')
        elif line.startswith("new file mode"):
            added.add(current)
    return frozenset(added)


def is_test(path: str) -> bool:
    """Whether a path is a test and not configuration of tests, by its name. Pure."""
    stem = PurePosixPath(path).stem
    return stem.startswith("test_") or stem.endswith(("_test", ".test", ".spec", "Test"))


def of_command(command: str) -> frozenset[str]:
    """The files that a test command consists of: scripts that it names, the Makefile of `make`. Pure."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    found = {word.removeprefix("./") for word in words if "::" not in word and not word.startswith("-")}
    for word in words:
        found |= set(_FILES_OF.get(word, ()))
    return frozenset(found)
