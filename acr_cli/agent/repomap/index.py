"""What is known of every file: kept by content, found again by size, time and inode without reading.

One SQLite file serves all repositories. `content` holds what a text defines and uses, `file` which text a
path of a repository had when it was last looked at. A file that has the same size, time of change and inode
is not read; one that differs is hashed; only a text that was never seen before is parsed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acr_cli.agent.repomap.languages import language_of
from acr_cli.agent.repomap.reading import Row, digest_of, read_all
from acr_cli.agent.repomap.tags import LARGEST

_VERSION = 1  # of the schema and of what is read off a text
_SCHEMA = """
CREATE TABLE IF NOT EXISTS content (
    digest BLOB PRIMARY KEY, generated INT, definitions TEXT, defined BLOB, used BLOB, counts BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS generated ON content (digest) WHERE generated = 1;
CREATE TABLE IF NOT EXISTS file (
    root BLOB, path BLOB, size INT, mtime INT, inode INT, digest BLOB, PRIMARY KEY (root, path)
) WITHOUT ROWID;
"""
_FRESH = 2_000_000_000  # nanoseconds: a file may change again within the same tick of its clock
_MANY = 2_000  # files that take a while to read
_CHUNK = 500  # values in one statement
_SPARE = 50_000  # texts that no path has any more, and that are kept

Digests = Mapping[str, bytes]
"""Path -> digest of its content, in the order of the paths; only files that can be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scanned:
    """What a look at a repository found. `read` files were opened, `parsed` of them had to be understood."""

    digests: Digests
    read: int = 0
    parsed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a name is defined; `name` is its number (see `tags.number`), `text` the line, from 1."""

    name: int
    line: int
    text: str


class Index:
    """The index below `folder`; in memory where there is none or it cannot be written."""

    def __init__(
        self,
        folder: Path | None,
        *,
        clock: Callable[[], int] = time.time_ns,
        reading: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._reading = reading
        self._database = _open(folder / "maps.sqlite" if folder else None)

    def close(self) -> None:
        self._database.close()

    def scan(self, root: Path, paths: Sequence[str]) -> Scanned:
        """Look at these files of a tree; what is new is read and kept."""
        name = os.fsencode(root)
        known = self._known(name)
        digests: dict[str, bytes] = {}
        changed: dict[str, os.stat_result] = {}
        place = os.fspath(root)
        for path in paths:
            status = _status(f"{place}/{path}") if language_of(path) else None
            if status is None:
                continue
            row = known.get(path)
            if row is not None and row[:3] == (status.st_size, status.st_mtime_ns, status.st_ino):
                digests[path] = row[3]
            else:
                digests[path] = b""  # holds the place
                changed[path] = status
        parsed = self._take_in(root, changed, digests) if changed else 0
        if changed:
            self._keep_files(name, changed, digests, gone=known.keys() - set(paths))
        return Scanned(
            digests={path: digest for path, digest in digests.items() if digest},
            read=len(changed),
            parsed=parsed,
        )

    def look(self, root: Path, paths: Sequence[str]) -> dict[str, bytes]:
        """The digests of these files, read without asking when they last changed; of a passing copy."""
        place = os.fspath(root)
        digests = {p: b"" for p in paths if language_of(p) and _status(f"{place}/{p}") is not None}
        self._take_in(root, tuple(digests), digests)
        return {path: digest for path, digest in digests.items() if digest}

    def names(self, digests: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
        """(digest, names defined, names used, counts) of these contents, as `reading.Row` has them."""
        wanted = list(dict.fromkeys(digests))
        query = "SELECT digest, defined, used, counts FROM content"
        if len(wanted) > self._count() // 4:  # one walk is faster than many questions
            asked = set(wanted)
            yield from (row for row in self._database.execute(query) if row[0] in asked)
            return
        for chunk in _chunks(wanted):
            marks = ",".join("?" * len(chunk))
            yield from self._database.execute(f"{query} WHERE digest IN ({marks})", chunk)

    def definitions(self, digest: bytes) -> tuple[Place, ...]:
        """What a content defines, in its order; of a generated one nothing."""
        row = self._database.execute(
            "SELECT definitions, defined FROM content WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            return ()
        numbers: array[int] = array("q", row[1])
        return tuple(
            Place(name=name, line=line, text=text)
            for name, (line, text) in zip(numbers, json.loads(row[0]), strict=True)
        )

    def generated(self, digests: Digests) -> frozenset[str]:
        """The paths whose content says that a program wrote it."""
        rows = self._database.execute("SELECT digest FROM content WHERE generated = 1")
        found = {row[0] for row in rows}
        return frozenset(path for path, digest in digests.items() if digest in found)

    def _known(self, root: bytes) -> dict[str, tuple[int, int, int, bytes]]:
        query = "SELECT path, size, mtime, inode, digest FROM file WHERE root = ?"
        rows = self._database.execute(query, (root,))
        return {
            str(path, "utf-8", "surrogateescape"): (size, mtime, inode, digest)
            for path, size, mtime, inode, digest in rows
        }

    def _take_in(self, root: Path, changed: Iterable[str], digests: dict[str, bytes]) -> int:
        """Fill in the digests of changed files, and read what was never seen before; how many were parsed."""
        if self._count():  # else all of it is new, and its readers hash it
            for path in changed:
                digests[path] = _hashed(root, path)
            seen = self._seen({digests[path] for path in changed})
            new = {digests[path]: path for path in changed if digests[path] and digests[path] not in seen}
            unread = dict.fromkeys(new.values())
        else:
            unread = dict.fromkeys(changed)
        parsed = len(unread)
        if parsed >= _MANY:
            self._reading(parsed)
        rows: list[Row] = []
        for path, row in read_all(root, tuple(unread)):
            del unread[path]
            digests[path] = row.digest
            rows.append(row)
            if len(rows) >= 2000:
                self._keep_contents(rows)
                rows = []
        for path in unread:  # a text that breaks its grammar defines nothing, and is not tried again
            if digest := _hashed(root, path):
                digests[path] = digest
                rows.append(Row(digest=digest))
        self._keep_contents(rows)
        return parsed

    def _count(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM content").fetchone()[0])

    def _seen(self, digests: Collection[bytes]) -> set[bytes]:
        """Those of the contents that are known."""
        query = "SELECT digest FROM content WHERE digest"
        found: set[bytes] = set()
        for chunk in _chunks(list(digests)):
            marks = ",".join("?" * len(chunk))
            rows = self._database.execute(f"{query} IN ({marks})", chunk)
            found.update(row[0] for row in rows)
        return found

    def _keep_contents(self, rows: Sequence[Row]) -> None:
        values = [(r.digest, r.generated, r.definitions, r.defined, r.used, r.counts) for r in rows]
        with self._database:
            self._database.executemany("INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?, ?, ?)", values)

    def _keep_files(
        self, root: bytes, changed: Mapping[str, os.stat_result], digests: Digests, gone: Iterable[str]
    ) -> None:
        # A file that was changed just now may change again without another time: it is looked at again.
        settled = self._clock() - _FRESH
        rows = [
            (root, _encoded(path), status.st_size, status.st_mtime_ns, status.st_ino, digests[path])
            for path, status in changed.items()
            if digests[path] and status.st_mtime_ns < settled
        ]
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._database.executemany(
                "DELETE FROM file WHERE root = ? AND path = ?", [(root, _encoded(path)) for path in gone]
            )
        if rows:
            self._prune()

    def _prune(self) -> None:
        """Forget repositories that are gone, and texts that no path has any more, where these are many."""
        texts, paths = self._database.execute(
            "SELECT (SELECT count(*) FROM content), (SELECT count(*) FROM file)"
        ).fetchone()
        if texts > 2 * paths + _SPARE:
            roots = [row[0] for row in self._database.execute("SELECT DISTINCT root FROM file")]
            gone = [(root,) for root in roots if not Path(os.fsdecode(root)).is_dir()]
            with self._database:
                self._database.executemany("DELETE FROM file WHERE root = ?", gone)
                self._database.execute("DELETE FROM content WHERE digest NOT IN (SELECT digest FROM file)")


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _hashed(root: Path, path: str) -> bytes:
    """The digest of a file, b"" where it cannot be read."""
    try:
        return bytes.fromhex(digest_of(path, (root / path).read_bytes()))
    except OSError:
        return b""


def _status(path: str) -> os.stat_result | None:
    """The status of a file that is to be read: a regular one, of a size that people write."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= LARGEST else None


def _open(path: Path | None) -> sqlite3.Connection:
    """The database; a broken one is made anew, and one that cannot be had is in memory."""
    for place in (path, path, None):
        try:
            return _connect(place)
        # What is damaged may stand in the words of SQLite's own error, and be no text.
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if place is None:
                raise
            if not isinstance(error, sqlite3.OperationalError):
                for suffix in ("", "-wal", "-shm"):
                    place.with_name(place.name + suffix).unlink(missing_ok=True)
        except OSError:
            continue
    raise AssertionError("unreachable: a database in memory can be had")


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = sqlite3.connect(path or ":memory:", timeout=10.0)
    try:
        if path is not None:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")  # all of it can be read again
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if version != _VERSION:
            database.executescript(
                f"DROP TABLE IF EXISTS content; DROP TABLE IF EXISTS file; PRAGMA user_version = {_VERSION};"
            )
        database.executescript(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _chunks(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))
