import pytest
from moving_average import MovingAverage, smooth


def test_long_streams_stay_exact():
    average = MovingAverage(3)
    seen = []
    for value in [5, -1, 8, 2, 0, 0, 0]:
        seen.append(average.push(value))
    assert seen[0] == 5
    assert seen[1] == 2
    assert seen[2] == 4
    assert seen[3] == 3
    assert seen[4] == pytest.approx(10 / 3)
    assert seen[-1] == 0


def test_window_of_one_follows_the_input():
    assert list(smooth([7, 3, -2], 1)) == [7, 3, -2]


def test_negative_values():
    assert list(smooth([-4, -2, -6], 2)) == [-3, -4]


def test_window_as_long_as_the_input():
    assert list(smooth([1, 2, 6], 3)) == [3]


def test_full_stays_full():
    average = MovingAverage(2)
    for value in range(10):
        average.push(value)
    assert average.is_full
    assert average.mean == 8.5


def test_negative_window():
    with pytest.raises(ValueError):
        MovingAverage(-2)
