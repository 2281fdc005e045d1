import pytest
from linked_list import LinkedList


def both_ways(items):
    forwards, backwards = list(items), list(reversed(items))
    assert forwards == backwards[::-1]
    assert len(items) == len(forwards)
    return forwards


def test_emptied_from_the_front():
    items = LinkedList("ab")
    assert items.pop_first() == "a"
    assert both_ways(items) == ["b"]
    assert items.pop_first() == "b"
    assert both_ways(items) == []
    with pytest.raises(IndexError):
        items.pop_first()


def test_refilled():
    items = LinkedList("a")
    items.pop_first()
    items.append("x")
    assert both_ways(items) == ["x"]
    items.prepend("w")
    assert both_ways(items) == ["w", "x"]


def test_as_a_queue():
    items = LinkedList()
    taken = []
    for number in range(6):
        items.append(number)
        items.append(number + 10)
        taken.append(items.pop_first())
        both_ways(items)
    assert taken == [0, 10, 1, 11, 2, 12]


def test_mixed_ends():
    items = LinkedList("abcd")
    assert items.pop_first() + items.pop() == "ad"
    assert both_ways(items) == ["b", "c"]
    assert items.pop() + items.pop_first() == "cb"
    assert both_ways(items) == []
    with pytest.raises(IndexError):
        items.pop()
