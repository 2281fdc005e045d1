import pytest
from ip_ranges import RangeTable

ROWS = [(f"10.0.{number}.10", f"10.0.{number}.20", f"net{number}") for number in range(7)]


@pytest.mark.parametrize("size", range(1, 8))
def test_every_range_is_found(size):
    table = RangeTable(ROWS[:size])
    for number in range(size):
        assert table.find(f"10.0.{number}.10") == f"net{number}"
        assert table.find(f"10.0.{number}.15") == f"net{number}"
        assert table.find(f"10.0.{number}.20") == f"net{number}"
        assert table.find(f"10.0.{number}.9") is None
        assert table.find(f"10.0.{number}.21") is None


def test_unsorted_rows():
    assert RangeTable(ROWS[::-1]).find("10.0.6.11") == "net6"


def test_count():
    table = RangeTable(ROWS)
    assert table.count(["10.0.0.11", "10.0.0.12", "8.8.8.8", "250.0.0.0"]) == {"net0": 2, "unknown": 2}
    assert table.count([]) == {}


def test_single_address_range():
    table = RangeTable([("1.1.1.1", "1.1.1.1", "dns")])
    assert table.find("1.1.1.1") == "dns"
    assert table.find("1.1.1.2") is None
    assert len(table) == 1
