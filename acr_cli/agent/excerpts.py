"""The parts of a long file that a step is about: where tracebacks point, and what its words name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from acr_cli.records import Step

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_DEFINES = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\(\w+\))?|public|private|protected|static|abstract|final|async|inline)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|const|let|var|record)\s"
    r"(?:\([^)]*\)\s*)?(?P<name>\w+)"
)
_OPENING = 12  # lines at the beginning of a file: what it imports
_AROUND = 12  # lines before and after a place that lies in no short block
_BLOCK = 60  # lines of a block that is shown whole
_CLOSES = re.compile(r"^\s*([)\]}]|end\b)")
_COMMON = frozenset(
    {
        *("and", "are", "but", "def", "for", "from", "has", "have", "int", "list", "none", "not", "self"),
        *("should", "str", "test", "tests", "that", "the", "this", "value", "with"),
    }
)


def excerpt(path: str, text: str, step: Step, *, room: int) -> str:
    """The parts of a file, in their order and with a mark for those between; at most about `room`
    characters; "" where nothing of the file is pointed to."""
    lines = text.splitlines()
    regions = [_region(lines, place) for place in _places(path, lines, step)]
    if not regions:
        return ""
    opening = next((n for n, line in enumerate(lines[:_OPENING]) if _DEFINES.match(line)), _OPENING)
    opening = min(opening, len(lines))
    while opening and not lines[opening - 1].strip():
        opening -= 1
    chosen = set(range(opening))
    left = room - sum(len(lines[number]) + 1 for number in chosen)
    for start, end in regions:
        wanted = (*_around(lines, start), *range(start, end))
        new = [number for number in wanted if number not in chosen]
        size = sum(len(lines[number]) + 1 for number in new)
        if size <= left:
            chosen.update(new)
            left -= size
    return "\n".join(_joined(lines, sorted(chosen)))


def outline(text: str) -> str:
    """The lines of a text that define something, as `excerpt` shows parts; "" where there are none."""
    lines = text.splitlines()
    defining = [number for number, line in enumerate(lines) if _DEFINES.match(line)]
    return "\n".join(_joined(lines, defining)) if defining else ""


def defined(text: str) -> list[str]:
    """The names that the lines of a text define. Pure."""
    return [match["name"] for line in text.splitlines() if (match := _DEFINES.match(line))]


def stems_in(text: str) -> set[str]:
    """The words of a text, and their parts, that tell something; a plural is its singular. Pure."""
    words = (part for name in _NAME.findall(text) for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name))
    return {word.lower().removesuffix("s") for word in words if len(word) > 3} - _COMMON


def _joined(lines: Sequence[str], chosen: Sequence[int]) -> Iterable[str]:
    following = 0
    for number in [*chosen, len(lines)]:
        if any(line.strip() for line in lines[following:number]):
            yield f"[... lines {following + 1}-{number} ...]"
        if number < len(lines):
            yield lines[number]
        following = number + 1


def _places(path: str, lines: Sequence[str], step: Step) -> list[int]:
    """Lines that the step points to, from 0, the likeliest first."""
    failures = "\n".join(f"{case.id}\n{case.message}\n{case.detail}" for case in step.failures)
    name = re.escape(PurePosixPath(path).name)
    pointed = re.findall(rf"\b{name}(?:\"?, line |[:(])(\d+)", f"{failures}\n{step.text}")
    places = [int(number) - 1 for number in reversed(pointed)]
    tests = {_NAME.findall(case.id)[-1] for case in step.failures if _NAME.search(case.id)}
    words = set(_NAME.findall(f"{failures}\n{step.text}")) - _COMMON
    defined = {number: match["name"] for number, line in enumerate(lines) if (match := _DEFINES.match(line))}
    places += [number for number, line in enumerate(lines) if tests & set(_NAME.findall(line))]
    places += [number for number, name in defined.items() if name in words]
    return [place for place in dict.fromkeys(places) if 0 <= place < len(lines)]


def _region(lines: Sequence[str], place: int) -> tuple[int, int]:
    """The lines around a place that belong together: its block where that is short."""
    start = place
    while start > 0 and (not lines[start].strip() or not _begins(lines[start])) and place - start <= _BLOCK:
        start -= 1
    depth = _depth(lines[start])
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > depth):
        end += 1
    if end < len(lines) and _CLOSES.match(lines[end]):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    while start > 0 and lines[start - 1].lstrip().startswith(("@", "#[")):
        start -= 1
    if end - start > _BLOCK:
        return max(start, place - _AROUND), min(end, place + _AROUND + 1)
    return start, end


def _around(lines: Sequence[str], place: int) -> list[int]:
    """The first lines of the blocks that a place lies in."""
    found: list[int] = []
    depth = _depth(lines[place])
    for number in range(place - 1, -1, -1):
        if depth == 0:
            break
        if lines[number].strip() and _depth(lines[number]) < depth:
            depth = _depth(lines[number])
            found += [number] if _begins(lines[number]) else []
    return found


def _begins(line: str) -> bool:
    """Whether a line begins a block: it defines something, or stands at the very left."""
    return _DEFINES.match(line) is not None or (
        bool(line.strip()) and not line[0].isspace() and not _CLOSES.match(line)
    )


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
