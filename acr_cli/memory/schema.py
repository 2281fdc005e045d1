"""The journal's tables, and how its file is opened: made once, migrated from an older version, refused when
a newer one wrote it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote

from acr_cli.errors import StoreError
from acr_cli.memory.migrations import migrate

VERSION = 2
"""Of the tables, as `PRAGMA user_version` holds it."""

BUSY_SECONDS = 30.0  # how long a writer waits for another one
FOLDER_MODE = 0o700
FILE_MODE = 0o600

TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE outcomes (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    time REAL NOT NULL,
    candidate TEXT NOT NULL,
    dimension TEXT NOT NULL,
    repository TEXT NOT NULL,
    verdict TEXT NOT NULL,
    shared INTEGER NOT NULL,
    u REAL NOT NULL,
    cost_usd REAL NOT NULL,
    seconds REAL NOT NULL,
    embedder TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    record TEXT NOT NULL,
    vector BLOB NOT NULL,
    language TEXT NOT NULL DEFAULT '',
    verifier TEXT NOT NULL DEFAULT 'tests',
    failed_before TEXT NOT NULL DEFAULT '[]',
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    gains TEXT NOT NULL DEFAULT '',
    origin TEXT NOT NULL DEFAULT ''
);
CREATE TABLE checkpoint (
    dimension TEXT NOT NULL,
    candidate TEXT NOT NULL,
    language TEXT NOT NULL,
    verifier TEXT NOT NULL,
    failed_before TEXT NOT NULL,
    repository TEXT NOT NULL,
    passed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    outcomes INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    seconds REAL NOT NULL,
    u REAL NOT NULL,
    graded INTEGER NOT NULL,
    newest REAL NOT NULL,
    weights TEXT NOT NULL,
    PRIMARY KEY (dimension, candidate, language, verifier, failed_before, repository)
) WITHOUT ROWID;
CREATE TABLE evicted (id INTEGER PRIMARY KEY);
CREATE TABLE forgotten (id INTEGER PRIMARY KEY);
CREATE TABLE withdrawn (selection TEXT PRIMARY KEY);
CREATE TABLE reindexed (sequence INTEGER PRIMARY KEY, embedder TEXT NOT NULL, vector BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('journal', lower(hex(randomblob(8)))), ('revision', 0), ('damaged', 0), ('live', 0);
PRAGMA user_version = 2;
COMMIT;
"""


def open_for_writing(path: Path, patience: float = BUSY_SECONDS) -> sqlite3.Connection:
    """The journal at `path`, made when there is none: folders 0700, files 0600. Another process that holds it
    is waited for as many seconds as `patience` says.

    Raises: StoreError."""
    with mapped(path):
        _make_file(path)
        connection = _connect(path, "mode=rw", patience)
        try:
            version = _version(connection, path)
            if version == 0:
                _create(connection, path)
            elif version < VERSION:
                migrate(connection, VERSION)
            _check(connection, path)
            # An acknowledged outcome is on the disk: FULL waits for it at every commit.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def open_for_reading(path: Path, patience: float = BUSY_SECONDS) -> sqlite3.Connection | None:
    """The journal at `path`, or None where there is none. Works in a folder that cannot be written, too.
    `patience` is as for writing.

    Raises: StoreError."""
    if not path.exists():
        return None
    with mapped(path):
        for flags in ("mode=rw", "mode=ro&immutable=1"):
            connection = _connect(path, flags, patience)
            try:
                version = _version(connection, path)
                if version:
                    connection.execute("SELECT count(*) FROM meta").fetchone()
                if 0 < version < VERSION:
                    connection = _migrated(connection)
            except sqlite3.OperationalError:
                connection.close()
                # Without the right to make the shared index, a journal at rest can still be read as it is.
                if flags != "mode=rw" or _has_log(path):
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                if version:
                    _check(connection, path)
                    return connection
                connection.close()  # another process is just about to make it
                return None
    return None


def _migrated(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The same journal at the present version; where it cannot be written, a copy of it in memory."""
    try:
        migrate(connection, VERSION)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
            raise
    else:
        return connection
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.backup(copy)
    connection.close()
    migrate(copy, VERSION)
    return copy


@contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Errors of SQLite and of the file system as `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(error, path) from error
    except UnicodeDecodeError as error:  # a damaged page stands in the words of SQLite's own error
        raise _store_error(sqlite3.DatabaseError("its schema is no text"), path, damaged=True) from error
    except OSError as error:
        raise StoreError(
            f"The memory at {path.parent} cannot be used: {error.strerror or error}.",
            hint="Check the folder's owner and permissions, or set ACR_HOME to a folder of your own.",
        ) from error


def _store_error(error: sqlite3.Error, path: Path, *, damaged: bool = False) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            f"The memory at {path} cannot grow: the disk is full.",
            hint="Free some space; nothing kept is lost.",
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreError(
            f"The memory at {path} cannot be written: {error}.",
            hint="Check the owner and permissions of the file and its folder, or set ACR_HOME.",
        )
    if is_held(error):
        return StoreError(
            f"The memory at {path} is held by another process.", hint="Wait for the other acr, or end it."
        )
    if damaged or code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        folder, aside = quote(str(path.parent)), quote(f"{path.parent}.damaged")
        # Not all of the folder: outcomes may wait there.
        return StoreError(
            f"The memory at {path} is damaged: {error}.",
            hint=f"Keep it and begin anew: mkdir {aside} && mv {folder}/journal.* {aside}",
        )
    return StoreError(f"The memory at {path} cannot be used: {error}.", hint="acr doctor looks closer.")


def is_held(error: BaseException | None) -> bool:
    """Whether another process held the journal for too long. Pure."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connect(path: Path, flags: str, patience: float) -> sqlite3.Connection:
    # Whoever holds the connection guards it with a lock of his own.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{flags}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    # Tables first: a writer makes them and the version at once, perhaps between these two lines.
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"The memory at {path} was written by a newer acr (schema {version}; this one knows {VERSION}).",
            hint="Upgrade acr, or set ACR_HOME to another folder. Nothing was changed.",
        )
    if version == 0 and not empty:
        raise StoreError(
            f"The file {path} is no memory of acr.", hint="Move it away, or set ACR_HOME to another folder."
        )
    return int(version)


_COUNTED = {"journal": str, "revision": int, "damaged": int, "live": int}


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Whether what all else relies on is there. Raises: StoreError, and then the connection is closed."""
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if not all(isinstance(meta.get(name), kind) for name, kind in _COUNTED.items()):
        connection.close()
        raise _store_error(sqlite3.DatabaseError("its counts are gone"), path, damaged=True)


def _make_file(path: Path) -> None:
    path.parent.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    # SQLite gives the files beside it the mode of this one. A file that exists is not opened here: to close
    # it again would drop the locks that other connections of this process hold on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))


def _create(connection: sqlite3.Connection, path: Path) -> None:
    from filelock import FileLock

    # Two processes that switch a new file to WAL at once get an error that no timeout waits for.
    with FileLock(path.with_name("journal.lock"), mode=FILE_MODE):
        if _version(connection, path) == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(TABLES)


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False
