"""What a verified failure says about the others: the task is harder than it looked.

A one-parameter latent trait model (Rasch 1960): candidate c solves a task of difficulty d with probability
sigma(a_c - d), d ~ N(0, 1.5^2). Abilities are set so that the marginal chance is the given one (probit
approximation, MacKay 1992), and the chance given failures is taken over the posterior of d on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

_SPREAD = 1.5  # standard deviation of difficulty, in logits
_GRID = [-4 + 8 * i / 40 for i in range(41)]  # in standard deviations


def given_failures(chance: float, failed: Sequence[float]) -> float:
    """The chance in [0, 1] of a candidate after others with these chances have failed on the same task.
    Pure."""
    if not failed:
        return chance
    ability = _ability(chance)
    densities = _densities(tuple(failed))
    total = sum(density * _sigma(ability - _SPREAD * z) for z, density in zip(_GRID, densities, strict=True))
    return total / sum(densities)


@lru_cache(maxsize=256)
def _densities(failed: tuple[float, ...]) -> list[float]:
    """The posterior of difficulty on the grid, not normalised: the same for all who are left on a step."""
    others = [_ability(p) for p in failed]
    found = []
    for z in _GRID:
        density = math.exp(-z * z / 2)
        for other in others:
            density *= 1 - _sigma(other - _SPREAD * z)
        found.append(density)
    return found


def _ability(chance: float) -> float:
    bounded = min(max(chance, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded)) * math.sqrt(1 + math.pi * _SPREAD**2 / 8)


def _sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
