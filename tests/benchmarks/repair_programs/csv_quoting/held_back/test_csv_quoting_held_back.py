import pytest
from csv_quoting import quote, read_row, to_table, write_row


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ('"', '""""'),
        ('a"b', '"a""b"'),
        ('""', '""""""'),
        ("", ""),
        ("a\nb", '"a\nb"'),
        ("back\\slash", "back\\slash"),
        (",", '","'),
    ],
)
def test_quote(field, written):
    assert quote(field) == written


@pytest.mark.parametrize(
    "row", [['"'], ['a"', '"b'], ["", '""', ","], ["\\", '\\"'], ["a", "b"], ["two\r\nlines", 'q"q']]
)
def test_round_trip(row):
    assert read_row(write_row(row)) == row


def test_table_with_quotes():
    assert to_table([['say "no"'], ["x"]]) == '"say ""no"""\r\nx\r\n'


def test_empty_line_is_one_empty_field():
    assert read_row("") == [""]
    assert read_row(",") == ["", ""]
