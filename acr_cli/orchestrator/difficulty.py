"""What a verified failure says about the others: the task is harder than it looked.

A one-parameter latent trait model (Rasch 1960): candidate c solves a task of difficulty d with probability
sigma(a_c - d), d ~ N(0, 1.5^2). Abilities are set so that the marginal chance is the given one (probit
approximation, MacKay 1992), and the chance given failures is taken over the posterior of d on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_SPREAD = 1.5  # standard deviation of difficulty, in logits
_GRID = [-4 + 8 * i / 40 for i in range(41)]  # in standard deviations


def given_failures(chance: float, failed: Sequence[float]) -> float:
    """The chance in [0, 1] of a candidate after others with these chances have failed on the same task.
    Pure."""
    if not failed:
        return chance
    ability = _ability(chance)
    others = [_ability(p) for p in failed]
    weight = total = 0.0
    for z in _GRID:
        d = _SPREAD * z
        density = math.exp(-z * z / 2)
        for other in others:
            density *= 1 - _sigma(other - d)
        weight += density
        total += density * _sigma(ability - d)
    return total / weight


def _ability(chance: float) -> float:
    bounded = min(max(chance, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded)) * math.sqrt(1 + math.pi * _SPREAD**2 / 8)


def _sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
