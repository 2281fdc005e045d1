"""The Chroma collection: what the journal holds, for people and other tools to query.

It is built from the journal and can be thrown away at any time. Several writers silently corrupt a Chroma
index, even with a lock around each write while their clients live on; so each settling, under one lock, opens
the collection, checks it (its count and a few probe queries), adds what is missing, deletes what was evicted,
and closes it. What is wrong in any way is deleted and built anew, a limited number of outcomes at a time, so
that nobody waits long. A damaged index can hang or kill the process that reads it: settling therefore runs in
a child process, see `apart`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli.memory import chroma, snapshot
from acr_cli.memory.encoding import Row, clean, decode
from acr_cli.memory.journal import Journal
from acr_cli.memory.learned import Learned
from acr_cli.memory.schema import FILE_MODE, FOLDER_MODE
from acr_cli.memory.stats import CollectionState
from acr_cli.memory.sums import Decay
from acr_cli.memory.view import Span, View

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

NAME = "outcomes"
JOURNAL = "journal.sqlite3"
FOLDER = "chroma"
LOCK = "collection.lock"
NOTES = "synced.json"  # beside Chroma's own files, so that they are lost together
BATCH = 250
RENEWED = 200  # rows read by each new process are few against its start
LIMIT = 2_000  # outcomes added in one settling
PROBES = 16
PROBE_DISTANCE = 1e-3  # cosine distance of a vector from itself, rounding included
PAGE = 1_000  # ids asked of Chroma at once; it fails on very many
LOCK_SECONDS = 60.0
FORGETS_NOTHING = Decay()


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """How far the collection follows the journal."""

    journal: str = ""
    revision: int = 0
    embedder: str = ""  # its vectors are of one embedder, that of the newest outcome
    sequence: int = 0  # of the last outcome looked at
    count: int = 0
    adding: int = 0  # of a batch that may be in, in part; 0 between batches
    removing: int = 0  # of a batch that may be gone, in part


def discard(folder: Path) -> bool:
    """Take the collection away, as what is in it was forgotten; False where another process holds it.

    Raises: OSError."""
    from filelock import FileLock, Timeout

    if not (folder / FOLDER).exists():
        return True
    try:
        with FileLock(folder / LOCK, timeout=LOCK_SECONDS, mode=FILE_MODE):
            shutil.rmtree(folder / FOLDER)
    except Timeout:
        return False
    return True


def state(folder: Path, view: View) -> CollectionState:
    """What the collection's notes say, against the journal."""
    notes, span, embedder = read_notes(folder), view.span(), view.embedder()
    if notes is None:
        return CollectionState(behind=view.vectors(embedder, after=0))
    fresh = Synced(journal=span.journal, revision=span.revision, embedder=embedder)
    behind = view.vectors(embedder, after=notes.sequence)
    if not _same_source(notes, fresh):
        return CollectionState(state="stale", documents=notes.count, behind=behind)
    return CollectionState(state="behind" if behind else "current", documents=notes.count, behind=behind)


