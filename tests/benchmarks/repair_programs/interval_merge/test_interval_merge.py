import unittest

from interval_merge import Interval, coverage, gaps, merge


class MergeTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(merge([]), [])

    def test_apart(self):
        self.assertEqual(merge([(5, 6), (1, 3)]), [(1, 3), (5, 6)])

    def test_overlapping(self):
        self.assertEqual(merge([(1, 4), (3, 7)]), [(1, 7)])

    def test_nested(self):
        self.assertEqual(merge([(1, 9), (2, 3), (4, 5)]), [(1, 9)])

    def test_touching(self):
        self.assertEqual(merge([(1, 3), (3, 5)]), [(1, 5)])

    def test_empty_intervals_are_dropped(self):
        self.assertEqual(merge([(4, 4), (1, 2)]), [(1, 2)])


class GapsTest(unittest.TestCase):
    def test_between(self):
        self.assertEqual(gaps([(2, 4), (6, 8)], Interval(0, 10)), [(0, 2), (4, 6), (8, 10)])

    def test_none(self):
        self.assertEqual(gaps([(0, 10)], Interval(2, 5)), [])


class CoverageTest(unittest.TestCase):
    def test_counted_once(self):
        self.assertEqual(coverage([(0, 4), (2, 6)]), 6)
