"""Edits to tests, fixtures and test configuration are undone before anything is run, and reported."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from acr_cli.errors import PathRefused
from acr_cli.protocols import KeepsInlineTests, Tree

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


_ASKS = re.compile(
    r"(?<![\w.`])(?:add|adjust|bump|change|create|delete|drop|edit|extend|lower|move|raise|refresh|regenerate|remove|rename"
    r"|replace|rewrite|set|update|upgrade|write)\b(?!\s*[(`])",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'^\s*(?:>|E\s|File "|at\s|#|\||FAILED|ERROR|Traceback)|::|, line \d+')
_KINDS = {
    r"\bsnapshots?\b": ("*.snap", "*.ambr", "*__snapshots__/*"),
    r"\block ?files?\b|\bdependenc(?:y|ies)\b": (
        "*.lock", "*lock.json", "*lock.y*ml", "*go.sum", "*go.mod", "*package.json", "*Cargo.toml",
        "*pom.xml", "*build.gradle*", "*Gemfile", "*composer.json", "*pyproject.toml", "*setup.cfg",
    ),
    r"\bCI\b|\bcontinuous integration\b|\bworkflows?\b|\bGitHub Actions?\b": (
        ".github/workflows/*", ".gitlab-ci.yml", ".circleci/*", ".travis.yml", "azure-pipelines.yml",
        "Jenkinsfile",
    ),
    r"\bcoverage\b": ("*.coveragerc", "*codecov.yml", "*.nycrc*", "*.c8rc*", "*.simplecov"),
    r"\bfixtures?\b": ("*fixtures/*", "*testdata/*", "*test_data/*"),
}  # fmt: skip
"""Words of a task, and the protected files that they speak of."""


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


def undo_inline(tree: Tree, since: str, toolchain: object) -> tuple[str, ...]:
    """Bring back the tests that stand in files of the code under test; what was, for people."""
    if not isinstance(toolchain, KeepsInlineTests):
        return ()
    undone = []
    for path in tree.changed(since):
        try:
            file = tree.path(path)
        except PathRefused:
            continue
        after = file.read_bytes() if file.is_file() and not file.is_symlink() else None
        if after is None:
            continue
        tree.restore(since, [path])
        before = file.read_bytes() if file.is_file() else b""
        kept = toolchain.with_tests_of(path, before, after, new_tests=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(kept)
        undone += [f"the tests in {path}"] if kept != after else []
    return tuple(undone)


def asked_for(words: str, path: str) -> bool:
    """Whether a task is about this protected file: a sentence that asks for a change names it, or its kind.

    Tracebacks, logs and names of tests ask for nothing. Pure."""
    name = PurePosixPath(path).name
    kinds = [kind for kind, patterns in _KINDS.items() if any(fnmatchcase(path, p) for p in patterns)]
    own = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w|::)"
    for sentence in re.split(r"(?<=[.!?;])\s+|\n", words):
        verb = _ASKS.search(sentence)
        if verb is None or _QUOTED.search(sentence):
            continue
        asked = sentence[verb.end() :]
        if re.search(own, asked) or any(re.search(kind, asked, re.IGNORECASE) for kind in kinds):
            return True
    return False


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
