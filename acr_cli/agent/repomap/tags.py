"""What one file defines and what it uses, read off its syntax tree."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from acr_cli.agent.repomap.languages import language_of, reader

LARGEST = 400_000  # bytes; a larger file is not parsed
_DEFINITIONS = 400  # of one file
_REFERENCES = 600  # names that one file uses
_SHORTEST = 3  # characters of a name that tells anything
_LINE = 120  # characters of a definition that are shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A name that a file defines; `text` is the line that it stands in, from 1."""

    name: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Tags:
    """A file's definitions in their order, and how often it uses which name."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[tuple[str, int], ...] = ()


def read_tags(path: str, source: bytes) -> Tags:
    """The tags of a source file; none where its language cannot be read, or it is too large."""
    language = language_of(path)
    reads = reader(language) if language and len(source) <= LARGEST else None
    if reads is None:
        return Tags()
    from tree_sitter import QueryCursor

    captures = QueryCursor(reads.query).captures(reads.parser.parse(source).root_node)
    lines: list[bytes] | None = None
    definitions = []
    nodes = captures.get("def", [])
    for node in sorted(nodes, key=lambda each: each.start_byte)[:_DEFINITIONS]:
        lines = lines or source.split(b"\n")
        row = node.start_point.row
        definitions.append(
            Definition(
                name=_text(source[node.start_byte : node.end_byte]),
                line=row + 1,
                text=_text(lines[row].rstrip())[:_LINE],
            )
        )
    used = Counter(source[node.start_byte : node.end_byte] for node in captures.get("ref", ()))
    used.subtract(Counter(definition.name.encode() for definition in definitions))
    references = [
        (_text(name), count) for name, count in used.items() if count > 0 and len(name) >= _SHORTEST
    ]
    references.sort(key=lambda reference: -reference[1])
    return Tags(definitions=tuple(definitions), references=tuple(references[:_REFERENCES]))


@lru_cache(maxsize=200_000)
def number(name: str) -> int:
    """A name as 63 bits, the same on every machine: what the graph is made of. Pure."""
    return int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest()) >> 1


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
