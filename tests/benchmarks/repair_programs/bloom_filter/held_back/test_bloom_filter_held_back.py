import pytest
from bloom_filter import BloomFilter


def test_no_false_negatives():
    words = BloomFilter(size=512, hashes=4)
    names = [f"name-{number}" for number in range(150)]
    words.update(names)
    assert all(name in words for name in names)


def test_repeated_update():
    words = BloomFilter()
    words.update(["a", "b", "a", "c", "b", "a"])
    assert "a" in words
    assert "b" in words
    assert "c" in words


def test_fill_never_shrinks():
    words = BloomFilter(size=64, hashes=2)
    before = 0.0
    for number in range(60):
        words.add(str(number))
        assert words.fill() >= before
        before = words.fill()
    assert before > 0.5


def test_fill_after_one_word():
    words = BloomFilter(size=4096, hashes=3)
    words.add("apple")
    assert words.fill() == pytest.approx(3 / 4096)
    words.add("apple")
    assert words.fill() == pytest.approx(3 / 4096)


def test_one_bit():
    words = BloomFilter(size=1, hashes=2)
    assert "x" not in words
    words.add("x")
    assert "x" in words
    assert words.fill() == 1


def test_error_rate():
    words = BloomFilter.for_capacity(200, 0.01)
    words.update(f"in-{number}" for number in range(200))
    wrong = sum(f"out-{number}" in words for number in range(1000))
    assert wrong < 40


def test_hash_count_must_be_positive():
    with pytest.raises(ValueError):
        BloomFilter(hashes=0)
