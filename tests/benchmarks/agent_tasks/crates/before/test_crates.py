import pytest

from crates import pack, waste


def test_nothing_needs_no_crate():
    assert pack([], 10) == []


def test_first_fit():
    assert pack([4, 8, 1, 4, 2, 1], 10) == [[4, 1, 4, 1], [8, 2]]


def test_exact_fit():
    assert pack([5, 5, 5], 10) == [[5, 5], [5]]


def test_waste():
    assert waste(pack([7, 7, 3], 10), 10) == 3


@pytest.mark.parametrize("size", [11, 0, -2])
def test_impossible_size(size):
    with pytest.raises(ValueError, match=str(size)):
        pack([1, size], 10)
