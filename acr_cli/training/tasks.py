"""The data set: tasks with what became of the candidates that tried them, divided by task.

Either an outcome matrix, or the user's own memory, or both. Who is best is who has the highest reward
r = score - 0.1 cost in USD (arXiv 2606.22902); where two are equally so, a task teaches no label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from acr_cli.errors import UsageError
from acr_cli.matrix import Matrix
from acr_cli.records import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indexes = NDArray[np.int64]
    Flags = NDArray[np.bool_]

COST_WEIGHT = 0.1  # of a USD, in the reward
PASSES = 0.5  # the score from which a task counts as solved
AGREED = 0.25  # weight of a task that all solve, or nobody
HELD_OUT = 6  # one task in so many, where no splits are named
FEWEST = 20  # tasks to train on, at least
TRIED = 5  # outcomes of a candidate, at least, for it to be learned
OURS = "memory"


@dataclass(frozen=True, kw_only=True, eq=False)
class Tasks:
    """What a policy model is trained on, and what it is calibrated and measured on."""

    train: Matrix
    held: Matrix  # of the same models
    source: str  # for people

    def fingerprint(self, **settings: object) -> str:
        """SHA-256 over every task and the settings, hexadecimal. Pure."""
        digest = hashlib.sha256(repr(sorted(settings.items())).encode())
        for part in (self.train, self.held):
            digest.update(repr(part.models).encode())
            for column in (part.texts, part.dimensions, part.languages):
                digest.update(repr(column.to_list()).encode("utf-8", "backslashreplace"))
            digest.update(part.score.tobytes() + part.cost.tobytes())
        return digest.hexdigest()


def divided(matrix: Matrix, *, train: Sequence[str], held: Sequence[str], source: str) -> Tasks:
    """By the named splits; a task of memory, or any where no splits are, by a hash of its text, so that equal
    texts stay together. A held-out task whose text stands in training is left out.

    Raises: UsageError where too little is left."""
    import numpy as np

    if both := set(train) & set(held):
        raise UsageError(f"The split {min(both)!r} cannot be trained on and held out at once.")
    own = np.array([split in ("", OURS) for split in matrix.splits], dtype=bool)
    hashed = [_sixth(text or name) for text, name in zip(matrix.texts, matrix.ids, strict=True)]
    later = own & np.array(hashed, dtype=bool)
    named = {name: _is_in(matrix, names) for name, names in (("train", train), ("held", held))}
    if not own.all():
        for names in (train, held):
            matrix.of_splits([n for n in names if n])  # each of them is there, or it is said
    first = matrix.take(named["train"] | (own & ~later))
    second = matrix.take(named["held"] | later).without_twins(first)
    if first.tasks < FEWEST or not second.tasks:
        raise UsageError(
            f"{first.tasks} tasks to train on and {second.tasks} held out are too few.",
            hint=f"It takes {FEWEST} and one; `acr warm` makes outcomes of this repository's history.",
        )
    learnable = _learnable(first)
    known = aligned(second, learnable.models)
    if not known.tasks:
        raise UsageError(
            f"None of the models that can be learned has an outcome on the {second.tasks} held-out tasks.",
            hint=f"To be learned takes {TRIED} outcomes; they are {', '.join(learnable.models)}.",
        )
    return Tasks(train=learnable, held=known, source=source)


def of_memory(outcomes: Iterable[Outcome]) -> Matrix:
    """A task for each step whose outcomes teach quality; a candidate that did not try it has no outcome.

    Raises: UsageError where there is none."""
    import polars as pl

    steps: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.teaches:
            steps.setdefault((outcome.run, outcome.step), []).append(outcome)
    if not steps:
        raise UsageError("Memory holds no verified outcome.", hint="`acr fix` and `acr warm` make some.")
    models = tuple(sorted({outcome.candidate for each in steps.values() for outcome in each}))
    score, cost = _tables(list(steps.values()), models)
    first = [each[0] for each in steps.values()]
    return Matrix(
        name=OURS,
        models=models,
        ids=pl.Series("id", [f"{run}/{step}" for run, step in steps], dtype=pl.String),
        texts=pl.Series("text", [each.text for each in first], dtype=pl.String),
        splits=pl.Series("split", [OURS] * len(first), dtype=pl.String),
        dimensions=pl.Series("dimension", [each.dimension for each in first], dtype=pl.String),
        languages=pl.Series("language", [each.language for each in first], dtype=pl.String),
        score=score,
        cost=cost,
    )


def joined(matrix: Matrix, own: Matrix, same: Callable[[str], str]) -> Matrix:
    """Both, one below the other. A candidate of memory is the matrix's model that `same` gives the same name,
    and keeps memory's name, which is that of the pool. Pure."""
    import numpy as np
    import polars as pl

    ours = {same(name): name for name in own.models}
    told = [ours.get(same(name), name) for name in matrix.models]
    models = tuple(dict.fromkeys([*told, *own.models]))
    tables: dict[str, Any] = {}
    for column in ("score", "cost"):
        table = np.full((matrix.tasks + own.tasks, len(models)), np.nan)
        for index, name in enumerate(told):
            table[: matrix.tasks, models.index(name)] = getattr(matrix, column)[:, index]
        for index, name in enumerate(own.models):
            table[matrix.tasks :, models.index(name)] = getattr(own, column)[:, index]
        tables[column] = table
    for column in ("ids", "texts", "splits", "dimensions", "languages"):
        tables[column] = pl.concat(
            [getattr(matrix, column).alias(column), getattr(own, column).alias(column)]
        )
    return Matrix(name=f"{matrix.name} and {own.name}", models=models, **tables)


