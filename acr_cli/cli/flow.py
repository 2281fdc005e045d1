"""Lines that fit a terminal: broken between words behind a label, never inside of a command in backticks.

Elsewhere a line stays whole, for whoever reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LABEL = 10  # columns of the word that a line begins with
NARROW = 60  # columns of a terminal on which what follows the label is not set in
_ATOM = re.compile(
    r"[^\s`]*`[^`\n]{1,200}`[^\s`]*"
    r"|\(u [\d.]+\)\S*|\$?\d[\d.,]* (?:s|min|h|%)(?![^\s,.;:)])[,.;:)]*"
    r"|\S+"
)

Piece = tuple[str, str]
"""Text and its style."""


def atoms(text: str) -> list[str]:
    """Words; a command in backticks is one, and so is a number with its unit. Pure."""
    return _ATOM.findall(text)


def folded(text: str, width: int, *, indent: int = 0) -> str:
    """One line as lines of at most `width` columns where its words allow it, all but the first set in by
    `indent`; the blanks that it begins with stay. Pure."""
    lines = [text[: len(text) - len(text.lstrip())]]
    for word in atoms(text):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > width:
            lines.append(" " * indent + word)
        else:
            lines[-1] += f"{' ' if lines[-1].strip() else ''}{word}"
    return "\n".join(lines)


def show(console: Console, label: str | None, *pieces: Piece, style: str = "bold") -> None:
    """A label and what it says, in pieces two columns apart; without a place for one (None), in sentences."""
    from rich.text import Text

    said = [(clean(text), kind) for text, kind in pieces if text]
    first = Text("" if label is None else f"{label:<{LABEL}}", style)
    between = 1 if label is None else 2
    if not console.is_terminal:
        for position, (text, kind) in enumerate(said):
            first.append(f"{' ' * between if position else ''}{text}", kind)
        console.print(first, soft_wrap=True)
        return
    width = console.width
    indent = 0 if label is None else LABEL if width >= NARROW else 2
    if width < NARROW and label is not None:
        first = Text(f"{label} " if label else "  ", style)
    for line in _lines(first, said, width, indent, between):
        console.print(line, soft_wrap=True)


def _lines(line: Text, said: Sequence[Piece], width: int, indent: int, between: int) -> Iterator[Text]:
    from rich.cells import cell_len
    from rich.text import Text

    used, tokens = line.cell_len, list[Piece]()  # columns, and what stands behind the label
    for position, (text, kind) in enumerate(said):
        gap = between if position else 0
        for word in atoms(text):
            space = (gap or 1) if tokens else 0
            if tokens and used + space + cell_len(word) > width:
                yield line.append_tokens(tokens)
                line, used, tokens, space = Text(" " * indent), indent, [], 0
            said_before = tokens.pop()[0] if tokens and tokens[-1][1] == kind else ""
            tokens.append((f"{said_before}{' ' * space}{word}", kind))
            used, gap = used + space + cell_len(word), 0
    yield line.append_tokens(tokens)
