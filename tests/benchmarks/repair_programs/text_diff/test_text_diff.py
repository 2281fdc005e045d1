from lcs import lcs_length
from text_diff import changes, diff, likeness, patch


def test_length_of_common_subsequence():
    assert lcs_length("nematode", "empty") == 3


def test_equal_texts():
    assert diff("a\nb", "a\nb") == ""


def test_everything_is_new():
    assert list(changes([], ["a", "b"])) == [("+", "a"), ("+", "b")]


def test_replaced_line():
    assert diff("a\nb\nc", "a\nx\nc") == " a\n-b\n+x\n c"


def test_lines_added_in_the_middle():
    assert diff("a\nd", "a\nb\nc\nd") == " a\n+b\n+c\n d"


def test_patch():
    marked = [(" ", "a"), ("-", "b"), ("+", "c")]
    assert patch(marked) == ["a", "c"]


def test_likeness():
    assert likeness("a\nb", "b\nc") == 0.5
    assert likeness("", "") == 1.0
