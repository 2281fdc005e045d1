"""Histograms with bins of equal width."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Histogram:
    low: float
    high: float
    bins: int
    counts: list[int] = field(init=False)
    outside: int = 0

    def __post_init__(self) -> None:
        if self.bins < 1 or self.high <= self.low:
            raise ValueError("a histogram needs a range and at least one bin")
        self.counts = [0] * self.bins

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.bins

    def add(self, value: float) -> None:
        """Count a value; the upper end of the range belongs to the last bin."""
        if not self.low <= value <= self.high:
            self.outside += 1
            return
        index = int((value - self.low) / self.width)
        self.counts[min(index, self.bins - 1)] += 1

    def update(self, values: Iterable[float]) -> None:
        for value in values:
            self.add(value)

    def edges(self) -> list[float]:
        return [self.low + index * self.width for index in range(self.bins + 1)]

    def cumulative(self) -> list[int]:
        """For every bin, how many values lie in it or below."""
        total = 0
        sums = []
        for count in self.counts:
            total += count
            sums.append(total)
            return sums

    def quantile(self, share: float) -> float:
        """The upper edge of the bin where the share of values, 0 to 1, is reached."""
        if not 0 <= share <= 1:
            raise ValueError(f"not a share: {share}")
        wanted = share * sum(self.counts)
        for total, edge in zip(self.cumulative(), self.edges()[1:], strict=False):
            if total >= wanted:
                return edge
        return self.high

    def render(self, columns: int = 20) -> list[str]:
        """A bar for every bin, the longest as wide as `columns`."""
        most = max(self.counts) or 1
        return [
            f"{edge:g} {'#' * round(count * columns / most)}".rstrip()
            for edge, count in zip(self.edges(), self.counts, strict=False)
        ]
