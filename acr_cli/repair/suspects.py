"""Where the defect is: suspicion of every line, from what failing and passing tests run.

Ochiai (Abreu, Zoeteweij, van Gemund 2007):
s(line) = failed(line) / sqrt(failed * (failed(line) + passed(line))).
To it come the failures' tracebacks, lines that only failing tests run, and lines that run at import only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

Lines = Mapping[str, Sequence[int]]
"""Executed lines by path."""

DEEPEST, FRAME, ONLY_FAILING = 1.6, 1.2, 1.15
IMPORTED = 0.15


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One test: its lines, and for a failing one its traceback (path, line), outermost first."""

    lines: Lines
    frames: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspicion:
    """Suspicion in [0, about 2] by path and line."""

    scores: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def of(self, path: str, lines: Iterable[int]) -> float:
        """The highest suspicion of some lines."""
        known = self.scores.get(path, {})
        return max((known.get(line, 0.0) for line in lines), default=0.0)

    def paths(self) -> tuple[str, ...]:
        """Files with a suspicious line, the most suspicious first."""
        return tuple(sorted(self.scores, key=lambda path: -max(self.scores[path].values(), default=0.0)))


def suspect(failing: Sequence[Run], passing: Sequence[Run], imported: Lines) -> Suspicion:
    """Suspicion from the failing runs, the passing ones, and the lines that run at import. Pure."""
    failed = _counts(run.lines for run in failing)
    passed = _counts(run.lines for run in passing)
    scores: dict[str, dict[int, float]] = {}
    for (path, line), hits in failed.items():
        others = passed.get((path, line), 0)
        score = hits / sqrt(len(failing) * (hits + others))
        if not others and passing:
            score *= ONLY_FAILING
        scores.setdefault(path, {})[line] = score
    for path, lines in imported.items():
        for line in lines:
            scores.setdefault(path, {}).setdefault(line, IMPORTED)
    for run in failing:
        own = [frame for frame in run.frames if frame in failed]
        for place, (path, line) in enumerate(dict.fromkeys(reversed(own))):
            factor = DEEPEST if place == 0 else FRAME
            base = failed[path, line] / sqrt(
                len(failing) * (failed[path, line] + passed.get((path, line), 0))
            )
            scores[path][line] = max(scores[path][line], base * factor)
    return Suspicion(scores=scores)


def _counts(runs: Iterable[Lines]) -> dict[tuple[str, int], int]:
    counts: dict[tuple[str, int], int] = {}
    for lines in runs:
        for path, numbers in lines.items():
            for number in numbers:
                counts[path, number] = counts.get((path, number), 0) + 1
    return counts
