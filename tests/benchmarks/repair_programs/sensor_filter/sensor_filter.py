"""Clean the readings of a sensor: outliers, gaps, jumps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median


@dataclass(frozen=True)
class Reading:
    second: int
    value: float


def spread(values: Sequence[float]) -> float:
    """The median of the distances from the median."""
    centre = median(values)
    return median(abs(value - centre) for value in values)


def outliers(readings: Sequence[Reading], factor: float = 3.0) -> list[Reading]:
    """Readings farther from the median than `factor` spreads."""
    if not readings:
        return []
    values = [reading.value for reading in readings]
    centre, scale = median(values), spread(values)
    return [reading for reading in readings if reading.value - centre > factor * scale]


def clean(readings: Sequence[Reading], factor: float = 3.0) -> list[Reading]:
    wrong = set(outliers(readings, factor))
    return [reading for reading in readings if reading not in wrong]


def gaps(readings: Sequence[Reading], longest: int) -> list[tuple[int, int]]:
    """Pairs of seconds between which nothing was read for more than `longest` seconds."""
    pairs = pairwise(readings)
    return [(a.second, b.second) for a, b in pairs if b.second - a.second > longest]


def jumps(readings: Sequence[Reading], step: float) -> int:
    """How often the value changes by more than `step` from one reading to the next."""
    pairs = pairwise(readings)
    return sum(abs(b.value - a.value) > step for a, b in pairs)


def resample(readings: Sequence[Reading], every: int) -> list[Reading]:
    """The last known value at every multiple of `every` seconds within the readings."""
    result: list[Reading] = []
    if not readings:
        return result
    index = 0
    for second in range(readings[0].second, readings[-1].second + 1, every):
        while index + 1 < len(readings) and readings[index + 1].second <= second:
            index += 1
        result.append(Reading(second, readings[index].value))
    return result
