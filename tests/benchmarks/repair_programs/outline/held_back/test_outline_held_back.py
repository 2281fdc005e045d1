import pytest
from outline import Item, OutlineError, numbered, parse, render


@pytest.mark.parametrize("text", ["a", "a\n  b", "a\n  b\n    c\nd\n  e\n  f", "a\n  b\n    c\n      d\n  e"])
def test_round_trip(text):
    assert render(parse(text)) == text


def test_other_width():
    assert parse("a\n    b\n        c", width=4) == [Item("a", [Item("b", [Item("c")])])]
    with pytest.raises(OutlineError):
        parse("a\n  b", width=4)


def test_trailing_blanks_do_not_count():
    assert parse("a   \n  b  \n   \n  c ") == [Item("a", [Item("b"), Item("c")])]


def test_first_line_indented():
    with pytest.raises(OutlineError):
        parse("  a")


def test_back_by_two_levels():
    assert numbered(parse("a\n  b\n    c\nd\n  e")) == ["1 a", "1.1 b", "1.1.1 c", "2 d", "2.1 e"]


def test_empty():
    assert parse("") == []
    assert parse("\n  \n") == []


def test_one_blank():
    with pytest.raises(OutlineError, match="1 blanks"):
        parse("a\n b")
