import unittest

from ring_buffer import RingBuffer


class RingBufferTest(unittest.TestCase):
    def setUp(self):
        self.ring = RingBuffer(3)

    def test_new_buffer_is_empty(self):
        self.assertEqual(len(self.ring), 0)
        self.assertEqual(list(self.ring), [])

    def test_capacity_must_be_positive(self):
        with self.assertRaises(ValueError):
            RingBuffer(0)

    def test_items_come_in_order(self):
        for item in "ab":
            self.ring.append(item)
        self.assertEqual(list(self.ring), ["a", "b"])

    def test_oldest_is_overwritten(self):
        for item in "abcde":
            self.ring.append(item)
        self.assertEqual(list(self.ring), ["c", "d", "e"])
        self.assertEqual(len(self.ring), 3)

    def test_index(self):
        for item in "abcd":
            self.ring.append(item)
        self.assertEqual(self.ring[0], "b")
        self.assertEqual(self.ring[2], "d")

    def test_negative_index(self):
        for item in "ab":
            self.ring.append(item)
        self.assertEqual(self.ring[-1], "b")

    def test_index_out_of_range(self):
        self.ring.append("a")
        with self.assertRaises(IndexError):
            self.ring[1]

    def test_pop_oldest(self):
        for item in "abcd":
            self.ring.append(item)
        self.assertEqual(self.ring.pop_oldest(), "b")
        self.assertEqual(len(self.ring), 2)

    def test_pop_from_empty(self):
        with self.assertRaises(IndexError):
            self.ring.pop_oldest()
