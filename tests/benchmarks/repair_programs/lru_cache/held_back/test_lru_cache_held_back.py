import pytest
from lru_cache import LruCache


def filled(*keys, capacity=3, on_evict=None):
    cache = LruCache(capacity, on_evict)
    for key in keys:
        cache.put(key, key.upper())
    return cache


def test_update_of_the_oldest():
    cache = filled("a", "b", "c")
    cache.put("a", "new")
    assert cache.keys() == ["b", "c", "a"]
    assert cache.get("a") == "new"
    assert len(cache) == 3


def test_update_of_the_middle():
    cache = filled("a", "b", "c")
    cache.put("b", 0)
    assert cache.keys() == ["a", "c", "b"]


def test_update_before_it_is_full():
    cache = filled("a", "b")
    cache.put("a", 0)
    assert cache.keys() == ["b", "a"]


def test_single_place():
    gone = []
    cache = filled("a", capacity=1, on_evict=lambda key, value: gone.append(key))
    cache.put("a", 2)
    assert gone == []
    assert cache.get("a") == 2
    cache.put("b", 3)
    assert gone == ["a"]
    assert cache.keys() == ["b"]


def test_never_over_capacity():
    cache = filled(*"abcabcdeaf")
    assert cache.keys() == ["e", "a", "f"]
    assert len(cache) == 3


def test_capacity_must_be_positive():
    with pytest.raises(ValueError):
        LruCache(0)
