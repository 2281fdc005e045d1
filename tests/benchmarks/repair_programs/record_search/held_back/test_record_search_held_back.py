import pytest
from record_search import Record, SortedTable

TABLE = SortedTable((key, str(key)) for key in range(0, 20, 2))


@pytest.mark.parametrize("key", range(-1, 22))
def test_index_of_every_key(key):
    expected = key // 2 if key % 2 == 0 and 0 <= key < 20 else -1
    assert TABLE.index(key) == expected


def test_get():
    assert TABLE.get(0) == "0"
    assert TABLE.get(-5, "d") == "d"
    assert TABLE.get(99, "d") == "d"
    assert TABLE.get(3) == ""


def test_empty_table():
    table = SortedTable()
    assert table.index(1) == -1
    assert table.get(1, "d") == "d"
    assert table.delete(1) is False
    assert table.between(0, 9) == []


def test_delete_twice():
    table = SortedTable([(1, "a"), (2, "b")])
    assert table.delete(1) is True
    assert table.delete(1) is False
    assert list(table) == [Record(2, "b")]
    assert table.index(2) == 0


def test_between_missing_keys():
    assert [record.key for record in TABLE.between(3, 9)] == [4, 6, 8]
