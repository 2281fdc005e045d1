"""From an older journal to the present one: numbered steps, each in one transaction.

A step that is interrupted has not happened, and the next opening takes it anew; two processes that open an
old journal at once take turns, and the second finds the work done. No step needs any code of a part that may
change: what a released version wrote stays readable by the lines below.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from typing import Any

Step = Callable[[sqlite3.Connection], None]

PAGE = 500  # rows in memory at once


def migrate(connection: sqlite3.Connection, target: int) -> None:
    """Bring the journal of an open connection, which must be in no transaction, to version `target`."""
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < target:
                STEPS[version + 1](connection)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if version >= target:
            return


# --- to version 2: what a policy that learns tells apart ------------------------------------------

ADDED_2 = (
    "language TEXT NOT NULL DEFAULT ''",
    "verifier TEXT NOT NULL DEFAULT 'tests'",
    "failed_before TEXT NOT NULL DEFAULT '[]'",
    "input_tokens INTEGER NOT NULL DEFAULT 0",
    "output_tokens INTEGER NOT NULL DEFAULT 0",
    "gains TEXT NOT NULL DEFAULT ''",
    "origin TEXT NOT NULL DEFAULT ''",
)
TABLES_2 = (
    "CREATE TABLE forgotten (id INTEGER PRIMARY KEY)",
    "CREATE TABLE withdrawn (selection TEXT PRIMARY KEY)",
    "CREATE TABLE reindexed (sequence INTEGER PRIMARY KEY, embedder TEXT NOT NULL, vector BLOB NOT NULL)",
)
CHECKPOINT_2 = """
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
) WITHOUT ROWID
"""
V1 = "id, run, step, time, candidate, dimension, repository, verdict, shared, u, cost_usd, seconds, embedder"
COVERED_2 = (
    "id, run, step, time, candidate, dimension, repository, language, verifier, failed_before, verdict,"
    " shared, u, cost_usd, seconds, input_tokens, output_tokens, gains, embedder, origin"
)


def _to_2(connection: sqlite3.Connection) -> None:
    """Language, verifier, who had failed before, tokens, gains and origin become columns; the checkpoint
    tells the first three apart from now on. Of what it has folded already they are not known, and of time
    only the newest."""
    for column in ADDED_2:
        connection.execute(f"ALTER TABLE outcomes ADD COLUMN {column}")
    last = 0
    while rows := connection.execute(
        f"SELECT sequence, {V1}, checksum, record, vector FROM outcomes"  # noqa: S608
        " WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (last, PAGE),
    ).fetchall():
        connection.executemany(
            "UPDATE outcomes SET language = :language, failed_before = :failed_before, verifier = :verifier,"
            " input_tokens = :input_tokens, output_tokens = :output_tokens, checksum = :checksum"
            " WHERE sequence = :sequence",
            [changed for row in rows if (changed := _row_to_2(row)) is not None],
        )
        last = rows[-1][0]
    connection.execute("ALTER TABLE checkpoint RENAME TO checkpoint_1")
    connection.execute(CHECKPOINT_2)
    old = connection.execute(
        "SELECT dimension, candidate, repository, passed, failed, outcomes, cost_usd, seconds, u, graded,"
        " newest FROM checkpoint_1"
    ).fetchall()
    for dimension, candidate, repository, *sums in old:
        key = (dimension, candidate, "", "tests", "[]", repository)
        connection.execute(
            f"INSERT INTO checkpoint VALUES ({', '.join('?' * 15)})",  # noqa: S608
            (*key, *sums, _weights_to_2(sums)),
        )
    connection.execute("DROP TABLE checkpoint_1")
    for table in TABLES_2:
        connection.execute(table)
    connection.execute("INSERT INTO meta SELECT 'live', count(*) FROM outcomes")


def _row_to_2(row: tuple[Any, ...]) -> Mapping[str, Any] | None:
    """The new cells of a sound row; a damaged one is left as it is, and stays damaged."""
    sequence, *covered, checksum, record, vector = row
    try:
        text = record.encode("utf-8")
        if checksum != zlib.crc32(vector, zlib.crc32(text, zlib.crc32(repr(tuple(covered)).encode()))):
            return None
        known = json.loads(record)
    except (TypeError, ValueError, AttributeError):
        return None
    cells = dict(zip(V1.split(", "), covered, strict=True)) | {
        "language": _plain(known.get("language", "")),
        "verifier": _plain(known.get("verifier", "tests")),
        "failed_before": json.dumps(sorted(_plain(name) for name in known.get("failed_before", ()))),
        "input_tokens": int(known.get("usage", {}).get("input_tokens", 0)),
        "output_tokens": int(known.get("usage", {}).get("output_tokens", 0)),
        "gains": "",
        "origin": "",
    }
    columns = repr(tuple(cells[name] for name in COVERED_2.split(", "))).encode()
    fresh = zlib.crc32(vector, zlib.crc32(text, zlib.crc32(columns)))
    return cells | {"sequence": sequence, "checksum": fresh}


def _plain(text: str) -> str:
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def _weights_to_2(sums: list[Any]) -> str:
    passed, failed, outcomes, cost_usd, seconds, _, _, newest = sums
    return json.dumps(
        {
            "at": newest,
            "passed": passed,
            "failed": failed,
            "cost_usd": cost_usd,
            "seconds": seconds,
            "count": outcomes,
        }
    )


STEPS: Mapping[int, Step] = {2: _to_2}