def rewards(matrix: Matrix) -> Numbers:
    """T x C: score - 0.1 cost; -inf where there is no outcome. Pure."""
    import numpy as np

    found: Numbers = np.where(
        matrix.available, matrix.score - COST_WEIGHT * np.nan_to_num(matrix.cost), -np.inf
    )
    return found


def labels(matrix: Matrix) -> tuple[Indexes, Indexes, Numbers]:
    """Rows that have a best candidate, which one that is, and the row's weight.

    None where two are equally good, where fewer than two have an outcome and none has solved it. Tasks that
    all solve, or nobody, weigh less: they only tell who is cheap. Pure."""
    import numpy as np

    reward, solved = rewards(matrix), matrix.score >= PASSES
    best = reward.argmax(axis=1)
    top = reward.max(axis=1, keepdims=True)
    alone = (reward >= top - 1e-12).sum(axis=1) == 1
    tried = matrix.available.sum(axis=1)
    rows = np.flatnonzero(alone & ((tried > 1) | solved.any(axis=1)))
    count = solved.sum(axis=1)
    agreed = (tried > 1) & ((count == 0) | (count == tried))
    weights = np.where(agreed, AGREED, 1.0)
    return rows.astype(np.int64), best[rows].astype(np.int64), weights[rows]


def rates(matrix: Matrix) -> dict[str, dict[str, tuple[float, float]]]:
    """By dimension ("" for all) and candidate: the share that it solves, and its mean cost in USD. Pure."""
    import numpy as np

    kinds = matrix.dimensions.to_numpy()
    groups: Mapping[str, Any] = {
        "": np.ones(matrix.tasks, bool),
        **{k: kinds == k for k in sorted(set(kinds)) if k},
    }
    solved = np.where(matrix.available, matrix.score >= PASSES, np.nan)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for kind, rows in groups.items():
        there = matrix.available[rows].any(axis=0)
        found[kind] = {
            name: (float(np.nanmean(solved[rows, c])), float(np.nanmean(matrix.cost[rows, c])))
            for c, name in enumerate(matrix.models)
            if there[c]
        }
    return found


def _learnable(matrix: Matrix) -> Matrix:
    """Without candidates of whom too little is known: they get no vote. Raises: UsageError."""
    import numpy as np

    kept = np.flatnonzero(matrix.available.sum(axis=0) >= TRIED)
    if len(kept) < 2:
        raise UsageError(
            f"Fewer than two models have {TRIED} outcomes to train on.",
            hint="Add a matrix, or let `acr warm` try more of them.",
        )
    names = tuple(matrix.models[place] for place in kept)
    thin = replace(matrix, models=names, score=matrix.score[:, kept], cost=matrix.cost[:, kept])
    return thin.take(np.flatnonzero(thin.available.any(axis=1)).tolist())


def aligned(matrix: Matrix, models: Sequence[str]) -> Matrix:
    """The same tasks with these models' columns, those that have an outcome of any. Pure."""
    import numpy as np

    place = {name: index for index, name in enumerate(matrix.models)}
    empty = np.full(matrix.tasks, np.nan)
    score, cost = (
        np.stack([table[:, place[name]] if name in place else empty for name in models], axis=1)
        for table in (matrix.score, matrix.cost)
    )
    found = replace(matrix, models=tuple(models), score=score, cost=cost)
    return found.take(np.flatnonzero(found.available.any(axis=1)).tolist())


def _tables(steps: Sequence[Sequence[Outcome]], models: Sequence[str]) -> tuple[Numbers, Numbers]:
    """T x C scores and costs; NaN where a candidate did not try."""
    import numpy as np

    place = {name: index for index, name in enumerate(models)}
    score, cost = (np.full((len(steps), len(models)), np.nan) for _ in range(2))
    for row, outcomes in enumerate(steps):
        for outcome in outcomes:
            score[row, place[outcome.candidate]] = float(outcome.passed)
            cost[row, place[outcome.candidate]] = outcome.cost_usd
    return score, cost


def _is_in(matrix: Matrix, names: Sequence[str]) -> Flags:
    found: Flags = matrix.splits.is_in([name for name in names if name]).to_numpy()
    return found


def _sixth(text: str) -> bool:
    return hashlib.sha256(text.strip().encode("utf-8", "backslashreplace")).digest()[0] % HELD_OUT == 0
