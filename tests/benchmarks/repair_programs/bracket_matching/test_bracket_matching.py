import unittest

from bracket_matching import brackets, deepest, is_balanced, needs_more, partners


class BracketTest(unittest.TestCase):
    def test_brackets_within_quotes_are_left_out(self):
        self.assertEqual(list(brackets("a('(')")), [(1, "("), (5, ")")])

    def test_escaped_quote(self):
        self.assertEqual(list(brackets(r"'\'(' ]")), [(6, "]")])

    def test_balanced(self):
        self.assertTrue(is_balanced("f(a[1], {2: (3)})"))

    def test_crossed(self):
        self.assertFalse(is_balanced("([)]"))

    def test_closed_too_often(self):
        self.assertFalse(is_balanced("a)"))

    def test_partners(self):
        self.assertEqual(partners("(a[b])"), {0: 5, 5: 0, 2: 4, 4: 2})

    def test_deepest(self):
        self.assertEqual(deepest("(a)((b)[c])"), 2)

    def test_prompt_waits(self):
        self.assertTrue(needs_more(["f(a,"]))

    def test_prompt_goes_on(self):
        self.assertFalse(needs_more(["f(a,", "b)"]))
