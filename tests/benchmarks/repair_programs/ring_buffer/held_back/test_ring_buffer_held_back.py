import pytest
from ring_buffer import RingBuffer


def filled(capacity, items):
    ring = RingBuffer(capacity)
    for item in items:
        ring.append(item)
    return ring


@pytest.mark.parametrize("count", range(1, 12))
def test_index_agrees_with_iteration(count):
    ring = filled(4, range(count))
    expected = list(range(count))[-4:]
    assert [ring[index] for index in range(len(ring))] == expected
    assert [ring[-index] for index in range(1, len(ring) + 1)] == expected[::-1]
    assert list(ring) == expected


def test_index_after_pop():
    ring = filled(3, "abcd")
    ring.pop_oldest()
    assert ring[0] == "c"
    assert ring[1] == "d"
    with pytest.raises(IndexError):
        ring[2]
    with pytest.raises(IndexError):
        ring[-3]


def test_single_slot():
    ring = filled(1, "xyz")
    assert ring[0] == "z"
    assert ring[-1] == "z"


def test_clear():
    ring = filled(2, "abc")
    ring.clear()
    ring.append("n")
    assert ring[0] == "n"
    assert ring.capacity == 2
