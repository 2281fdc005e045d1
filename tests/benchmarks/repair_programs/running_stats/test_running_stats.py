import pytest
from running_stats import RunningStats, deviations


def test_new_statistics():
    stats = RunningStats()
    assert stats.count == 0
    assert stats.mean == 0
    assert stats.span == 0


def test_mean_and_variance():
    stats = RunningStats([2, 4, 4, 6])
    assert stats.mean == 4
    assert stats.variance == pytest.approx(8 / 3)


def test_one_value_has_no_variance():
    assert RunningStats([5]).variance == 0


def test_extremes():
    stats = RunningStats([3, -1, 8])
    assert (stats.least, stats.most, stats.span) == (-1, 8, 9)


def test_reset():
    stats = RunningStats([3, -1, 8])
    stats.reset()
    assert stats.count == 0
    assert stats.mean == 0
    assert stats.span == 0


def test_merged():
    merged = RunningStats([1, 2]).merged(RunningStats([3, 6]))
    assert merged.mean == 3
    assert merged.variance == pytest.approx(14 / 3)


def test_merged_with_nothing():
    assert RunningStats().merged(RunningStats()).count == 0


def test_deviations():
    assert deviations([[1, 3], [10, 10, 10], [0, 4]]) == [1.414, 0.0, 2.828]
