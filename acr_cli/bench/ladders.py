"""Fixed ladders: try one model after the other until a verdict says "passed"; the best of all such orders.

What a ladder reaches depends on a task only through who is there, who passes and how often one may try. Tasks
that are alike in this are summed up before any order is looked at, so that a million tasks cost as much as a
few hundred. All orders are looked at while there are at most `EXHAUSTIVE` of them (8 models and 5 attempts:
8,800, shorter ones included); beyond, a beam keeps the `BEAM` best beginnings of each length, and the best
order may be missed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acr_cli.bench.replay import UNVERIFIABLE
from acr_cli.matrix import Matrix

Numbers = NDArray[np.float64]
Indexes = NDArray[np.int64]
Flags = NDArray[np.bool_]
EXHAUSTIVE = 50_000
BEAM = 500

Order = tuple[int, ...]  # columns of the matrix


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladders:
    """P ladders, the shorter ones first, and what each reaches on all tasks together."""

    orders: list[Order]  # P
    score: Numbers  # P sums of true scores
    cost: Numbers  # P sums of USD
    exhaustive: bool  # whether these are all orders that there are

    def best(self, lam: float) -> Order:
        """The order of the highest score - lam x cost; among equals the shortest. Pure."""
        return self.orders[int(np.argmax(self.score - lam * self.cost))]

    def best_within(self, usd: float) -> Order | None:
        """The order of the highest score among those that cost at most this in all; None: none does. Pure."""
        affordable = self.cost <= usd
        if not affordable.any():
            return None
        return self.orders[int(np.argmax(np.where(affordable, self.score, -np.inf)))]


@dataclass(frozen=True, kw_only=True, eq=False)
class Hindsight:
    """The best ladder of each group of tasks, and what all of them reach."""

    orders: Mapping[str, Order]  # by group; the only group is "" where none are told apart
    score: Numbers  # T true scores of the answers
    cost: Numbers  # T sums of USD
    exhaustive: bool


def best_in_hindsight(
    matrix: Matrix,
    passed: Flags,
    attempts: int,
    lam: float,
    *,
    groups: Sequence[str] | None = None,
    limits: Indexes | None = None,
) -> Hindsight:
    """The fixed ladder that would have had the highest sum of score - lam x cost, group by group. Pure.

    `passed` holds the T x M verdicts, `groups` a label a task, `limits` the attempts that each task allows
    (see `attempts_allowed`; without it every task allows `attempts`). The answer is the first accepted
    attempt, or the last one. A model that is not there for a task is passed over."""
    labels = np.asarray([""] * matrix.tasks if groups is None else list(groups), dtype=object)
    allowed = np.full(matrix.tasks, attempts) if limits is None else np.minimum(limits, attempts)
    score, cost = np.zeros(matrix.tasks), np.zeros(matrix.tasks)
    orders, exhaustive = {}, True
    for label in sorted(set(labels.tolist())):
        rows = np.flatnonzero(labels == label).tolist()
        part, verdicts = matrix.take(rows), passed[rows]
        found = ladders(part, verdicts, attempts, lams=(lam,), limits=allowed[rows])
        orders[label] = found.best(lam)
        exhaustive &= found.exhaustive
        score[rows], cost[rows] = play(part, verdicts, orders[label], limits=allowed[rows])
    return Hindsight(orders=orders, score=score, cost=cost, exhaustive=exhaustive)


def attempts_allowed(matrix: Matrix, attempts: int) -> Indexes:
    """T numbers of attempts: one where nothing can be executed. Pure."""
    unverifiable = matrix.dimensions.is_in(list(UNVERIFIABLE)).to_numpy()
    return np.where(unverifiable, 1, attempts).astype(np.int64)


def play(
    matrix: Matrix, passed: Flags, order: Order, *, limits: Indexes | None = None
) -> tuple[Numbers, Numbers]:
    """T scores and T costs in USD of one ladder. Pure."""
    there = matrix.available
    left = np.full(matrix.tasks, len(order)) if limits is None else limits.copy()
    score, cost = np.zeros(matrix.tasks), np.zeros(matrix.tasks)
    for column in order:
        tried = there[:, column] & (left > 0)
        score[tried] = matrix.score[tried, column]
        cost[tried] += matrix.cost[tried, column]
        left[tried] -= 1
        left[tried & passed[:, column]] = 0
    return score, cost


def ladders(
    matrix: Matrix,
    passed: Flags,
    attempts: int,
    *,
    lams: Sequence[float] = (0.1, 1.0, 10.0),
    limits: Indexes | None = None,
) -> Ladders:
    """All ladders of up to `attempts` models, or those that a beam for each of `lams` keeps. Pure."""
    width = len(matrix.models)
    longest = min(attempts, width)
    exhaustive = sum(math.perm(width, length) for length in range(1, longest + 1)) <= EXHAUSTIVE
    allowed = np.full(matrix.tasks, longest) if limits is None else np.minimum(limits, longest)
    level = _Level.start(_alike(matrix, passed, allowed))
    orders: list[Order] = []
    scores, costs = [], []
    for length in range(1, longest + 1):
        parent, column, score, cost = level.children()
        if length < longest and not exhaustive:
            kept = _beam(score, cost, lams)
            parent, column, score, cost = parent[kept], column[kept], score[kept], cost[kept]
        grown = [(*level.orders[p], int(c)) for p, c in zip(parent, column, strict=True)]
        orders += grown
        scores.append(score)
        costs.append(cost)
        if length < longest:
            level = level.grow(parent, column, grown, score, cost)
    return Ladders(
        orders=orders, score=np.concatenate(scores), cost=np.concatenate(costs), exhaustive=exhaustive
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Alike:
    """Sums over U kinds of tasks; those of a kind have the same models, verdicts and attempts."""

    score: Numbers  # U x M
    cost: Numbers  # U x M
    there: Flags  # U x M
    passed: Flags  # U x M
    limit: Indexes  # U


def _alike(matrix: Matrix, passed: Flags, limits: Indexes) -> _Alike:
    there = matrix.available
    bits = np.packbits(np.hstack([there, passed & there]), axis=1)
    kinds = np.hstack([bits.astype(np.int64), limits[:, None]])
    _, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    kind = kind.reshape(-1)

    def summed(values: Numbers) -> Numbers:
        known = np.where(there, values, 0.0)
        return np.column_stack([np.bincount(kind, weights=column) for column in known.T])

    return _Alike(
        score=summed(matrix.score),
        cost=summed(matrix.cost),
        there=there[first],
        passed=passed[first],
        limit=limits[first],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Level:
    """N beginnings of ladders of one length, and how each kind of task stands after them."""

    tasks: _Alike
    orders: list[Order]  # N
    score: Numbers  # N sums so far; so is the next
    cost: Numbers
    left: NDArray[Any]  # N x U attempts that are left; 0 where accepted
    last: Numbers  # N x U score of the latest attempt, summed over the kind

    @classmethod
    def start(cls, tasks: _Alike) -> _Level:
        kinds = len(tasks.limit)
        return cls(
            tasks=tasks,
            orders=[()],
            score=np.zeros(1),
            cost=np.zeros(1),
            left=tasks.limit[None, :].astype(np.int16),
            last=np.zeros((1, kinds)),
        )

    def children(self) -> tuple[Indexes, Indexes, Numbers, Numbers]:
        """Every way to go on: parent, column, and what the longer ladder reaches."""
        tasks = self.tasks
        on = (self.left > 0).astype(np.float64)
        score = self.score[:, None] + on @ tasks.score - (on * self.last) @ tasks.there
        cost = self.cost[:, None] + on @ tasks.cost
        used = np.zeros(score.shape, dtype=bool)
        for row, order in enumerate(self.orders):
            used[row, list(order)] = True
        parent, column = np.nonzero(~used)
        return parent, column, score[parent, column], cost[parent, column]

    def grow(
        self, parent: Indexes, column: Indexes, orders: list[Order], score: Numbers, cost: Numbers
    ) -> _Level:
        tasks = self.tasks
        left = self.left[parent]
        tried = tasks.there.T[column] & (left > 0)
        last = np.where(tried, tasks.score.T[column], self.last[parent])
        left = np.where(tried & tasks.passed.T[column], 0, left - tried).astype(np.int16)
        return _Level(tasks=tasks, orders=orders, score=score, cost=cost, left=left, last=last)


def _beam(score: Numbers, cost: Numbers, lams: Sequence[float]) -> Indexes:
    """The places of those that are among the best for one of `lams`, in order."""
    kept = [np.argsort(-(score - lam * cost), kind="stable")[:BEAM] for lam in lams]
    return np.unique(np.concatenate(kept))
