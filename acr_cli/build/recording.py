"""What a run cannot find out again: who was chosen, what the models said, what the user allowed.

One JSON line each, in the order in which it happened, without secrets; a line out of which a secret was taken
says so. `Recording` writes them while the run goes on; `Recorded` gives them back, in its place, so that the
same loop does the same again.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, ClassVar

from acr_cli import errors
from acr_cli.build.reading import read
from acr_cli.errors import AcrError, BudgetExhausted, ProviderError
from acr_cli.events import plain
from acr_cli.protocols import Budget, Gateway, Message, Policy, Reply, Tool
from acr_cli.records import Candidate, Choice, Context, Step
from acr_cli.redaction import redacted

RECORDING = "recording.jsonl"


class Diverged(AcrError):
    """A replay that cannot do what the run did."""

    id: ClassVar[str] = "diverged"


class Recording:
    """The lines of one run, appended while it goes on. A disk that takes no more ends no run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()

    def note(self, kind: str, **fields: Any) -> None:
        """Append a line; it is on the disk once `sync` has returned."""
        line = json.loads(json.dumps(plain(fields)))
        clean = redacted(line)
        whole = {"kind": kind, **clean, **({} if clean == line else {"redacted": True})}
        with suppress(OSError), self._lock, self.path.open("a") as file:
            file.write(json.dumps(whole) + "\n")

    def sync(self) -> int:
        """Make what was written durable; the size in bytes until now."""
        try:
            with self._lock, self.path.open("ab") as file:
                os.fsync(file.fileno())
                return file.tell()
        except OSError:
            return 0

    def paid_after(self, size: int) -> float:
        """What was paid, in USD, for the replies that were noted after this size."""
        data = self.path.read_bytes() if self.path.exists() else b""
        return sum(float(line["reply"]["cost_usd"]) for line in _lines(data[size:]) if line.get("reply"))

    def cut(self, size: int) -> None:
        """Forget what was noted after this size."""
        if self.path.exists() and self.path.stat().st_size > size:
            os.truncate(self.path, size)


def recorded_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a recording; [] where there is none."""
    try:
        return list(_lines(path.read_bytes()))
    except FileNotFoundError:
        return []


def _lines(data: bytes) -> Iterable[dict[str, Any]]:
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(found := json.loads(line), dict):
                yield found


class RecordingGateway:
    """A `Gateway` that notes each reply, or the error in its place."""

    def __init__(self, gateway: Gateway, recording: Recording) -> None:
        self._gateway = gateway
        self._recording = recording

    def complete(
        self, candidate: Candidate, messages: Sequence[Message], *, tools: Sequence[Tool], budget: Budget
    ) -> Reply:
        """See `Gateway.complete`."""
        try:
            reply = self._gateway.complete(candidate, messages, tools=tools, budget=budget)
        except (ProviderError, BudgetExhausted) as error:
            self._recording.note(
                "call", candidate=candidate.id, error=type(error).__name__, text=error.message
            )
            raise
        self._recording.note("call", candidate=candidate.id, reply=reply)
        return reply


class RecordingPolicy:
    """A `Policy` that notes each choice."""

    def __init__(self, policy: Policy, recording: Recording) -> None:
        self.name = policy.name
        self._policy = policy
        self._recording = recording

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        """See `Policy.choose`."""
        choice = self._policy.choose(context, candidates, rng)
        self._recording.note("choice", choice=choice)
        return choice


class Recorded:
    """A recording, given back line by line: a `Policy`, a `Gateway`, and the user's answers."""

    name = "recorded"

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        """Attempts that were made side by side are made one after another."""
        self.missing = ""  # what was asked for beyond what was recorded, for people
        choices = [line for line in lines if line.get("kind") == "choice"]
        # That nobody more was found counts only where nobody came later.
        self._choices = deque(each for each in choices if each.get("choice") or each is choices[-1])
        self._answers = deque(line for line in lines if line.get("kind") == "answer")
        self._calls: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        for line in lines:
            if line.get("kind") == "call":
                self._calls[str(line.get("candidate"))].append(line)

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        """The next recorded choice. Raises: Diverged."""
        if not self._choices:
            raise Diverged("The replay asks for one more choice than the run did.")
        kept = self._choices.popleft().get("choice")
        choice = read(Choice, kept) if kept else None
        if choice is not None and choice.candidate not in {each.id for each in candidates}:
            raise Diverged(f"{choice.candidate} was chosen in the run, and cannot take this step here.")
        return choice

    def complete(
        self, candidate: Candidate, messages: Sequence[Message], *, tools: Sequence[Tool], budget: Budget
    ) -> Reply:
        """The next recorded reply of this candidate.

        Raises: what was raised in the run; ProviderError where it answered no more, as one whose attempt was
        not needed any more; Diverged."""
        calls = self._calls[candidate.id]
        if not calls:
            self.missing = f"The replay asks {candidate.id} once more than the run did."
            raise ProviderError(self.missing)
        line = calls.popleft()
        if line.get("redacted"):
            raise Diverged(
                f"A reply of {candidate.id} held what looks like a secret, an address or a home folder. It"
                " was not kept whole, so that this run cannot be replayed."
            )
        if name := line.get("error"):
            raise _error(str(name), str(line.get("text", "")))
        return read(Reply, line["reply"])

    def steps(self) -> tuple[Step, ...]:
        """The steps of a plan that the user left next. Raises: Diverged."""
        return tuple(read(Step, step) for step in self.answer())

    def answer(self) -> Any:
        """What the user answered next. Raises: Diverged."""
        if not self._answers:
            raise Diverged("The replay asks the user once more than the run did.")
        return self._answers.popleft().get("given")


def _error(name: str, text: str) -> AcrError:
    kind = getattr(errors, name, ProviderError)
    return kind(text) if issubclass(kind, AcrError) else ProviderError(text)
