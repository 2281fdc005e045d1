"""What a repository's Dockerfile has the engine itself fetch, which stands where no gate of ours does.

Of the instructions only ADD takes addresses, and the engine offers many ways to write one: in several lines,
with comments in between, with variables, escapes and quotes inside of words. So nothing is looked for: an ADD
is let through where it is plainly of files of the repository, and all else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_CONTINUES = re.compile(r"(?:[^\\]|^)\\[ \t]*$")
_MAY_CONTINUE = re.compile(r"\\\s*$")  # an escaped escape, or one before other blanks: engines differ
_UNCERTAIN = re.compile(
    r"^\s*#\s*escape\s*=\s*[^\\\s]"  # another sign continues lines
    r"|<<-?(?:[\"'][^\"']{0,200}|\S{0,200})\\",  # the end of a document inside may look like a continued line
    re.IGNORECASE,
)
_ADD = re.compile(r"\s*(?:ONBUILD\s+)*ADD\b(.*)", re.IGNORECASE | re.DOTALL)
_OF_FILES = re.compile(r"[\w\s./*?+,:=~\[\]\"-]*")
_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*([^\s$]+)(?=\s|$)", re.IGNORECASE)


def fetched(text: str) -> str:
    """The first line of a Dockerfile that may have the engine fetch an address; "" where none does. Pure."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    for line in lines:
        if _UNCERTAIN.search(line) or (_MAY_CONTINUE.search(line) and not _CONTINUES.search(line)):
            return line.strip()
    for instruction in _both_ways(lines):
        found = _ADD.match(instruction)
        if found and not _is_of_files(found[1]):
            return instruction.strip()
    return ""


def first_image(text: str) -> str:
    """The first image that a Dockerfile begins with and names as it is; "" where there is none. Pure."""
    named = (_FROM.match(instruction) for instruction in _instructions(text.splitlines()))
    return next((found[1] for found in named if found and found[1].lower() != "scratch"), "")


def _both_ways(lines: Sequence[str]) -> Iterator[str]:
    """As engines read a Dockerfile that leave out empty lines and comments with blanks before them between
    the lines of an instruction, and as others do."""
    plain = [line for line in lines if not line.startswith("#")]
    yield from _instructions(plain)
    yield from _instructions([line for line in plain if line.strip() and not line.lstrip().startswith("#")])


def _instructions(lines: Sequence[str]) -> Iterator[str]:
    """Instructions, each in one line. Nothing comes between the parts of one, not a blank either."""
    parts: list[str] = []
    for line in lines:
        if _CONTINUES.search(line):
            parts.append(line.rstrip()[:-1])
        else:
            yield "".join((*parts, line))
            parts = []
    yield "".join(parts)


def _is_of_files(words: str) -> bool:
    return _OF_FILES.fullmatch(words) is not None and "://" not in words.replace('"', "")
