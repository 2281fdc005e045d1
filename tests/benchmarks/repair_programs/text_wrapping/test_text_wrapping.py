import pytest
from text_wrapping import justify, paragraph, wrap


def test_short_text_is_one_line():
    assert wrap("hello world", 20) == ["hello world"]


def test_no_text():
    assert wrap("  \n ", 10) == []


def test_wraps_between_words():
    assert wrap("one three fiver", 9) == ["one three", "fiver"]


def test_no_line_is_too_wide():
    assert wrap("aaa bbb ccc", 6) == ["aaa", "bbb", "ccc"]


def test_long_words_are_broken():
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]


def test_width_must_be_positive():
    with pytest.raises(ValueError):
        wrap("text", 0)


def test_justify():
    assert justify("a b c", 8) == "a   b  c"


def test_justify_single_word():
    assert justify("word", 10) == "word"


def test_paragraph_with_indent():
    assert paragraph("aa bb cc dd", 8, indent="> ") == "> aa  bb\n> cc dd"
