"""Where in a file a search text stands, and the file with that place replaced; no byte outside it changes.

A search text is matched by whole lines: exactly, then but for white space at the ends of lines and blank
lines around it, then but for its indentation, then by similarity, where one place alone is nearly the same.
Text that matches nowhere, or in two places, is refused, and the model is shown what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from acr_cli.agent.text import Text, bare, body, numbered
from acr_cli.errors import BadReply

_SHOWN = 60  # lines of a file shown around the place that was probably meant
_ALIKE = 0.9  # how alike a place must be, as `SequenceMatcher.ratio` has it
_LEAST_ALIKE = 0.6  # each line of it
_AHEAD = 0.05  # how much more alike than any other place
_TELLING = 30  # characters of a search text that similarity can go by
_COMPARABLE = 1_000  # characters of a line; comparing takes their square
_COMPARED = 2_000  # places that are compared by similarity
_NUMBERED = re.compile(r"^\s*(\d+):(?: |$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Replacement:
    """A file with one place replaced. `line` is where it begins, from 1; `forgiven` what did not match."""

    content: bytes
    line: int
    forgiven: str = ""


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines without their ends: those that are searched for, and those that take their place."""

    wanted: tuple[str, ...]
    new: tuple[str, ...]
    forgiven: str = ""


def replaced(
    source: bytes,
    search: str,
    new: str,
    *,
    path: str = "the file",
    inline: bool = False,
    near: int | None = None,
) -> Replacement:
    """`source` with the one place that `search` means replaced by `new`. Pure.

    `inline` also matches within lines; `near` is the line, from 1, where one of several equal places begins.
    Raises: BadReply that shows the model what stands in the file."""
    text = Text.of(source, path)
    asked = _Hunk(tuple(bare(search)), tuple(bare(new)))
    if not any(line.strip() for line in asked.wanted):
        raise BadReply(f"{path}: the search text is empty, and the file is not.")
    if exact := _places(text, asked.wanted, _same):
        return _written(text, _only(exact, text, path, near), asked, path)
    if inline and (within := _within(text, search, new, path)) is not None:
        return within
    for hunk in _variants(asked):
        for find in (_but_for_white_space, _but_for_indentation):
            if found := find(text, hunk):
                start = _only(list(found), text, path, near)
                return _written(text, start, found[start], path)
    if (alike := _most_alike(text, asked, path)) is not None:
        return _written(text, alike, replace(asked, forgiven="the search text differed slightly"), path)
    raise BadReply(
        f"{path}: the search text does not stand in the file.\n{_nearest(text, asked.wanted, path)}"
    )


def rewritten(source: bytes, content: str, *, path: str = "the file") -> bytes:
    """The whole file anew, in the line ends and encoding of the old one. Pure. Raises: BadReply."""
    text = Text.of(source, path)
    hunk = _Hunk(tuple(body(line) for line in text.lines), tuple(bare(content)))
    return _written(text, 0, hunk, path).content


# --- the stages -------------------------------------------------------------------------------------------


def _variants(hunk: _Hunk) -> Iterator[_Hunk]:
    """The hunk as it is, without line numbers that were copied along, and without blank lines around it."""
    yield hunk
    plain = hunk
    if unnumbered := _unnumbered(hunk.wanted):
        new = [_NUMBERED.sub("", line) for line in hunk.new]
        plain = _Hunk(unnumbered, tuple(new), "line numbers in it were left out")
        yield plain
    wanted, new = list(plain.wanted), list(plain.new)
    for end in (0, -1):
        while wanted and not wanted[end].strip():
            wanted.pop(end)
            if new and not new[end].strip():
                new.pop(end)
    if len(wanted) < len(plain.wanted):
        yield _Hunk(tuple(wanted), tuple(new), plain.forgiven or "blank lines around it were left out")


