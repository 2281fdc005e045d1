"""The failing part of a log: what a CI service wraps around it is taken off, and what failed is found.

A log that is short enough is kept whole. Of a long one the lines that say that something failed are found;
each brings what stands around it, the telling ones first, as long as there is room. Lines that name a failing
test are always kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

ROOM = 16_000
"""Characters of what is kept of a long log, beside the names of failing tests."""

_NAMED = 500  # lines that name a failing test
_LINE = 2_000  # characters of one line
_BEFORE, _AFTER = 12, 30  # lines around one that says that something failed
_ENDS = 1_500  # characters of the end of a log, which says how it ended

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_STAMP = re.compile(
    r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) ?(?:\d\d[OE][ +]?)?"
)
_STEP = re.compile(r"^[^\t\n]{1,200}\t[^\t\n]{1,200}\t(?=\ufeff?\d{4}-\d\d-\d\dT)")
_SECTION = re.compile(r"^section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?")
_COMMAND = re.compile(r"^##\[(\w+)\](.*)$")
_QUIET = frozenset({"endgroup", "command", "debug"})

_LONGEST = 2_000  # characters of a line in which a sign of a failure is looked for
_TEST = re.compile(
    r"^\s*(?:(?:FAILED|ERROR|FAIL|XPASS)\b:?\s+\S|--- FAIL: |not ok \d|[\u2715\u2716\u2717\u2718\u25cf] \S"
    r"|test \S+ \.\.\. FAILED|\[ {2}FAILED {2}\] )"
)
_STRONG = re.compile(
    r"Traceback \(most recent call last\)|^E {2,}\S|panicked at|^error(?:\[E\d+\])?:|\berror(?: TS\d+)?: "
    r"|AssertionError|^\s*assert(?:ion)? .*failed|=+ (?:FAILURES|ERRORS) =+|\[ERROR\] .*\.\w+:|^##error"
    r"|Segmentation fault|BUILD FAILED|FAILURE: Build failed|npm (?:ERR!|error)|^\s*Error: |Expected .*but"
    r"|undefined reference"
)
_WEAK = re.compile(
    r"short test summary|\b[1-9]\d* (?:failed|errors?|failures?)\b|\bexit(?:ed with)? (?:code|status) [1-9]"
    r"|\b(?:Failures|Errors): [1-9]|\bException\b|\bfatal: |\bfailed\b",
    re.IGNORECASE,
)


def failing_part(log: str) -> str:
    """What of a log tells why it failed. Pure."""
    lines = plain(log)
    text = "\n".join(lines).strip("\n")
    return text if len(text) <= ROOM else _selected(lines)


def plain(log: str) -> list[str]:
    """The lines without colours, cursor movements, time stamps, names of steps, and group marks. Pure."""
    kept: list[str] = []
    for raw in log.replace("\r\n", "\n").split("\n"):
        line = _ANSI.sub("", raw)
        line = line.rstrip("\r").rpartition("\r")[2]  # a progress bar writes over itself
        line = _STAMP.sub("", _STEP.sub("", line))
        line = _SECTION.sub("", line).removeprefix("\ufeff")
        if command := _COMMAND.match(line):
            kind, rest = command.groups()
            if kind in _QUIET:
                continue
            line = f"##error {rest}" if kind == "error" else rest
        line = _CONTROL.sub("", line).rstrip()
        kept.append(line if len(line) <= _LINE else f"{line[:_LINE]} [... {len(line) - _LINE} characters]")
    return kept


def _selected(lines: Sequence[str]) -> str:
    chosen = {at for at, line in enumerate(lines) if _TEST.match(line)}
    chosen = set(sorted(chosen)[:_NAMED])
    room = ROOM
    ends = _tail(lines)
    room -= sum(len(lines[at]) + 1 for at in ends)
    chosen.update(ends)
    strong = [at for at, line in enumerate(lines) if _STRONG.search(line[:_LONGEST])]
    weak = [at for at, line in enumerate(lines) if _WEAK.search(line[:_LONGEST])]
    tests = sorted(at for at in chosen if _TEST.match(lines[at]))
    for at in (*strong, *tests, *weak):
        around = [each for each in _around(at, len(lines)) if each not in chosen]
        size = sum(len(lines[each]) + 1 for each in around)
        if size > room:
            around = [at] if at not in chosen and len(lines[at]) < room else []
            size = sum(len(lines[each]) + 1 for each in around)
        chosen.update(around)
        room -= size
    return _joined(lines, sorted(chosen))


def _around(at: int, number: int) -> range:
    return range(max(0, at - _BEFORE), min(number, at + _AFTER + 1))


def _tail(lines: Sequence[str]) -> list[int]:
    """The last lines, as many as go into a little room."""
    found: list[int] = []
    room = _ENDS
    for at in range(len(lines) - 1, -1, -1):
        room -= len(lines[at]) + 1
        if room < 0:
            break
        found.append(at)
    return found


def _joined(lines: Sequence[str], chosen: Sequence[int]) -> str:
    parts = []
    for last, at in pairwise((-1, *chosen)):
        if at > last + 1:
            parts.append(f"[... {at - last - 1} lines left out ...]")
        parts.append(lines[at])
    if chosen and chosen[-1] < len(lines) - 1:
        parts.append(f"[... {len(lines) - 1 - chosen[-1]} lines left out ...]")
    return "\n".join(parts)
