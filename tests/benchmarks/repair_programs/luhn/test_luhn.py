import unittest

from card_numbers import check_digit, digits_of, is_valid, issuer, masked


class CardNumberTest(unittest.TestCase):
    def test_blanks_and_dashes(self):
        self.assertEqual(digits_of("12 3-4"), [1, 2, 3, 4])

    def test_letters_are_refused(self):
        with self.assertRaises(ValueError):
            digits_of("12a")

    def test_valid_number_of_small_digits(self):
        self.assertTrue(is_valid("4111 1111 1111 1111"))

    def test_valid_number_of_large_digits(self):
        self.assertTrue(is_valid("5555 5555 5555 4444"))

    def test_wrong_digit(self):
        self.assertFalse(is_valid("4111 1111 1111 1112"))

    def test_check_digit(self):
        self.assertEqual(check_digit("7992739871"), 3)

    def test_issuer(self):
        self.assertEqual(issuer("4111-1111-1111-1111"), "Visa")
        self.assertIsNone(issuer("9111"))

    def test_masked(self):
        self.assertEqual(masked("4111 1111 1111 1234"), "************1234")