def read_notes(folder: Path) -> Synced | None:
    """None where there are none, or none that can be read."""
    try:
        return Synced(**json.loads((folder / FOLDER / NOTES).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


# --- in the child process -------------------------------------------------------------------------


class _WrongCollectionError(Exception):
    """The collection is not what its notes say."""


def settle(folder: Path, decay: Decay = FORGETS_NOTHING, *, limit: int = LIMIT) -> str:
    """Bring snapshot and collection up to date in this process; one line for the user.

    At most `limit` outcomes are added. May raise or hang when the collection is damaged: see `apart`.

    Raises: StoreError when the journal cannot be read."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=0, mode=FILE_MODE)
    try:
        with lock:
            journal = Journal(folder / JOURNAL, bound=0, decay=decay)  # only read here
            try:
                with suppress(OSError):  # it only saves time
                    renew_snapshot(folder, journal, decay)
                return _settle(folder, journal, limit)
            finally:
                journal.close()
    except Timeout:
        return "another acr is filling the Chroma collection"


def renew_snapshot(folder: Path, journal: Journal, decay: Decay) -> bool:
    """Write the snapshot anew when many rows have come or gone since; whether it was. Raises: StoreError,
    OSError."""
    with journal.view() as view:
        if view is None:
            return False
        span, kept = view.span(), snapshot.read(folder, decay)
        if kept and kept.span.leads_to(span):
            moved = max(span.last - kept.span.last, span.first - kept.span.first)
            if moved < max(RENEWED, (span.last - span.first) // 20):
                return False
        learned = Learned(folder, decay)
        learned.follow(view)
    learned.save()
    return True


def _settle(folder: Path, journal: Journal, limit: int) -> str:
    with journal.view() as view:
        if view is None or not (embedder := view.embedder()):
            return "nothing to index yet"
        span = view.span()
        fresh = Synced(journal=span.journal, revision=span.revision, embedder=embedder)
        notes = read_notes(folder)
        follows = notes is not None and _same_source(notes, fresh)
        rows = _missing(view, notes.sequence if notes is not None and follows else 0, embedder, limit)
    if notes is not None and follows:
        try:
            return _update(folder, notes, span, rows, limit)
        except _WrongCollectionError:
            with journal.view() as view:
                rows = [] if view is None else _missing(view, 0, embedder, limit)
    old = (folder / FOLDER).exists()
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    return _update(folder, fresh, span, rows, limit) + (", built anew" if old else "")


def _same_source(notes: Synced, fresh: Synced) -> bool:
    return all(getattr(notes, name) == getattr(fresh, name) for name in ("journal", "revision", "embedder"))


def _missing(view: View, after: int, embedder: str, limit: int) -> list[Row]:
    """What is to be added, and one more when that is not all."""
    wanted = (r for r in view.rows(after=after) if r.embedder == embedder and r.vector and r.sound)
    return list(islice(wanted, limit + 1))


def _update(folder: Path, notes: Synced, span: Span, rows: Sequence[Row], limit: int) -> str:
    """Check, add, delete, close. Raises: _WrongCollectionError, and what damage makes Chroma raise."""
    (folder / FOLDER).mkdir(mode=FOLDER_MODE, exist_ok=True)
    client = chroma.open_folder(folder / FOLDER)
    try:
        metadata = {"embedder": notes.embedder, "journal": notes.journal}
        collection = chroma.collection(client, NAME, metadata)
        notes = _checked(collection, notes)
        notes = _add(folder, collection, notes, rows[:limit])
        notes = _remove_evicted(folder, collection, notes, span.first)
    finally:
        chroma.close(client)
    waiting = ", more with the next run" if len(rows) > limit else ""
    return f"{notes.count} outcomes in the Chroma collection{waiting}"


def _checked(collection: Collection, notes: Synced) -> Synced:
    """The notes, their count made sure of. Raises: _WrongCollectionError."""
    count = collection.count()
    if not notes.count - notes.removing <= count <= notes.count + notes.adding:
        raise _WrongCollectionError
    _probe(collection, count)
    return replace(notes, count=count, removing=0) if notes.removing else notes


def _probe(collection: Collection, count: int) -> None:
    """Find a few outcomes, oldest to newest, by their own vectors. Raises: _WrongCollectionError."""
    import numpy as np

    # The newest are in Chroma's queue, the older ones in its index: either can be lost without the other.
    offsets = sorted({round(i * (count - 1) / (PROBES - 1)) for i in range(PROBES)}) if count else []
    vectors: Any = []
    for offset in offsets:
        held = collection.get(limit=1, offset=offset, include=["embeddings"])["embeddings"]
        if held is None or len(held) != 1:
            raise _WrongCollectionError
        vectors.append(np.asarray(held[0], dtype=np.float32))
    if not vectors:
        return
    near = collection.query(query_embeddings=vectors, n_results=1, include=["distances"])["distances"] or []
    found = sum(bool(distances) and abs(distances[0]) <= PROBE_DISTANCE for distances in near)
    # An approximate index may miss one now and then.
    if found < len(vectors) - len(vectors) // 8:
        raise _WrongCollectionError


def _add(folder: Path, collection: Collection, notes: Synced, rows: Sequence[Row]) -> Synced:
    import numpy as np

    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        _write_notes(folder, replace(notes, adding=len(batch)))
        vectors: Any = [np.frombuffer(row.vector, dtype="<f4").astype(np.float32) for row in batch]
        # An interrupted batch is in already, in part: to add it again would be refused, to renew it is not.
        collection.upsert(
            ids=[row.id for row in batch],
            embeddings=vectors,
            documents=[clean(decode(row).text) for row in batch],
            metadatas=[_metadata(row) for row in batch],
        )
        count = notes.count + len(batch)
        if collection.count() != count:
            raise _WrongCollectionError
        notes = replace(notes, sequence=batch[-1].sequence, count=count, adding=0)
        _write_notes(folder, notes)
    return notes


def _remove_evicted(folder: Path, collection: Collection, notes: Synced, first: int) -> Synced:
    evicted: dict[str, Any] = {"sequence": {"$lt": first}}
    while ids := collection.get(where=evicted, limit=PAGE, include=[])["ids"]:
        _write_notes(folder, replace(notes, removing=len(ids)))
        collection.delete(ids=ids)
        notes = replace(notes, count=notes.count - len(ids))
        _write_notes(folder, notes)
    return notes


def _metadata(row: Row) -> dict[str, str | int | float | bool]:
    outcome = decode(row)
    return {
        "sequence": row.sequence,
        "run": row.run,
        "step": row.step,
        "attempt": outcome.attempt,
        "kind": outcome.kind,
        "candidate": row.candidate,
        "dimension": row.dimension,
        "language": outcome.language,
        "repository": row.repository,
        "verdict": row.verdict,
        "teaches": row.teaches,
        "verifier": outcome.verifier,
        "u": row.u,
        "cost_usd": row.cost_usd,
        "seconds": row.seconds,
        "policy": outcome.policy,
        "propensity": float(outcome.propensity),
        "embedder": row.embedder,
        "time": row.time,
    }


def _write_notes(folder: Path, notes: Synced) -> None:
    path = folder / FOLDER / NOTES
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(notes)), encoding="utf-8")
    fresh.replace(path)
