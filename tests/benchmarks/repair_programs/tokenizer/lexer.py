"""Tokens of arithmetic expressions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PATTERN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-z_]\w*)|(?P<symbol>[-+*/^()]))")


class SyntaxProblem(ValueError):
    """The text is not an expression."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    position: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens of the text, then one of kind `end`."""
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = PATTERN.match(text, position)
        if match is None or match.lastgroup is None:
            raise SyntaxProblem(f"unexpected {text[position:].lstrip()[0]!r} at {position}")
        yield Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        position = match.end()
    yield Token("end", "", len(text))
