"""Limits of numbers."""


def clamp(value: float, low: float, high: float) -> float:
    """The value, or the limit that it lies beyond."""
    if low > high:
        raise ValueError(f"limits are reversed: {low} > {high}")
    return max(low, min(value, high))


def in_band(value: float, centre: float, width: float) -> bool:
    """Whether the value lies within width / 2 of the centre."""
    return abs(value - centre) <= width / 2
