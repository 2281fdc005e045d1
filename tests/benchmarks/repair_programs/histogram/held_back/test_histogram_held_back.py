import pytest
from histogram import Histogram


def made(low, high, bins, values):
    histogram = Histogram(low, high, bins)
    histogram.update(values)
    return histogram


@pytest.mark.parametrize(
    ("values", "sums"),
    [
        ([], [0, 0, 0]),
        ([0.5], [1, 1, 1]),
        ([2.5, 2.5], [0, 0, 2]),
        ([0, 1, 2, 3], [1, 2, 4]),
        ([9, -1], [0, 0, 0]),
        ([1, 1, 0], [1, 3, 3]),
    ],
)
def test_cumulative(values, sums):
    assert made(0, 3, 3, values).cumulative() == sums


def test_one_bin():
    assert made(0, 1, 1, [0.1, 0.2]).cumulative() == [2]


def test_quantiles():
    histogram = made(0, 4, 4, [0, 1, 2, 3])
    assert [histogram.quantile(share) for share in (0.25, 0.5, 0.75, 1)] == [1, 2, 3, 4]
    assert histogram.quantile(0.3) == 2
    assert made(0, 4, 4, []).quantile(0.5) == 1


def test_cumulative_leaves_the_counts():
    histogram = made(0, 2, 2, [0, 1, 1])
    histogram.cumulative()
    assert histogram.cumulative() == [1, 3]
    assert histogram.counts == [1, 2]
