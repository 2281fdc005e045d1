"""The journal: the truth of memory, an append-only SQLite file in WAL mode.

A write is on the disk when `append` returns. The journal holds at most `bound` outcomes, first in, first out:
the transaction that adds one folds the numbers of those that leave into the checkpoint, so that at every
moment checkpoint + live rows = all that was learnt. Ids of evicted outcomes are kept as 64-bit hashes, lest
one be counted again. Rows with a wrong checksum are set aside: counted as damaged, and otherwise not there.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import RLock

from acr_cli.errors import StoreError
from acr_cli.memory.encoding import Row, clean, decode, reencoded, unpack
from acr_cli.memory.exchange import base_id, content_of
from acr_cli.memory.schema import BUSY_SECONDS, is_held, mapped, open_for_reading, open_for_writing
from acr_cli.memory.sums import Decay, Key, Sums, count
from acr_cli.memory.view import CHECKPOINT, COLUMNS, MISTAKES, SUMS, Selection, View, hash_of, sum_of
from acr_cli.records import Signal

KEYED = " AND ".join(f"{name} = ?" for name in Key._fields)
TRIES = 3  # of emptying the log, each of which waits for readers as long as a writer would
REMNANTS = "remnants"  # the note that forgotten rows may still be in free places
HELD_SECONDS = 1.0  # how long is waited for a process that did not let go of the journal before
FOLD_AT_ONCE = 500  # rows in memory while many are evicted


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten:
    """What `forget` removed: live outcomes, and evicted ones from the checkpoint.

    `mixed` evicted outcomes could not be told apart from newer ones, and stay as numbers."""

    outcomes: int = 0
    evicted: int = 0
    mixed: int = 0


class Journal:
    """The file, and the one connection to it that this process holds. Threads take turns.

    Another process that holds it is waited for `patience` seconds, once; after that `HELD_SECONDS`."""

    def __init__(self, path: Path, *, bound: int, decay: Decay, patience: float = BUSY_SECONDS) -> None:
        self.path = path
        self._bound = bound
        self._decay = decay
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self._process = os.getpid()
        self.patience = patience

    @contextmanager
    def view(self) -> Iterator[View | None]:
        """A read transaction, or None where there is no journal, and then no file is made.

        Raises: StoreError."""
        with self._lock, self._mapped():
            connection = self._open(write=False)
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                yield View(connection)
            finally:
                connection.execute("COMMIT")

    def append(self, row: Row) -> bool:
        """Keep a row, durably. False when its id has been kept before, and then nothing changes.

        Raises: StoreError when it could not be kept."""
        with self._writing() as connection:
            added = _insert(connection, row)
            if added:
                _change_live(connection, 1)
                _evict(connection, self._bound, self._decay)
            return added

    def take_in(self, rows: Sequence[Row]) -> int:
        """Keep rows from elsewhere, all in one transaction; how many are new.

        One whose id belongs to another outcome here gets an id of its own, the same each time.

        Raises: StoreError, and then none was kept."""
        added = 0
        with self._writing() as connection:
            for row in rows:
                added += _insert(connection, _renamed(connection, row))
            if added:
                _change_live(connection, added)
                _evict(connection, self._bound, self._decay)
        return added

    def note(self, name: str, value: str, *, unless_known: bool = False) -> None:
        """Keep a word about the journal. Raises: StoreError."""
        either = "IGNORE" if unless_known else "REPLACE"
        with self._writing() as connection:
            connection.execute(f"INSERT OR {either} INTO meta VALUES (?, ?)", (name, value))  # noqa: S608

    def stage(self, vectors: Mapping[int, bytes], embedder: str) -> None:
        """Keep new vectors by sequence until all are there. Raises: StoreError."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO reindexed VALUES (?, ?, ?)",
                [(sequence, embedder, vector) for sequence, vector in vectors.items()],
            )

    def swap(self, embedder: str, lacks: Callable[[Row], bool], notes: Mapping[str, str]) -> int | None:
        """Let the staged vectors of an embedder take the place of the old ones, all at once; how many.

        None, and nothing is changed, while there are rows that lack one and are not staged.

        Raises: StoreError."""
        query = (
            f"SELECT {', '.join(f'outcomes.{name}' for name in Row._fields)}, reindexed.vector"  # noqa: S608
            " FROM outcomes LEFT JOIN reindexed ON reindexed.sequence = outcomes.sequence"
            " AND reindexed.embedder = ? WHERE outcomes.embedder <> ? OR length(outcomes.vector) = 0"
        )
        swapped = 0
        with self._writing() as connection:
            found = connection.execute(query, (embedder, embedder)).fetchall()
            if any(vector is None and lacks(Row._make(cells)) for *cells, vector in found):
                return None
            for *cells, vector in found:
                row = Row._make(cells)
                if vector is None or not row.sound:
                    continue
                fresh = reencoded(row, vector=unpack(vector), embedder=embedder)
                names = ", ".join(f"{name} = ?" for name in Row._fields[1:])
                values = (*fresh[1:], row.sequence)
                connection.execute(f"UPDATE outcomes SET {names} WHERE sequence = ?", values)  # noqa: S608
                swapped += 1
            connection.execute("DELETE FROM reindexed")
            for name, value in notes.items():
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
            if swapped:
                connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return swapped

    def correct(self, selection: Selection, because: Signal) -> int:
        """Turn live outcomes that passed into failures, as it came to light that they were accepted wrongly;
        how many. Each is counted for its kind of verifier and its candidate, durably, also after eviction.

        Raises: StoreError."""
        if not self.path.exists():
            return 0
        condition, values = replace(selection, verdict="passed").where()
        wrong: Counter[tuple[str, str]] = Counter()
        with self._writing() as connection:
            query = f"SELECT {COLUMNS} FROM outcomes WHERE {condition}"  # noqa: S608
            rows = [row for row in map(Row._make, connection.execute(query, values)) if row.sound]
            for row in rows:
                signals = (*decode(row).signals, because)
                fresh = reencoded(row, verdict="failed", signals=signals)
                names = ", ".join(f"{name} = ?" for name in Row._fields[1:])
                change = f"UPDATE outcomes SET {names} WHERE sequence = ?"  # noqa: S608
                connection.execute(change, (*fresh[1:], row.sequence))
                if row.teaches:
                    wrong[row.verifier, row.candidate] += 1
            if rows:
                connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
                _count_mistakes(connection, wrong)
        return len(rows)

    def told(self, selection: Selection) -> None:
        """The team knows that these were forgotten. Raises: StoreError."""
        with self._writing() as connection:
            connection.execute("DELETE FROM withdrawn WHERE selection = ?", (json.dumps(asdict(selection)),))

    def forget(self, selection: Selection) -> Forgotten:
        """Remove a selection for good; what is left of it in free places of the file goes with `overwrite`.

        The checkpoint knows candidate, repository and dimension, and of time only the newest; a selection by
        id or verdict leaves it alone.

        Raises: StoreError."""
        if not self.path.exists():
            return Forgotten()
        with self._writing(secure=True) as connection:
            condition, values = selection.where()
            chosen = f"FROM outcomes WHERE {condition}"
            ids = [(hash_of(id_),) for (id_,) in connection.execute(f"SELECT id {chosen}", values)]
            # Those that come back from elsewhere unasked stay forgotten.
            connection.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", ids)
            if not selection.since and not selection.dimension and not selection.verdict:
                told = json.dumps(asdict(selection))
                connection.execute("INSERT OR IGNORE INTO withdrawn VALUES (?)", (told,))
            live = connection.execute(f"DELETE {chosen}", values).rowcount
            connection.execute("DELETE FROM reindexed WHERE sequence NOT IN (SELECT sequence FROM outcomes)")
            _change_live(connection, -live)
            evicted, mixed = (0, 0) if selection.ids or selection.verdict else _unfold(connection, selection)
            if live or evicted:
                connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, hex(randomblob(8)))", (REMNANTS,))
        return Forgotten(outcomes=live, evicted=evicted, mixed=mixed)

    def overwrite(self) -> bool:
        """Write the file anew where something was forgotten since that was last done, and empty the log.

        Erasing rows is not enough: as they grow, trees of pages leave copies of rows in places that are free
        again. False where readers keep the log from being emptied; it is done again by the next call.

        Raises: StoreError."""
        with self.view() as view:
            noted = "" if view is None else view.noted(REMNANTS)
        if not noted:
            return True
        with self._lock, self._mapped():
            connection = self._open(write=True)
            assert connection is not None  # noqa: S101 - only a reader is told that there is none
            connection.execute("VACUUM")
            # Readers that look just now keep the log from being emptied; they are done in a moment.
            for _ in range(TRIES):
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:
                    # Unless another process has forgotten something meanwhile.
                    connection.execute("DELETE FROM meta WHERE name = ? AND value = ?", (REMNANTS, noted))
                    return True
        return False

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _writing(self, *, secure: bool = False) -> Iterator[sqlite3.Connection]:
        with self._lock, self._mapped():
            connection = self._open(write=True)
            assert connection is not None  # noqa: S101 - only a reader is told that there is none
            connection.execute(f"PRAGMA secure_delete = {'ON' if secure else 'OFF'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk has rolled it back already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """As `mapped`; who has waited in vain opens the file again, and waits for less."""
        try:
            with mapped(self.path):
                yield
        except StoreError as error:
            if is_held(error.__cause__):
                self.patience = min(self.patience, HELD_SECONDS)
                self.close()
            raise

    def _open(self, *, write: bool) -> sqlite3.Connection | None:
        if self._process != os.getpid():  # a connection does not survive a fork
            self._connection, self._process = None, os.getpid()
        if self._connection is not None and write and not self._writable:
            self.close()
        if self._connection is None:
            way = open_for_writing if write else open_for_reading
            self._connection, self._writable = way(self.path, self.patience), write
        return self._connection


def _count_mistakes(connection: sqlite3.Connection, wrong: Mapping[tuple[str, str], int]) -> None:
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (MISTAKES,)).fetchone()
    total = Counter({(verifier, name): n for verifier, name, n in json.loads(found[0] if found else "[]")})
    total.update(wrong)
    value = json.dumps([[*key, number] for key, number in sorted(total.items())])
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MISTAKES, value))


def _insert(connection: sqlite3.Connection, row: Row) -> bool:
    """False when the id is known already."""
    if connection.execute("SELECT 1 FROM evicted WHERE id = ?", (hash_of(row.id),)).fetchone():
        return False
    names, marks = ", ".join(Row._fields[1:]), ", ".join("?" * (len(Row._fields) - 1))
    query = f"INSERT INTO outcomes ({names}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING"  # noqa: S608
    return bool(connection.execute(query, row[1:]).rowcount)


def _renamed(connection: sqlite3.Connection, row: Row) -> Row:
    """The row under the id that it has here: its own, or another where that one is taken."""
    base = base_id(row.id)
    query = f"SELECT {COLUMNS} FROM outcomes WHERE id = ?"  # noqa: S608
    found = connection.execute(query, (base,)).fetchone()
    if found is None or not (known := Row._make(found)).sound:
        return row
    outcome = decode(row)
    content = content_of(outcome)
    id_ = base if content == content_of(decode(known)) else f"{base}~{content}"
    if id_ == row.id:
        return row
    return reencoded(row, id=id_)


def _change_live(connection: sqlite3.Connection, difference: int) -> None:
    connection.execute("UPDATE meta SET value = value + ? WHERE name = 'live'", (difference,))


def _evict(connection: sqlite3.Connection, bound: int, decay: Decay) -> None:
    """Fold the oldest rows above the bound into the checkpoint."""
    (live,) = connection.execute("SELECT value FROM meta WHERE name = 'live'").fetchone()
    excess = live - bound
    while excess > 0:
        query = f"SELECT {COLUMNS} FROM outcomes ORDER BY sequence LIMIT ?"  # noqa: S608
        rows = [Row._make(row) for row in connection.execute(query, (min(excess, FOLD_AT_ONCE),))]
        _fold(connection, count((row for row in rows if row.sound), decay), decay)
        damaged = sum(not row.sound for row in rows)
        connection.execute("UPDATE meta SET value = value + ? WHERE name = 'damaged'", (damaged,))
        connection.executemany(
            "INSERT OR IGNORE INTO evicted VALUES (?)", [(hash_of(row.id),) for row in rows]
        )
        connection.execute("DELETE FROM outcomes WHERE sequence <= ?", (rows[-1].sequence,))
        _change_live(connection, -len(rows))
        excess -= len(rows)


def _fold(connection: sqlite3.Connection, sums: Sums, decay: Decay) -> None:
    for key, fresh in sums.items():
        query = f"SELECT {CHECKPOINT} FROM checkpoint WHERE {KEYED}"  # noqa: S608
        found = connection.execute(query, key).fetchone()
        entry = fresh if found is None else sum_of(found)[1]
        if entry is not fresh:
            entry.add(fresh, decay)
        values = (*key, *(getattr(entry, name) for name in SUMS), json.dumps(asdict(entry.weights)))
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT OR REPLACE INTO checkpoint ({CHECKPOINT}) VALUES ({marks})", values)  # noqa: S608


def _unfold(connection: sqlite3.Connection, selection: Selection) -> tuple[int, int]:
    """Drop a selection from the checkpoint: how many outcomes left, and how many could not be told apart."""
    names: Sequence[str] = ("candidate", "repository", "dimension")
    given = {name: clean(value) for name in names if (value := getattr(selection, name)) is not None}
    condition = " AND ".join(["1", *(f"{name} = ?" for name in given)])
    old = float("inf") if selection.before is None else selection.before
    values = (*given.values(), old)
    total = "SELECT coalesce(sum(outcomes), 0) FROM checkpoint WHERE"
    (gone,) = connection.execute(f"{total} {condition} AND newest < ?", values).fetchone()
    (mixed,) = connection.execute(f"{total} {condition} AND newest >= ?", values).fetchone()
    connection.execute(f"DELETE FROM checkpoint WHERE {condition} AND newest < ?", values)  # noqa: S608
    if connection.execute("SELECT count(*) FROM checkpoint").fetchone() == (0,):
        connection.execute("DELETE FROM evicted")
    return int(gone), int(mixed)
