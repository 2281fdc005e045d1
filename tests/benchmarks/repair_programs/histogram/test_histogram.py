import pytest
from histogram import Histogram


@pytest.fixture
def ages():
    histogram = Histogram(0, 100, 5)
    histogram.update([5, 15, 25, 25, 45, 99, 100, 120])
    return histogram


def test_counts(ages):
    assert ages.counts == [2, 2, 1, 0, 2]
    assert ages.outside == 1


def test_edges(ages):
    assert ages.edges() == [0, 20, 40, 60, 80, 100]


def test_empty_range():
    with pytest.raises(ValueError):
        Histogram(1, 1, 3)


def test_cumulative(ages):
    assert ages.cumulative() == [2, 4, 5, 5, 7]


def test_median(ages):
    assert ages.quantile(0.5) == 40


def test_lowest_quantile(ages):
    assert ages.quantile(0) == 20


def test_highest_quantile(ages):
    assert ages.quantile(1) == 100


def test_share_out_of_range(ages):
    with pytest.raises(ValueError, match="not a share"):
        ages.quantile(1.5)


def test_render():
    histogram = Histogram(0, 2, 2)
    histogram.update([0, 1, 1])
    assert histogram.render(columns=4) == ["0 ##", "1 ####"]
