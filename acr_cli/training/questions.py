"""The data set as questions to a language model, laid out as they are when a step is routed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acr_cli.advisor.card import Card
from acr_cli.advisor.question import Question, gathered
from acr_cli.matrix import Matrix
from acr_cli.training.tasks import PASSES, Tasks, labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 10
THRESHOLD = 0.5
"""As memory hands neighbours out (arXiv 2606.22902): so many, of at least this cosine."""

Vectors = Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drill:
    """A question and who is best."""

    question: Question
    best: str
    weight: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Drills:
    """Questions to train on, and those of the held-out tasks with their outcomes."""

    train: tuple[Drill, ...]
    held: tuple[Question, ...]  # one a row of `matrix`
    matrix: Matrix
    tasks: Tasks


def asked(tasks: Tasks, card: Card, vectors: Vectors) -> Drills:
    """All questions. `vectors` are unit vectors by text; without any nothing is said of similar tasks.
    Pure."""
    held = tasks.held
    near = _Near(tasks.train, vectors)
    questions = [_question(tasks.train, row, card, near) for row in range(tasks.train.tasks)]
    rows, best, weights = labels(tasks.train)
    names = tasks.train.models
    drills = [
        Drill(question=questions[row], best=names[column], weight=float(weight))
        for row, column, weight in zip(rows, best, weights, strict=True)
    ]
    return Drills(
        train=tuple(drills),
        held=tuple(_question(held, row, card, near) for row in range(held.tasks)),
        matrix=held,
        tasks=tasks,
    )


def _question(matrix: Matrix, row: int, card: Card, near: _Near) -> Question:
    dimension = str(matrix.dimensions[row])
    return Question(
        text=str(matrix.texts[row]),
        dimension=dimension,
        language=str(matrix.languages[row]),
        candidates=card.known(dimension),
        near=gathered(near.of(str(matrix.texts[row]))),
    )


class _Near:
    """The nearest training tasks of another text; of each one outcome, as memory would know it."""

    def __init__(self, train: Matrix, vectors: Vectors) -> None:
        import numpy as np

        self._train = train
        self._vectors = vectors
        self._rows = [row for row, text in enumerate(train.texts) if text in vectors]
        self._table: NDArray[np.float32] = np.array(
            [vectors[train.texts[row]] for row in self._rows], dtype=np.float32
        )

    def of(self, text: str) -> list[tuple[str, bool]]:
        import numpy as np

        if not self._rows or text not in self._vectors:
            return []
        cosine = self._table @ np.asarray(self._vectors[text], dtype=np.float32)
        found: list[tuple[str, bool]] = []
        for place in np.argsort(-cosine, kind="stable"):
            row = self._rows[int(place)]
            if cosine[place] < THRESHOLD or len(found) == NEAREST:
                break
            if self._train.texts[row] != text:
                there = np.flatnonzero(self._train.available[row])
                column = int(there[row % len(there)])  # whoever: the same one at every call
                found.append((self._train.models[column], bool(self._train.score[row, column] >= PASSES)))
        return found
