"""Another embedder: every kept text is embedded anew, and the new vectors take over all at once.

New vectors are staged in the journal batch by batch, so that an interrupted reindexing goes on where it was;
until the swap, one transaction, the old vectors serve. Outcomes that came meanwhile are embedded before it.
An outcome without text keeps its old vector, which no query of the new embedder ever meets.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from acr_cli.memory.encoding import Row, decode, pack
from acr_cli.memory.journal import Journal
from acr_cli.protocols import Embedder

BATCH = 32  # texts embedded between two writes
SPEC = "embedder"  # under this name the journal notes which setting its vectors follow


@dataclass(frozen=True, kw_only=True, slots=True)
class Reindexed:
    """What came of it."""

    embedded: int  # outcomes that have changed their vector
    without_text: int  # that could not, and are not found by their meaning any more


def reindex(
    journal: Journal,
    embedder: Embedder,
    name: str,
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Reindexed:
    """Embed all that is kept with `embedder`, which the setting calls `name`; `progress` is told (done, all).

    Raises: StoreError, and what the embedder raises; then the old vectors go on serving."""

    def lacks(row: Row) -> bool:
        return row.sound and _has_text(row)

    while True:
        _stage(journal, embedder, lacks, progress)
        swapped = journal.swap(embedder.key, lacks, {SPEC: name})
        if swapped is not None:
            return Reindexed(embedded=swapped, without_text=_without_text(journal, embedder.key))


def _stage(
    journal: Journal,
    embedder: Embedder,
    lacks: Callable[[Row], bool],
    progress: Callable[[int, int], None],
) -> None:
    with journal.view() as view:
        if view is None:
            return
        staged = view.staged(embedder.key)
        behind = [row.sequence for row in view.rows() if not _follows(row, embedder.key) and lacks(row)]
    todo = [sequence for sequence in behind if sequence not in staged]
    for start in range(0, len(todo), BATCH):
        progress(len(behind) - len(todo) + start, len(behind))
        with journal.view() as view:
            found = [] if view is None else [view.row(sequence) for sequence in todo[start : start + BATCH]]
        rows = [row for row in found if row is not None and row.sound]
        vectors = embedder.embed([decode(row).text for row in rows])
        journal.stage({row.sequence: pack(v) for row, v in zip(rows, vectors, strict=True)}, embedder.key)
    progress(len(behind), len(behind))


def _without_text(journal: Journal, key: str) -> int:
    with journal.view() as view:
        if view is None:
            return 0
        return sum(row.sound and bool(row.vector) and not _follows(row, key) for row in view.rows())


def _follows(row: Row, key: str) -> bool:
    return row.embedder == key and bool(row.vector)


def _has_text(row: Row) -> bool:
    return bool(json.loads(row.record).get("text"))
