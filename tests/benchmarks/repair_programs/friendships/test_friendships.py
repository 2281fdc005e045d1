import pytest
from friendships import Friendships


@pytest.fixture
def people():
    people = Friendships()
    people.befriend("ann", "bob")
    people.befriend("bob", "cem")
    people.befriend("cem", "dee")
    return people


def test_first_side(people):
    assert people.friends("ann") == ["bob"]


def test_both_sides(people):
    assert people.friends("bob") == ["ann", "cem"]


def test_nobody_is_their_own_friend(people):
    with pytest.raises(ValueError):
        people.befriend("ann", "ann")


def test_strangers(people):
    assert people.friends("eve") == []
    assert people.steps("ann", "eve") is None


def test_part(people):
    people.part("ann", "bob")
    assert people.friends("ann") == []


def test_steps(people):
    assert people.steps("ann", "dee") == 3


def test_steps_back(people):
    assert people.steps("dee", "ann") == 3


def test_newcomer_has_no_friends(people):
    people.join("fay")
    assert people.friends("fay") == []


def test_suggestions(people):
    assert people.suggestions("ann") == ["cem"]
