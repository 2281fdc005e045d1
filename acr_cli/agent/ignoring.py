"""`.acrignore`, read as git reads its own ignore files: by bytes, line by line, the last match decides.

A pattern becomes a regular expression in which what lies between two stars of a name is looked for once: the
first place that it is found at is as good as any. So is all that lies between two stars over folders. No
number of stars takes long.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

IGNORE_FILE = ".acrignore"

_LONGEST = 4_096  # bytes of a path, and so of a pattern
_DEEPEST = 200  # folders; what lies deeper is for nobody to read
_CLASSES = {
    "alpha": string.ascii_letters,
    "digit": string.digits,
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "punct": string.punctuation,
    "xdigit": string.hexdigits,
    "blank": " \t",
    "space": string.whitespace,
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "graph": "".join(map(chr, range(33, 127))),
    "print": "".join(map(chr, range(32, 127))),
}
_MEMBER = re.compile(
    rb"\[:(?P<class>[^\]]*):\]|-(?P<to>\\.|[^\]\\])|(?P<one>\\.|[^\\])",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pattern:
    matches: re.Pattern[bytes]
    negated: bool
    folders_only: bool
    whole: bool  # of the whole path; else of the last name alone


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    """The patterns of an ignore file, in their order: the last one that matches decides."""

    patterns: tuple[_Pattern, ...] = ()

    def __contains__(self, path: str) -> bool:
        """Whether a file is ignored, or lies in a folder that is. Pure."""
        if not self.patterns:
            return False
        parts = path.encode("utf-8", "surrogateescape").split(b"/")
        if len(parts) > _DEEPEST:
            return True
        inside = (b"/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(self._says(folder, folder=True) for folder in inside) or self._says(
            b"/".join(parts), folder=False
        )

    def _says(self, path: bytes, *, folder: bool) -> bool:
        name = path.rpartition(b"/")[2]
        for each in reversed(self.patterns):
            if (folder or not each.folders_only) and each.matches.fullmatch(path if each.whole else name):
                return not each.negated
        return False


def read_ignored(root: Path) -> Ignored:
    """What the ignore file at the root of a tree names; nothing where there is none or it cannot be read."""
    file = root / IGNORE_FILE
    try:
        data = b"" if file.is_symlink() else file.read_bytes()
    except OSError:
        data = b""
    return ignored_by(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"))


def ignored_by(lines: Iterable[bytes]) -> Ignored:
    """What the lines of an ignore file say, each without its line feed. Pure."""
    return Ignored(patterns=tuple(found for line in lines if (found := _pattern(line)) is not None))


@cache
def _pattern(line: bytes) -> _Pattern | None:
    """What a line says; None for one that says nothing."""
    # As in C, where a text ends with its first NUL.
    text = _trimmed(line.removesuffix(b"\r").partition(b"\0")[0])
    if text.startswith(b"#") or len(text) > _LONGEST:
        return None
    negated = text.startswith(b"!")
    text = text.removeprefix(b"!")
    folders_only = text.endswith(b"/")
    text = text.removesuffix(b"/")
    whole = b"/" in text
    regex = _regex(text.removeprefix(b"/"), whole=whole)
    if regex is None:
        return None
    compiled = re.compile(regex, re.DOTALL)
    return _Pattern(matches=compiled, negated=negated, folders_only=folders_only, whole=whole)


def _trimmed(text: bytes) -> bytes:
    """Without spaces at its end, but one behind a backslash. Pure."""
    short = text.rstrip(b" ")
    escaped = (len(short) - len(short.rstrip(b"\\"))) % 2 == 1
    return short + b" " if escaped and short != text else short


def _regex(glob: bytes, *, whole: bool) -> bytes | None:
    """A pattern as a regular expression; None for one that matches nothing. Pure."""
    groups: list[bytes] = []  # before the last star over folders
    across = b""  # that one
    found: list[bytes] = []  # since then, before the last star of a name
    star = b""  # that one
    piece: list[bytes] = []  # since then
    for kind, part in _pieces(glob, whole=whole):
        match kind:
            case "dead":
                return None
            case "literal":
                piece.append(part)
            case "star":
                found.append(_first(star, piece))
                star, piece = part, []
            case _:
                groups.append(_first(across, [*found, star, *piece]))
                across, found, star, piece = part, [], b"", []
    return b"".join([*groups, across, *found, star, *piece]) if glob else None


def _first(star: bytes, piece: Sequence[bytes]) -> bytes:
    """A star, and what is to follow it, at the first place that it is found at. Pure."""
    return b"(?>" + star + b"?" + b"".join(piece) + b")" if star else b"".join(piece)


def _pieces(glob: bytes, *, whole: bool) -> Iterator[tuple[str, bytes]]:
    """("literal", one byte), ("star", many of a name), ("across", folders) or ("dead", b""). Pure."""
    at, plain = 0, True  # nothing but literals before
    while at < len(glob):
        if run := re.compile(rb"\*+").match(glob, at):
            after = glob[run.end() : run.end() + 2]
            # git compares what is plain in front by itself, and so takes stars behind it for a beginning.
            begins, plain = plain or glob[at - 1 : at] == b"/", False
            at = run.end()
            if not (
                whole and begins and len(run[0]) > 1 and (not after or after[:1] == b"/" or after == b"\\/")
            ):
                yield "star", b"[^/]*"
            elif not after:
                yield "across", b".*"
            else:
                yield "across", b"(?:[^/]*/)*" if after[:1] == b"/" else b"(?:[^/]*/)+"
                at += 1 if after[:1] == b"/" else 2
            continue
        byte = glob[at : at + 1]
        plain = plain and byte not in b"?[\\"
        if byte == b"[":
            members, at = _members(glob, at + 1)
            yield ("dead", b"") if members is None else ("literal", members)
        elif byte == b"\\":
            yield ("literal", re.escape(glob[at + 1 : at + 2])) if at + 1 < len(glob) else ("dead", b"")
            at += 2
        else:
            yield "literal", b"[^/]" if byte == b"?" else re.escape(byte)
            at += 1


def _members(glob: bytes, at: int) -> tuple[bytes | None, int]:
    """The set that begins behind a bracket, as a regular expression of one byte, and where it ends; None for
    one that does not end, or holds a class that there is none of. Pure."""
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    before = 0  # what a range may begin with
    first = True
    while first or glob[at : at + 1] != b"]":
        part = _MEMBER.match(glob, at)
        kind = None if part is None or part["class"] is None else part["class"].decode("latin-1")
        if part is None or (kind is not None and kind not in _CLASSES):
            return None, at
        at, first = part.end(), False
        if kind is not None:
            members.update(_CLASSES[kind].encode())
            before = 0
        elif part["to"] and before:
            members.update(range(before, part["to"][-1] + 1))
            before = 0
        elif part["to"]:  # nothing that a range could begin with: it is a hyphen
            at, before = part.start() + 1, ord("-")
            members.add(before)
        else:
            before = part["one"][-1]
            members.add(before)
    taken = (set(range(256)) - members if negated else members) - {ord("/")}
    regex = b"[" + b"".join(b"\\x%02x" % each for each in sorted(taken)) + b"]" if taken else b"(?!)"
    return regex, at + 1
