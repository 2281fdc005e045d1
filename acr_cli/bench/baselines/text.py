"""Routers that read the text, fitted on the warm rows: retrieval and classifiers, over TF-IDF."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np

from acr_cli.bench.baselines.extra import require
from acr_cli.bench.baselines.lookup import DimensionBest
from acr_cli.bench.baselines.warm import Indexes, Numbers, warm_rows
from acr_cli.bench.player import Setting
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context

Encoder = Callable[[Sequence[str]], Any]  # n texts -> n x D numbers, an array or a sparse matrix

FEATURES = 5000  # words of the vocabulary
WORD = r"\w\w"  # in a text without any, there is nothing to weigh
NEIGHBOURS = 10
SIMILAR = 0.5  # least cosine of a neighbour
EARLY = 100  # examples of the rarest label, from which a network may stop early


class Ranking(DimensionBest):
    """Whoever has the highest value for this task, then the next; equals as DimensionBest has them.

    What the text says nothing of is left to DimensionBest altogether."""

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        if not context.failed:  # else it is the same task as before
            self.order = self._by_text(context)
        return super().choose(context, candidates, rng)

    def _order(self, context: Context) -> list[str]:
        return self.order or super()._order(context)

    def _by_text(self, context: Context) -> list[str]:
        values = self._values(context)
        return [] if values is None else sorted(super()._order(context), key=lambda name: -values[name])

    def _values(self, context: Context) -> dict[str, float] | None:
        """By candidate what speaks for it; None: nothing is known."""
        raise NotImplementedError


class Knn(Ranking):
    """The mean scores of the ten nearest warm tasks, weighted by their cosine, which is 0.5 at least.

    Source: the memory of arXiv 2606.22902 (k = 10, threshold 0.5) on its own, over full warm rows. Adapted:
    vectors are TF-IDF unless `encode` makes others; a task without text or neighbours is left to
    DimensionBest."""

    name = "knn"

    def __init__(self, encode: Encoder | None = None) -> None:
        super().__init__()
        if encode is not None and not callable(encode):
            raise TypeError("an encoder is a function")
        self.encode = encode

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        self.known = warm.take(warm.texts.str.contains(WORD).to_numpy())
        if self.known.tasks:
            encode = self.encode or _words(self.name, self.known.texts.to_list())
            self.vectorise = partial(_unit, encode)
            self.vectors = self.vectorise(self.known.texts.to_list())

    def _values(self, context: Context) -> dict[str, float] | None:
        if not self.known.tasks or not re.search(WORD, context.text):
            return None
        product: Any = self.vectors @ self.vectorise([context.text]).T
        cosine = (product if isinstance(product, np.ndarray) else product.toarray()).ravel()
        near = np.argsort(-cosine, kind="stable")[:NEIGHBOURS]
        near = near[cosine[near] >= SIMILAR]
        if not near.size:
            return None
        score = self.known.score[near]
        weight = np.where(np.isnan(score), 0.0, cosine[near][:, None])
        mean = (weight * np.nan_to_num(score)).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-12)
        return dict(zip(self.known.models, mean.tolist(), strict=True))


class TfidfLogReg(Ranking):
    """Logistic regression from a task's words to the candidates that were best.

    Source: the classifier voter of arXiv 2606.22902, of which no more is stated than TF-IDF and logistic
    regression: 5,000 words and scikit-learn's defaults otherwise. Adapted: of k equally good candidates
    each is a label of weight 1/k, and a task on which all are equal is none; the dimension and the language
    are two more words, which are all that is left of a task whose text is not known."""

    name = "tfidf_logreg"

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        documents = [
            _document(*parts) for parts in zip(warm.texts, warm.dimensions, warm.languages, strict=True)
        ]
        self.vectorise = _words(self.name, documents)
        rows, labels, weights = _best(warm)
        self.classes: list[int] = np.unique(labels).tolist()
        self.model: Any = None
        if len(self.classes) > 1:
            self.model = self._model(setting.seed, labels)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it stopped before it converged
                self.model.fit(self.vectorise(documents)[rows], labels, sample_weight=weights)

    def _model(self, seed: int, labels: Indexes) -> Any:
        return require("sklearn.linear_model", self.name).LogisticRegression(max_iter=1000, random_state=seed)

    def _values(self, context: Context) -> dict[str, float] | None:
        if self.model is None:
            return None
        document = _document(context.text, context.dimension, context.language)
        chances = self.model.predict_proba(self.vectorise([document]))[0]
        values = dict.fromkeys(self.overall, 0.0)
        names = [candidate.id for candidate in self.setting.candidates]
        return values | {names[c]: float(p) for c, p in zip(self.classes, chances, strict=True)}


class TfidfMlp(TfidfLogReg):
    """As `TfidfLogReg`, by a multi-layer perceptron: scikit-learn's, one layer of 100, stopped early.

    Source: the TF-IDF + MLP baseline of arXiv 2606.22902, of which no sizes are stated."""

    name = "tfidf_mlp"

    def _model(self, seed: int, labels: Indexes) -> Any:
        network = require("sklearn.neural_network", self.name)
        # It sets a tenth apart to know when to stop, and wants every label in it.
        enough = np.unique(labels, return_counts=True)[1].min() >= EARLY
        return network.MLPClassifier(early_stopping=bool(enough), random_state=seed)


def _document(text: str, dimension: str, language: str) -> str:
    return f"{text} dimension_{dimension} language_{language}"


def _words(policy: str, texts: Sequence[str]) -> Any:
    """TF-IDF of the words of these texts: a function from texts to rows of length 1, sparse."""
    text = require("sklearn.feature_extraction.text", policy)
    return text.TfidfVectorizer(max_features=FEATURES).fit(texts).transform


def _unit(encode: Encoder, texts: Sequence[str]) -> Any:
    """Rows of length 1; sparse ones are so already."""
    vectors = encode(texts)
    if isinstance(vectors, np.ndarray):
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors


def _best(warm: Matrix) -> tuple[Indexes, Indexes, Numbers]:
    """Labels: rows, the columns that are best there, and their weights, which sum to 1 in a row."""
    score = np.where(warm.available, warm.score, -1.0)
    top = score == score.max(axis=1, keepdims=True)
    rows, columns = np.nonzero(top & ~top.all(axis=1, keepdims=True))
    weights = 1 / top.sum(axis=1)
    return rows.astype(np.int64), columns.astype(np.int64), weights[rows]
