import unittest

from moving_average import MovingAverage, smooth


class MovingAverageTest(unittest.TestCase):
    def test_empty_average_is_zero(self):
        self.assertEqual(MovingAverage(3).mean, 0.0)

    def test_window_must_be_positive(self):
        with self.assertRaises(ValueError):
            MovingAverage(0)

    def test_mean_before_the_window_is_full(self):
        average = MovingAverage(4)
        average.push(2)
        self.assertEqual(average.push(4), 3.0)
        self.assertFalse(average.is_full)

    def test_full_window(self):
        average = MovingAverage(2)
        average.push(1)
        average.push(3)
        self.assertTrue(average.is_full)

    def test_old_values_leave_the_window(self):
        average = MovingAverage(2)
        for value in (10, 2, 4):
            average.push(value)
        self.assertEqual(average.mean, 3.0)

    def test_smooth(self):
        self.assertEqual(list(smooth([1, 2, 3, 4], 2)), [1.5, 2.5, 3.5])

    def test_smooth_of_too_few_values(self):
        self.assertEqual(list(smooth([1, 2], 3)), [])
