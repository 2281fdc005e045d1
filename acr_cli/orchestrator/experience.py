"""What tallies say, laid out for the trait and the sequential rule.

A pure function of the tallies: what is kept between two looks is only what has not changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from acr_cli.orchestrator.sequence import Seen
from acr_cli.orchestrator.trait import Evidence, Numbers
from acr_cli.records import SCORES, Tally

T = TypeVar("T")


@dataclass(kw_only=True, slots=True)
class Pattern:
    """One candidate after the same failures."""

    candidate: str
    after: tuple[str, ...]
    passed: float = 0.0
    failed: float = 0.0


@dataclass(kw_only=True, slots=True)
class Cell:
    """The tallies of a dimension in one language, or of all its languages."""

    tallies: dict[tuple[object, ...], Tally] = field(default_factory=dict)
    version: int = 0  # another one after every change
    _made: dict[str, Any] = field(default_factory=dict)

    def put(self, key: tuple[object, ...], tally: Tally, version: int) -> None:
        """Add a tally, or the present state of a known one."""
        self.tallies[key], self.version = tally, version
        self._made.clear()

    def kept(self, what: str, make: Callable[[], T]) -> T:
        """What `make` makes of the tallies, which is made once until they change."""
        if what not in self._made:
            self._made[what] = make()
        made: T = self._made[what]
        return made

    def patterns(self) -> list[Pattern]:
        """Verified outcomes, kinds of verifier taken together."""
        return self.kept("patterns", self._patterns)

    def after(self, situation: tuple[str, ...]) -> Sequence[Pattern]:
        """The patterns after exactly these failures, sorted by name."""
        return self.kept("situations", self._situations).get(situation, ())

    @property
    def tasks(self) -> float:
        """How many tasks were begun here."""
        return self.kept("tasks", self._tasks)

    def scored(self) -> Cell:
        """First attempts whose score is known."""
        return self.kept("scored", self._scored)

    def gains(self) -> dict[str, float]:
        """By voter, summed."""
        return self.kept("gains", self._gains)

    def _patterns(self) -> list[Pattern]:
        found: dict[tuple[str, tuple[str, ...]], Pattern] = {}
        for tally in self.tallies.values():
            if tally.passed or tally.failed:
                key = (tally.candidate, tally.failed_before)
                pattern = found.setdefault(key, Pattern(candidate=key[0], after=key[1]))
                pattern.passed += tally.passed
                pattern.failed += tally.failed
        return list(found.values())

    def _situations(self) -> dict[tuple[str, ...], list[Pattern]]:
        found: defaultdict[tuple[str, ...], list[Pattern]] = defaultdict(list)
        for pattern in self.patterns():
            found[pattern.after].append(pattern)
        return dict(found)

    def _tasks(self) -> float:
        return sum(t.passed + t.failed for t in self.tallies.values() if not t.failed_before)

    def _gains(self) -> dict[str, float]:
        total: defaultdict[str, float] = defaultdict(float)
        for tally in self.tallies.values():
            for voter, gain in tally.gains:
                total[voter] += gain
        return dict(total)

    def _scored(self) -> Cell:
        firsts = {k: t for k, t in self.tallies.items() if t.verifier == SCORES and not t.failed_before}
        return Cell(tallies=firsts)

    def sums(self, names: Sequence[str], of: str) -> Numbers:
        """A field of the tallies, summed by candidate."""
        total: defaultdict[str, float] = defaultdict(float)
        for tally in self.tallies.values():
            total[tally.candidate] += getattr(tally, of)
        return np.array([total[name] for name in names])

    def __bool__(self) -> bool:
        return bool(self.tallies)


class Experience:
    """The tallies by dimension and language. `look` takes the present ones; a cell that has not changed keeps
    its version."""

    def __init__(self) -> None:
        self._seen: tuple[Tally, ...] = ()
        self._cells: dict[str, dict[str, Cell]] = {}
        self._whole: dict[str, tuple[tuple[int, ...], Cell]] = {}
        self._changes = 0

    def look(self, tallies: tuple[Tally, ...]) -> None:
        """Take these tallies as all that is known."""
        if tallies is self._seen:
            return
        if not self._follow(tallies):
            self._cells = {}
            for tally in tallies:
                self._put(tally)
        self._seen = tallies

    def dimension(self, name: str) -> Cell:
        """All languages of a dimension together."""
        cells = self._cells.get(name, {})
        if len(cells) == 1:
            return next(iter(cells.values()))
        version, known = self.version(name), self._whole.get(name)
        if known is None or known[0] != version:
            tallies = {
                (language, *key): tally
                for language, cell in cells.items()
                for key, tally in cell.tallies.items()
            }
            known = self._whole[name] = (version, Cell(tallies=tallies))
        return known[1]

    def version(self, dimension: str) -> tuple[int, ...]:
        """Changes whenever anything of a dimension does."""
        return tuple(cell.version for cell in self._cells.get(dimension, {}).values())

    def cell(self, dimension: str, language: str) -> Cell:
        """One language of a dimension."""
        return self._cells.get(dimension, {}).get(language) or Cell()

    def gains(self) -> dict[str, float]:
        """By voter, how much likelier it has found what happened than all together (natural logarithm)."""
        total: defaultdict[str, float] = defaultdict(float)
        for cells in self._cells.values():
            for cell in cells.values():
                for voter, gain in cell.gains().items():
                    total[voter] += gain
        return dict(total)

    def _follow(self, tallies: tuple[Tally, ...]) -> bool:
        """Take over what has changed in place or was appended. False where more has changed."""
        if len(tallies) < len(self._seen):
            return False
        for known, present in zip(self._seen, tallies, strict=False):
            if known is not present and known != present:
                if _key(known) != _key(present) or known.dimension != present.dimension:
                    return False
                if known.language != present.language:
                    return False
                self._put(present)
        for present in tallies[len(self._seen) :]:
            self._put(present)
        return True

    def _put(self, tally: Tally) -> None:
        cell = self._cells.setdefault(tally.dimension, {}).setdefault(tally.language, Cell())
        self._changes += 1
        cell.put(_key(tally), tally, self._changes)


def evidence(
    patterns: Sequence[Pattern], *, names: Sequence[str], accepts: Numbers, rejects: float
) -> Evidence:
    """The patterns as arrays over these candidates, who include all that the patterns name; with the
    verifier's rates of false accepts (C) and false rejects. Pure."""
    place = {name: index for index, name in enumerate(names)}
    rows = {after: row for row, after in enumerate(dict.fromkeys(p.after for p in patterns))}
    situations = np.zeros((len(rows), len(names)))
    for after, row in rows.items():
        situations[row, [place[name] for name in after]] = 1.0
    return Evidence(
        names=tuple(names),
        situations=situations,
        situation=np.array([rows[p.after] for p in patterns], dtype=np.int64),
        who=np.array([place[p.candidate] for p in patterns], dtype=np.int64),
        passed=np.array([p.passed for p in patterns], dtype=np.float64),
        failed=np.array([p.failed for p in patterns], dtype=np.float64),
        false_accept=accepts,
        false_reject=rejects,
    )


def seen(
    patterns: Iterable[Pattern], names: Sequence[str], strength: float, gone: frozenset[str] = frozenset()
) -> Seen:
    """The patterns that name these candidates alone, after those who are gone, by set. Pure."""
    place = {name: index for index, name in enumerate(names)}
    known = [
        p
        for p in patterns
        if p.candidate in place
        and gone.issubset(p.after)
        and all(name in place or name in gone for name in p.after)
    ]
    return Seen(
        after=np.array([sum(1 << place[n] for n in p.after if n not in gone) for p in known], dtype=np.int64),
        who=np.array([place[p.candidate] for p in known], dtype=np.int64),
        passed=np.array([p.passed for p in known], dtype=np.float64),
        failed=np.array([p.failed for p in known], dtype=np.float64),
        strength=strength,
    )


def named(patterns: Iterable[Pattern]) -> list[str]:
    """All candidates of the patterns, in the order of their first mention. Pure."""
    return list(dict.fromkeys(name for p in patterns for name in (p.candidate, *p.after)))


def _key(tally: Tally) -> tuple[object, ...]:
    return (tally.candidate, tally.failed_before, tally.verifier)
