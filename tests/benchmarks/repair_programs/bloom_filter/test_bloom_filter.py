import pytest
from bloom_filter import BloomFilter


def test_new_filter_is_empty():
    assert "apple" not in BloomFilter()
    assert BloomFilter().fill() == 0


def test_added_word_is_found():
    words = BloomFilter()
    words.add("apple")
    assert "apple" in words


def test_other_word_is_not_found():
    words = BloomFilter(size=4096)
    words.add("apple")
    assert "pear" not in words


def test_adding_twice_keeps_the_word():
    words = BloomFilter()
    words.add("apple")
    words.add("apple")
    assert "apple" in words


def test_sizes_must_be_positive():
    with pytest.raises(ValueError):
        BloomFilter(size=0)


def test_capacity():
    words = BloomFilter.for_capacity(100, 0.01)
    assert words.size == 959
    assert words.hashes == 7
