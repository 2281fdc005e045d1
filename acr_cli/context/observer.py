"""C: what the orchestrator may know about a step: text, vector, what has failed, what memory knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Thread

from acr_cli.errors import AcrError, ConfigurationError, StoreError
from acr_cli.events import Emit, Notice
from acr_cli.protocols import Embedder, Store
from acr_cli.records import Context, Neighbour, Outcome, Step, Tally

_ABSOLUTE = re.compile(r"(?<![\w./~])~?/(?:[\w.@+-]+/)+([\w.@+-]+)")
_LINES = 12
_CHARACTERS_PER_TOKEN = 4


class RepositoryObserver:
    """Implements `protocols.Observer` for the steps of one run.

    The embedder is opened on the first look, since it costs more than all the rest. A memory that cannot be
    read is reported, and the run goes on without it.

    With `first` vectors are put off where no choice depends on them: where nothing is remembered, and where
    there is but one candidate (`lone`). Such a context has none; it is made in a thread once `first` has been
    waited for, and outcomes get it on their way through `Completing`."""

    def __init__(
        self,
        *,
        embedder: Callable[[], Embedder],
        store: Store,
        repository: str,
        size: Callable[[Step], int],
        emit: Emit,
        first: Callable[[], None] | None = None,
        lone: bool = False,
    ) -> None:
        self._open = embedder
        self._embedder: Embedder | None = None
        self._store = store
        self._repository = repository
        self._size = size
        self._emit = emit
        self._first = first
        self._lone = lone
        self._lock = Lock()
        self._vectors: dict[str, tuple[float, ...]] = {}

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        text = step_text(step)
        vector, key, neighbours, tallies = self._recall(text)
        return Context(
            text=text,
            vector=vector,
            embedder=key,
            kind=step.kind,
            dimension=step.dimension,
            language=step.language,
            repository=self._repository,
            size_tokens=self._size(step),
            has_failing_test=bool(step.failures),
            failed=tuple(failed),
            unavailable=tuple(unavailable),
            neighbours=neighbours,
            tallies=tallies,
        )

    def embed(self, text: str) -> tuple[tuple[float, ...], str]:
        """The vector of a text and the key of what made it, made once. Raises: ConfigurationError."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            if text not in self._vectors:
                self._vectors[text] = tuple(self._embedder.embed([text])[0])
            return self._vectors[text], self._embedder.key

    def _recall(self, text: str) -> tuple[tuple[float, ...], str, tuple[Neighbour, ...], tuple[Tally, ...]]:
        """The vector of a text with its key, and what memory knows."""
        try:
            tallies = self._store.tallies()
            if self._first is not None and (self._lone or not tallies):
                Thread(target=self._embed_later, args=(text, self._first), daemon=True).start()
                return (), "", (), tallies
            vector, key = self.embed(text)
            return vector, key, self._store.neighbours(vector, key), tallies
        except StoreError as error:
            self._emit(Notice(level="warning", text=f"Going on without memory: {error.message}"))
            return *self.embed(text), (), ()

    def _embed_later(self, text: str, first: Callable[[], None]) -> None:
        first()
        with suppress(ConfigurationError):  # said where the outcome is to be remembered
            self.embed(text)


class Completing:
    """A `Store` whose outcomes get the vectors that were put off when their steps were looked at.

    An outcome that none can be made for is remembered without one, which is reported."""

    def __init__(self, store: Store, observer: RepositoryObserver, emit: Emit) -> None:
        self._store = store
        self._observer = observer
        self._emit = emit

    def remember(self, outcome: Outcome) -> None:
        if outcome.text and not outcome.embedder:  # in a replay nothing is looked at
            try:
                vector, key = self._observer.embed(outcome.text)
                outcome = replace(outcome, vector=vector, embedder=key)
            except AcrError as error:
                text = f"Remembered without a vector, which `acr memory reindex` makes: {error.message}"
                self._emit(Notice(level="warning", text=text))
        self._store.remember(outcome)

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        return self._store.neighbours(vector, embedder, k=k, threshold=threshold)

    def tallies(self) -> tuple[Tally, ...]:
        return self._store.tallies()

    def settle(self) -> None:
        self._store.settle()


def step_text(step: Step) -> str:
    """What identifies the kind of work: first lines of the task, failing tests with exception and message.

    Absolute paths are reduced to their last part; the embedder cuts at its own limit. Pure."""
    lines = [line.strip() for line in step.text.strip().splitlines() if line.strip()][:_LINES]
    lines += [f"{f.id} {f.exception} {f.message}".strip() for f in step.failures[:_LINES]]
    lines += list(step.files[:_LINES]) if not step.failures else []
    return _ABSOLUTE.sub(r"\1", "\n".join(lines))


def prompt_tokens(step: Step, file_sizes: Sequence[int]) -> int:
    """A rough size of the first prompt in tokens, from its text and the files at hand (bytes). Pure."""
    words = len(step.text) + sum(len(f.detail) + len(f.message) for f in step.failures)
    return (words + sum(file_sizes)) // _CHARACTERS_PER_TOKEN
