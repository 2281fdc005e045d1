"""Half-open intervals [start, end): merging, gaps, coverage."""

from collections.abc import Iterable
from typing import NamedTuple


class Interval(NamedTuple):
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start

    def contains(self, point: int) -> bool:
        return self.start <= point < self.end


def merge(intervals: Iterable[tuple[int, int]]) -> list[Interval]:
    """The fewest sorted intervals that cover the same points; empty ones are dropped."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if merged and start < merged[-1].end:
            last = merged.pop()
            merged.append(Interval(last.start, max(last.end, end)))
        else:
            merged.append(Interval(start, end))
    return merged


def gaps(intervals: Iterable[tuple[int, int]], within: Interval) -> list[Interval]:
    """The parts of `within` that no interval covers."""
    free: list[Interval] = []
    position = within.start
    for interval in merge(intervals):
        if interval.end <= within.start:
            continue
        if interval.start >= within.end:
            break
        if interval.start > position:
            free.append(Interval(position, interval.start))
        position = interval.end
    if position < within.end:
        free.append(Interval(position, within.end))
    return free


def coverage(intervals: Iterable[tuple[int, int]]) -> int:
    """How many points are covered by at least one interval."""
    return sum(interval.length for interval in merge(intervals))
