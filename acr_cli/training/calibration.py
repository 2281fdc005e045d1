"""From what a language model says to shares and chances that are true, fitted on held-out tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indexes = NDArray[np.int64]

STEPS = 50
RIDGE = 1.0  # draws towards the rates alone: (0, 1, 0)
START = (0.0, 1.0, 0.0)


def temperature(scores: Numbers, best: Indexes, weights: Numbers) -> float:
    """The temperature at which the softmax of T x C scores gives the best candidates the highest likelihood
    (Guo et al. 2017). Pure."""
    import numpy as np

    grid = np.geomspace(0.01, 20.0, 200)
    losses = [float((weights * _nll(scores / t, best)).sum()) for t in grid]
    return float(grid[int(np.argmin(losses))])


def softmax(scores: Numbers) -> Numbers:
    """T x C, rows summing to 1. Pure."""
    import numpy as np

    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Numbers = weights / weights.sum(axis=1, keepdims=True)
    return shares


def chances(shares: Numbers, rates: Numbers, solved: Numbers) -> tuple[float, float, float]:
    """(a, b, c) of logit chance = a + b logit rate + c log(share x C), by logistic regression on the entries
    of `solved` (1, 0, NaN for not known); all T x C. c is not negative: a larger share is no worse. Pure."""
    import numpy as np

    known = ~np.isnan(solved)
    x = np.stack(
        [
            np.ones(known.sum()),
            logit(rates[known]),
            np.log(np.maximum(shares[known] * shares.shape[1], 1e-6)),
        ],
        axis=1,
    )
    fitted = _logistic(x, solved[known], np.array(START))
    if fitted[2] < 0:
        fitted = np.append(_logistic(x[:, :2], solved[known], np.array(START[:2])), 0.0)
    a, b, c = (float(value) for value in fitted)
    return a, b, c


def logit(rates: Numbers) -> Numbers:
    """As the voter bounds them. Pure."""
    import numpy as np

    bounded = np.clip(rates, 0.01, 0.99)
    found: Numbers = np.log(bounded / (1 - bounded))
    return found


def _logistic(x: Numbers, y: Numbers, start: Numbers) -> Numbers:
    """Weights of a logistic regression, drawn to `start`, by Newton's method."""
    import numpy as np

    weights = start.copy()
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (chance - y) + RIDGE * (weights - start)
        hessian = (x * np.maximum(chance * (1 - chance), 1e-6)[:, None]).T @ x + RIDGE * np.eye(len(start))
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def _nll(scores: Numbers, best: Indexes) -> Numbers:
    import numpy as np

    found: Numbers = -np.log(np.maximum(softmax(scores)[np.arange(len(best)), best], 1e-12))
    return found
