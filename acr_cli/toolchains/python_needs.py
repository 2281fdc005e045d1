"""What pytest's configuration and the tests need although no manifest names it; read, never run.

Developers have a plugin installed and forget to write it down, or keep it where only their own tool looks.
Only well-known distributions stand in the tables: a name is never guessed from a module.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acr_cli.toolchains.python_detect import ini, read_text, table, toml, walk
from acr_cli.toolchains.python_tables import TABLES, matches

_IMPORT = re.compile(r"^[ \t]*(?:import|from)\s+([A-Za-z_]\w*)", re.MULTILINE)
_ARGUMENTS = re.compile(r"^[ \t]*(?:async\s+)?def\s+\w+\s*\(([^)]*)\)", re.MULTILINE)
_FIXTURE = re.compile(r"@(?:pytest\.)?fixture\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*(?:async\s+)?def\s+(\w+)")
_MARK = re.compile(r"\bmark\.(\w+)")


def plugins(tree: Path, tests: tuple[str, ...]) -> list[str]:
    """Distributions, sorted: from addopts and other keys of pytest's configuration, and from the tests."""
    known = TABLES["plugins"]
    found: set[str] = set()
    for key, value in configuration(tree).items():
        if key in known["keys"]:
            found.add(known["keys"][key])
        elif key == "addopts":
            found |= set(_of_options(_words(value)))
        elif key == "required_plugins":
            found |= set(_words(value))
    found |= _of_sources(tree, tests)
    return sorted(found)


def configuration(tree: Path) -> dict[str, Any]:
    """pytest's own configuration: of the file that pytest would take."""
    for name in ("pytest.toml", ".pytest.toml"):
        if (tree / name).is_file():
            return table(toml(tree, name), "pytest")
    for name in ("pytest.ini", ".pytest.ini"):
        if (tree / name).is_file():
            return _section(tree / name, "pytest")
    own = table(table(toml(tree, "pyproject.toml"), "tool"), "pytest")
    if own:
        return table(own, "ini_options") or own
    return _section(tree / "tox.ini", "pytest") or _section(tree / "setup.cfg", "tool:pytest")


def _section(path: Path, name: str) -> dict[str, Any]:
    parser = ini(path.parent, path.name)
    return dict(parser.items(name)) if parser.has_section(name) else {}


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(word) for word in value]
    try:
        return shlex.split(str(value), comments=True)
    except ValueError:
        return str(value).split()


def _of_options(words: list[str]) -> Iterator[str]:
    for word in words:
        for option, distribution in TABLES["plugins"]["options"].items():
            if (
                word.startswith(option)
                if option.startswith("--")
                else re.fullmatch(option + r"(=?\w+)?", word)
            ):
                yield distribution


def _of_sources(tree: Path, tests: tuple[str, ...]) -> set[str]:
    known = TABLES["plugins"]
    shared = [path for path in walk(tree) if path.rpartition("/")[2] == "conftest.py"]
    texts = [read_text(tree, path) for path in (*shared, *tests)]
    own = {path.split("/")[0].removesuffix(".py") for path in walk(tree) if path.endswith(".py")}
    fixtures = {name for text in texts for name in _FIXTURE.findall(text)}
    found: set[str] = set()
    for text in texts:
        found |= {
            known["imports"][name] for name in set(_IMPORT.findall(text)) - own if name in known["imports"]
        }
        found |= {known["marks"][name] for name in set(_MARK.findall(text)) if name in known["marks"]}
        if "pytest" in text or "def test" in text:
            arguments = {word for group in _ARGUMENTS.findall(text) for word in re.findall(r"\w+", group)}
            wanted = [n for n in arguments - fixtures if n in known["fixtures"]]
            found |= {known["fixtures"][n] for n in wanted if not _parametrised(n, text)}
    return found


def _parametrised(name: str, text: str) -> bool:
    """Whether the argument stands in a string, as the names of parameters do."""
    return re.search(rf"""["'](?:\w+\s*,\s*)*{name}(?:\s*,\s*\w+)*["']""", text) is not None


def needless(name: str, sources: str) -> bool:
    """Whether a development tool can be left out: nothing imports it or has its name in quotes. Pure."""
    if not matches(name, TABLES["install"]["not_for_tests"]):
        return False
    word = re.escape(name).replace(r"\-", "[-_]")
    return not re.search(rf"""\b(?:import|from)\s+{word}\b|["']{word}["']""", sources)
