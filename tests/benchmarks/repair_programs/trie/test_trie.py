import unittest

from trie import Trie


class TrieTest(unittest.TestCase):
    def setUp(self):
        self.trie = Trie(["car", "card", "cat", "dog", "cat"])

    def test_counts(self):
        self.assertEqual(self.trie.count("cat"), 2)
        self.assertEqual(self.trie.count("ca"), 0)
        self.assertEqual(self.trie.count("cow"), 0)

    def test_empty_word(self):
        with self.assertRaises(ValueError):
            self.trie.add("")

    def test_complete(self):
        self.assertEqual(self.trie.complete("ca"), ["car", "card", "cat"])

    def test_complete_unknown_prefix(self):
        self.assertEqual(self.trie.complete("x"), [])

    def test_size(self):
        self.assertEqual(self.trie.size(), 8)

    def test_remove_prunes(self):
        self.trie.remove("dog")
        self.assertEqual(self.trie.size(), 5)

    def test_remove_longer_word(self):
        self.trie.remove("card")
        self.assertEqual(self.trie.complete("car"), ["car"])

    def test_remove_keeps_longer_words(self):
        self.trie.remove("car")
        self.assertEqual(self.trie.complete(""), ["card", "cat", "dog"])

    def test_remove_unknown_word(self):
        with self.assertRaises(KeyError):
            self.trie.remove("ca")
