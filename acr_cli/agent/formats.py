"""How a model without tools writes its edits down: search/replace blocks, whole files, or a unified diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from acr_cli.errors import BadReply
from acr_cli.protocols import Edit, EditFormat

_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$")
_DIVIDER = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\s*$")
_FENCE = re.compile(r"^(`{3,}|~{3,})\s*(.*)$")
_DELETE = re.compile(r"^DELETE FILE:?\s+(\S.*)$")
_MOVE = re.compile(r"^MOVE FILE:?\s+(\S.*?)(?<!\s)\s+(?:TO|->)\s+(\S.*)$")
_RENAME_FROM, _RENAME_TO = re.compile(r"^rename from (.+)$"), re.compile(r"^rename to (.+)$")
_OLD, _NEW = re.compile(r"^--- (\S.*)$"), re.compile(r"^\+\+\+ (\S.*)$")
_HUNK = re.compile(r"^@@(?: -\d+(?:,\d+)? \+(?P<line>\d+))?.*@@|^@@\s*$")
_ELIDED = re.compile(
    r"^\s*(#|//|--|/\*|<!--)\s*((\.\.\.|…)|\(?(rest|remainder) of (the )?(file|code)\b).*",
    re.IGNORECASE,
)
_BARE_NAMES = {"makefile", "dockerfile", "justfile", "rakefile", "gemfile", "procfile", "license", "readme"}


class SearchReplace:
    """Blocks of a search text and its replacement below a file's name."""

    name = "search-replace"
    instructions = """\
Write every change as a block, below the file's path on a line of its own:

path/to/file.py
<<<<<<< SEARCH
the lines that are there now, exactly, and enough of them to match one place only
=======
the lines that take their place
>>>>>>> REPLACE

A new file has an empty search part. A line `DELETE FILE path` removes a file, `MOVE FILE path TO path`
renames one. Keep blocks small. Change nothing that need not change."""

    def parse(self, reply: str) -> tuple[Edit, ...]:
        """The edits in a reply, in order. Pure. Raises: BadReply with what is wrong."""
        lines = reply.replace("\r\n", "\n").split("\n")
        edits: list[Edit] = []
        path, number = "", 0
        while number < len(lines):
            edits += _whole_line(lines[number])
            if not _SEARCH.match(lines[number]):
                number += 1
                continue
            path = _path_above(lines, number) or path
            if not path:
                raise BadReply("A block has no file's path on the line above it.")
            divider = _find(_DIVIDER, lines, number + 1, f"A block for {path} has no ======= line.")
            end = _find(_REPLACE, lines, divider + 1, f"A block for {path} has no >>>>>>> REPLACE line.")
            search, replace = lines[number + 1 : divider], lines[divider + 1 : end]
            edits.append(Edit(path=path, search=_joined(search), replace=_joined(replace)))
            number = end + 1
        if not edits:
            raise BadReply("The reply holds no edit.")
        return tuple(edits)


class WholeFile:
    """Every changed file in full, in a fence below its name."""

    name = "whole-file"
    instructions = """\
Write every file that changes in full, in a fence below its path on a line of its own:

path/to/file.py
```
all lines of the file
```

Leave nothing out: what you write replaces the whole file. If the file itself holds three backticks, use four.
A line `DELETE FILE path` removes a file, `MOVE FILE path TO path` renames one. Do not write files that do
not change."""

    def parse(self, reply: str) -> tuple[Edit, ...]:
        """The edits in a reply, in order. Pure. Raises: BadReply with what is wrong."""
        lines = reply.replace("\r\n", "\n").split("\n")
        edits: list[Edit] = []
        number = 0
        while number < len(lines):
            edits += _whole_line(lines[number])
            fence = _FENCE.match(lines[number])
            if fence is None:
                number += 1
                continue
            path = _path_above(lines, number) or _path_in_fence(fence[2])
            end = _closing(lines, number + 1, fence[1])
            if path:
                if end is None:
                    raise BadReply(f"The fence of {path} is not closed: the reply was cut off.")
                edits.append(Edit(path=path, replace=_whole(path, lines[number + 1 : end])))
            number = (len(lines) if end is None else end) + 1
        if not edits:
            raise BadReply("The reply holds no file below its path.")
        return tuple(edits)


class UnifiedDiff:
    """A unified diff; its line numbers are not trusted, its lines are."""

    name = "unified-diff"
    instructions = """\
Write the change as one unified diff with `--- a/path` and `+++ b/path` lines, three lines of context, and
`/dev/null` for a file that is new or goes away. Copy context lines exactly; line numbers may be wrong."""

    def parse(self, reply: str) -> tuple[Edit, ...]:
        """The edits in a reply, in order, one a hunk. Pure. Raises: BadReply with what is wrong."""
        lines = reply.replace("\r\n", "\n").split("\n")
        edits: list[Edit] = []
        path = ""
        for number, line in enumerate(lines):
            new = _NEW.match(line)
            if new and number and (old := _OLD.match(lines[number - 1])):
                path = _in_diff(new[1])
                if not path:
                    edits.append(Edit(path=_in_diff(old[1]), replace=None))
            elif (old := _RENAME_FROM.match(line)) and (to := _RENAME_TO.match(_at(lines, number + 1))):
                edits.append(Edit(path=_clean(old[1]), replace=None, target=_clean(to[1])))
            elif (hunk := _HUNK.match(line)) and path:
                search, replace = _hunk(lines, number + 1)
                near = int(hunk["line"]) if hunk["line"] and len(hunk["line"]) < 9 else None
                edits.append(Edit(path=path, search=_joined(search), replace=_joined(replace), line=near))
        if not edits:
            raise BadReply("The reply holds no unified diff.")
        return tuple(edits)


