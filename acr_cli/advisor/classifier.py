"""TF-IDF and one logistic regression a candidate: who will solve a task, by its words.

Words as in scikit-learn's TfidfVectorizer (smooth idf, rows of length 1); the dimension, the language and
both together are further features of length 1, which are all that is left of a task without a text. The
file is numpy's, without pickle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.advisor.card import TRAIN_ANEW
from acr_cli.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FILE = "classifier.npz"
WORDS = 5000
LONGEST_WORD = 40  # characters
READ = 20_000  # characters of a text
WORD = re.compile(r"\w\w+")


def words_of(text: str) -> Counter[str]:
    """How often each word stands in a text. Pure."""
    return Counter(word[:LONGEST_WORD] for word in WORD.findall(text[:READ].lower()))


def labels_of(dimension: str, language: str) -> tuple[str, ...]:
    """The features of a task that are no words; no word has a colon. Pure."""
    return ("task:", f"dimension:{dimension}", f"language:{language}", f"both:{dimension}:{language}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Classifier:
    """F features, of which those with a weight of 0 in `idf` are labels, and C candidates."""

    features: tuple[str, ...]
    idf: Numbers  # F
    weights: Numbers  # F x C
    candidates: tuple[str, ...]
    temperature: float = 1.0

    @cached_property
    def place(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.features)}

    def row(self, text: str, dimension: str, language: str) -> tuple[NDArray[np.int64], Numbers]:
        """The features of a task that are not 0: their indexes and values. Pure."""
        return row(self.place, self.idf, text, dimension, language)

    def chances(self, text: str, dimension: str, language: str) -> dict[str, float]:
        """By candidate, that it solves the task. Pure."""
        import numpy as np

        places, values = self.row(text, dimension, language)
        logits = np.clip(values @ self.weights[places] / self.temperature, -30, 30)
        return dict(zip(self.candidates, (1 / (1 + np.exp(-logits))).tolist(), strict=True))

    def write(self, path: Path) -> None:
        """Raises: OSError."""
        import numpy as np

        np.savez(
            path,
            features=np.array(self.features),
            idf=self.idf,
            weights=self.weights.astype(np.float32),
            candidates=np.array(self.candidates),
            temperature=np.array(self.temperature),
        )


def row(
    place: Mapping[str, int], idf: Numbers, text: str, dimension: str, language: str
) -> tuple[NDArray[np.int64], Numbers]:
    """The features of a task that are not 0: their indexes and values. Pure."""
    import numpy as np

    counts = {place[word]: count for word, count in words_of(text).items() if word in place}
    found = np.array(list(counts), dtype=np.int64)
    values = np.array(list(counts.values()), dtype=np.float64) * idf[found]
    values /= max(float(np.linalg.norm(values)), 1e-12)
    labels = [place[name] for name in labels_of(dimension, language) if name in place]
    return np.concatenate([found, np.array(labels, np.int64)]), np.concatenate([values, np.ones(len(labels))])


def read(folder: Path, candidates: Sequence[str]) -> Classifier:
    """The classifier of a card's folder. Raises: ConfigurationError where it is damaged."""
    import numpy as np

    path = folder / FILE
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            found = Classifier(
                features=tuple(kept["features"].tolist()),
                idf=kept["idf"].astype(np.float64),
                weights=kept["weights"].astype(np.float64),
                candidates=tuple(kept["candidates"].tolist()),
                temperature=float(kept["temperature"]),
            )
    except Exception as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint=TRAIN_ANEW) from error
    shape = (len(found.features), len(found.candidates))
    sound = found.weights.shape == shape and found.idf.shape == shape[:1] and found.temperature > 0
    finite = np.isfinite(found.weights).all() and np.isfinite(found.idf).all()
    if not sound or not finite or found.candidates != tuple(candidates):
        raise ConfigurationError(f"{path} does not fit its card.", hint=TRAIN_ANEW)
    return found
