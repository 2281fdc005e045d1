"""What a Python repository's files say about its tests; nothing is run.

pytest runs unittest's tests too, so unittest's own runner is chosen only where nothing asks for pytest: no
configuration, no manifest that mentions it, no test that is more than a TestCase. Nothing is installed then.
"""

from __future__ import annotations

import configparser
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acr_cli.toolchains.python_tables import TABLES, matches

MAX_SOURCE_BYTES = 1024**2  # of one file that is looked into

_PYTEST_IMPORT = re.compile(r"^[ \t]*(?:import|from)\s+_?pytest\b", re.MULTILINE)
_BARE_TEST = re.compile(r"^(?:async\s+)?def\s+test\w*\s*\(", re.MULTILINE)
_PLAIN_CLASS = re.compile(r"^class\s+Test\w*\s*(?:\(\s*(?:object)?\s*\))?\s*:", re.MULTILINE)
_TEST_CASE = re.compile(r"\bTestCase\b")
_MENTION = re.compile(r"\bpytest\b|\bpy\.test\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A Python tree. `runner` is "pytest", "unittest", or "" where there are no tests."""

    runner: str
    reason: str
    test_files: tuple[str, ...] = ()


def detect(tree: Path) -> Found | None:
    """None when nothing in the tree is Python."""
    known = TABLES["detect"]
    sources = [path for path in walk(tree) if path.endswith(".py")]
    if not sources and not any((tree / name).is_file() for name in known["manifests"]):
        return None
    patterns = [*known["test_files"], *python_files(tree)]
    tests = tuple(p for p in sources if matches(p.rpartition("/")[2], patterns))
    configured = pytest_configuration(tree)
    if tests and configured:
        return Found(runner="pytest", reason=f"{configured} configures pytest", test_files=tests)
    for path in tests:
        text = read_text(tree, path)
        if _PYTEST_IMPORT.search(text) or _BARE_TEST.search(text) or _PLAIN_CLASS.search(text):
            return Found(runner="pytest", reason=f"{path} looks like pytest", test_files=tests)
    fixture = next((p for p in sources if p.rpartition("/")[2] == "conftest.py"), "")
    if tests and fixture:
        return Found(runner="pytest", reason=f"{fixture} belongs to pytest", test_files=tests)
    return _unittest(tree, sources)


def _unittest(tree: Path, sources: list[str]) -> Found:
    named = [p for p in sources if matches(p.rpartition("/")[2], TABLES["detect"]["unittest_files"])]
    tests = tuple(p for p in named if _TEST_CASE.search(read_text(tree, p)))
    if not tests:
        return Found(runner="", reason="no test file was found")
    mention = next((m for m in manifests(tree) if _MENTION.search(read_text(tree, m))), "")
    if mention:
        return Found(runner="pytest", reason=f"{mention} mentions pytest", test_files=tests)
    return Found(
        runner="unittest", reason=f"{tests[0]} uses unittest, nothing mentions pytest", test_files=tests
    )


def walk(tree: Path) -> Iterator[str]:
    """Paths of the files of a tree, sorted within each folder; no links are followed."""
    skipped = TABLES["detect"]["skipped_folders"]
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if not matches(name, skipped))
        prefix = Path(folder).relative_to(tree).as_posix()
        for name in sorted(names):
            yield name if prefix == "." else f"{prefix}/{name}"


def manifests(tree: Path) -> Iterator[str]:
    """The files at the root that name dependencies or tools, as far as they exist."""
    names = [*TABLES["detect"]["manifests"], *TABLES["install"]["requirements"], "noxfile.py"]
    for name in dict.fromkeys(names):
        if (tree / name).is_file():
            yield name


def pytest_configuration(tree: Path) -> str:
    """The file that configures pytest, or ""."""
    for name, section in TABLES["detect"]["pytest_configuration"]:
        if (tree / name).is_file() and section in read_text(tree, name):
            return str(name)
    return ""


def python_files(tree: Path) -> list[str]:
    """The patterns of test files that pytest's configuration names (`python_files`)."""
    options = table(table(toml(tree, "pyproject.toml"), "tool"), "pytest")
    named = table(options, "ini_options").get("python_files", options.get("python_files", []))
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        named = named or ini(tree, name).get(section, "python_files", fallback="")
    return named.split() if isinstance(named, str) else [str(pattern) for pattern in named]


def source_roots(tree: Path) -> list[str]:
    """Folders besides the root that hold packages: `src`, and what pyproject.toml names."""
    tool = table(toml(tree, "pyproject.toml"), "tool")
    setuptools = table(tool, "setuptools")
    named = [*_list(table(table(setuptools, "packages"), "find").get("where"))]
    named += [str(folder) for folder in table(setuptools, "package-dir").values()]
    named += [str(table({"": p}, "").get("from", ".")) for p in _list(table(tool, "poetry").get("packages"))]
    wheel = table(table(table(table(tool, "hatch"), "build"), "targets"), "wheel")
    named += [str(Path(str(p)).parent) for p in _list(wheel.get("packages"))]
    roots = ["src", *(str(n).strip("/") for n in named)]
    return [r for r in dict.fromkeys(roots) if r not in ("", ".") and ".." not in r and is_folder(tree, r)]


def toml(tree: Path, *names: str) -> dict[str, Any]:
    """A TOML file; {} where it is absent or cannot be read: then the repository's own tools will say so."""
    try:
        return tomllib.loads(read_text(tree, *names))
    except (ValueError, RecursionError):
        return {}


def ini(tree: Path, *names: str) -> configparser.ConfigParser:
    """An ini file; empty where it is absent or cannot be read."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        # Its own expressions take long for a long run of blanks.
        parser.read_string(re.sub(r"[ \t]{100,}", " ", read_text(tree, *names)))
    except (configparser.Error, AttributeError):  # the latter for a continuation of nothing
        return configparser.ConfigParser()
    return parser


def read_text(tree: Path, *names: str) -> str:
    """The first MiB of a file of a tree as text, whatever its encoding.

    "" where it cannot be read, is no file (a pipe would never end), or lies outside of the tree, also behind
    links."""
    path = _inside(tree, *names)
    try:
        if path is None or not path.is_file():
            return ""
        with path.open("rb") as handle:
            return handle.read(MAX_SOURCE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def is_file(tree: Path, *names: str) -> bool:
    """Whether there is a file of this name in the tree; the name may be any text."""
    path = _inside(tree, *names)
    return path is not None and path.is_file()


def is_folder(tree: Path, *names: str) -> bool:
    """The same of a folder."""
    path = _inside(tree, *names)
    return path is not None and path.is_dir()


def _inside(tree: Path, *names: str) -> Path | None:
    """Where something of the tree really lies; None where it is not there, or outside, also behind links."""
    try:
        path = tree.joinpath(*names).resolve(strict=True)
        return path if path.is_relative_to(tree.resolve()) else None
    except (OSError, RuntimeError, ValueError):  # a loop of links; a name that is none
        return None


def table(parent: Any, key: str) -> dict[str, Any]:
    """The table below a key, {} where there is none. Pure."""
    value = parent.get(key) if isinstance(parent, dict) else None
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
