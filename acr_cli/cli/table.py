"""Tables that fit a terminal, and go to a file without frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import clean, one_line

NARROW = 50  # columns of a terminal, below which a table has none

if TYPE_CHECKING:
    from rich.console import Console


def show_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, indent: int = 0
) -> None:
    """Rows of text under their heads; a column whose head begins with ">" is a number, and one whose head
    begins with "=" is never broken."""
    if console.width < NARROW:
        _show_apart(console, [column.strip(">=") for column in columns], rows)
        return
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
        show_header=any(column.strip(">=") for column in columns),
    )
    for column in columns:
        table.add_column(
            column.lstrip(">="),
            justify="right" if column.startswith(">") else "left",
            no_wrap=column.startswith((">", "=")),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    with console.capture() as drawn:
        console.print(Padding(table, (0, 0, 0, indent)) if indent else table)
    console.file.write(_PADDING.sub(lambda end: "".join(_STYLE.findall(end[0])), drawn.get()))


# What rich fills a line up with: whoever pipes, copies or narrows it meets blank lines otherwise.
_PADDING = re.compile(r"(?m)(?: |\x1b\[[0-9;]*m)+$")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def _show_apart(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Each row as lines of its own, for a terminal that is too narrow for columns."""
    for row in rows:
        for place, (head, cell) in enumerate(zip(heads, row, strict=True)):
            if cell:
                say(console, f"{'  ' if place else ''}{head}{': ' if head else ''}{cell}")


def say(console: Console, text: str = "", style: str = "") -> None:
    """One line of our own words around text from elsewhere."""
    from rich.text import Text

    line = " ".join(clean(text).splitlines())
    console.print(Text(line, style), soft_wrap=True)


def heading(console: Console, text: str) -> None:
    """A blank line and a heading."""
    say(console)
    say(console, text, "bold")
