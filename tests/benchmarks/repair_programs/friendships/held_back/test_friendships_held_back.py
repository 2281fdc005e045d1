from friendships import Friendships


def made(*pairs):
    people = Friendships()
    for one, other in pairs:
        people.befriend(one, other)
    return people


def test_both_orders_are_the_same():
    for people in (made("ab"), made("ba"), made("ab", "ba")):
        assert people.friends("a") == ["b"]
        assert people.friends("b") == ["a"]


def test_mutual():
    people = made("ax", "bx", "ya", "yb", "az")
    assert people.mutual("a", "b") == ["x", "y"]
    assert people.mutual("b", "a") == ["x", "y"]
    assert people.mutual("x", "y") == ["a", "b"]


def test_leave():
    people = made("ab", "ca", "bc")
    people.leave("a")
    assert people.friends("b") == ["c"]
    assert people.friends("c") == ["b"]
    people.leave("nobody")


def test_part_from_either_side():
    people = made("ab")
    people.part("b", "a")
    assert people.friends("a") == people.friends("b") == []


def test_steps_and_suggestions():
    people = made("ba", "cb", "dc", "ea", "ec")
    assert people.steps("a", "d") == 3
    assert people.steps("d", "a") == 3
    assert people.suggestions("a") == ["c"]
    assert people.suggestions("d") == ["b", "e"]
    assert people.suggestions("b") == ["e", "d"]
