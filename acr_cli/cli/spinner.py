"""What goes on now and for how long, on the last lines of a terminal; gone as soon as nothing does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import clean
from acr_cli.cli.words import seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

FRAMES, PLAIN_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
TURNS = 8.0  # frames a second
_NUMBERS = re.compile(r"\d[\d.,]*")


def kind_of(text: str) -> str:
    """A line of progress without what only counts. Pure."""
    return _NUMBERS.sub("0", text)


class Spinner:
    """A line for each of those at work, "" where it is one alone. Drawn by a thread of its own."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._frames = FRAMES if console.encoding.startswith("utf") else PLAIN_FRAMES
        self._now: Mapping[str, tuple[str, float]] = {}  # replaced, never changed: another thread reads it
        self._live: Live | None = None

    def say(self, who: str, text: str, *, since: float | None = None) -> None:
        """What `who` does from now on, or since then; what only counts on goes on."""
        known, began = self._now.get(who, ("", 0.0))
        if since is not None:
            began = since
        elif kind_of(known) != kind_of(text):
            began = self._clock()
        self._now = {**self._now, who: (text, began)}
        if self._live is None:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                transient=True,
                refresh_per_second=TURNS,
                get_renderable=self.drawn,
                vertical_overflow="crop",
            )
            self._live.start()

    def done(self, who: str) -> None:
        """It does nothing more."""
        self._now = {name: each for name, each in self._now.items() if name != who}
        if not self._now:
            self.stop()

    def stop(self) -> None:
        """Nothing goes on; the lines are gone when this returns."""
        self._now = {}
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def drawn(self) -> Text:
        """The lines of this moment, each cut to the width of the terminal."""
        from rich.text import Text

        moment, width = self._clock(), self._console.width
        frame = self._frames[int(moment * TURNS) % len(self._frames)]
        lines = []
        for who, (text, began) in self._now.items():
            took = moment - began
            time = f" {seconds(float(int(took)))}" if took >= 10 else f" {int(took)} s" if took >= 1 else ""
            line = Text(clean(f"{frame} {who}{': ' if who else ''}{text}"), "dim", no_wrap=True)
            line.truncate(max(8, width - len(time) - 1), overflow="ellipsis")
            lines.append(line.append(time))
        return Text("\n").join(lines)
