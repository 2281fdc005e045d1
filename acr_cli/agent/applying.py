"""Edits put into files: matched with care, all of them or none, and no byte outside a hunk changes.

A search text is matched by whole lines: exactly, then but for white space at the ends of lines, then but for
one uniform shift of the indentation. Text that matches nowhere, or in two places, is refused, and the model
is shown what stands there. Line ends, byte-order mark, encoding and a missing last newline stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from acr_cli.errors import BadReply, PathRefused
from acr_cli.protocols import Edit, Tree

_BOM = b"\xef\xbb\xbf"
_SHOWN = 60  # lines of a file shown around the place that was probably meant


@dataclass(frozen=True, slots=True)
class Text:
    """A text file, so that it can be written back byte for byte."""

    bom: bytes
    encoding: str
    lines: tuple[str, ...]  # with their ends

    @classmethod
    def of(cls, source: bytes, path: str = "the file") -> Text:
        """Raises: BadReply for a binary file or UTF-16."""
        bom = _BOM if source.startswith(_BOM) else b""
        body = source[len(bom) :]
        if b"\0" in body or source.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise BadReply(f"{path} is binary or not UTF-8, and cannot be edited as text.")
        try:
            return cls(bom, "utf-8", _split(body.decode("utf-8")))
        except UnicodeDecodeError:
            return cls(bom, "latin-1", _split(body.decode("latin-1")))

    @property
    def end(self) -> str:
        """The line end that most lines have."""
        crlf = sum(line.endswith("\r\n") for line in self.lines)
        return "\r\n" if crlf * 2 > len(self.lines) else "\n"

    def bytes_of(self, lines: Iterable[str], path: str) -> bytes:
        """The file with other lines. Raises: BadReply where they cannot be written in its encoding."""
        try:
            return self.bom + "".join(lines).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise BadReply(
                f"{path} is written in Latin-1, which has no {error.object[error.start]!r}."
            ) from error


def replaced(
    source: bytes, search: str, replace: str, *, path: str = "the file", inline: bool = False
) -> bytes:
    """`source` with the one place that `search` means replaced. `inline` also matches within lines. Pure.

    Raises: BadReply that shows the model what stands in the file."""
    text = Text.of(source, path)
    wanted, new = _bare(search), _bare(replace)
    if not any(line.strip() for line in wanted):
        raise BadReply(f"{path}: the search text is empty, and the file is not.")
    for match in (_same, _same_but_ends):
        if places := _places(text, wanted, match):
            start = _only(places, text, path)
            return _written(text, start, wanted, new, path)
        if match is _same and inline and (done := _within(text, search, replace, path)) is not None:
            return done
    shifted = [(start, shift) for start in range(len(text.lines)) if (shift := _shift(text, start, wanted))]
    if not shifted:
        raise BadReply(f"{path}: the search text does not stand in the file.\n{_nearest(text, wanted, path)}")
    start = _only([place for place, _ in shifted], text, path)
    moved = [shifted[0][1](line) for line in new]
    return _written(text, start, [shifted[0][1](line) for line in wanted], moved, path)


def rewritten(source: bytes, content: str, *, path: str = "the file") -> bytes:
    """The whole file anew, in the line ends and encoding of the old one. Pure. Raises: BadReply."""
    text = Text.of(source, path)
    return _written(text, 0, [_body(line) for line in text.lines], _bare(content), path)


def apply_edits(
    tree: Tree, edits: Sequence[Edit], *, check: Callable[[str], None], inline: bool = False
) -> tuple[str, ...]:
    """Write all edits to the tree, or none; the paths written. `check` refuses paths by PathRefused.

    Raises: BadReply and PathRefused, for the model to read; nothing is written then."""
    results: dict[Path, bytes | None] = {}
    for edit in edits:
        path = tree.path(edit.path)
        check(edit.path)
        if path.is_dir():
            raise PathRefused(f"{edit.path} is a folder.")
        before = results[path] if path in results else path.read_bytes() if path.is_file() else None
        results[path] = _result(edit, before, inline=inline)
    for path, content in results.items():
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return tuple(path.relative_to(tree.root).as_posix() for path in results)


def _result(edit: Edit, before: bytes | None, *, inline: bool) -> bytes | None:
    if edit.replace is None:
        if before is None:
            raise BadReply(f"{edit.path} does not exist and cannot be deleted.")
        return None
    if before is None or not before.strip():
        if edit.search is not None and edit.search.strip():
            what = "does not exist" if before is None else "is empty"
            raise BadReply(f"{edit.path} {what}, so nothing can be searched in it.")
        return edit.replace.encode()
    if edit.search is None:
        return rewritten(before, edit.replace, path=edit.path)
    return replaced(before, edit.search, edit.replace, path=edit.path, inline=inline)


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Lines with their numbers, as a model reads them. Pure."""
    return "\n".join(f"{first + index}: {_body(line)}" for index, line in enumerate(lines))


