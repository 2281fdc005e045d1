"""How a Python repository says that it runs its tests, where no test file is recognised; nothing is run.

In this order: tox, hatch, pdm and poe, nox, a Makefile or justfile, the steps of CI. What is named there is
usually pytest with its own arguments; then its report is read as ever.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from acr_cli.toolchains import trees
from acr_cli.toolchains.python_detect import ini, read_text, table, toml
from acr_cli.toolchains.python_requirement import split_lines
from acr_cli.toolchains.tables import table as shared

_RUNS = re.compile(r"\b(?:pytest|py\.test|unittest)\b")
_TESTS = re.compile(r"^(?:unit[-_]?)?tests?(?:[-_:]\w+)?$")
_PLACEHOLDER = re.compile(r"(?<!\s)\s*\{[^}]{0,200}\}")
_SESSION = re.compile(r"""\bsession\.run\(\s*((?:["'][^"'\n]*["']\s*,?\s*)+)""")


def task(tree: Path) -> tuple[str, str]:
    """A command and where it stands; ("", "") for none. Raises nothing."""
    for command, reason in (*_of_tox(tree), *_of_scripts(tree), *_of_nox(tree)):
        plain = _PLACEHOLDER.sub("", command).strip()
        if _RUNS.search(plain):
            return plain, reason
    if not _mostly_python(tree):
        return "", ""
    command, reason = trees.task(tree, "")
    return (command, reason) if command else trees.ci_test(tree, "python")


def _mostly_python(tree: Path) -> bool:
    """Whether a Makefile or CI, which may test anything, is likely to test Python."""
    known = shared("shared")["detect"]
    if any((tree / name).is_file() for name in known["manifests"] if name in known["foreign"]):
        return False
    endings = [PurePosixPath(path).suffix for path in trees.walk(tree)]
    return endings.count(".py") > sum(ending in known["sources"] for ending in endings)


def _of_tox(tree: Path) -> Iterator[tuple[str, str]]:
    for line in split_lines(ini(tree, "tox.ini").get("testenv", "commands", fallback="")):
        yield line.lstrip("- "), "tox.ini names the command"
    tox = table(table(toml(tree, "pyproject.toml"), "tool"), "tox")
    commands = table(tox, "env_run_base").get("commands")
    for words in commands if isinstance(commands, list) else ():
        if isinstance(words, list):
            yield (
                shlex.join(str(word) for word in words if isinstance(word, str)),
                "pyproject.toml has it for tox",
            )


def _of_scripts(tree: Path) -> Iterator[tuple[str, str]]:
    tool = table(toml(tree, "pyproject.toml"), "tool")
    hatch = table(table(tool, "hatch"), "envs")
    found: list[tuple[str, dict[str, Any]]] = [
        (f"hatch's environment {name}", table(environment, "scripts")) for name, environment in hatch.items()
    ]
    found += [("pdm", table(table(tool, "pdm"), "scripts")), ("poe", table(table(tool, "poe"), "tasks"))]
    for who, scripts in found:
        for name, entry in scripts.items():
            script = entry.get("cmd", "") if isinstance(entry, dict) else entry
            first = next(iter(script), "") if isinstance(script, list) else script
            if _TESTS.match(name) and isinstance(first, str):
                yield first, f"pyproject.toml has a script {name!r} of {who}"


def _of_nox(tree: Path) -> Iterator[tuple[str, str]]:
    for words in _SESSION.findall(read_text(tree, "noxfile.py")):
        yield shlex.join(re.findall(r"""["']([^"'\n]*)["']""", words)), "noxfile.py names the command"