def _unnumbered(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines without the numbers that an opened file shows; () unless all have them, one after the other."""
    matches = [match for line in lines if (match := _NUMBERED.match(line))]
    numbers = [int(match[1]) for match in matches]
    if len(matches) < len(lines) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return ()
    return tuple(line[match.end() :] for line, match in zip(lines, matches, strict=True))


def _but_for_white_space(text: Text, hunk: _Hunk) -> dict[int, _Hunk]:
    """By place, where lines are the same but for white space at their ends."""
    forgiving = hunk if hunk.forgiven else replace(hunk, forgiven="white space at the ends of lines differed")
    return dict.fromkeys(_places(text, hunk.wanted, _same_but_ends), forgiving)


def _but_for_indentation(text: Text, hunk: _Hunk) -> dict[int, _Hunk]:
    """By place, the hunk indented as the file is there."""
    found: dict[int, _Hunk] = {}
    for start in _places(text, hunk.wanted, _same_but_indentation):
        there = [body(line) for line in text.lines[start : start + len(hunk.wanted)]]
        if indent := _indenting(there, hunk.wanted):
            found[start] = _Hunk(
                tuple(there), tuple(indent(line) for line in hunk.new), "the indentation differed"
            )
            # Lines that search and replacement share stay as the file has them.
            known = dict(zip(hunk.wanted, there, strict=True))
            new = tuple(known.get(line, indent(line)) for line in hunk.new)
            found[start] = replace(found[start], new=new)
    return found


def _indenting(there: Sequence[str], wanted: Sequence[str]) -> Callable[[str], str] | None:
    """How lines are to be indented to stand among `there`; None where neither one shift nor one size of
    a tab does it."""
    pairs = {(_indent(a), _indent(b)) for a, b in zip(there, wanted, strict=True) if b.strip()}
    more = {a[: len(a) - len(b)] if a.endswith(b) else None for a, b in pairs}
    less = {b[: len(b) - len(a)] if b.endswith(a) else None for a, b in pairs}
    if len(more) == 1 and (prefix := more.pop()):
        return lambda line: prefix + line if line.strip() else line
    if len(less) == 1 and (surplus := less.pop()):
        return lambda line: line.removeprefix(surplus)
    for size in (4, 2, 8, 3):
        spaces = " " * size
        if all(a == b.replace(spaces, "\t") for a, b in pairs):
            return lambda line: _indent(line).replace(spaces, "\t") + line.lstrip()
        if all(a == b.replace("\t", spaces) for a, b in pairs):
            return lambda line: _indent(line).replace("\t", spaces) + line.lstrip()
    return None


def _most_alike(text: Text, hunk: _Hunk, path: str) -> int | None:
    """The one place that is nearly the search text. Raises: BadReply where there are several."""
    wanted = hunk.wanted
    if sum(len(line.strip()) for line in wanted) < _TELLING or max(map(len, wanted)) > _COMPARABLE:
        return None
    lines = [body(line) for line in text.lines]
    scores = {start: _alike(lines[start : start + len(wanted)], wanted) for start in _likely(lines, wanted)}
    good = sorted((start for start in scores if scores[start] >= _ALIKE), key=lambda start: -scores[start])
    if not good:
        return None
    rivals = [start for start in good if scores[start] > scores[good[0]] - _AHEAD]
    return _only(sorted(rivals), text, path)


def _likely(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where lines of about the right length stand, the places with the most lines in common first."""
    keys = {line.strip() for line in wanted if line.strip()}
    size, span = sum(map(len, wanted)), len(wanted)
    lengths, hits = [len(line) for line in lines], [line.strip() in keys for line in lines]
    starts = [
        start
        for start in range(len(lines) - span + 1)
        if abs(sum(lengths[start : start + span]) - size) <= 0.25 * size
    ]
    return sorted(starts, key=lambda start: -sum(hits[start : start + span]))[:_COMPARED]


def _alike(there: Sequence[str], wanted: Sequence[str]) -> float:
    """How alike two blocks of as many lines are, in [0, 1]; 0 where one line is another altogether."""
    total = weight = 0.0
    for a, b in zip(there, wanted, strict=True):
        ratio = 1.0
        if a != b:
            matcher = SequenceMatcher(None, a, b, autojunk=False)
            # The first is an upper bound by the lengths alone.
            ratio = min(matcher.real_quick_ratio(), 1.0)
            ratio = matcher.ratio() if ratio >= _LEAST_ALIKE else ratio
        if ratio < _LEAST_ALIKE:
            return 0.0
        total, weight = total + ratio * (len(b) + 1), weight + len(b) + 1
    return total / weight


# --- places and what is written there ---------------------------------------------------------------------


def _places(text: Text, wanted: Sequence[str], match: Callable[[str, str], bool]) -> list[int]:
    last = len(text.lines) - len(wanted)
    return [
        start
        for start in range(last + 1)
        if all(match(text.lines[start + offset], line) for offset, line in enumerate(wanted))
    ]


def _same(line: str, wanted: str) -> bool:
    return body(line) == wanted


def _same_but_ends(line: str, wanted: str) -> bool:
    return line.rstrip() == wanted.rstrip()


def _same_but_indentation(line: str, wanted: str) -> bool:
    return line.strip() == wanted.strip()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _only(places: Sequence[int], text: Text, path: str, near: int | None = None) -> int:
    """Raises: BadReply where there are several, and none of them is `near`."""
    if len(places) == 1:
        return places[0]
    if near is not None and near - 1 in places:
        return near - 1
    lines = ", ".join(str(place + 1) for place in places[:10])
    starts = [max(0, place - 2) for place in places[:4]]
    around = "\n---\n".join(numbered(text.lines[start : start + 5], start + 1) for start in starts)
    raise BadReply(
        f"{path}: the search text stands in {len(places)} places, from lines {lines}. "
        f"Take more lines into it, so that only one place matches.\n{around}"
    )


def _within(text: Text, search: str, new: str, path: str) -> Replacement | None:
    """The file with a text inside lines replaced; None where it does not stand there."""
    whole, end = "".join(text.lines), text.end
    wanted, there = (part.replace("\r\n", "\n").replace("\n", end) for part in (search, new))
    at = whole.find(wanted)
    if at < 0:
        return None
    numbers, position = [], at
    while position >= 0:
        numbers.append(whole.count("\n", 0, position))
        position = whole.find(wanted, position + 1)
    line = _only(numbers, text, path)
    content = text.bytes_of((whole[:at], there, whole[at + len(wanted) :]), path)
    return Replacement(content=content, line=line + 1)


def _written(text: Text, start: int, hunk: _Hunk, path: str) -> Replacement:
    """The hunk in its place; lines that search and replacement share keep the file's own bytes."""
    old = text.lines[start : start + len(hunk.wanted)]
    ends = [line[len(body(line)) :] for line in old]
    end = next((e for e in ends if e), text.end)
    lines: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, hunk.wanted, hunk.new, autojunk=False).get_opcodes():
        lines += old[i:j] if tag == "equal" else [line + end for line in hunk.new[k:m]]
    if lines and old and not old[-1].endswith("\n"):
        lines[-1] = body(lines[-1])
    # A line that was the last one, without an end, and is not any more needs one.
    lines = [*(line if line.endswith("\n") else line + end for line in lines[:-1]), *lines[-1:]]
    content = text.bytes_of((*text.lines[:start], *lines, *text.lines[start + len(hunk.wanted) :]), path)
    return Replacement(content=content, line=start + 1, forgiven=hunk.forgiven)


def _nearest(text: Text, wanted: Sequence[str], path: str) -> str:
    """The part of the file that was probably meant, numbered."""
    if len(text.lines) <= _SHOWN:
        return f"This is the whole of {path} now:\n{numbered(text.lines)}"
    keys = {line.strip() for line in wanted if line.strip()}
    width = max(1, len(wanted))
    hits = [line.strip() in keys for line in text.lines]
    best = max(range(len(hits)), key=lambda start: sum(hits[start : start + width]))
    first = max(0, best - (_SHOWN - width) // 2) if any(hits) else 0
    return f"This stands in {path} now:\n{numbered(text.lines[first : first + _SHOWN], first + 1)}"
