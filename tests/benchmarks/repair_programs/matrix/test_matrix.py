import unittest

from matrix import Matrix


class MatrixTest(unittest.TestCase):
    def test_rows_must_have_one_length(self):
        with self.assertRaises(ValueError):
            Matrix([[1, 2], [3]])

    def test_shape(self):
        self.assertEqual(Matrix([[1, 2, 3], [4, 5, 6]]).shape, (2, 3))

    def test_sum(self):
        self.assertEqual(Matrix([[1, 2]]) + Matrix([[3, 4]]), Matrix([[4, 6]]))

    def test_sum_of_other_shapes(self):
        with self.assertRaises(ValueError):
            Matrix([[1, 2]]) + Matrix([[1], [2]])

    def test_transposed(self):
        self.assertEqual(Matrix([[1, 2, 3], [4, 5, 6]]).transposed(), Matrix([[1, 4], [2, 5], [3, 6]]))

    def test_product(self):
        self.assertEqual(Matrix([[1, 2], [3, 4]]) @ Matrix([[5, 6], [7, 8]]), Matrix([[19, 22], [43, 50]]))

    def test_product_of_unfitting_shapes(self):
        with self.assertRaises(ValueError):
            Matrix([[1, 2]]) @ Matrix([[1, 2]])

    def test_power_gives_fibonacci_numbers(self):
        self.assertEqual(Matrix([[1, 1], [1, 0]]).power(10).rows[0][1], 55)
