"""The journal at one moment: where it stands, what a selection means, and all that can be read of it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acr_cli.memory.encoding import Row, clean
from acr_cli.memory.sums import Key, Sum, Sums, Weights
from acr_cli.records import Outcome

COLUMNS = ", ".join(Row._fields)
SUMS = ("passed", "failed", "outcomes", "cost_usd", "seconds", "u", "graded", "newest")
MISTAKES = "mistakes"  # the note of how many outcomes were corrected, by verifier and candidate
CHECKPOINT = ", ".join((*Key._fields, *SUMS, "weights"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where the journal stands. But for a new `revision`, rows are only appended, and evicted in order."""

    journal: str = ""  # identity of the file, for what is built from it
    revision: int = 0
    first: int = 0  # sequence of the oldest live row; 0 when there is none
    last: int = 0

    def leads_to(self, later: Span) -> bool:
        """Whether all that came between is still live."""
        same = (self.journal, self.revision) == (later.journal, later.revision)
        return same and self.first <= later.first <= self.last + 1 and self.last <= later.last


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """What a verifier let pass of one candidate's work."""

    passed: int = 0  # the wrong ones included
    wrongly: int = 0  # as came to light later


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which outcomes are meant: those for which all that is given holds."""

    ids: tuple[str, ...] = ()
    candidate: str | None = None
    repository: str | None = None
    before: float | None = None  # Unix time; older ones are meant
    since: float | None = None  # Unix time; this old or younger ones are meant
    dimension: str | None = None
    verdict: str | None = None
    run: str | None = None

    def where(self) -> tuple[str, list[object]]:
        """An SQL condition over `outcomes` and its values."""
        terms, values = ["1"], list[object]()
        if self.ids:
            terms.append(f"id IN ({', '.join('?' * len(self.ids))})")
            values += [clean(one) for one in self.ids]
        for name in ("candidate", "repository", "dimension", "verdict", "run"):
            if (value := getattr(self, name)) is not None:
                terms.append(f"{name} = ?")
                values.append(clean(value))
        if self.before is not None:
            terms.append("time < ?")
            values.append(self.before)
        if self.since is not None:
            terms.append("time >= ?")
            values.append(self.since)
        return " AND ".join(terms), values

    def fits(self, outcome: Outcome) -> bool:
        """Whether an outcome is meant. Pure."""
        return (
            (not self.ids or outcome.id in self.ids)
            and all(
                value is None or value == getattr(outcome, name)
                for name in ("candidate", "repository", "dimension", "verdict", "run")
                for value in [getattr(self, name)]
            )
            and (self.before is None or outcome.time < self.before)
            and (self.since is None or outcome.time >= self.since)
        )


class View:
    """The journal at one moment: one read transaction, over all that was committed before it began."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def span(self) -> Span:
        meta = dict(self._connection.execute("SELECT name, value FROM meta"))
        first, last = self._connection.execute(
            "SELECT (SELECT min(sequence) FROM outcomes), (SELECT max(sequence) FROM outcomes)"
        ).fetchone()
        return Span(journal=meta["journal"], revision=meta["revision"], first=first or 0, last=last or 0)

    def rows(self, selection: Selection | None = None, *, after: int = 0, limit: int = -1) -> Iterator[Row]:
        """Live rows above a sequence, oldest first, damaged ones included; no limit if it is negative."""
        condition, values = (selection or Selection()).where()
        query = (
            f"SELECT {COLUMNS} FROM outcomes WHERE sequence > ? AND {condition}"  # noqa: S608
            " ORDER BY sequence LIMIT ?"
        )
        yield from map(Row._make, self._connection.execute(query, (after, *values, limit)))

    def row(self, sequence: int) -> Row | None:
        query = f"SELECT {COLUMNS} FROM outcomes WHERE sequence = ?"  # noqa: S608
        found = self._connection.execute(query, (sequence,)).fetchone()
        return None if found is None else Row._make(found)

    def newest(self, selection: Selection) -> Iterator[Row]:
        """Live rows of a selection, newest first, damaged ones included."""
        condition, values = selection.where()
        query = f"SELECT {COLUMNS} FROM outcomes WHERE {condition} ORDER BY sequence DESC"  # noqa: S608
        yield from map(Row._make, self._connection.execute(query, values))

    def embedder(self) -> str:
        """The key of the newest outcome that has a vector, if there are any of the newest own one, or ""."""
        for own in ("origin = '' AND", ""):
            found = self._connection.execute(
                f"SELECT embedder FROM outcomes WHERE {own} length(vector) > 0"  # noqa: S608
                " ORDER BY sequence DESC LIMIT 1"
            ).fetchone()
            if found is not None:
                return str(found[0])
        return ""

    def vectors(self, embedder: str, *, after: int) -> int:
        """How many outcomes above a sequence have a vector of this embedder."""
        query = "SELECT count(*) FROM outcomes WHERE sequence > ? AND embedder = ? AND length(vector) > 0"
        (number,) = self._connection.execute(query, (after, embedder)).fetchone()
        return int(number)

    def checkpoint(self, selection: Selection = Selection()) -> Sums:
        """The sums over evicted outcomes: all, or of a candidate, a dimension, a repository.

        Their times are not known: a selection by time, id or verdict has none."""
        if selection.since is not None or selection.before is not None or selection.ids or selection.verdict:
            return {}
        condition, values = selection.where()
        rows = self._connection.execute(f"SELECT {CHECKPOINT} FROM checkpoint WHERE {condition}", values)  # noqa: S608
        return dict(map(sum_of, rows))

    def accepted(self) -> dict[tuple[str, str], Accepted]:
        """By kind of verifier and candidate: how many outcomes passed, and how many of these wrongly."""
        right = (
            "SELECT verifier, candidate, sum(number) FROM ("
            " SELECT verifier, candidate, count(*) AS number FROM outcomes"
            "  WHERE verdict = 'passed' AND NOT shared GROUP BY verifier, candidate"
            " UNION ALL SELECT verifier, candidate, sum(passed) FROM checkpoint GROUP BY verifier, candidate"
            ") GROUP BY verifier, candidate"
        )
        found = {(kind, name): Accepted(passed=int(n)) for kind, name, n in self._connection.execute(right)}
        for kind, name, wrong in json.loads(self.noted(MISTAKES) or "[]"):
            passed = found.get((kind, name), Accepted()).passed + wrong
            found[kind, name] = Accepted(passed=passed, wrongly=wrong)
        return found

    def noted(self, name: str) -> str:
        """A word kept about the journal, or ""."""
        found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return "" if found is None else str(found[0])

    def staged(self, embedder: str) -> set[int]:
        """Sequences for which a new vector of this embedder waits."""
        query = "SELECT sequence FROM reindexed WHERE embedder = ?"
        return {sequence for (sequence,) in self._connection.execute(query, (embedder,))}

    def own(self, *, after: int) -> int:
        """How many own outcomes there are above a sequence."""
        query = "SELECT count(*) FROM outcomes WHERE sequence > ? AND origin = ''"
        (number,) = self._connection.execute(query, (after,)).fetchone()
        return int(number)

    def withdrawn(self) -> tuple[Selection, ...]:
        """What was forgotten here and may still be with the team."""
        rows = self._connection.execute("SELECT selection FROM withdrawn").fetchall()
        told = [json.loads(text) for (text,) in rows]
        return tuple(Selection(**one | {"ids": tuple(one["ids"])}) for one in told)

    def unknown(self, ids: Sequence[str]) -> list[str]:
        """Those that are not here, never were and were not forgotten."""
        query = (
            "SELECT (SELECT 1 FROM outcomes WHERE id = ?) OR (SELECT 1 FROM evicted WHERE id = ?)"
            " OR (SELECT 1 FROM forgotten WHERE id = ?)"
        )
        return [
            id_
            for id_ in ids
            if self._connection.execute(query, (clean(id_), hash_of(id_), hash_of(id_))).fetchone() != (1,)
        ]

    def damaged_and_evicted(self) -> int:
        """How many damaged rows have left."""
        (number,) = self._connection.execute("SELECT value FROM meta WHERE name = 'damaged'").fetchone()
        return int(number)


def sum_of(row: tuple[Any, ...]) -> tuple[Key, Sum]:
    """A row of the checkpoint."""
    cut = len(Key._fields)
    numbers = dict(zip(SUMS, row[cut:-1], strict=True))
    return Key(*row[:cut]), Sum(**numbers, weights=Weights(**json.loads(row[-1])))


def hash_of(id_: str) -> int:
    return int.from_bytes(hashlib.blake2b(str(id_).encode(), digest_size=8).digest(), "big", signed=True)
