"""`acr chat`: one run a message, each told what was said and done before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from acr_cli.build.asking import Asks
from acr_cli.build.fixing import run
from acr_cli.events import Emit
from acr_cli.records import RunResult, Task
from acr_cli.settings import Settings

_TURNS = 8  # that are told
_WORDS = 400  # characters of a message, or of what came of it
_ALL = 4_000  # characters of all that is told


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message, and what came of it."""

    message: str
    result: RunResult


@dataclass(kw_only=True, slots=True)
class Conversation:
    """The messages of one chat in one repository."""

    where: Path
    turns: list[Turn] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what the user did since: patches applied, taken back
    spent_usd: float = 0.0
    first: int = 0  # of the turns that are told: those before were cleared

    def carry_out(self, message: str, settings: Settings, emit: Emit, asks: Asks | None = None) -> RunResult:
        """A run for this message; "" is the wish that failing tests pass.

        Raises: AcrError where no run could begin."""
        task = Task(text=message, context=self.told() if message else "")
        result = run(settings, where=self.where, task=task, emit=emit, asks=asks)
        self.spent_usd += result.receipt.paid_usd
        self.turns.append(Turn(message=message, result=result))
        return result

    def clear(self) -> None:
        """What was said until now is told no more."""
        self.first = len(self.turns)
        self.notes.clear()

    def told(self) -> str:
        """The last turns, oldest first, cut to a few thousand characters."""
        lines = [line for turn in self.turns[self.first :][-_TURNS:] for line in _lines(turn)]
        text = "\n".join((*lines, *(f"- {note}" for note in self.notes[-_TURNS:])))
        return text if len(text) <= _ALL else "..." + text[-_ALL:]

    @property
    def last(self) -> RunResult | None:
        """Of the last run."""
        return self.turns[-1].result if self.turns else None


def _lines(turn: Turn) -> Iterator[str]:
    result = turn.result
    yield f"- The user: {_short(turn.message or 'make the failing tests pass')}"
    what = "the change is in the files" if result.applied else "nothing of it is in the files"
    if not result.patch:
        what = "nothing was changed"
    changed = f" ({', '.join(result.files[:10])})" if result.files else ""
    status = result.status.value.replace("_", " ")
    yield f"  What came of it: {status}, {what}{changed}. {_short(result.summary)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else line[:_WORDS] + " ..."
