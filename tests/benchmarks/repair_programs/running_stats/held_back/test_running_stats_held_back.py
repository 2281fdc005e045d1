import pytest
from running_stats import RunningStats, deviations


def test_used_again():
    stats = RunningStats([100, -100, 50])
    stats.reset()
    for value in (2, 4, 4, 6):
        stats.push(value)
    fresh = RunningStats([2, 4, 4, 6])
    assert stats.variance == pytest.approx(fresh.variance)
    assert stats.mean == fresh.mean
    assert (stats.least, stats.most) == (2, 6)


def test_reset_twice():
    stats = RunningStats([1, 9])
    stats.reset()
    stats.reset()
    stats.push(3)
    assert stats.variance == 0
    stats.push(3)
    assert stats.variance == 0
    assert stats.deviation == 0


def test_merging_after_reset():
    stats = RunningStats([1, 1000])
    stats.reset()
    merged = stats.merged(RunningStats([1, 3]))
    assert merged.variance == pytest.approx(2)
    assert merged.count == 2


def test_batches():
    assert deviations([[0, 1000], [1, 1], [1, 1]]) == [707.107, 0.0, 0.0]
    assert deviations([]) == []
    assert deviations([[], [5], [1, 2]]) == [0.0, 0.0, 0.707]


def test_pushing_goes_on_without_reset():
    stats = RunningStats([1])
    stats.push(3)
    assert stats.variance == 2
