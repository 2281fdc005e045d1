"""Edits to tests, fixtures and test configuration are undone before anything is run, and reported."""

from __future__ import annotations

import re
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
_INTERPRETERS = frozenset(
    ["sh", "bash", "dash", "zsh", "fish", "python", "python3", "node", "ruby", "php", "perl", "deno", "bun"]
)


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
    """The files that a test command consists of: the script that it runs, the Makefile of `make`. Pure.

    A script in a programming language is taken for the code under test, unless its name speaks of tests."""
    found: set[str] = set()
    for part in re.split(r"&&|\|\||[;|\n]", command):
        words = _words(part)
        if words and words[0] in _FILES_OF:
            found |= set(_FILES_OF[words[0]])
        if words and PurePosixPath(words[0]).name in _INTERPRETERS:
            words = [word for word in words[1:] if not word.startswith("-")]
        if words and "::" not in words[0]:
            script = PurePosixPath(words[0])
            if script.suffix in ("", ".sh", ".bash") or re.search("test|check|spec", script.stem):
                found.add(script.as_posix())
    return frozenset(found)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        words.pop(0)
    return words
