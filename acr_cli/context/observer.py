"""C: what the orchestrator may know about a step: text, vector, what has failed, what memory knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from acr_cli.errors import StoreError
from acr_cli.events import Emit, Notice
from acr_cli.protocols import Embedder, Store
from acr_cli.records import Context, Neighbour, Step, Tally

_ABSOLUTE = re.compile(r"(?<![\w./~])~?/(?:[\w.@+-]+/)+([\w.@+-]+)")
_LINES = 12
_CHARACTERS_PER_TOKEN = 4


class RepositoryObserver:
    """Implements `protocols.Observer` for the steps of one run.

    The embedder is opened on the first look, since it costs more than all the rest. A memory that cannot be
    read is reported, and the run goes on without it."""

    def __init__(
        self,
        *,
        embedder: Callable[[], Embedder],
        store: Store,
        repository: str,
        size: Callable[[Step], int],
        emit: Emit,
    ) -> None:
        self._open = embedder
        self._embedder: Embedder | None = None
        self._store = store
        self._repository = repository
        self._size = size
        self._emit = emit
        self._vectors: dict[str, tuple[float, ...]] = {}

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        text = step_text(step)
        vector, key = self._embed(text)
        neighbours, tallies = self._recall(vector, key)
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

    def _recall(self, vector: tuple[float, ...], key: str) -> tuple[tuple[Neighbour, ...], tuple[Tally, ...]]:
        try:
            return self._store.neighbours(vector, key), self._store.tallies()
        except StoreError as error:
            self._emit(Notice(level="warning", text=f"Going on without memory: {error.message}"))
            return (), ()

    def _embed(self, text: str) -> tuple[tuple[float, ...], str]:
        if self._embedder is None:
            self._embedder = self._open()
        if text not in self._vectors:
            self._vectors[text] = tuple(self._embedder.embed([text])[0])
        return self._vectors[text], self._embedder.key


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
