"""Memory: the store of outcomes, joined from the journal, the search over its vectors and the collection."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

from acr_cli.errors import StoreError, UsageError
from acr_cli.memory import snapshot
from acr_cli.memory.apart import Ahead, settle_apart
from acr_cli.memory.collection import JOURNAL, discard, state
from acr_cli.memory.encoding import Row, decode, encode
from acr_cli.memory.exchange import Refused, Taken
from acr_cli.memory.journal import Forgotten, Journal
from acr_cli.memory.learned import Learned
from acr_cli.memory.pending import Pending
from acr_cli.memory.reindex import SPEC, Reindexed, reindex
from acr_cli.memory.savings import Saved, cheapest, saved, strongest
from acr_cli.memory.schema import BUSY_SECONDS, mapped
from acr_cli.memory.search import alike
from acr_cli.memory.stats import Interval, MemoryStats, group_by, pairs
from acr_cli.memory.steps import learning_curve, routed
from acr_cli.memory.sums import Decay, count, joined
from acr_cli.memory.team import Server, Synchronised, begin_apart, read_notes, synchronise
from acr_cli.memory.view import Accepted, Selection
from acr_cli.protocols import Embedder
from acr_cli.records import Neighbour, Outcome, Signal, Tally

AT_ONCE = 500  # outcomes in one transaction, and in memory, when many travel


class Memory:
    """The `Store` under HOME/memory. Any number of processes may hold one; threads may share one.

    `bound` live outcomes are kept. Without `store_text` new outcomes are kept without their text, which makes
    it impossible to embed them again. After `half_life_days` an outcome counts half in `tallies`; None or 0
    forgets nothing. What an evicted outcome has lost by then stays lost when the half-life is made longer.
    `clock` gives Unix time; `tell` takes a line for the user, and `embedder` names the setting that
    vectors are made by. Who holds the file is waited for `patience` seconds. Reading makes no file where
    there is none."""

    def __init__(
        self,
        home: Path,
        *,
        bound: int = 20_000,
        store_text: bool = True,
        half_life_days: float | None = None,
        clock: Callable[[], float] = time.time,
        tell: Callable[[str], None] = lambda _: None,
        embedder: str = "",
        patience: float = BUSY_SECONDS,
    ) -> None:
        if bound < 1:
            raise UsageError(
                f"The bound of memory must be at least 1, not {bound}.", hint="Set memory.bound."
            )
        self.folder = home / "memory"
        self.settled = ""  # what the last settling did, one line for the user
        self._bound = bound
        self._store_text = store_text
        self._clock = clock
        self._decay = Decay.of_days(half_life_days)
        self._journal = Journal(self.folder / JOURNAL, bound=bound, decay=self._decay, patience=patience)
        self._noted = False
        self._lock = RLock()
        self._half_life_days = half_life_days
        self._tell = tell
        self._embedder = embedder
        self._pending = Pending(self.folder)
        self._learned = Learned(self.folder, self._decay)

    # --- writing ----------------------------------------------------------------------------------

    def remember(self, outcome: Outcome) -> None:
        """Keep an outcome, durably; one whose id was kept before changes nothing.

        Where the journal cannot take it, it is kept in a file that the journal takes up later, and `tell` is
        told. Raises: StoreError when it could not be kept at all."""
        try:
            row = encode(outcome, store_text=self._store_text, now=self._clock())
        except ValueError as error:
            raise StoreError(
                f"The outcome {outcome.id} cannot be kept: {error}.", hint="Report this as a bug of acr."
            ) from error
        try:
            self._journal.append(row)
        except StoreError as error:
            place = self._pending.hold(decode(row))
            if place is None:
                raise
            self._tell(f"{error.message} The outcome waits in {place.parent} until memory can take it.")
        else:
            self._note_embedder(outcome.embedder)
            self._take_up()

    def _note_embedder(self, key: str) -> None:
        """Note which setting the first vectors follow; from then on, only reindexing changes it."""
        if self._noted or not self._embedder or not key:
            return
        self._noted = True
        with suppress(StoreError), self._journal.view() as view:
            if view is None or view.noted(SPEC) or view.embedder() != key:
                return
        with suppress(StoreError):
            self._journal.note(SPEC, self._embedder, unless_known=True)

    def _take_up(self) -> None:
        """Let the journal take what had to wait."""
        with suppress(StoreError, OSError):  # it goes on waiting
            for path, outcome in self._pending.waiting():
                self._journal.append(encode(outcome, store_text=self._store_text, now=self._clock()))
                path.unlink(missing_ok=True)

    def take_in(self, outcomes: Iterable[Outcome | Refused]) -> Taken:
        """Keep outcomes from elsewhere, as `exchange.read` gives them; known ones change nothing.

        The oldest leave when there are more than fit. Raises: StoreError; what came before it is kept."""
        refused: list[Refused] = []

        def rows() -> Iterator[Row]:
            for place, each in enumerate(outcomes, start=1):
                if isinstance(each, Refused):
                    refused.append(each)
                    continue
                try:
                    yield encode(each, store_text=self._store_text, now=self._clock())
                except ValueError as error:
                    refused.append(Refused(place=place, reason=str(error)))

        source, total, added = rows(), 0, 0
        while batch := list(islice(source, AT_ONCE)):
            added += self._journal.take_in(batch)
            total += len(batch)
        return Taken(added=added, known=total - added, refused=tuple(refused))

    def reindex(
        self,
        embedder: Embedder,
        name: str,
        *,
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> Reindexed:
        """Embed all kept texts with another embedder, which the setting calls `name`; see `reindex`."""
        return reindex(self._journal, embedder, name, progress=progress)

    def synchronise(self, server: Server) -> Synchronised:
        """Send to and fetch from the team's server. Raises: ConfigurationError, StoreError."""
        self._take_up()
        return synchronise(self.folder, self._journal, server, now=self._clock(), store_text=self._store_text)

    def synchronise_apart(self, server: Server) -> None:
        """Begin to do so in a process of its own, and do not wait. Raises: ConfigurationError."""
        told = {
            "server": asdict(server.checked()),
            "bound": self._bound,
            "half_life_days": self._half_life_days,
            "store_text": self._store_text,
        }
        begin_apart(self.folder, json.dumps(told))

    def last_synchronised(self) -> Synchronised | None:
        """What the last synchronisation that has ended did, wherever it ran; None where there was none."""
        return read_notes(self.folder)

    def follows(self) -> str:
        """The setting that the vectors follow, "" where none is known. Raises: StoreError."""
        with self._journal.view() as view:
            return "" if view is None else view.noted(SPEC)

    def outcomes(
        self,
        *,
        candidate: str | None = None,
        dimension: str | None = None,
        repository: str | None = None,
        since: float | None = None,
    ) -> Iterator[Outcome]:
        """Live outcomes for which all that is given holds, oldest first, read page by page.

        Raises: StoreError."""
        selection = Selection(candidate=candidate, dimension=dimension, repository=repository, since=since)
        after = 0
        while True:
            with self._journal.view() as view:
                rows = [] if view is None else list(view.rows(selection, after=after, limit=AT_ONCE))
            yield from (decode(row) for row in rows if row.sound)
            if len(rows) < AT_ONCE:
                return
            after = rows[-1].sequence

    def forget(
        self,
        *,
        ids: Sequence[str] = (),
        candidate: str | None = None,
        repository: str | None = None,
        before: float | None = None,
    ) -> Forgotten:
        """Remove for good the outcomes for which all that is given holds; `before` is a Unix time.

        The checkpoint of evicted outcomes is corrected as far as it can tell them apart (see `Forgotten`),
        and the Chroma collection is built anew.

        Raises: UsageError when nothing is given; StoreError."""
        selection = Selection(ids=tuple(ids), candidate=candidate, repository=repository, before=before)
        if selection == Selection():
            raise UsageError(
                "What is to be forgotten?", hint="Give an id, a candidate, a repository or a time."
            )
        self._take_up()
        forgotten = self._journal.forget(selection)
        with mapped(self.folder):
            waiting = self._pending.drop(selection.fits)
            if forgotten.outcomes:
                snapshot.remove(self.folder)
                if not discard(self.folder):
                    self._tell("Another acr holds the Chroma collection; it forgets with the next run.")
        try:
            overwritten = self._journal.overwrite()
        except StoreError as error:
            overwritten = False
            self._tell(error.message)
        if not overwritten:
            self._tell("Free places of memory's file may still hold what was forgotten, until the next run.")
        if forgotten.outcomes:
            self.settle()
        return replace(forgotten, outcomes=forgotten.outcomes + waiting)

    def correct(self, run: str, *, because: str) -> int:
        """What passed in a run was wrong after all: it counts as failed from now on, and as a mistake of the
        verifier that let it pass. `because` says how that came to light. How many outcomes were corrected.

        Raises: StoreError."""
        self._take_up()
        signal = Signal(name="wrongly_accepted", value=1.0, weight=0.0, note=because)
        return self._journal.correct(Selection(run=run), signal)

    def accepted(self) -> dict[tuple[str, str], Accepted]:
        """By kind of verifier and candidate: what passed, and what of it wrongly. Raises: StoreError."""
        with self._journal.view() as view:
            return {} if view is None else view.accepted()

    def ahead(self) -> Ahead:
        """A process that will be quick to settle, started now. Raises: OSError where none can be."""
        return Ahead(self.folder, self._decay)

    def settle(self, ahead: Ahead | None = None) -> None:
        """Bring what is built from the journal up to date: the snapshot and the Chroma collection.

        `ahead` does it if it still can, and is gone afterwards. `settled` says what became of it; nothing is
        raised for it."""
        self._take_up()
        with suppress(StoreError):  # the next settling tries again
            self._journal.overwrite()
        self.settled = settle_apart(self.folder, self._decay, ahead)

    def close(self) -> None:
        """Let go of the files; the next use opens them again."""
        self._journal.close()

    # --- reading ----------------------------------------------------------------------------------

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        """As `Store.neighbours`. Raises: StoreError."""
        with self._lock, self._journal.view() as view:
            if view is None:
                return ()
            for _ in range(2):
                self._learned.follow(view)
                hits = self._learned.vectors.nearest(vector, embedder, k=k, threshold=threshold)
                rows = [(hit, row) for hit in hits if (row := view.row(hit.sequence)) and row.sound]
                if all(alike(row.vector, vector, hit.similarity) for hit, row in rows):
                    break
                self._learned.distrust()
            return tuple(_neighbour(decode(row._replace(vector=b"")), hit.similarity) for hit, row in rows)

    def tallies(self) -> tuple[Tally, ...]:
        """As `Store.tallies`. Raises: StoreError."""
        with self._lock, self._journal.view() as view:
            if view is None:
                return ()
            self._learned.follow(view)
            return self._learned.tallies(self._clock())

    def get(self, id_: str) -> Outcome | None:
        """The live outcome of this id, or None where there is none or it is damaged. Raises: StoreError."""
        found = self.list(limit=1, ids=(id_,))
        return found[0] if found else None

    def list(
        self,
        limit: int = 20,
        *,
        ids: Sequence[str] = (),
        candidate: str | None = None,
        repository: str | None = None,
        dimension: str | None = None,
        verdict: str | None = None,
        before: float | None = None,
        since: float | None = None,
    ) -> tuple[Outcome, ...]:
        """Live outcomes for which all that is given holds, the latest kept first. Raises: StoreError."""
        selection = Selection(
            ids=tuple(ids),
            candidate=candidate,
            repository=repository,
            dimension=dimension,
            verdict=verdict,
            before=before,
            since=since,
        )
        with self._journal.view() as view:
            if view is None:
                return ()
            sound = (row for row in view.newest(selection) if row.sound)
            return tuple(decode(row) for row in islice(sound, limit))

    def stats(
        self,
        *,
        candidate: str | None = None,
        dimension: str | None = None,
        repository: str | None = None,
        since: float | None = None,
        adjusted: Mapping[str, tuple[float, float, float]] | None = None,
    ) -> MemoryStats:
        """All that `acr memory stats` shows, of the outcomes for which all that is given holds.

        `adjusted` is the success of each candidate at equal difficulty: mean, low, high. Neither Chroma nor
        numpy is loaded. Raises: StoreError."""
        selection = Selection(candidate=candidate, dimension=dimension, repository=repository, since=since)
        with self._journal.view() as view:
            if view is None:
                narrowed = selection != Selection()
                return MemoryStats(bound=self._bound, now=self._clock(), narrowed=narrowed)
            everything = [(row.sound, row._replace(vector=b"")) for row in view.newest(selection)]
            rows = [row for sound, row in reversed(everything) if sound]
            folded = view.checkpoint(selection)
            embedder = view.embedder()
            damaged = len(everything) - len(rows) + view.damaged_and_evicted()
            collection = state(self.folder, view)
        sums = joined(folded, count(rows, self._decay), self._decay)
        known = {name: Interval(mean=m, low=a, high=b) for name, (m, a, b) in (adjusted or {}).items()}
        return MemoryStats(
            outcomes=len(rows),
            evicted=sum(entry.outcomes for entry in folded.values()),
            damaged=damaged,
            bound=self._bound,
            bytes=_bytes_below(self.folder),
            embedder=embedder,
            total_usd=sum(entry.cost_usd for entry in sums.values()),
            total_seconds=sum(entry.seconds for entry in sums.values()),
            oldest=min((row.time for row in rows), default=None),
            newest=max((row.time for row in rows), default=None),
            now=self._clock(),
            models=group_by(sums, lambda key: key.candidate),
            dimensions=group_by(sums, lambda key: key.dimension),
            pairs=pairs(sums),
            adjusted={name: known[name] for name in sorted(known) if candidate in (None, name)},
            narrowed=selection != Selection(),
            collection=collection,
            **self._compared(rows, candidate, adjusted or {}),
        )

    @staticmethod
    def _compared(
        rows: Sequence[Row], candidate: str | None, adjusted: Mapping[str, tuple[float, float, float]]
    ) -> dict[str, Any]:
        """What needs whole steps: the learning curve, and what other ways would have cost."""
        if candidate is not None:
            partly = Saved(reason="a step may hold outcomes of several models")
            return {"saved": partly, "saved_cheapest": partly}
        steps = routed(decode(row) for row in rows)
        return {
            "curve": learning_curve(steps),
            "saved": saved(steps, strongest(steps, adjusted)),
            "saved_cheapest": saved(steps, cheapest(steps)),
        }


def _neighbour(outcome: Outcome, similarity: float) -> Neighbour:
    return Neighbour(
        id=outcome.id,
        similarity=similarity,
        candidate=outcome.candidate,
        passed=outcome.passed,
        u=outcome.u,
        cost_usd=outcome.cost_usd,
        text=outcome.text,
    )


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except OSError:  # gone meanwhile
            continue
    return total