def _split(text: str) -> tuple[str, ...]:
    """Lines with their ends; only a line feed ends one."""
    lines = text.split("\n")
    return (*(line + "\n" for line in lines[:-1]), *((lines[-1],) if lines[-1] else ()))


def _bare(text: str) -> list[str]:
    """Lines without their ends; one last newline does not begin another line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _same(line: str, wanted: str) -> bool:
    return _body(line) == wanted


def _same_but_ends(line: str, wanted: str) -> bool:
    return line.rstrip() == wanted.rstrip()


def _places(text: Text, wanted: Sequence[str], match: Callable[[str, str], bool]) -> list[int]:
    last = len(text.lines) - len(wanted)
    return [
        start
        for start in range(last + 1)
        if all(match(text.lines[start + offset], line) for offset, line in enumerate(wanted))
    ]


def _only(places: Sequence[int], text: Text, path: str) -> int:
    """Raises: BadReply where there are several."""
    if len(places) == 1:
        return places[0]
    lines = ", ".join(str(place + 1) for place in places[:10])
    starts = [max(0, place - 2) for place in places[:4]]
    around = "\n---\n".join(numbered(text.lines[start : start + 5], start + 1) for start in starts)
    raise BadReply(
        f"{path}: the search text stands in {len(places)} places, from lines {lines}. "
        f"Take more lines into it, so that only one place matches.\n{around}"
    )


def _within(text: Text, search: str, replace: str, path: str) -> bytes | None:
    """The file with a text inside lines replaced; None where it does not stand there."""
    whole, end = "".join(text.lines), text.end
    wanted, new = (part.replace("\r\n", "\n").replace("\n", end) for part in (search, replace))
    count = whole.count(wanted)
    if count == 0:
        return None
    at = whole.index(wanted)
    if count > 1:
        numbers, position = [], at
        while position >= 0:
            numbers.append(whole.count("\n", 0, position))
            position = whole.find(wanted, position + 1)
        _only(numbers, text, path)
    return text.bytes_of((whole[:at], new, whole[at + len(wanted) :]), path)


def _shift(text: Text, start: int, wanted: Sequence[str]) -> Callable[[str], str] | None:
    """How lines of the search text are to be indented to stand at `start`; None where no shift does it."""
    there = [_body(line) for line in text.lines[start : start + len(wanted)]]
    if len(there) < len(wanted) or any(a.strip() != b.strip() for a, b in zip(there, wanted, strict=True)):
        return None
    shifts = {(_indent(a), _indent(b)) for a, b in zip(there, wanted, strict=True) if b.strip()}
    more = {a[: len(a) - len(b)] if a.endswith(b) else None for a, b in shifts}
    less = {b[: len(b) - len(a)] if b.endswith(a) else None for a, b in shifts}
    if len(more) == 1 and (prefix := more.pop()):
        return lambda line: prefix + line if line.strip() else line
    if len(less) == 1 and (surplus := less.pop()):
        return lambda line: line.removeprefix(surplus)
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _written(text: Text, start: int, wanted: Sequence[str], new: Sequence[str], path: str) -> bytes:
    """The hunk in its place; lines that search and replacement share keep the file's own bytes."""
    old = text.lines[start : start + len(wanted)]
    ends = [line[len(_body(line)) :] for line in old]
    end = next((e for e in ends if e), text.end)
    hunk: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, wanted, new, autojunk=False).get_opcodes():
        hunk += old[i:j] if tag == "equal" else [line + end for line in new[k:m]]
    if hunk and old and not old[-1].endswith("\n"):
        hunk[-1] = _body(hunk[-1])
    # A line that was the last one, without an end, and is not any more needs one.
    hunk = [*(line if line.endswith("\n") else line + end for line in hunk[:-1]), *hunk[-1:]]
    return text.bytes_of((*text.lines[:start], *hunk, *text.lines[start + len(wanted) :]), path)


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
