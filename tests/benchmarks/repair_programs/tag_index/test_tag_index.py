import pytest
from tag_index import TagIndex


@pytest.fixture
def index():
    index = TagIndex()
    index.add("bread", ["Baking", "#food"])
    index.add("soup", ["food"])
    index.add("apples", ["fruit", "food"])
    return index


def test_tags_of_a_note(index):
    assert index.tags("bread") == ["baking", "food"]
    assert index.tags("stew") == []


def test_notes_of_a_tag(index):
    assert index.notes("Food") == ["apples", "bread", "soup"]


def test_notes_of_an_unknown_tag(index):
    assert index.notes("music") == []


def test_adding_again_adds_nothing(index):
    index.add("soup", ["FOOD"])
    assert index.popular(2) == [("food", 3)]


def test_having_all(index):
    assert index.having_all("food", "Fruit") == ["apples"]


def test_having_all_of_nothing(index):
    assert index.having_all() == ["apples", "bread", "soup"]


def test_remove(index):
    index.remove("bread")
    assert index.notes("baking") == []
    assert index.tags("bread") == []


def test_popular(index):
    assert index.popular() == [("food", 3), ("baking", 1), ("fruit", 1)]
