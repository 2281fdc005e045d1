import unittest

from linked_list import LinkedList


class LinkedListTest(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(list(LinkedList()), [])
        self.assertEqual(len(LinkedList()), 0)

    def test_both_directions(self):
        items = LinkedList("abc")
        self.assertEqual(list(items), ["a", "b", "c"])
        self.assertEqual(list(reversed(items)), ["c", "b", "a"])

    def test_prepend(self):
        items = LinkedList("b")
        items.prepend("a")
        self.assertEqual(list(items), ["a", "b"])

    def test_pop(self):
        items = LinkedList("ab")
        self.assertEqual(items.pop(), "b")
        self.assertEqual(list(items), ["a"])

    def test_pop_first(self):
        items = LinkedList("abc")
        self.assertEqual(items.pop_first(), "a")
        self.assertEqual(list(items), ["b", "c"])
        self.assertEqual(len(items), 2)

    def test_pop_from_empty(self):
        with self.assertRaises(IndexError):
            LinkedList().pop()
        with self.assertRaises(IndexError):
            LinkedList().pop_first()

    def test_used_again_after_pop(self):
        items = LinkedList("a")
        items.pop()
        items.append("b")
        self.assertEqual(list(items), ["b"])

    def test_backwards_after_pop_first(self):
        items = LinkedList("abc")
        items.pop_first()
        self.assertEqual(list(reversed(items)), ["c", "b"])
