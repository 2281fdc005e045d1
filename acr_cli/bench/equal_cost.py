"""Differences of mean score at equal cost, with intervals from a paired bootstrap over tasks.

Let our policy reach the mean score S for the mean cost C a task. *At equal cost* a rival is what follows; in
a mix a task goes to one policy with probability w and otherwise to the other, which one may do.

- Cheaper, and scoring no more: the mix, costing C, of it with the next better one: of those that score more
  than it and cost more than C, the one that scores least. Where there is none, it alone.
- Dearer, and scoring more: the mix, costing C, of it with the next worse one: of those that score less than
  it and cost at most C, the one that scores most; where there is none, with handing in nothing for nothing.
- No dearer, and scoring more: it alone.
- Dearer, and scoring no more: it alone. It is dominated; the difference stands although it had more money.
- A curve (one name with several parameters, as ladder:1 and ladder:10, called "ladder:*"): the best of its
  points that cost at most C and of the mixes of two points, or of one with nothing, that cost C. Where all
  of its points are dearer and score no more: the best of them alone, which is dominated.
- "all": the same over all rivals. No mix of what took part is harder to beat.

What is mixed is decided once, on all tasks. In every resample the share w is set anew, within [0, 1], so that
costs are equal there. Tasks are resampled, each with all that happened on it; its score and cost are means
over the seeds, so that the spread over orders is no part of the interval. Where there are more than 10,000
tasks, 5,000 groups of them, put together at random, are resampled in their place: the variance of the mean
stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acr_cli.bench.metrics import Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

RESAMPLES = 10_000
LEVEL = 95.0  # percent
ALL = "all"
NOTHING = "nothing"
MOST_TASKS = 10_000  # that are resampled one by one
GROUPS = 5_000
_CHUNK = 4_000_000  # draws held at once


@dataclass(frozen=True, kw_only=True, slots=True)
class Versus:
    """Ours minus the rival's, at equal cost, in points of AvgPerf."""

    rival: str
    difference: float
    low: float
    high: float
    word: str  # "better" | "worse" | "tie", which is where the interval holds zero
    against: str  # what was run at our cost: "ladder:1", "72 % ladder:1, 28 % ladder:10"
    dominated: bool  # the rival alone cost more and scored no more


@dataclass(frozen=True, slots=True)
class _Opponent:
    first: int  # columns of the players; the last column is nothing for nothing
    second: int  # equal to `first` for a policy alone
    dominated: bool = False


def family(name: str) -> str:
    """A policy's name without its parameter. Pure."""
    return name.partition(":")[0]


