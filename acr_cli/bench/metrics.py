"""What a replay is measured by, and what those measures are over several orders of the stream.

AvgPerf, CumReg (reward r = s - 0.1 cost, against the best available model of each task), total USD and Perf/$
are those of arXiv 2606.22902. Beside them: the regret against the best fixed ladder in hindsight, which may
try as often as the policy and meets the same verdicts; mean attempts; milliseconds a decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acr_cli.bench.replay import Record
from acr_cli.matrix import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

COST_WEIGHT = 0.1  # of a USD, in the reward
LAMBDAS = (0.1, 1.0, 10.0)  # USD -> score, for the ladders in hindsight
TIMED = "decision_ms"


@dataclass(frozen=True, kw_only=True, eq=False)
class Played:
    """What is kept of one player's stream; arrays of T in the order of the matrix's rows."""

    policy: str
    seed: int
    position: NDArray[np.int32]  # of the task in the stream
    answer: NDArray[np.int16]  # column of the matrix; -1 for none
    score: Numbers
    cost: Numbers  # USD
    attempts: NDArray[np.int16]
    numbers: Mapping[str, float]  # by metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """A metric over the orders of a stream. This is not sampling error: the tasks are the same."""

    min: float
    max: float
    sd: float  # with n - 1; 0 for one order


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary:
    """One policy over all seeds."""

    policy: str
    numbers: Mapping[str, float]  # means over seeds
    spread: Mapping[str, Spread]
    score: Numbers  # T, each task's mean over seeds
    cost: Numbers


def oracle(matrix: Matrix) -> tuple[Numbers, Numbers]:
    """(score, cost) of the model with the best reward on each task; 0 and 0 where none is available. Pure."""
    reward = np.where(matrix.available, matrix.score - COST_WEIGHT * matrix.cost, -np.inf)
    best = reward.argmax(axis=1)[:, None]
    there = matrix.available.any(axis=1)
    score = np.take_along_axis(matrix.score, best, 1)[:, 0]
    cost = np.take_along_axis(matrix.cost, best, 1)[:, 0]
    return np.where(there, score, 0.0), np.where(there, cost, 0.0)


def regrets(matrix: Matrix, score: Numbers, cost: Numbers) -> Numbers:
    """T regrets in reward against the best available model of each task. Pure."""
    best_score, best_cost = oracle(matrix)
    return (best_score - COST_WEIGHT * best_cost) - (score - COST_WEIGHT * cost)


def measured(
    policy: str, seed: int, record: Record, matrix: Matrix, ladders: Mapping[float, tuple[float, float]]
) -> Played:
    """One stream in numbers. `ladders`: lambda -> (sum of scores, sum of USD) of the best one in hindsight.
    Pure."""
    place = np.empty(len(record.order), np.int64)
    place[record.order] = np.arange(len(record.order))
    score, cost, attempts = record.score[place], record.cost[place], record.attempts[place]
    paid, performance = float(cost.sum()), 100 * float(score.mean())
    numbers = {
        "avg_perf": performance,
        "cum_reg": float(regrets(matrix, score, cost).sum()),
        "total_usd": paid,
        "perf_per_usd": performance / paid if paid else float("nan"),
        "mean_attempts": float(attempts.mean()),
        TIMED: 1000 * record.seconds / max(record.decisions, 1),
    }
    for lam, (ladder_score, ladder_cost) in ladders.items():
        ours = float(score.sum()) - lam * paid
        numbers[ladder_metric(lam)] = ladder_score - lam * ladder_cost - ours
    return Played(
        policy=policy,
        seed=seed,
        position=place.astype(np.int32),
        answer=record.answer[place].astype(np.int16),
        score=score,
        cost=cost,
        attempts=attempts.astype(np.int16),
        numbers=numbers,
    )


def ladder_metric(lam: float) -> str:
    """The name of the regret against the best ladder at lambda. Pure."""
    return f"ladder_reg_{lam:g}"


def summary(played: Sequence[Played]) -> Summary:
    """All seeds of one policy together. Pure."""
    values = {name: np.array([one.numbers[name] for one in played]) for name in played[0].numbers}
    return Summary(
        policy=played[0].policy,
        numbers={name: float(each.mean()) for name, each in values.items()},
        spread={
            name: Spread(
                min=float(each.min()),
                max=float(each.max()),
                sd=float(each.std(ddof=1)) if len(each) > 1 else 0.0,
            )
            for name, each in values.items()
        },
        score=np.mean([one.score for one in played], axis=0),
        cost=np.mean([one.cost for one in played], axis=0),
    )
