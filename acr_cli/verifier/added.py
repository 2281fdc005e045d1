"""The lines that a git diff adds, with their places. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One added line. `number` counts from 1 in the file as it is now."""

    path: str
    number: int
    text: str


def lines(diff: str) -> tuple[Line, ...]:
    """All added lines but those that were only moved within the diff."""
    removed = {line[1:].strip() for line in diff.splitlines() if line.startswith("-")}
    return tuple(line for line in _added(diff) if line.text.strip() and line.text.strip() not in removed)


def _added(diff: str) -> Iterator[Line]:
    path, number, inside = "", 0, False
    for raw in diff.splitlines():
        hunk = _HUNK.match(raw)
        if raw.startswith("diff --git "):
            path, inside = raw.rpartition(" b/")[2].strip('"'), False
        elif hunk:
            number, inside = int(hunk.group(1)), True
        elif inside and raw.startswith("+"):
            yield Line(path=path, number=number, text=raw[1:])
            number += 1
        elif inside and not raw.startswith(("-", "\\")):
            number += 1