def resampled(values: Numbers, *, resamples: int = RESAMPLES, seed: int = 0) -> Numbers:
    """B x P means of a T x P table over tasks drawn with replacement; seeded, in chunks. Pure."""
    rng = np.random.default_rng([seed, 3])
    sums = np.column_stack([values, np.ones(len(values))])
    if len(values) > MOST_TASKS:
        order = rng.permutation(len(values))
        starts = np.linspace(0, len(values), GROUPS, endpoint=False).astype(np.int64)
        sums = np.add.reduceat(sums[order], starts, axis=0)
    units = len(sums)
    rows = max(1, _CHUNK // units)
    means = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = rng.integers(0, units, (size, units)) + np.arange(size)[:, None] * units
        counts = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        totals = counts.astype(np.float64) @ sums
        means[start : start + size] = totals[:, :-1] / totals[:, -1:]
    return means


def interval(values: Numbers) -> tuple[float, float]:
    """The central 95 % of resampled values. Pure."""
    low, high = np.percentile(values, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def word(low: float, high: float) -> str:
    """How a difference with this interval is called. Pure."""
    if low > 0:
        return "better"
    return "worse" if high < 0 else "tie"


class Field:
    """All who took part, on the same tasks, and their resampled means."""

    def __init__(self, summaries: Sequence[Summary]) -> None:
        self._names = [one.policy for one in summaries]
        nothing = np.zeros(len(summaries[0].score))
        table = np.column_stack(
            [*(one.score for one in summaries), nothing, *(one.cost for one in summaries), nothing]
        )
        both, self._count = table.mean(axis=0), len(summaries) + 1
        self._score, self._cost = 100 * both[: self._count], both[self._count :]
        means = resampled(table)
        self._scores, self._costs = 100 * means[:, : self._count], means[:, self._count :]

    def own_interval(self, name: str) -> tuple[float, float]:
        """Of a policy's AvgPerf by itself."""
        return interval(self._scores[:, self._names.index(name)])

    def versus(self, name: str) -> list[Versus]:
        """The policy against every other one, every curve, and all of them together."""
        ours = self._names.index(name)
        others = [place for place, one in enumerate(self._names) if family(one) != family(name)]
        found = []
        for one in dict.fromkeys(family(self._names[place]) for place in others):
            members = [place for place in others if family(self._names[place]) == one]
            if len(members) > 1:
                found.append(self._difference(ours, f"{one}:*", self._curve(ours, members)))
            found += [
                self._difference(ours, self._names[place], self._alone(ours, place, others))
                for place in members
            ]
        if len(others) > 1:
            found.append(self._difference(ours, ALL, self._curve(ours, others)))
        return found

    def _alone(self, ours: int, rival: int, others: Sequence[int]) -> _Opponent:
        score, cost = self._score, self._cost
        if cost[rival] > cost[ours]:
            if score[rival] <= score[ours]:
                return _Opponent(rival, rival, dominated=True)
            cheaper = [p for p in others if score[p] < score[rival] and cost[p] <= cost[ours]]
            partner = max(cheaper, key=lambda p: (score[p], -cost[p]), default=self._count - 1)
            return _Opponent(rival, partner)
        if score[rival] > score[ours]:
            return _Opponent(rival, rival)
        better = [p for p in others if cost[p] > cost[ours] and score[p] > score[rival]]
        partner = min(better, key=lambda p: (score[p], cost[p]), default=rival)
        return _Opponent(rival, partner)

    def _curve(self, ours: int, members: Sequence[int]) -> _Opponent:
        score, cost = self._score, self._cost
        below = [p for p in members if cost[p] <= cost[ours]]
        above = [p for p in members if cost[p] > cost[ours]]
        best = max(members, key=lambda p: score[p])
        if not below and score[best] <= score[ours]:
            return _Opponent(best, best, dominated=True)
        below.append(self._count - 1)
        options = [_Opponent(p, p) for p in below] + [_Opponent(p, q) for p in below for q in above]
        return max(options, key=lambda o: self._mixed(score, cost, ours, o))

    def _mixed(self, score: Numbers, cost: Numbers, ours: int, opponent: _Opponent) -> float:
        share = self._share(cost, ours, opponent)
        mixed = share * score[opponent.first] + (1 - share) * score[opponent.second]
        return float(mixed)

    @staticmethod
    def _share(cost: Numbers, ours: int, opponent: _Opponent) -> Numbers:
        """Of tasks that go to the first; the players are the last axis of `cost`."""
        if opponent.first == opponent.second:
            return np.ones(cost.shape[:-1])
        gap = cost[..., opponent.first] - cost[..., opponent.second]
        wanted = (cost[..., ours] - cost[..., opponent.second]) / np.where(gap == 0, 1.0, gap)
        return np.clip(np.where(gap == 0, 1.0, wanted), 0.0, 1.0)

    def _difference(self, ours: int, rival: str, opponent: _Opponent) -> Versus:
        share = self._share(self._costs, ours, opponent)
        first, second = opponent.first, opponent.second
        theirs = share * self._scores[:, first] + (1 - share) * self._scores[:, second]
        low, high = interval(self._scores[:, ours] - theirs)
        return Versus(
            rival=rival,
            difference=float(self._score[ours]) - self._mixed(self._score, self._cost, ours, opponent),
            low=low,
            high=high,
            word=word(low, high),
            against=self._label(float(self._share(self._cost, ours, opponent)), opponent),
            dominated=opponent.dominated,
        )

    def _label(self, share: float, opponent: _Opponent) -> str:
        names = [*self._names, NOTHING]
        if opponent.first == opponent.second or share == 1:
            return names[opponent.first]
        return (
            f"{100 * share:.0f} % {names[opponent.first]}, {100 * (1 - share):.0f} % {names[opponent.second]}"
        )
