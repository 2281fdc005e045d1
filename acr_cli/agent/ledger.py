"""What all runs together have spent, per day and month: one small file that every process reads and writes.

Before a call the most that it may cost is written down, and after it what it did cost. A process that is
killed in between leaves the most, which counts as spent. Days and months are those of the local calendar;
what is dated later than now, since the clock was set back, counts as well.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from acr_cli.errors import BudgetExhausted

_LOCK_SECONDS = 10.0
_KEPT_DAYS = 400.0
_KEPT_ENTRIES = 10_000  # also when older, should the clock be years ahead for a moment
_HINT = "Raise {name} (`acr config set {name} USD`), or wait for the next {period}."


class Ledger:
    """The file at `path`. Caps in USD, `math.inf` for none; `now` gives Unix time.

    Without a finite cap a file that cannot be used is as if there were none."""

    def __init__(
        self,
        path: Path,
        *,
        day: float = math.inf,
        month: float = math.inf,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._caps = {"day": day, "month": month}
        self._now = now
        self._open: dict[int, int] = {}  # thread -> its entry that is not settled yet

    @property
    def capped(self) -> bool:
        return any(math.isfinite(cap) for cap in self._caps.values())

    def spent(self) -> dict[str, float]:
        """USD since this "day" and this "month" began. Raises: BudgetExhausted where that is unknown."""
        with self._changing() as database:
            return self._sums(database)

    def remaining(self) -> float:
        """USD; `inf` without a cap. Raises: as `spent`."""
        if not self.capped:
            return math.inf
        spent = self.spent()
        return max(0.0, min(cap - spent[period] for period, cap in self._caps.items()))

    def check(self, usd: float) -> None:
        """Whether a call of this cost could be made now. Raises: BudgetExhausted."""
        if self.capped:
            for period, spent in self.spent().items():
                if spent + usd > self._caps[period]:
                    raise self._exhausted(period, spent, usd)

    def reserve(self, usd: float) -> None:
        """Write down the most that the next call of this thread may cost. Raises: BudgetExhausted."""
        me = threading.get_ident()
        try:
            with self._changing() as database:
                for period, spent in self._sums(database).items():
                    if spent + usd > self._caps[period]:
                        raise self._exhausted(period, spent, usd)
                values = (self._now(), usd)
                self._open[me] = int(
                    database.execute("INSERT INTO entry (at, usd) VALUES (?, ?)", values).lastrowid or 0
                )
        except BudgetExhausted:
            if self.capped:
                raise

    def settle(self, usd: float) -> None:
        """What the call of this thread has cost; nothing for one that was not reserved. Never raises.

        What is no amount leaves what was reserved."""
        entry = self._open.pop(threading.get_ident(), None)
        if entry is not None and math.isfinite(usd) and usd >= 0:
            with suppress(BudgetExhausted), self._changing() as database:
                database.execute("UPDATE entry SET usd = ? WHERE id = ?", (usd, entry))

    def _sums(self, database: sqlite3.Connection) -> dict[str, float]:
        query = "SELECT coalesce(sum(usd), 0) FROM entry WHERE at >= ?"
        day, month = _beginnings(self._now())
        return {
            "day": float(database.execute(query, (day,)).fetchone()[0]),
            "month": float(database.execute(query, (month,)).fetchone()[0]),
        }

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else's comes between. Raises: BudgetExhausted where none can be."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(
                sqlite3.connect(self._path, timeout=_LOCK_SECONDS, isolation_level=None)
            ) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN IMMEDIATE")
                columns = "id INTEGER PRIMARY KEY, at REAL, usd REAL"
                database.execute(f"CREATE TABLE IF NOT EXISTS entry ({columns})")
                database.execute(
                    "DELETE FROM entry WHERE at < ? AND id <= (SELECT max(id) FROM entry) - ?",
                    (self._now() - _KEPT_DAYS * 86400, _KEPT_ENTRIES),
                )
                yield database
                database.execute("COMMIT")
        # What is damaged may stand in the words of SQLite's own error, and be no text.
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise BudgetExhausted(
                f"What was spent before is unknown, since {self._path} cannot be used: {error}.",
                hint="Mend or remove that file; without max_cost_day and max_cost_month it is not needed.",
            ) from error

    def _exhausted(self, period: str, spent: float, usd: float) -> BudgetExhausted:
        return BudgetExhausted(
            f"The next call may cost ${usd:.4f}; ${spent:.4f} of ${self._caps[period]:g} for this {period}"
            " are spent.",
            hint=_HINT.format(name=f"max_cost_{period}", period=period),
        )


def ledger_file(home: Path) -> Path:
    return home / "spending.sqlite3"


def _beginnings(now: float) -> tuple[float, float]:
    """When the local day and month of a Unix time began."""
    today = time.localtime(now)
    day = time.mktime((today.tm_year, today.tm_mon, today.tm_mday, 0, 0, 0, 0, 0, -1))
    month = time.mktime((today.tm_year, today.tm_mon, 1, 0, 0, 0, 0, 0, -1))
    return day, month
