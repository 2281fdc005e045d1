"""What this process has learnt from the journal: sums by what a policy tells apart, and the vectors.

It begins with the snapshot and follows the journal by reading the rows that are new. Eviction changes no sum,
since what leaves the live rows is in the checkpoint; only its vectors go. After `forget`, or when rows came
and left unseen, all is read anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf
from pathlib import Path

from acr_cli.memory import snapshot
from acr_cli.memory.search import VectorIndex
from acr_cli.memory.sums import Decay, Key, Sum, Sums, key_of, parsed_names, tally
from acr_cli.memory.view import Span, View
from acr_cli.records import Tally

MOMENT = 60.0  # seconds: ages are taken at the last full minute, lest every look at memory discount all anew

_NONE = Tally(candidate="", dimension="")  # keeps a place until its tally is made


class Learned:
    """Whoever holds it makes its threads take turns."""

    def __init__(self, folder: Path, decay: Decay) -> None:
        self.vectors = VectorIndex()
        self._folder = folder
        self._decay = decay
        self._span = Span()
        self._sums: Sums = {}  # over live and evicted outcomes; the repository in their keys is ""
        self._place: dict[Key, int] = {}  # of its tally
        self._tallies: list[Tally] = []  # as of a moment, but for the keys that have changed since
        self._moment = -inf
        self._changed: set[Key] = set()

    def follow(self, view: View) -> None:
        """Learn what this and other processes have appended, evicted and forgotten."""
        span = view.span()
        if not self._span.leads_to(span):
            self._begin(view, span)
        if span.first > self._span.first:
            self.vectors.drop_before(span.first)
        for row in view.rows(after=self._span.last):
            if not row.sound:
                continue
            self._sum(key_of(row)).count(row, self._decay)
            if row.teaches:
                self.vectors.add(row.sequence, row.embedder, row.vector)
        self._span = span

    def tallies(self, now: float) -> tuple[Tally, ...]:
        """One tally a key, sorted by dimension, candidate, language, verifier and who had failed before."""
        moment = now // MOMENT * MOMENT
        changed: Iterable[Key] = self._changed
        if moment != self._moment:
            changed, self._moment = self._sums, moment
        if len(self._place) != len(self._sums):
            known = {key: self._tallies[place] for key, place in self._place.items()}
            order = sorted(self._sums, key=lambda key: (*key[:4], parsed_names(key.failed_before)))
            self._place = {key: place for place, key in enumerate(order)}
            self._tallies = [known.get(key, _NONE) for key in order]
        for key in changed:
            self._tallies[self._place[key]] = tally(key, self._sums[key], moment, self._decay)
        self._changed.clear()
        return tuple(self._tallies)

    def distrust(self) -> None:
        """Begin anew, without the snapshot, which has shown to be damaged."""
        self._forget_all()
        with suppress(OSError):
            snapshot.remove(self._folder)

    def save(self) -> None:
        """Write the snapshot. Raises: OSError."""
        snapshot.write(
            self._folder,
            snapshot.Snapshot(span=self._span, sums=self._sums, vectors=self.vectors),
            self._decay,
        )

    def _begin(self, view: View, span: Span) -> None:
        """With the snapshot if it leads to this span, else with the checkpoint."""
        self._forget_all()
        if (kept := snapshot.read(self._folder, self._decay)) and kept.span.leads_to(span):
            self._span, self._sums, self.vectors = kept.span, kept.sums, kept.vectors
            self._changed.update(kept.sums)
            return
        self._span = Span(journal=span.journal, revision=span.revision)
        for key, entry in view.checkpoint().items():
            self._sum(key).add(entry, self._decay)

    def _forget_all(self) -> None:
        self.vectors.clear()
        self._sums, self._place, self._tallies = {}, {}, []
        self._changed.clear()
        self._span = Span()

    def _sum(self, key: Key) -> Sum:
        key = Key(*key[:-1], repository="")
        self._changed.add(key)
        if (entry := self._sums.get(key)) is None:
            entry = self._sums[key] = Sum()
        return entry
