"""Memory: the store of outcomes, joined from the journal, the search over its vectors and the collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

from acr_cli.errors import StoreError, UsageError
from acr_cli.memory.collection import JOURNAL, settle_apart, state
from acr_cli.memory.encoding import Row, decode, encode
from acr_cli.memory.journal import Forgotten, Journal, Selection
from acr_cli.memory.learned import Learned
from acr_cli.memory.savings import Saved, cheapest, saved, strongest
from acr_cli.memory.stats import Interval, MemoryStats, group_by, pairs
from acr_cli.memory.steps import learning_curve, routed
from acr_cli.memory.sums import Decay, count, joined
from acr_cli.records import Neighbour, Outcome, Tally


class Memory:
    """The `Store` under HOME/memory. Any number of processes may hold one; threads may share one.

    `bound` live outcomes are kept. Without `store_text` new outcomes are kept without their text, which makes
    it impossible to embed them again. After `half_life_days` an outcome counts half in `tallies`; None or 0
    forgets nothing. What an evicted outcome has lost by then stays lost when the half-life is made longer.
    `clock` gives Unix time. Reading makes no file where there is none."""

    def __init__(
        self,
        home: Path,
        *,
        bound: int = 20_000,
        store_text: bool = True,
        half_life_days: float | None = None,
        clock: Callable[[], float] = time.time,
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
        self._journal = Journal(self.folder / JOURNAL, bound=bound, decay=self._decay)
        self._lock = RLock()
        self._learned = Learned(self._decay)

    # --- writing ----------------------------------------------------------------------------------

    def remember(self, outcome: Outcome) -> None:
        """Keep an outcome, durably; one whose id was kept before changes nothing.

        Raises: StoreError when it could not be kept."""
        try:
            row = encode(outcome, store_text=self._store_text, now=self._clock())
        except ValueError as error:
            raise StoreError(
                f"The outcome {outcome.id} cannot be kept: {error}.", hint="Report this as a bug of acr."
            ) from error
        self._journal.append(row)

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
        forgotten = self._journal.forget(selection)
        if forgotten.outcomes:
            self.settle()
        return forgotten

    def settle(self) -> None:
        """Bring the Chroma collection up to date; `settled` says what became of it. Never raises for it."""
        self.settled = settle_apart(self.folder)

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
            self._learned.follow(view)
            found: list[Neighbour] = []
            for hit in self._learned.vectors.nearest(vector, embedder, k=k, threshold=threshold):
                row = view.row(hit.sequence)
                if row is not None:  # always so: what was evicted has left the index in this view
                    found.append(_neighbour(decode(row), hit.similarity))
            return tuple(found)

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
    ) -> tuple[Outcome, ...]:
        """Live outcomes for which all that is given holds, the latest kept first. Raises: StoreError."""
        selection = Selection(
            ids=tuple(ids),
            candidate=candidate,
            repository=repository,
            dimension=dimension,
            verdict=verdict,
            before=before,
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
                return MemoryStats(bound=self._bound, now=self._clock())
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
