"""What a terminal may be sent: colour only where it is wanted, control sequences of others never."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

FILE_WIDTH = 200  # columns of a table that goes to a file or a pipe

# Sequences first and whole (CSI, OSC and other strings, two-byte ones), then every control that is left: C0
# but newline and tab, DEL, C1, other ends of lines, the marks that turn the direction of text around, and
# what has no width: a joiner is left where it joins letters or pictures, not between signs of ASCII.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_UNSEEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_CONTROLS = re.compile(
    rf"[{_UNSEEN}]|(?:(?<=[\x00-\x7f])|(?<!.))[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|$)", re.DOTALL
)


def clean(text: str) -> str:
    """Text from elsewhere (a model, a test, a file name) that no terminal obeys. Pure."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def hidden_shown(text: str) -> str:
    r"""The same with what is not seen written out, as `\u202e`: for code that somebody is to judge. Pure."""
    return _CONTROLS.sub(lambda found: _written_out(found[0]), text)


def _written_out(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def one_line(text: str, width: int = 160) -> str:
    """The same on one line of at most `width` characters. Pure."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def colored(stream: IO[str], environ: Mapping[str, str] = os.environ, *, no_color: bool = False) -> bool:
    """Whether to colour a stream: by `--no-color`, NO_COLOR, FORCE_COLOR, or whether it is a terminal."""
    if no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def console(stream: IO[str], *, no_color: bool = False) -> Console:
    """A console on a stream that interprets nothing in what it prints."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704  called where it is handled: who reads decides what it means, not rich

    tint = colored(stream, no_color=no_color)
    terminal = stream.isatty()
    known = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
    return Plain(
        file=stream,
        force_terminal=terminal or tint,
        color_system=("truecolor" if known else "256") if tint else None,
        width=None if terminal else FILE_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )


def show_error(message: str, hint: str, *, id_: str, no_color: bool = False) -> None:
    """One sentence of what is wrong, the id under which the docs explain it, and what to do, on stderr."""
    red, plain = ("\x1b[31m", "\x1b[0m") if colored(sys.stderr, no_color=no_color) else ("", "")
    said = [f"acr: {clean(message)}{f' [{id_}]' if id_ != 'interrupted' else ''}"]
    if hint:
        said.append(f"     {clean(hint)}")
    if sys.stderr.isatty():
        from acr_cli.cli.flow import folded

        width = max(20, shutil.get_terminal_size().columns)
        said = [folded(line, width, indent=5) for each in said for line in each.split("\n")]
    sys.stderr.write("\n".join(said).replace("acr:", f"{red}acr:{plain}", 1) + "\n")


def asks() -> bool:
    """Whether somebody is there to answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(question: str) -> bool:
    """Ask on stderr; anything but y or yes is no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
