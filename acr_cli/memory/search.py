"""Search: exact cosine over all vectors of one embedder, in memory.

At the bound of 20,000 vectors of 384 numbers this is one product with a matrix of 30 MB: milliseconds, and no
approximation to tune. Vectors of two embedders are in two shelves and never meet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Sequences = NDArray[np.int64]

DIGITS = 6  # float32 knows no more: similarities equal so far are ties

ROUNDING = 1e-4  # between two ways to a cosine


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
        if vector:
            self._shelf(embedder, len(vector) // 4).add(sequence, vector)

    def load(self, embedder: str, sequences: Sequences, matrix: Matrix) -> None:
        """Begin a shelf with rows of unit vectors, which may be mapped from a file."""
        self._shelf(embedder, matrix.shape[1]).load(sequences, matrix)

    def shelves(self) -> Iterator[tuple[str, Sequences, list[Matrix]]]:
        """By embedder, what `load` would take, its matrix in parts."""
        for (embedder, _), shelf in self._shelves.items():
            yield embedder, *shelf.rows()

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

    def _shelf(self, embedder: str, size: int) -> _Shelf:
        if (shelf := self._shelves.get((embedder, size))) is None:
            shelf = self._shelves[embedder, size] = _Shelf(size)
        return shelf


class _Shelf:
    """Unit vectors of one embedder: a block from a file, a block that grows, and blobs not yet in it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._old: list[int] = []  # sequences of the block from a file
        self._block: Matrix | None = None
        self._sequences: list[int] = []  # of the growing block, then of what waits
        self._matrix: Matrix | None = None
        self._filled = 0
        self._waiting: list[bytes] = []
        self._start = 0  # rows of both blocks before it have left

    def add(self, sequence: int, vector: bytes) -> None:
        self._sequences.append(sequence)
        self._waiting.append(vector)

    def load(self, sequences: Sequences, matrix: Matrix) -> None:
        self._old, self._block = sequences.tolist(), matrix

    def drop_before(self, sequence: int) -> None:
        if self._start < len(self._old):
            self._start = bisect_left(self._old, sequence, lo=self._start)
        if self._start >= len(self._old):
            lo = self._start - len(self._old)
            self._start = len(self._old) + bisect_left(self._sequences, sequence, lo=lo)

    def rows(self) -> tuple[Sequences, list[Matrix]]:
        import numpy as np

        self._settle()
        sequences = np.asarray((self._old + self._sequences)[self._start :], dtype=np.int64)
        return sequences, self._blocks()

    def nearest(self, vector: Sequence[float], k: int, threshold: float) -> tuple[Hit, ...]:
        import numpy as np

        self._settle()
        query = np.asarray(vector, dtype=np.float32)
        length = float(np.linalg.norm(query))
        blocks = self._blocks()
        if not blocks or not 0 < length < float("inf"):
            return ()
        # One thread by intent: the library behind `@` takes all cores, whose threads wait for each other on a
        # busy machine ten times as long as the product takes.
        unit = query / length
        products = [np.einsum("ij,j->i", block, unit) for block in blocks]
        cosines = np.clip(np.concatenate(products), -1.0, 1.0).round(DIGITS)
        least = threshold
        if k < len(cosines):
            least = max(threshold, float(np.partition(cosines, -k)[-k]))
        chosen = np.flatnonzero(cosines >= least)
        order = np.lexsort((-chosen, -cosines[chosen]))[:k]
        return tuple(Hit(self._sequence(self._start + i), float(cosines[i])) for i in chosen[order].tolist())

    def _sequence(self, place: int) -> int:
        before = len(self._old)
        return self._old[place] if place < before else self._sequences[place - before]

    def _blocks(self) -> list[Matrix]:
        """The rows that are there, in order."""
        before, found = len(self._old), []
        if self._block is not None and self._start < before:
            found.append(self._block[self._start :])
        first = max(self._start - before, 0)
        if self._matrix is not None and first < self._filled:
            found.append(self._matrix[first : self._filled])
        return found

    def _settle(self) -> None:
        import numpy as np

        if self._start >= len(self._old) and self._start - len(self._old) > len(self._sequences) // 2:
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
        """Let go of rows that have left: all of the block from a file, and most of the other."""
        start = self._start - len(self._old)
        gone = min(start, self._filled)
        if self._matrix is not None:
            self._matrix = self._matrix[gone : self._filled].copy()
        self._waiting = self._waiting[start - gone :]
        self._sequences = self._sequences[start:]
        self._filled -= gone
        self._old, self._block = [], None
        self._start = 0


def alike(blob: bytes, vector: Sequence[float], similarity: float) -> bool:
    """Whether a packed vector has this cosine with another one, but for rounding."""
    import numpy as np

    one, other = np.frombuffer(blob, dtype="<f4"), np.asarray(vector, dtype=np.float32)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return bool(abs(float(one @ other) / lengths - similarity) < ROUNDING) if lengths else similarity == 0.0
