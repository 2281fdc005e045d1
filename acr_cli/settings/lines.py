"""On which line of a TOML text a key stands, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


def line_of(text: str, name: str, *, occurrence: int = 0) -> int:
    """The line, from 1, of a dotted key; of the `occurrence`-th table where tables repeat. Pure.

    Good enough for messages: a key inside an inline table is found at its table's line, and one that is not
    found at the table's header, else at 1."""
    table, seen, header = "", -1, 1
    first = name.split(".", maxsplit=1)[0]
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _HEADER.match(line):
            table = _bare(match[1])
            if table == first:
                seen += 1
                header = number if seen <= occurrence else header
        elif match := _KEY.match(line):
            full = f"{table}.{_bare(match[1])}" if table else _bare(match[1])
            here = not table or table != first or seen == max(occurrence, 0)
            if here and (name == full or name.startswith(f"{full}.")):
                return number
    return header


def flatten(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key; tables inside lists stay as they are. Pure."""
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _bare(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