FORMATS: tuple[EditFormat, ...] = (SearchReplace(), WholeFile(), UnifiedDiff())
"""The built-in formats."""


def read_edits(reply: str, asked: EditFormat) -> tuple[Edit, ...]:
    """The edits in a reply, also where the model used another format than it was asked for. Pure.

    Raises: BadReply, of the format that was asked for when none can be read."""
    # What bears the marks of a format is meant as such: taken for a whole file it would do harm.
    if marked := marked_format(reply):
        return marked.parse(reply)
    try:
        return asked.parse(reply)
    except BadReply as error:
        for other in FORMATS:
            with suppress(BadReply):
                return other.parse(reply)
        raise error from None


def marked_format(reply: str) -> EditFormat | None:
    """The format whose marks a reply bears; whole files have none. Pure."""
    lines = reply.replace("\r\n", "\n").split("\n")
    if any(_SEARCH.match(line) for line in lines):
        return SearchReplace()
    if any(_NEW.match(line) for line in lines) and any(_HUNK.match(line) for line in lines):
        return UnifiedDiff()
    if any(_RENAME_FROM.match(line) and _RENAME_TO.match(_at(lines, n + 1)) for n, line in enumerate(lines)):
        return UnifiedDiff()
    return None


def _in_diff(name: str) -> str:
    """A path as a diff writes it, without its prefix; "" for /dev/null."""
    path = name.split("\t", maxsplit=1)[0].strip().strip('"')
    return "" if path == "/dev/null" else re.sub(r"^[abiw]/", "", path)


def _whole_line(line: str) -> list[Edit]:
    """The edit that a line asks for which needs no block: to delete or to move a file."""
    line = line.rstrip()
    if gone := _DELETE.match(line):
        return [Edit(path=_clean(gone[1]), replace=None)]
    if moved := _MOVE.match(line):
        return [Edit(path=_clean(moved[1]), replace=None, target=_clean(moved[2]))]
    return []


def _hunk(lines: Sequence[str], start: int) -> tuple[list[str], list[str]]:
    """The lines that a hunk takes away and those that it puts there, both with their context."""
    search: list[str] = []
    replace: list[str] = []
    end = _end_of_hunk(lines, start)
    for line in lines[start:end]:
        match line[:1]:
            case "-":
                search.append(line[1:])
            case "+":
                replace.append(line[1:])
            case "\\":
                continue
            case _:
                # A line of context may have lost the space before it.
                context = line.removeprefix(" ")
                search.append(context)
                replace.append(context)
    return search, replace


def _end_of_hunk(lines: Sequence[str], start: int) -> int:
    """Where the lines of a hunk end; what follows the last one that is marked as such is talk."""
    end = start
    for number in range(start, len(lines)):
        line = lines[number]
        if _HUNK.match(line) or line.startswith(("diff --git", "```", "rename from")):
            break
        if _OLD.match(line) and _NEW.match(_at(lines, number + 1)):
            break
        if line[:1] in ("-", "+", " ", "\\") and line:
            end = number + 1
    return end


def _at(lines: Sequence[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _whole(path: str, lines: Sequence[str]) -> str:
    for line in lines:
        if _ELIDED.match(line):
            raise BadReply(f"{path} is abbreviated ({line.strip()!r}): write all of it.")
    return _joined(lines)


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _find(pattern: re.Pattern[str], lines: Sequence[str], start: int, missing: str) -> int:
    for number in range(start, len(lines)):
        if pattern.match(lines[number]):
            return number
        if _SEARCH.match(lines[number]):
            break
    raise BadReply(missing)


def _closing(lines: Sequence[str], start: int, fence: str) -> int | None:
    for number in range(start, len(lines)):
        bare = lines[number].rstrip()
        if bare.startswith(fence) and set(bare) == {fence[0]}:
            return number
    return None


def _path_above(lines: Sequence[str], number: int) -> str:
    """The path on the nearest line above that is neither empty nor a fence; "" where that line is none."""
    for line in reversed(lines[max(0, number - 4) : number]):
        fence = _FENCE.match(line)
        if fence is not None:
            # The word behind a fence is a language, unless it can only be a path.
            if path := _path_in_fence(fence[2]):
                return path
            continue
        if line.strip():
            return _as_path(_clean(line))
    return ""


def _path_in_fence(info: str) -> str:
    words = info.split()
    return next((path for word in reversed(words) if (path := _as_path(_clean(word), strict=True))), "")


def _clean(line: str) -> str:
    text = line.strip().strip("*`#\"' ").rstrip(":").strip("*`\"' ")
    text = re.sub(r"^(file(name)?|path)\s*[:=]\s*", "", text, flags=re.IGNORECASE)
    return text.strip("*`\"' ")


def _as_path(text: str, *, strict: bool = False) -> str:
    """The text if it looks like a file's path, else ""."""
    if not text or len(text) > 240 or re.search(r"[<>|?*\"\0{}();,]", text) or "://" in text:
        return ""
    name = text.rsplit("/", 1)[-1]
    has_suffix = re.search(r"\.[A-Za-z0-9_+-]{1,12}$", name) is not None
    if " " in text and not (has_suffix and "/" in text):
        return ""
    known = name.lower() in _BARE_NAMES or name.startswith(".")
    return text if has_suffix or (not strict and (known or "/" in text)) else ""
