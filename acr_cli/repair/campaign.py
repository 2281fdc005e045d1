"""The search itself: rounds of single changes in order of rank, pairs of partial improvements, the choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from acr_cli.repair.mutation import Mutation
from acr_cli.repair.rank import Ranked, interleave
from acr_cli.repair.select import preference
from acr_cli.repair.source import Source
from acr_cli.repair.wire import Driver, Result

FIRST_ROUND = 250  # candidates; small, so that an easy fix is found at once
LATER_ROUND = 1500
ROUND_SECONDS = 25.0
PAIRS = 300
AFTER_SUCCESS = (2.5, 120)  # seconds and candidates still tried for better ones, and to count alternatives
SHORT = 8  # changes short of the goal that are looked at again: whether they break what passed
SHORT_SECONDS = 15.0  # for the tests of each of them
SHORT_LIMIT = 5.0  # seconds in which all of them begin


def _nothing(tried: int) -> None:
    """Before a round: nothing to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A candidate that passes everything."""

    mutations: tuple[Mutation, ...]
    score: float  # preference, higher is better
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Short:
    """A change that makes some targets pass, not all of them, and breaks nothing that passed before."""

    mutation: Mutation
    passed: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What a candidate must do, and within which time."""

    targets: tuple[str, ...]
    must_pass: tuple[str, ...]
    timeout: float
    full_timeout: float


@dataclass(kw_only=True)
class Campaign:
    """One search. `fetch` yields ranked mutations of all files; nothing is written outside the session."""

    driver: Driver
    sources: Mapping[str, Source]
    goal: Goal
    deadline: float  # by `clock`
    clock: Callable[[], float] = time.monotonic
    before_round: Callable[[int], None] = _nothing
    tried: int = 0
    found: list[Found] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _partial: list[tuple[Ranked, frozenset[str]]] = field(default_factory=list)

    def run(self, ranked: Sequence[Ranked]) -> tuple[Found, ...]:
        """Search until something passes, or candidates or time run out. What passes, best first."""
        queue = self._fresh(interleave(ranked))
        size = FIRST_ROUND
        while not self.found and self.clock() < self.deadline:
            batch = list(islice(queue, size))
            if not batch:
                self._round(self._pairs())
                break
            self._round([((r,), key) for r, key in batch])
            if not self.found and self.clock() < self.deadline:
                self._round(self._pairs())
            size = LATER_ROUND
        best: dict[str, Found] = {}
        for one in sorted(self.found, key=lambda f: -f.score):
            best.setdefault(one.key, one)
        return tuple(best.values())

    def short(self) -> Short | None:
        """After a search that found nothing: the single change that comes nearest, if one breaks nothing.

        It may run longer than the deadline, by about `SHORT_SECONDS` and a little at most."""
        nearest = sorted(self._partial, key=lambda entry: (-len(entry[1]), -self._worth(entry[0])))[:SHORT]
        most = [entry for entry in nearest if entry[1] == nearest[0][1]]
        if not most:
            return None
        results = self.driver.try_out(
            [(number, [ranked.mutation]) for number, (ranked, _) in enumerate(most)],
            targets=sorted(most[0][1]),
            must_pass=self.goal.must_pass,
            timeout=self.goal.timeout,
            full_timeout=min(self.goal.full_timeout, SHORT_SECONDS),
            limit=SHORT_LIMIT,
            after=AFTER_SUCCESS,
        )
        whole = sorted(result.number for result in results if result.full)
        return Short(mutation=most[whole[0]][0].mutation, passed=most[0][1]) if whole else None

    def _worth(self, ranked: Ranked) -> float:
        return preference(ranked, self.sources[ranked.mutation.path])

    def _fresh(self, queue: Iterator[Ranked]) -> Iterator[tuple[Ranked, str]]:
        """Those that compile and mean something not tried yet."""
        for ranked in queue:
            key = self.meaning(ranked.mutation)
            if key is not None and key not in self._seen:
                self._seen.add(key)
                yield ranked, key

    def meaning(self, mutation: Mutation) -> str | None:
        """Its top-level statement, normalised; None if it does not compile or is no change."""
        source = self.sources[mutation.path]
        start, end = top_level_span(source, mutation.start, mutation.end)
        piece = source.text[start : mutation.start] + mutation.text + source.text[mutation.end : end]
        key = source.table.normalise(piece)
        if key is None or key == source.table.normalise(source.text[start:end]):
            return None
        return f"{mutation.path}:{start}:{key}"

    def _round(self, batch: Sequence[tuple[tuple[Ranked, ...], str]]) -> None:
        if not batch:
            return
        self.before_round(self.tried)
        results = self.driver.try_out(
            [(number, [r.mutation for r in parts]) for number, (parts, _) in enumerate(batch)],
            targets=self.goal.targets,
            must_pass=self.goal.must_pass,
            timeout=self.goal.timeout,
            full_timeout=self.goal.full_timeout,
            limit=max(1.0, min(ROUND_SECONDS, self.deadline - self.clock())),
            after=AFTER_SUCCESS,
        )
        self.tried += len(results)
        for result in results:
            self._note(result, *batch[result.number])
        done = {result.number for result in results}
        # A round that ran out of time leaves candidates for the next one.
        left = [entry for number, entry in enumerate(batch) if number not in done]
        if left and not self.found and self.clock() < self.deadline:
            self._round(left)

    def _note(self, result: Result, parts: tuple[Ranked, ...], key: str) -> None:
        if result.full:
            # Below the least likely member's worth, and yet the likelier of two partners wins.
            score = 1.0 / sum(1.0 / max(self._worth(r), 1e-9) for r in parts)
            self.found.append(Found(mutations=tuple(r.mutation for r in parts), score=score, key=key))
        elif result.passed and len(parts) == 1:
            self._partial.append((parts[0], result.passed))

    def _pairs(self) -> list[tuple[tuple[Ranked, ...], str]]:
        """Two partial improvements each that fix more together than either alone, likely ones first."""
        pool = sorted(self._partial, key=lambda entry: (-len(entry[1]), -entry[0].score))[:120]
        pairs: list[tuple[int, float, tuple[Ranked, ...], str]] = []
        for place, (one, fixed) in enumerate(pool):
            for other, also in pool[place + 1 :]:
                key = f"{one.mutation}+{other.mutation}"
                more = fixed | also
                if more in (fixed, also) or key in self._seen or _overlap(one.mutation, other.mutation):
                    continue
                pairs.append((len(more), one.score * other.score, (one, other), key))
        pairs.sort(key=lambda entry: (-entry[0], -entry[1]))
        chosen = [(parts, key) for _, _, parts, key in pairs[:PAIRS]]
        self._seen.update(key for _, key in chosen)
        return chosen


def _overlap(one: Mutation, other: Mutation) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def top_level_span(source: Source, start: int, end: int) -> tuple[int, int]:
    """The bytes of the module's own statements that a span touches, whole lines."""
    first, last = start, end
    for child in source.tree.root_node.named_children:
        if child.start_byte <= end and child.end_byte >= start:
            first, last = min(first, child.start_byte), max(last, child.end_byte)
    first = source.text.rfind(b"\n", 0, first) + 1
    newline = source.text.find(b"\n", last)
    return first, len(source.text) if newline < 0 else newline + 1
