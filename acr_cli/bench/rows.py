"""Full rows of true scores as tallies: what a policy would know that had tried everybody on every task."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from acr_cli.bench.replay import PASSES, UNVERIFIABLE
from acr_cli.matrix import Matrix
from acr_cli.records import SCORES, Tally

MOST_AFTER = 2
"""Failures before an attempt, at most: sets of more are many, and few rows speak of each."""

LEAST_ROWS = 5  # that a tally counts


def tallies_of(matrix: Matrix, attempts: int) -> tuple[Tally, ...]:
    """One tally for each dimension, language, candidate and set of others that failed on the same rows.

    A row counts for every set of its failures, as often as a policy could have come by there."""
    cells = sorted(set(zip(matrix.dimensions, matrix.languages, strict=True)))
    found: list[Tally] = []
    for dimension, language in cells:
        rows = ((matrix.dimensions == dimension) & (matrix.languages == language)).to_numpy()
        limit = 1 if dimension in UNVERIFIABLE else attempts
        found += _of_cell(matrix.take(rows), dimension, language, min(limit - 1, MOST_AFTER))
    return tuple(found)


def _of_cell(matrix: Matrix, dimension: str, language: str, most: int) -> list[Tally]:
    there = matrix.available
    score, cost = np.nan_to_num(matrix.score), np.nan_to_num(matrix.cost)
    passed = (score >= PASSES) & there
    failed = there & ~passed
    places = range(len(matrix.models))
    found = []
    for size in range(most + 1):
        for after in combinations(places, size):
            left = failed[:, list(after)].all(axis=1)
            if size and left.sum() < LEAST_ROWS:
                continue
            for place in places:
                rows = left & there[:, place]
                if place in after or not rows.any():
                    continue
                found.append(
                    Tally(
                        candidate=matrix.models[place],
                        dimension=dimension,
                        language=language,
                        verifier=SCORES,
                        failed_before=tuple(sorted(matrix.models[other] for other in after)),
                        passed=float(passed[rows, place].sum()),
                        failed=float(failed[rows, place].sum()),
                        cost_usd=float(cost[rows, place].sum()),
                        count=float(rows.sum()),
                        outcomes=int(rows.sum()),
                        u_passed=float(score[rows & passed[:, place], place].sum()),
                        u_failed=float(score[rows & failed[:, place], place].sum()),
                    )
                )
    return found
