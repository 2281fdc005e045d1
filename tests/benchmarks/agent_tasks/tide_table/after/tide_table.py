"""Daily summaries of tide readings, which come ordered by time as lines "2024-03-01 06:10 1.45"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Day:
    date: str
    low: float
    high: float
    readings: int


def parse(line):
    """A line as its date, its time and its height in metres."""
    date, time, height = line.split()
    return date, time, float(height)


def summarise(lines):
    """One Day for each date, in order."""
    days = []
    date, heights = None, []
    for line in lines:
        if not line.strip():
            continue
        current, _, height = parse(line)
        if current != date:
            if heights:
                days.append(Day(date, min(heights), max(heights), len(heights)))
            date, heights = current, []
        heights.append(height)
    if heights:
        days.append(Day(date, min(heights), max(heights), len(heights)))
    return days


def highest(days):
    """The day with the highest tide; the earlier one of two."""
    return max(days, key=lambda day: day.high, default=None)
