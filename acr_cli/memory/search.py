"""Search: exact cosine over all vectors of one embedder, in memory.

At the bound of 20,000 vectors of 384 numbers this is one product with a matrix of 30 MB: milliseconds, and no
approximation to tune. Vectors of two embedders are in two shelves and never meet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

DIGITS = 6  # float32 knows no more: similarities equal so far are ties


class Hit(NamedTuple):
    """A found row."""

    sequence: int
    similarity: float  # cosine, [-1, 1]


class VectorIndex:
    """Rows in the order of their sequence; what leaves, leaves at the front."""

    def __init__(self) -> None:
        self._shelves: dict[tuple[str, int], _Shelf] = {}

    def add(self, sequence: int, embedder: str, vector: bytes) -> None:
        """Add a row above all others, its vector as `encoding.pack` wrote it; an empty one is left out."""
        if not vector:
            return
        size = len(vector) // 4
        if (shelf := self._shelves.get((embedder, size))) is None:
            shelf = self._shelves[embedder, size] = _Shelf(size)
        shelf.add(sequence, vector)

    def drop_before(self, sequence: int) -> None:
        """Rows below a sequence are gone."""
        for shelf in self._shelves.values():
            shelf.drop_before(sequence)

    def clear(self) -> None:
        self._shelves.clear()

    def nearest(self, vector: Sequence[float], embedder: str, *, k: int, threshold: float) -> tuple[Hit, ...]:
        """At most `k` rows of this embedder with a cosine >= `threshold`, nearest first, then newest."""
        shelf = self._shelves.get((embedder, len(vector)))
        return () if shelf is None or k < 1 else shelf.nearest(vector, k, threshold)


class _Shelf:
    """Unit vectors of one embedder: a matrix with room to grow, and blobs that are not yet in it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._sequences: list[int] = []
        self._start = 0  # rows before it have left
        self._matrix: Matrix | None = None
        self._filled = 0
        self._waiting: list[bytes] = []

    def add(self, sequence: int, vector: bytes) -> None:
        self._sequences.append(sequence)
        self._waiting.append(vector)

    def drop_before(self, sequence: int) -> None:
        self._start = bisect_left(self._sequences, sequence, lo=self._start)

    def nearest(self, vector: Sequence[float], k: int, threshold: float) -> tuple[Hit, ...]:
        import numpy as np

        self._settle()
        query = np.asarray(vector, dtype=np.float32)
        length = float(np.linalg.norm(query))
        if self._matrix is None or self._start >= self._filled or not 0 < length < float("inf"):
            return ()
        cosines = np.clip(self._matrix[self._start : self._filled] @ (query / length), -1.0, 1.0).round(
            DIGITS
        )
        least = threshold
        if k < len(cosines):
            least = max(threshold, float(np.partition(cosines, -k)[-k]))
        chosen = np.flatnonzero(cosines >= least)
        order = np.lexsort((-chosen, -cosines[chosen]))[:k]
        return tuple(Hit(self._sequences[self._start + i], float(cosines[i])) for i in chosen[order].tolist())

    def _settle(self) -> None:
        import numpy as np

        if self._matrix is not None and self._start > len(self._sequences) // 2:
            self._compact()
        if not self._waiting:
            return
        new = np.frombuffer(b"".join(self._waiting), dtype="<f4").reshape(-1, self._size).astype(np.float32)
        lengths = np.linalg.norm(new, axis=1, keepdims=True)
        new /= np.where(lengths > 0, lengths, 1.0)  # a zero vector has no direction: its cosine is 0
        needed = self._filled + len(new)
        if self._matrix is None or needed > len(self._matrix):
            grown = np.empty((needed + needed // 4, self._size), dtype=np.float32)
            if self._matrix is not None:
                grown[: self._filled] = self._matrix[: self._filled]
            self._matrix = grown
        self._matrix[self._filled : needed] = new
        self._filled = needed
        self._waiting.clear()

    def _compact(self) -> None:
        gone = min(self._start, self._filled)
        if self._matrix is not None:
            self._matrix = self._matrix[gone : self._filled].copy()
        self._waiting = self._waiting[self._start - gone :]
        self._sequences = self._sequences[self._start :]
        self._filled -= gone
        self._start = 0
