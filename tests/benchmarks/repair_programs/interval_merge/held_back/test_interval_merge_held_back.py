from interval_merge import Interval, coverage, gaps, merge


def test_chain_of_touching_intervals():
    assert merge([(0, 1), (1, 2), (2, 3), (4, 5)]) == [(0, 3), (4, 5)]


def test_touching_in_any_order():
    assert merge([(3, 5), (1, 3), (5, 9)]) == [(1, 9)]


def test_one_apart_stays_apart():
    assert merge([(1, 3), (4, 6)]) == [(1, 3), (4, 6)]


def test_same_start():
    assert merge([(1, 5), (1, 2)]) == [(1, 5)]


def test_duplicates():
    assert merge([(1, 2), (1, 2)]) == [(1, 2)]


def test_negative():
    assert merge([(-5, -3), (-3, 0)]) == [(-5, 0)]


def test_reversed_interval_is_dropped():
    assert merge([(5, 2), (0, 1)]) == [(0, 1)]


def test_empty_between():
    assert merge([(0, 2), (2, 2), (3, 4)]) == [(0, 2), (3, 4)]


def test_gaps_of_touching():
    assert gaps([(0, 2), (2, 4)], Interval(0, 5)) == [(4, 5)]
    assert gaps([], Interval(3, 4)) == [(3, 4)]
    assert gaps([(-2, 1), (8, 20)], Interval(0, 10)) == [(1, 8)]


def test_coverage_of_touching():
    assert coverage([(0, 2), (2, 5)]) == 5
