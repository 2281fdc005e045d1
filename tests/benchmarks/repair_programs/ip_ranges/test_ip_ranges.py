import pytest
from ip_ranges import RangeTable, parse_ip

ROWS = [
    ("10.0.0.0", "10.0.0.255", "office"),
    ("10.0.2.0", "10.0.2.127", "lab"),
    ("192.168.0.0", "192.168.255.255", "home"),
]


def test_parse():
    assert parse_ip("0.0.1.2") == 258


@pytest.mark.parametrize("text", ["1.2.3", "1.2.3.256", "a.b.c.d", ""])
def test_malformed_address(text):
    with pytest.raises(ValueError, match="not an address"):
        parse_ip(text)


def test_find_in_the_middle_range():
    assert RangeTable(ROWS).find("10.0.2.5") == "lab"


def test_find_in_the_first_range():
    assert RangeTable(ROWS).find("10.0.0.0") == "office"


def test_below_all_ranges():
    assert RangeTable(ROWS).find("9.9.9.9") is None


def test_empty_table():
    assert RangeTable([]).find("1.1.1.1") is None


def test_overlap_is_refused():
    with pytest.raises(ValueError, match="office and spare overlap"):
        RangeTable([*ROWS, ("10.0.0.255", "10.0.1.9", "spare")])


def test_above_all_ranges():
    assert RangeTable(ROWS).find("200.0.0.1") is None
