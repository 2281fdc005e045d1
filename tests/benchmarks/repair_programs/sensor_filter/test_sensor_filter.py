import pytest
from sensor_filter import Reading, clean, gaps, jumps, outliers, resample, spread


def series(*values):
    return [Reading(second, value) for second, value in enumerate(values)]


def test_spread():
    assert spread([1, 2, 3, 4, 100]) == 1


def test_no_readings():
    assert outliers([]) == []
    assert clean([]) == []


def test_high_outlier():
    assert outliers(series(10, 11, 12, 11, 50)) == [Reading(4, 50)]


def test_low_outlier():
    assert outliers(series(10, 11, -30, 11, 12)) == [Reading(2, -30)]


def test_clean_keeps_the_order():
    assert clean(series(10, 99, 11, 12, 13)) == [
        Reading(0, 10),
        Reading(2, 11),
        Reading(3, 12),
        Reading(4, 13),
    ]


def test_gaps():
    readings = [Reading(0, 1), Reading(5, 1), Reading(30, 1)]
    assert gaps(readings, 10) == [(5, 30)]


def test_jumps():
    assert jumps(series(1, 2, 9, 2), 3) == 2


@pytest.mark.parametrize(("every", "count"), [(1, 5), (2, 3), (10, 1)])
def test_resample(every, count):
    assert len(resample(series(1, 2, 3, 4, 5), every)) == count
