"""A patch taken back out of a file that has been edited since, hunk by hunk and by whole lines.

A hunk is where the file before the patch and the file after it differ. It can be taken back when its lines
stand in the file as it is now, and when it is clear that they are these: the lines around it are still beside
it, or its text occurs once. A hunk that took lines away has only its neighbours to be found by. Bytes
outside the hunks are never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

Lines = Sequence[bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Lines [start, end) of the file after the patch were `old` before it."""

    start: int
    end: int
    old: tuple[bytes, ...]

    @property
    def place(self) -> str:
        """For people: the lines as the patch left them, from 1. Pure."""
        if self.end <= self.start:
            return f"after line {self.start}" if self.start else "at the beginning"
        first = self.start + 1
        return f"line {first}" if self.end == first else f"lines {first}-{self.end}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reversal:
    """The file without the patch, and the hunks that could not be taken out of it (`content` is of no use
    then). `places` are the others, each with the line of the file as it is now where it was found, from 0."""

    content: bytes
    refused: tuple[Hunk, ...] = ()
    places: tuple[tuple[int, Hunk], ...] = ()

    @property
    def total(self) -> int:
        return len(self.refused) + len(self.places)


def reverse(before: bytes, after: bytes, now: bytes) -> Reversal:
    """Take out of `now` what made `after` of `before`. Pure."""
    old, new, present = _lines(before), _lines(after), _lines(now)
    hunks = [
        Hunk(start=k, end=m, old=tuple(old[i:j])) for tag, i, j, k, m in _opcodes(old, new) if tag != "equal"
    ]
    where = _where(new, present)
    found = [(_place(hunk, new, present, where), hunk) for hunk in hunks]
    places = [(start, hunk) for start, hunk in found if start is not None]
    out: list[bytes] = []
    at = 0
    for start, hunk in places:
        out += [*present[at:start], *hunk.old]
        at = start + hunk.end - hunk.start
    return Reversal(
        content=b"".join([*out, *present[at:]]),
        refused=tuple(hunk for start, hunk in found if start is None),
        places=tuple(places),
    )


def _lines(content: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    lines = content.split(b"\n")
    return [*(line + b"\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


def _opcodes(old: Lines, new: Lines) -> list[tuple[str, int, int, int, int]]:
    """As difflib gives them; what both begin and end with costs nothing."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    middle = [(tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in matcher.get_opcodes()]
    end = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))
    return [("equal", 0, head, 0, head), *middle, end]


def _where(new: Lines, present: Lines) -> dict[int, int]:
    """Where a line of `new` stands in `present`, for those that are still there."""
    return {
        i + offset: k + offset
        for tag, i, j, k, _ in _opcodes(new, present)
        if tag == "equal"
        for offset in range(j - i)
    }


def _place(hunk: Hunk, new: Lines, present: Lines, where: dict[int, int]) -> int | None:
    """The first line of `present` that is the hunk's; None where that is not clear."""
    before = where.get(hunk.start - 1) if hunk.start else -1
    after = where.get(hunk.end) if hunk.end < len(new) else len(present)
    text = new[hunk.start : hunk.end]
    start = after if not text else where.get(hunk.start)
    if start is None or any(where.get(hunk.start + n) != start + n for n in range(len(text))):
        return None
    end = start + len(text)
    beside = (before, after) == (start - 1, end)
    if not beside and (not text or _occurs(text, present) > 1 or _occurs(text, new) > 1):
        return None
    # A last line without an end cannot be put back in front of another one, nor anything behind such a line.
    joins = hunk.old and not hunk.old[-1].endswith(b"\n") and end < len(present)
    dangles = hunk.old and start > 0 and not present[start - 1].endswith(b"\n")
    return None if joins or dangles else start


def _occurs(text: Lines, lines: Lines) -> int:
    wanted = list(text)
    return sum(
        list(lines[start : start + len(wanted)]) == wanted
        for start in range(len(lines) - len(wanted) + 1)
        if lines[start] == wanted[0]
    )
