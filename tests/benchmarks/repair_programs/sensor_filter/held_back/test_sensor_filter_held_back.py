from sensor_filter import Reading, clean, jumps, outliers, resample


def series(*values):
    return [Reading(second, value) for second, value in enumerate(values)]


def test_both_sides():
    assert outliers(series(-100, 10, 11, 12, 13, 14, 200)) == [Reading(0, -100), Reading(6, 200)]


def test_negative_values():
    assert outliers(series(-10, -11, -12, -11, -90)) == [Reading(4, -90)]
    assert outliers(series(-10, -11, -12, -11, 90)) == [Reading(4, 90)]


def test_exactly_at_the_limit_is_kept():
    assert outliers(series(8, 9, 10, 11, 12, 13, 4), factor=3) == []
    assert outliers(series(8, 9, 10, 11, 12, 13, 3.9), factor=3) == [Reading(6, 3.9)]


def test_factor():
    readings = series(7, 9, 10, 11, 13)
    assert outliers(readings, factor=3) == []
    assert outliers(readings, factor=2) == [Reading(0, 7), Reading(4, 13)]


def test_clean_of_low_values():
    assert clean(series(10, -99, 11, 12)) == [Reading(0, 10), Reading(2, 11), Reading(3, 12)]


def test_constant_series():
    assert outliers(series(5, 5, 5, 5)) == []
    assert outliers(series(5, 5, 4, 5)) == [Reading(2, 4)]


def test_others():
    assert jumps(series(), 1) == 0
    assert resample([Reading(0, 1), Reading(3, 2), Reading(4, 3)], 2) == [
        Reading(0, 1),
        Reading(2, 1),
        Reading(4, 3),
    ]
