import pytest
from csv_quoting import CsvError, quote, read_row, to_table, write_row


def test_plain_field_is_not_quoted():
    assert quote("plain text") == "plain text"


def test_comma_is_quoted():
    assert write_row(["a,b", "c"]) == '"a,b",c'


def test_none_is_empty():
    assert write_row([1, None, "x"]) == "1,,x"


def test_read_plain():
    assert read_row("a,b,,c") == ["a", "b", "", "c"]


def test_read_quoted():
    assert read_row('"a,b","say ""hi"""') == ["a,b", 'say "hi"']


def test_open_quote():
    with pytest.raises(CsvError, match="not closed"):
        read_row('"a,b')


def test_round_trip_with_quotes():
    row = ['5" pipe', "x"]
    assert read_row(write_row(row)) == row


def test_table():
    assert to_table([["a", "b"], [1, 2]]) == "a,b\r\n1,2\r\n"
