"""Moving averages over a stream of readings."""

from collections import deque
from collections.abc import Iterable, Iterator


class MovingAverage:
    """The mean of the last `window` values, kept up to date in constant time."""

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError("window must be at least 1")
        self.window = window
        self._values: deque[float] = deque()
        self._total = 0.0

    def push(self, value: float) -> float:
        """Take one more value and return the new mean."""
        self._values.append(value)
        self._total += value
        if len(self._values) > self.window:
            oldest = self._values.popleft()
            self._total += oldest
        return self.mean

    @property
    def mean(self) -> float:
        if not self._values:
            return 0.0
        return self._total / len(self._values)

    @property
    def is_full(self) -> bool:
        return len(self._values) == self.window


def smooth(values: Iterable[float], window: int) -> Iterator[float]:
    """Yield the moving average after each value once the window is full."""
    average = MovingAverage(window)
    for value in values:
        mean = average.push(value)
        if average.is_full:
            yield mean
