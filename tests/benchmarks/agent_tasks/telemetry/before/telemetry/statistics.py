"""Statistics of samples."""


def percentile(values, percent):
    """The value below which so many percent of the samples lie; None without samples."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[int(len(ordered) * percent / 100) - 1]


def spread(values):
    """The distance from the smallest to the largest sample."""
    ordered = sorted(values)
    return ordered[-1] - ordered[0] if ordered else 0.0
