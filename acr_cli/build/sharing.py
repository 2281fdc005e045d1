"""Memory beyond one run: the embedder that it follows, files that travel, and the team's server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Self

from acr_cli.build.keeping import memory
from acr_cli.errors import AcrError, ConfigurationError
from acr_cli.events import AttemptFinished, Emit, Event, ToolCalled
from acr_cli.protocols import Embedder
from acr_cli.redaction import redact, without_keys
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from acr_cli.memory.apart import Ahead
    from acr_cli.memory.exchange import Taken
    from acr_cli.memory.reindex import Reindexed
    from acr_cli.memory.team import Server, Synchronised


class Redacting:
    """An embedder that sees no secret: the vector of a text is that of what is kept of it."""

    def __init__(self, inner: Embedder) -> None:
        self.key = inner.key
        self.size = inner.size
        self._inner = inner

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return self._inner.embed([redact(text) for text in texts])


def embedder(settings: Settings) -> Embedder:
    """The embedder that memory's vectors follow; where there are none yet, that of the settings.

    After the setting was changed the old one serves until `acr memory reindex`; where it is no longer
    installed, the new one does, and old outcomes are not found by their meaning.

    Raises: ConfigurationError."""
    from acr_cli.context.embedding import open_embedder

    try:
        followed = memory(settings).follows()
    except AcrError:  # whoever reads memory next says what is wrong with it
        followed = ""
    if followed and followed != settings.embedder:
        try:
            return Redacting(open_embedder(followed))
        except ConfigurationError:
            pass
    return Redacting(open_embedder(settings.embedder))


def reindex(settings: Settings, *, progress: Callable[[int, int], None]) -> Reindexed:
    """Embed all of memory with the embedder of the settings; `progress` is told (done, all).

    Raises: ConfigurationError, StoreError."""
    from acr_cli.context.embedding import open_embedder

    store = memory(settings)
    done = store.reindex(Redacting(open_embedder(settings.embedder)), settings.embedder, progress=progress)
    store.settle()
    return done


def export_memory(
    settings: Settings,
    file: str,
    *,
    candidate: str | None = None,
    dimension: str | None = None,
    repository: str | None = None,
    since: float | None = None,
) -> int:
    """Write outcomes to a file, "-" for standard output; how many. Raises: UsageError, StoreError."""
    from acr_cli.memory.exchange import write

    chosen = memory(settings).outcomes(
        candidate=candidate, dimension=dimension, repository=repository, since=since
    )
    return write(file, chosen)


def import_memory(settings: Settings, file: str) -> Taken:
    """Keep the outcomes of a file, "-" for standard input. Raises: UsageError, StoreError."""
    from acr_cli.memory.exchange import read

    store = memory(settings)
    taken = store.take_in(read(file))
    if taken.added:
        store.settle()
    return taken


def team(settings: Settings) -> Server | None:
    """The server of the team's memory, None where none is set. Raises: ConfigurationError."""
    if not settings.memory_url:
        return None
    if settings.origins.get("memory.url", "").startswith("ACR_"):
        raise ConfigurationError(
            "memory.url counts in the config file only, since outcomes and the token go there.",
            hint=f"acr config set memory.url {without_keys(settings.memory_url)}",
        )
    from acr_cli.memory.team import Server

    return Server(
        url=settings.memory_url,
        token=os.environ.get(settings.memory_token_env, ""),
        tenant=settings.memory_tenant,
        database=settings.memory_database,
    ).checked()


def synchronise(settings: Settings) -> Synchronised:
    """Send to and fetch from the team's server now. Raises: ConfigurationError, StoreError."""
    server = team(settings)
    if server is None:
        raise ConfigurationError(
            "No team memory is set.", hint="acr config set memory.url https://chroma.example.org:8000"
        )
    store = memory(settings)
    done = store.synchronise(server)
    if done.received or done.withdrawn:
        store.settle()
    return done


class Settling:
    """What memory does at the end of a run, once around all of it; `settings` are asked for when needed.

    The process that settles is started when the first edit has been made, or an attempt has ended: tests run
    next, and once they have it is ready. Where the run comes to no end, it goes with this context."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._lock = Lock()
        self._heard = False
        self._ahead: Ahead | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ahead is not None:
            with suppress(KeyboardInterrupt):  # what the run came to stands
                self._ahead.end()

    def hearing(self, emit: Emit) -> Emit:
        """`emit`, which also learns when it is time to start."""

        def both(event: Event) -> None:
            if isinstance(event, AttemptFinished) or _edited(event):
                self._start()
            emit(event)

        return both

    def _start(self) -> None:
        with self._lock:
            if self._heard:
                return
            self._heard = True
        settings = self._settings()
        # Nothing runs beside a plan; and of a shared memory more is done afterwards, which takes its time.
        if not settings.plan_only and not settings.memory_url:
            with suppress(OSError):  # then it is started at the end
                self._ahead = memory(settings).ahead()

    def end(self) -> str:
        """As `settle`, after the run."""
        return settle(self._settings(), self._ahead)


def _edited(event: Event) -> bool:
    return isinstance(event, ToolCalled) and event.ok and event.name in ("edit", "edits", "move")


def settle(settings: Settings, ahead: Ahead | None = None) -> str:
    """After a run: bring what is built from the journal up to date, and begin to synchronise with the team.

    `ahead` is a process that was started for it. A line where the user should hear of something, else "".
    Never raises for it."""
    store = memory(settings)
    store.settle(ahead)
    try:
        server = team(settings)
        if server is not None:
            store.synchronise_apart(server)
    except ConfigurationError as error:
        return error.message
    last = store.last_synchronised() if server is not None else None
    if last is not None and last.problem:
        return last.line()
    told = store.settled
    return told if "built anew" in told or "could not be built" in told else ""
