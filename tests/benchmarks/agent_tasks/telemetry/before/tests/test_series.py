import math

from telemetry.samples import Series
from telemetry.statistics import percentile, spread


def test_the_median_of_an_even_number():
    assert percentile([4, 1, 3, 2], 50) == 2.5


def test_the_median_of_an_odd_number():
    assert percentile([3, 1, 2], 50) == 2


def test_the_ends():
    assert percentile([1, 2, 3, 4, 5], 0) == 1
    assert percentile([1, 2, 3, 4, 5], 100) == 5


def test_no_samples():
    assert percentile([], 50) is None


def test_nan_is_left_out():
    series = Series("latency", "ms")
    series.extend([1, math.nan, 3])
    assert series.values == (1, 3)
    assert series.median() == 2
    assert spread([1, 4]) == 3
