import unittest

from lru_cache import LruCache


class LruCacheTest(unittest.TestCase):
    def setUp(self):
        self.cache = LruCache(2)

    def test_get_and_put(self):
        self.cache.put("a", 1)
        self.assertEqual(self.cache.get("a"), 1)

    def test_missing_key(self):
        self.assertIsNone(self.cache.get("a"))
        self.assertEqual(self.cache.get("a", 0), 0)

    def test_oldest_is_evicted(self):
        for key in "abc":
            self.cache.put(key, key)
        self.assertEqual(self.cache.keys(), ["b", "c"])

    def test_reading_keeps_a_key(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertIn("a", self.cache)
        self.assertNotIn("b", self.cache)

    def test_storing_again_evicts_nothing(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.put("b", 3)
        self.assertEqual(self.cache.keys(), ["a", "b"])

    def test_evicted_items_are_reported(self):
        gone = []
        cache = LruCache(1, on_evict=lambda key, value: gone.append((key, value)))
        cache.put("a", 1)
        cache.put("b", 2)
        self.assertEqual(gone, [("a", 1)])

    def test_resize(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.resize(1)
        self.assertEqual(self.cache.keys(), ["b"])

    def test_hit_rate(self):
        self.cache.put("a", 1)
        self.cache.get("a")
        self.cache.get("b")
        self.assertEqual(self.cache.hit_rate(), 0.5)
