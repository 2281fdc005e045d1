import pytest
from record_search import SortedTable


@pytest.fixture
def table():
    return SortedTable([(30, "c"), (10, "a"), (20, "b")])


def test_records_are_sorted(table):
    assert [record.key for record in table] == [10, 20, 30]


def test_index(table):
    assert table.index(20) == 1
    assert table.index(30) == 2


def test_get(table):
    assert table.get(10) == "a"


def test_put_replaces(table):
    table.put(20, "x")
    assert len(table) == 3
    assert table.get(20) == "x"


def test_get_default(table):
    assert table.get(15, "none") == "none"


def test_delete(table):
    assert table.delete(10)
    assert len(table) == 2


def test_delete_what_is_not_there(table):
    assert not table.delete(25)
    assert len(table) == 3


def test_between(table):
    assert [record.value for record in table.between(10, 30)] == ["a", "b"]
