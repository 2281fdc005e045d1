"""The repository's own linter on the touched files, where it has one and the sandbox has the program.

Only what it says of added lines counts, so that what was there before need not be known. It never decides a
verdict: it is one small part of u.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acr_cli.protocols import CommandResult
from acr_cli.verifier.added import Line

SECONDS = 20.0  # that a linter may take
_ABSENT = 127
_FILES = 50  # that are looked at


@dataclass(frozen=True, kw_only=True, slots=True)
class Linter:
    """`configured`: a file that says that the repository uses it, and what must stand in it."""

    name: str
    endings: tuple[str, ...]
    configured: Mapping[str, str]
    command: str  # for sh, before the files; prints `read`'s JSON
    read: Callable[[Any], Iterator[tuple[str, int]]]  # path and line of each complaint


def _ruff(said: Any) -> Iterator[tuple[str, int]]:
    for entry in said if isinstance(said, list) else []:
        place = entry.get("location") if isinstance(entry, dict) else None
        if isinstance(place, dict) and isinstance(place.get("row"), int):
            yield str(entry.get("filename", "")), place["row"]


def _eslint(said: Any) -> Iterator[tuple[str, int]]:
    for entry in said if isinstance(said, list) else []:
        messages = entry.get("messages") if isinstance(entry, dict) else None
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and isinstance(message.get("line"), int):
                yield str(entry.get("filePath", "")), message["line"]


def _golangci(said: Any) -> Iterator[tuple[str, int]]:
    issues = said.get("Issues") if isinstance(said, dict) else None
    for entry in issues if isinstance(issues, list) else []:
        place = entry.get("Pos") if isinstance(entry, dict) else None
        if isinstance(place, dict) and isinstance(place.get("Line"), int):
            yield str(place.get("Filename", "")), place["Line"]


LINTERS = (
    Linter(
        name="ruff",
        endings=(".py", ".pyi"),
        configured={"ruff.toml": "", ".ruff.toml": "", "pyproject.toml": r"^\[tool\.ruff\b"},
        command="ruff check --output-format=json --no-cache --exit-zero --force-exclude",
        read=_ruff,
    ),
    Linter(
        name="eslint",
        endings=(".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
        configured={
            **dict.fromkeys((f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts")), ""),
            **dict.fromkeys((f".eslintrc{end}" for end in ("", ".json", ".js", ".cjs", ".yml", ".yaml")), ""),
        },
        command='PATH="$PWD/node_modules/.bin:${ACR_DEPENDENCIES:-$PWD}/node_modules/.bin:$PATH" '
        "eslint --format json --no-error-on-unmatched-pattern",
        read=_eslint,
    ),
    Linter(
        name="golangci-lint",
        endings=(".go",),
        configured=dict.fromkeys((f".golangci.{end}" for end in ("yml", "yaml", "toml", "json")), ""),
        command="golangci-lint run --out-format json --issues-exit-code 0",
        read=_golangci,
    ),
)


def chosen(files: Collection[str], touched: Sequence[str], text: Callable[[str], str]) -> tuple[Linter, ...]:
    """The linters that the repository configures at its root, and that know one of the touched files."""
    return tuple(
        linter
        for linter in LINTERS
        if any(path.endswith(linter.endings) for path in touched)
        and any(
            name in files and (not wanted or re.search(wanted, text(name), re.MULTILINE))
            for name, wanted in linter.configured.items()
        )
    )


def complaints(
    linters: Sequence[Linter], added: Sequence[Line], run: Callable[[str], CommandResult]
) -> tuple[float, str]:
    """The signal, 1 / (1 + complaints about added lines), and a note. `run` takes a command for sh."""
    ran, found = [], []
    for linter in linters:
        files = list(dict.fromkeys(line.path for line in added if line.path.endswith(linter.endings)))[
            :_FILES
        ]
        if not files:
            continue
        result = run(f"{linter.command} {shlex.join(files)} 2>/dev/null")
        said = _json(result.output)
        if result.exit_code == _ABSENT or result.timed_out or said is None:
            continue
        ran.append(linter.name)
        lines = {(line.path, line.number) for line in added}
        found += [
            f"{path}, line {number}"
            for name, number in linter.read(said)
            for path in files
            if (name == path or name.endswith(f"/{path}")) and (path, number) in lines
        ]
    if not ran:
        return (
            1.0,
            "the repository has no linter that could be run" if not linters else "its linter is not there",
        )
    note = (
        f"{' and '.join(ran)}: nothing new" if not found else f"{' and '.join(ran)}: {', '.join(found[:3])}"
    )
    return 1.0 / (1 + len(found)), note


def _json(text: str) -> Any:
    start = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    try:
        return json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None
