"""One logistic regression a candidate on TF-IDF, all of them at once by Newton's method.

Each Newton step solves its linear system by conjugate gradients with the diagonal as preconditioner (Lin,
Weng and Keerthi 2008, without their trust region: the penalty keeps steps short, and one that does not
improve is halved). How strong the penalty is, is decided by the held-out log loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acr_cli.advisor.classifier import WORDS, Classifier, labels_of, row, words_of
from acr_cli.matrix import Matrix
from acr_cli.training.measures import Worth, figures, log_loss, majority
from acr_cli.training.tasks import PASSES, Tasks, aligned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indexes = NDArray[np.int64]

PENALTIES = (10.0, 3.0, 1.0, 0.3)
TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
NEWTON_STEPS = 12
CG_STEPS = 30
SMALL = 1e-3  # of the first gradient's length: converged
LEAST_TASKS = 2  # in which a word stands, to be a feature


@dataclass(frozen=True, kw_only=True, eq=False)
class Sparse:
    """T x F numbers by row and by column; no row and no column is empty."""

    shape: tuple[int, int]
    values: Numbers
    columns: Indexes
    row_starts: Indexes
    by_column: Indexes  # the order of the values by column
    rows: Indexes  # of the values in that order
    column_starts: Indexes

    def times(self, weights: Numbers) -> Numbers:
        """T x C."""
        import numpy as np

        products = self.values[:, None] * weights[self.columns]
        found: Numbers = np.add.reduceat(products, self.row_starts, axis=0)
        return found

    def transposed_times(self, numbers: Numbers, *, squared: bool = False) -> Numbers:
        """F x C; `squared`: with the squares of the values."""
        import numpy as np

        values = self.values[self.by_column]
        products = (values**2 if squared else values)[:, None] * numbers[self.rows]
        found: Numbers = np.add.reduceat(products, self.column_starts, axis=0)
        return found


def fit(tasks: Tasks, tell: Callable[[str], None] = lambda _: None) -> Classifier:
    """The classifier of the training tasks, its penalty and temperature chosen on those held out."""
    import numpy as np

    train, held = tasks.train, aligned(tasks.held, tasks.train.models)
    features, idf = vocabulary(train)
    place = {name: index for index, name in enumerate(features)}
    x = _sparse([_row(train, at, place, idf) for at in range(train.tasks)], len(features))
    weights = np.zeros((len(features), len(train.models)))
    best: tuple[float, Classifier] | None = None
    for penalty in PENALTIES:
        weights = _newton(x, _solved(train), weights, penalty)
        made = Classifier(features=features, idf=idf, weights=weights, candidates=train.models)
        warm, loss = _tempered(made, held)
        tell(f"penalty {penalty:g}: held-out log loss {loss:.4f}")
        if best is None or loss < best[0]:
            best = (loss, warm)
    if best is None:
        raise AssertionError("unreachable: there are penalties")
    return best[1]


def predicted(classifier: Classifier, matrix: Matrix) -> Numbers:
    """T x C chances. Pure."""
    import numpy as np

    told = zip(matrix.texts, matrix.dimensions, matrix.languages, strict=True)
    return np.array([list(classifier.chances(*each).values()) for each in told])


def vocabulary(matrix: Matrix) -> tuple[tuple[str, ...], Numbers]:
    """The features of these tasks and their idf (0 of labels), the most frequent words first. Pure."""
    import numpy as np

    counts = Counter(word for text in matrix.texts for word in words_of(text))
    words = [word for word, count in counts.most_common(WORDS) if count >= LEAST_TASKS]
    known = sum(bool(text.strip()) for text in matrix.texts)
    idf = [np.log((1 + known) / (1 + counts[word])) + 1 for word in words]
    kinds = zip(matrix.dimensions, matrix.languages, strict=True)
    told = sorted({label for kind in set(kinds) for label in labels_of(*kind)})
    return (*words, *told), np.array([*idf, *[0.0] * len(told)])


def _row(matrix: Matrix, at: int, place: dict[str, int], idf: Numbers) -> tuple[Indexes, Numbers]:
    return row(place, idf, matrix.texts[at], matrix.dimensions[at], matrix.languages[at])


def _sparse(found: Sequence[tuple[Indexes, Numbers]], features: int) -> Sparse:
    import numpy as np

    lengths = np.array([len(columns) for columns, _ in found])
    columns = np.concatenate([columns for columns, _ in found])
    by_column = np.argsort(columns, kind="stable")
    return Sparse(
        shape=(len(found), features),
        values=np.concatenate([values for _, values in found]),
        columns=columns,
        row_starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
        by_column=by_column,
        rows=np.repeat(np.arange(len(found)), lengths)[by_column],
        column_starts=np.searchsorted(columns[by_column], np.arange(features)),
    )


def _solved(matrix: Matrix) -> Numbers:
    """T x C of 1 and 0; NaN where there is no outcome."""
    import numpy as np

    found: Numbers = np.where(matrix.available, (matrix.score >= PASSES).astype(np.float64), np.nan)
    return found


def _newton(x: Sparse, solved: Numbers, weights: Numbers, penalty: float) -> Numbers:
    """F x C weights that minimise log loss + penalty / 2 |w|^2, from these on."""
    import numpy as np

    known = ~np.isnan(solved)
    target = np.nan_to_num(solved)

    def loss(scores: Numbers, w: Numbers) -> Numbers:
        each = np.where(known, np.logaddexp(0.0, scores) - target * scores, 0.0)
        total: Numbers = each.sum(axis=0) + penalty / 2 * (w**2).sum(axis=0)
        return total

    scores = x.times(weights)
    first = 0.0
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        gradient = x.transposed_times(np.where(known, chance - target, 0.0)) + penalty * weights
        size = float(np.linalg.norm(gradient))
        first = first or size
        if size <= SMALL * first:
            break
        curvature = np.where(known, np.maximum(chance * (1 - chance), 1e-6), 0.0)
        step = _conjugate(x, curvature, gradient, penalty)
        before, length = loss(scores, weights), np.ones(weights.shape[1])
        moved = x.times(step)
        for _ in range(10):
            worse = loss(scores - length * moved, weights - length * step) > before
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        weights, scores = weights - length * step, scores - length * moved
    return weights


def _conjugate(x: Sparse, curvature: Numbers, gradient: Numbers, penalty: float) -> Numbers:
    """F x C: the Newton step, (X' D X + penalty) step = gradient, for each column by itself."""
    import numpy as np

    diagonal = x.transposed_times(curvature, squared=True) + penalty
    step = np.zeros_like(gradient)
    residual = gradient.copy()
    z = residual / diagonal
    direction = z.copy()
    now = (residual * z).sum(axis=0)
    enough = 1e-4 * np.maximum(now, 1e-30)
    for _ in range(CG_STEPS):
        if (now <= enough).all():
            break
        image = x.transposed_times(curvature * x.times(direction)) + penalty * direction
        along = now / np.maximum((direction * image).sum(axis=0), 1e-30)
        step += along * direction
        residual -= along * image
        z = residual / diagonal
        following = (residual * z).sum(axis=0)
        direction = z + following / np.maximum(now, 1e-30) * direction
        now = following
    return step


def _tempered(classifier: Classifier, held: Matrix) -> tuple[Classifier, float]:
    """With the temperature that suits the held-out tasks best, and the log loss there."""
    found = []
    for temperature in TEMPERATURES:
        warm = replace(classifier, temperature=temperature)
        found.append((_loss(warm, held), temperature))
    loss, temperature = min(found)
    return replace(classifier, temperature=temperature), loss


def _loss(classifier: Classifier, held: Matrix) -> float:
    return log_loss(predicted(classifier, held), _solved(held))


def measured(classifier: Classifier, tasks: Tasks) -> dict[str, dict[str, float]]:
    """What it reaches on the held-out tasks, one attempt each, beside the best of each dimension and the one
    that is best on most tasks. Pure."""
    import numpy as np

    train, held = tasks.train, aligned(tasks.held, tasks.train.models)
    chances = predicted(classifier, held)
    worth = Worth(train)
    by_kind = np.array([worth.means(kind) for kind in held.dimensions])
    own = np.array([worth.of(kind, row) for kind, row in zip(held.dimensions, chances, strict=True)])
    return {
        "alone": {**figures(held, own.argmax(axis=1)), "log_loss": log_loss(chances, _solved(held))},
        "dimension_best": figures(held, by_kind.argmax(axis=1)),
        "majority": figures(held, majority(train, held)),
    }
