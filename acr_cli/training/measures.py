"""What a policy model is measured by on tasks that it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acr_cli.matrix import Matrix
from acr_cli.training.tasks import COST_WEIGHT, PASSES, rewards

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indexes = NDArray[np.int64]


def figures(matrix: Matrix, chosen: Indexes) -> dict[str, float]:
    """One attempt a task by the chosen columns, where their outcome is known. Pure.

    accuracy: the share of tasks on which nobody has a higher reward; avg_perf: 100 x mean score; cum_reg: sum
    of rewards missed; total_usd; tasks: how many were counted. Without any the first two are left out."""
    import numpy as np

    rows = np.arange(matrix.tasks)
    known = matrix.available[rows, chosen]
    reward = rewards(matrix)[known]
    own = reward[np.arange(len(reward)), chosen[known]]
    best = reward.max(axis=1, initial=-np.inf)
    count = int(known.sum())
    means = (
        {
            "accuracy": float((own >= best - 1e-9).mean()),
            "avg_perf": 100 * float(matrix.score[rows, chosen][known].mean()),
        }
        if count
        else {}
    )
    return {
        "tasks": count,
        **means,
        "cum_reg": float((best - own).sum()),
        "total_usd": float(np.nan_to_num(matrix.cost[rows, chosen][known]).sum()),
    }


def majority(train: Matrix, matrix: Matrix) -> Indexes:
    """The candidate that is best on most tasks of `train`, for every task of `matrix`. Pure."""
    import numpy as np

    from acr_cli.training.tasks import labels

    _, best, weights = labels(train)
    votes = np.bincount(best, weights=weights, minlength=len(train.models))
    return np.full(matrix.tasks, int(votes.argmax()), dtype=np.int64)


def log_loss(chances: Numbers, solved: Numbers) -> float:
    """Mean natural log loss over the entries of `solved` that are not NaN. Pure."""
    import numpy as np

    known = ~np.isnan(solved)
    p = np.clip(chances[known], 1e-6, 1 - 1e-6)
    y = solved[known]
    return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()) if known.any() else float("nan")


class Worth:
    """What a chance of success is worth in reward: by dimension and candidate, the mean scores of solved and
    of unsolved tasks, and the mean cost, all of the training tasks."""

    def __init__(self, train: Matrix) -> None:
        self._train = train
        self._kinds = train.dimensions.to_numpy()
        self._known: dict[str, tuple[Numbers, Numbers, Numbers, Numbers]] = {}

    def means(self, kind: str) -> Numbers:
        """C: mean reward of each candidate in a dimension, that of all where it is not known."""
        return self._of(kind)[3]

    def of(self, kind: str, chances: Numbers) -> Numbers:
        """C: expected reward of each candidate with these chances to solve a task."""
        solved, unsolved, cost, _ = self._of(kind)
        found: Numbers = chances * solved + (1 - chances) * unsolved - COST_WEIGHT * cost
        return found

    def _of(self, kind: str) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        import numpy as np

        if kind not in self._known:
            rows = self._kinds == kind
            part = self._train.take(rows if rows.any() else np.ones(self._train.tasks, bool))
            solves = part.score >= PASSES
            solved = _mean(part.score, solves, 1.0)
            unsolved = _mean(part.score, part.available & ~solves, 0.0)
            cost = _mean(part.cost, part.available, 0.0)
            mean = _mean(part.score, part.available, 0.0) - COST_WEIGHT * cost
            self._known[kind] = (solved, unsolved, cost, mean)
        return self._known[kind]


def _mean(numbers: Numbers, where: NDArray[np.bool_], otherwise: float) -> Numbers:
    """C: of each column's entries at `where`."""
    import numpy as np

    count = where.sum(axis=0)
    found: Numbers = np.where(
        count > 0, np.where(where, np.nan_to_num(numbers), 0.0).sum(axis=0) / np.maximum(count, 1), otherwise
    )
    return found
