"""A unified diff on a terminal: what is added and removed by colour, code by its syntax.

What it holds is shown, never obeyed; what would not be seen is written out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import hidden_shown
from acr_cli.cli.words import changed_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.syntax import SyntaxTheme
    from rich.text import Text

MOST_COLOURED = 2000  # lines of a diff whose syntax is looked at
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_HEADER = (
    "diff --git",
    "index ",
    "--- ",
    "+++ ",
    "new file",
    "deleted file",
    "rename ",
    "old mode",
    "new mode",
)
_SIGNS = {"+": "green", "-": "red"}
_PARTS = {
    "Keyword": "bold",
    "Operator.Word": "bold",
    "Comment": "italic",
    "Literal.String": "yellow",
    "Literal.Number": "cyan",
}
"""How parts of code look, on top of the colour of their line."""


def show_patch(console: Console, patch: str) -> None:
    """Line by line, none of them broken."""
    from rich.text import Text

    lines = hidden_shown(patch.replace("\r\n", "\n")).split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    syntax = console.color_system is not None and len(lines) <= MOST_COLOURED
    for line in _coloured(lines) if syntax else (Text(line) for line in lines):
        console.print(line, soft_wrap=True)


def by_file(patch: str) -> list[tuple[str, str]]:
    """Each file of a git diff, by its new name, and how many lines are added and removed: "+3 -1". Pure."""
    parts = [f"diff --git {part}" for part in _FILE.split(patch)[1:]]
    return [(_name(part.splitlines()), changed_lines(part)) for part in parts]


def _name(lines: Sequence[str]) -> str:
    for line in lines:
        if line.startswith(("+++ b/", "rename to ")):
            return line.removeprefix("+++ b/").removeprefix("rename to ")
        if line.startswith("@@"):
            break
    return lines[0].rpartition(" b/")[2]


def _coloured(lines: Sequence[str]) -> Iterator[Text]:
    from rich.text import Text

    name, hunk = "", list[str]()
    for line in lines:
        inside = bool(hunk) and not line.startswith(("diff --git", "@@"))
        if inside:
            hunk.append(line)
            continue
        yield from _hunk(name, hunk)
        hunk = []
        if line.startswith("@@"):
            hunk = [line]
            continue
        if line.startswith("diff --git"):
            name = line.rpartition("/")[2]
        yield Text(line, _SIGNS.get(line[:1], "") if not line.startswith(_HEADER) else "bold")
    yield from _hunk(name, hunk)


def _hunk(name: str, hunk: Sequence[str]) -> Iterator[Text]:
    """Both sides are read as code of their own, so that what goes over several lines is seen."""
    from rich.text import Text

    if not hunk:
        return
    yield Text(hunk[0], "cyan")
    body = hunk[1:]
    old = iter(_code(name, [line[1:] for line in body if line[:1] in ("-", " ")]))
    new = iter(_code(name, [line[1:] for line in body if line[:1] in ("+", " ")]))
    for line in body:
        sign = line[:1]
        code = Text(line[1:])
        if sign in ("-", " "):
            code = next(old)
        if sign in ("+", " "):
            code = next(new)
        whole = Text(sign, _SIGNS.get(sign, ""))
        code.stylize_before(_SIGNS.get(sign, ""))
        yield whole.append_text(code)


def _code(name: str, lines: Sequence[str]) -> list[Text]:
    """Lines of code, each with the styles of its parts."""
    from rich.syntax import Syntax
    from rich.text import Text

    code = "\n".join(lines)
    found = list(
        Syntax(code, Syntax.guess_lexer(name), theme=_theme()).highlight(code).split("\n", allow_blank=True)
    )
    # What a lexer makes of code is not sure to have the same lines; the code itself counts.
    same = [each.plain for each in found[: len(lines)]] == list(lines)
    return found[: len(lines)] if same else [Text(line) for line in lines]


@cache
def _theme() -> SyntaxTheme:
    from rich.style import Style
    from rich.syntax import SyntaxTheme

    class Theme(SyntaxTheme):
        def get_style_for_token(self, token_type: object) -> Style:
            part = str(token_type).removeprefix("Token.")
            return Style.parse(next((style for start, style in _PARTS.items() if part.startswith(start)), ""))

        def get_background_style(self) -> Style:
            return Style()

    return Theme()
