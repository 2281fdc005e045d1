import pytest
from outline import Item, OutlineError, depth_of, numbered, parse, render


def test_depth():
    assert depth_of("    x", 2) == 2
    assert depth_of("x", 4) == 0


def test_odd_indent():
    with pytest.raises(OutlineError, match="3 blanks"):
        depth_of("   x", 2)


def test_flat():
    assert parse("a\n\nb\n") == [Item("a"), Item("b")]


def test_nested():
    assert parse("a\n  b\n    c\n  d") == [Item("a", [Item("b", [Item("c")]), Item("d")])]


def test_too_far():
    with pytest.raises(OutlineError, match="'b' is indented too far"):
        parse("a\n    b")


def test_render():
    assert render([Item("a", [Item("b")]), Item("c")]) == "a\n  b\nc"


def test_numbered():
    assert numbered([Item("x"), Item("y", [Item("z")])]) == ["1 x", "2 y", "2.1 z"]
