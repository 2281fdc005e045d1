"""A text file read so that it can be written back byte for byte: mark, encoding, line ends."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acr_cli.errors import BadReply

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BEGINNING = 8192  # bytes in which a binary file holds a zero
_NAMES = {"latin-1": "Latin-1"}


@dataclass(frozen=True, slots=True)
class Text:
    """A text file. UTF-16 is known by its byte-order mark; what is not UTF-8 is Latin-1."""

    bom: bytes
    encoding: str
    lines: tuple[str, ...]  # with their ends

    @classmethod
    def of(cls, source: bytes, path: str = "the file") -> Text:
        """Raises: BadReply for a binary file."""
        bom, encoding = next((each for each in _MARKS if source.startswith(each[0])), (b"", "utf-8"))
        rest = source[len(bom) :]
        is_utf32 = encoding == "utf-16-le" and rest.startswith(b"\0\0")
        if is_utf32 or (encoding == "utf-8" and b"\0" in rest[:_BEGINNING]):
            raise BadReply(f"{path} is binary, and cannot be shown or edited as text.")
        try:
            return cls(bom, encoding, _split(rest.decode(encoding)))
        except UnicodeDecodeError:
            if encoding != "utf-8":
                raise BadReply(f"{path} begins as UTF-16 does, and is not; it cannot be edited.") from None
            return cls(bom, "latin-1", _split(rest.decode("latin-1")))

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
            name = _NAMES.get(self.encoding, self.encoding.upper())
            what = error.object[error.start]
            raise BadReply(f"{path} is written in {name}, which has no {what!r}.") from error


def bare(text: str) -> list[str]:
    """Lines without their ends; one last newline does not begin another line. Pure."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def body(line: str) -> str:
    """A line without its end. Pure."""
    return line.removesuffix("\n").removesuffix("\r")


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Lines with their numbers, as a model reads them. Pure."""
    return "\n".join(f"{first + index}: {body(line)}" for index, line in enumerate(lines))


def cut(text: str, limit: int) -> str:
    """The head and the tail of a long text, and how much is missing between. Pure."""
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"


def _split(text: str) -> tuple[str, ...]:
    """Lines with their ends; only a line feed ends one."""
    lines = text.split("\n")
    return (*(line + "\n" for line in lines[:-1]), *((lines[-1],) if lines[-1] else ()))
