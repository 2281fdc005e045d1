"""Count code, comments and blank lines of source text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    line: str
    block_start: str = ""
    block_end: str = ""


STYLES: Mapping[str, Style] = {
    ".py": Style("#"),
    ".sh": Style("#"),
    ".c": Style("//", "/*", "*/"),
    ".sql": Style("--", "/*", "*/"),
}


@dataclass(frozen=True)
class Counts:
    code: int = 0
    comment: int = 0
    blank: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.code + other.code, self.comment + other.comment, self.blank + other.blank)

    @property
    def total(self) -> int:
        return self.code + self.comment + self.blank


def count(text: str, style: Style) -> Counts:
    """A line with code and a comment counts as code; so does a block comment that begins after code."""
    lines = [line.strip() for line in text.splitlines()]
    code = comment = blank = 0
    in_block = False
    index = 0
    while index < len(lines):
        line = lines[index]
        if in_block:
            comment += 1
            in_block = style.block_end not in line
        elif not line:
            blank += 1
        elif line.startswith(style.line):
            comment += 1
        elif style.block_start and line.startswith(style.block_start):
            comment += 1
            in_block = style.block_end not in line[len(style.block_start) :]
        else:
            code += 1
            index += 1
    return Counts(code, comment, blank)


def suffix_of(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return dot + suffix.lower() if dot else ""


def count_all(files: Iterable[tuple[str, str]]) -> dict[str, Counts]:
    """Counts by suffix; files of an unknown suffix are left out."""
    totals: dict[str, Counts] = {}
    for name, text in files:
        suffix = suffix_of(name)
        if suffix in STYLES:
            totals[suffix] = totals.get(suffix, Counts()) + count(text, STYLES[suffix])
    return totals
