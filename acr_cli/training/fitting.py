"""One logistic regression a candidate on TF-IDF, all of them at once by Newton's method.

A candidate's weights are those that all share and its own deviation from them, which is penalised more for
words than for labels: most of what a text says is how difficult it is for everybody, and deviations that are
noise would choose at random. Each Newton step solves its linear system by conjugate gradients with the
diagonal as preconditioner (Lin, Weng and Keerthi 2008, without their trust region: the penalty keeps steps
short, and one that does not improve is halved). How strong the penalties are, the held-out log loss decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acr_cli.advisor.classifier import WORDS, Classifier, labels_of, row, words_of
from acr_cli.matrix import Matrix
from acr_cli.training.measures import Worth, figures, log_loss, majority
from acr_cli.training.tasks import PASSES, Tasks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indexes = NDArray[np.int64]

PENALTIES = (1.0, 0.3)  # on what is shared
ALIKE = (1.0, 10.0, 100.0)  # how much more on a candidate's own words
OWN_LABELS = 1.0  # on a candidate's own labels
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

    train, held = tasks.train, tasks.held
    features, idf = vocabulary(train)
    place = {name: index for index, name in enumerate(features)}
    x = _sparse([_row(train, at, place, idf) for at in range(train.tasks)], len(features))
    parts = np.zeros((len(features), 1 + len(train.models)))
    made: list[_Fitted] = []
    for penalty in PENALTIES:
        for alike in ALIKE:
            parts = _newton(x, _solved(train), parts, _penalties(idf, len(train.models), penalty, alike))
            plain = Classifier(features=features, idf=idf, weights=_whole(parts), candidates=train.models)
            fitted = _tempered(plain, held, alike)
            tell(
                f"penalty {penalty:g}, on own words {penalty * alike:g}: held-out log loss {fitted.loss:.4f}"
            )
            made.append(fitted)
    return _simplest(made)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fitted:
    classifier: Classifier
    alike: float
    loss: float  # held-out
    error: float  # standard error of it


def _simplest(made: Sequence[_Fitted]) -> Classifier:
    """The one with the fewest opinions of its own whose loss is within a standard error of the least (the
    rule of Breiman et al. 1984). Pure."""
    least = min(made, key=lambda one: one.loss)
    good = [one for one in made if one.loss <= least.loss + least.error]
    return min(good, key=lambda one: (-one.alike, one.loss)).classifier


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


def _penalties(idf: Numbers, candidates: int, penalty: float, alike: float) -> Numbers:
    """F x (1 + C): of the shared weight and of each candidate's own. Pure."""
    import numpy as np

    labels = idf == 0
    own = np.where(labels, OWN_LABELS, penalty * alike)
    return np.concatenate([np.full((len(idf), 1), penalty), np.repeat(own[:, None], candidates, 1)], axis=1)


def _whole(parts: Numbers) -> Numbers:
    """F x C: what is shared and a candidate's own together. Pure."""
    whole: Numbers = parts[:, :1] + parts[:, 1:]
    return whole


def _shared(own: Numbers) -> Numbers:
    """F x (1 + C): the gradient of the parts from that of the whole. Pure."""
    import numpy as np

    return np.concatenate([own.sum(axis=1, keepdims=True), own], axis=1)


def _newton(x: Sparse, solved: Numbers, parts: Numbers, penalty: Numbers) -> Numbers:
    """F x (1 + C) parts that minimise log loss + sum of penalty / 2 part^2, from these on."""
    import numpy as np

    known = ~np.isnan(solved)
    target = np.nan_to_num(solved)

    def loss(scores: Numbers, at: Numbers) -> float:
        each = np.where(known, np.logaddexp(0.0, scores) - target * scores, 0.0)
        return float(each.sum() + (penalty / 2 * at**2).sum())

    scores = x.times(_whole(parts))
    first = 0.0
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        gradient = _shared(x.transposed_times(np.where(known, chance - target, 0.0))) + penalty * parts
        size = float(np.linalg.norm(gradient))
        first = first or size
        if size <= SMALL * first:
            break
        curvature = np.where(known, np.maximum(chance * (1 - chance), 1e-6), 0.0)
        step = _conjugate(x, curvature, gradient, penalty)
        before, length, moved = loss(scores, parts), 1.0, x.times(_whole(step))
        while length > 1e-3 and loss(scores - length * moved, parts - length * step) > before:
            length /= 2
        parts, scores = parts - length * step, scores - length * moved
    return parts


def _conjugate(x: Sparse, curvature: Numbers, gradient: Numbers, penalty: Numbers) -> Numbers:
    """F x (1 + C): the Newton step, (X' D X + penalty) step = gradient."""
    import numpy as np

    diagonal = _shared(x.transposed_times(curvature, squared=True)) + penalty
    step = np.zeros_like(gradient)
    residual = gradient.copy()
    z = residual / diagonal
    direction = z.copy()
    now = float((residual * z).sum())
    enough = 1e-4 * now
    for _ in range(CG_STEPS):
        if now <= enough:
            break
        image = _shared(x.transposed_times(curvature * x.times(_whole(direction)))) + penalty * direction
        along = now / max(float((direction * image).sum()), 1e-30)
        step += along * direction
        residual -= along * image
        z = residual / diagonal
        following = float((residual * z).sum())
        direction = z + following / now * direction
        now = following
    return step


def _tempered(classifier: Classifier, held: Matrix, alike: float) -> _Fitted:
    """With the temperature that suits the held-out tasks best."""
    import numpy as np

    solved, cold = _solved(held), predicted(classifier, held)
    logits = np.log(cold / (1 - cold))
    losses = [(log_loss(1 / (1 + np.exp(-logits / heat)), solved), heat) for heat in TEMPERATURES]
    loss, heat = min(losses)
    chance = np.clip(1 / (1 + np.exp(-logits / heat)), 1e-6, 1 - 1e-6)
    known = ~np.isnan(solved)
    each = np.where(known, -np.log(np.where(solved == 1.0, chance, 1 - chance)), 0.0).sum(axis=1)
    tasks = each / np.maximum(known.sum(axis=1), 1)
    error = float(tasks.std() / np.sqrt(max(len(tasks), 1)))
    return _Fitted(classifier=replace(classifier, temperature=heat), alike=alike, loss=loss, error=error)


def measured(classifier: Classifier, tasks: Tasks) -> dict[str, dict[str, float]]:
    """What it reaches on the held-out tasks, one attempt each, beside the best of each dimension and the one
    that is best on most tasks. Pure."""
    import numpy as np

    train, held = tasks.train, tasks.held
    chances = predicted(classifier, held)
    worth = Worth(train)
    by_kind = np.array([worth.means(kind) for kind in held.dimensions])
    own = np.array([worth.of(kind, row) for kind, row in zip(held.dimensions, chances, strict=True)])
    return {
        "alone": {**figures(held, own.argmax(axis=1)), "log_loss": log_loss(chances, _solved(held))},
        "dimension_best": figures(held, by_kind.argmax(axis=1)),
        "majority": figures(held, majority(train, held)),
    }
