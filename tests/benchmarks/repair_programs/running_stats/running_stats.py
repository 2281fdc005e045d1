"""Mean, spread and extremes of a stream of numbers, without storing it (Welford's method)."""

import math
from collections.abc import Iterable


class RunningStats:
    def __init__(self, values: Iterable[float] = ()) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        self.least = math.inf
        self.most = -math.inf
        for value in values:
            self.push(value)

    def reset(self) -> None:
        """Forget everything, as if newly made."""
        self.count = 0
        self.mean = 0.0
        self.least = math.inf
        self.most = -math.inf

    def push(self, value: float) -> None:
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self._squares += step * (value - self.mean)
        self.least = min(self.least, value)
        self.most = max(self.most, value)

    @property
    def variance(self) -> float:
        """The variance of the sample, 0 for fewer than two values."""
        if self.count < 2:
            return 0.0
        return self._squares / (self.count - 1)

    @property
    def deviation(self) -> float:
        return math.sqrt(self.variance)

    @property
    def span(self) -> float:
        return self.most - self.least if self.count else 0.0

    def merged(self, other: "RunningStats") -> "RunningStats":
        """The statistics of both streams together."""
        result = RunningStats()
        result.count = self.count + other.count
        if not result.count:
            return result
        step = other.mean - self.mean
        result.mean = self.mean + step * other.count / result.count
        result._squares = self._squares + other._squares + step**2 * self.count * other.count / result.count
        result.least = min(self.least, other.least)
        result.most = max(self.most, other.most)
        return result


def deviations(batches: Iterable[Iterable[float]]) -> list[float]:
    """The deviation of every batch, to 3 places."""
    stats = RunningStats()
    result = []
    for batch in batches:
        stats.reset()
        for value in batch:
            stats.push(value)
        result.append(round(stats.deviation, 3))
    return result
