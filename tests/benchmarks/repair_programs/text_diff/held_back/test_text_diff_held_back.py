import pytest
from text_diff import changes, diff, patch

PAIRS = [
    ("", "a"),
    ("abc", ""),
    ("abcd", "bd"),
    ("bd", "abcd"),
    ("abcabba", "cbabac"),
    ("kitten", "sitting"),
    ("xaxbx", "ab"),
    ("ab", "xaxbx"),
    ("aaa", "aa"),
]
COMMON = [0, 0, 2, 2, 4, 4, 2, 2, 2]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_leads_to_the_new_text(old, new):
    marked = list(changes(old, new))
    assert "".join(patch(marked)) == new
    assert "".join(line for mark, line in marked if mark != "+") == old


@pytest.mark.parametrize(("pair", "common"), zip(PAIRS, COMMON, strict=True))
def test_keeps_as_much_as_possible(pair, common):
    assert sum(mark == " " for mark, _ in changes(*pair)) == common


def test_removals_first():
    assert list(changes("ab", "cd")) == [("-", "a"), ("-", "b"), ("+", "c"), ("+", "d")]


def test_exact_diffs():
    assert diff("a\nb\nc\nd", "b\nd\ne") == "-a\n b\n-c\n d\n+e"
    assert diff("", "") == ""
    assert diff("x", "") == "-x"
    assert diff("b\nd\ne", "a\nb\nc\nd") == "+a\n b\n+c\n d\n-e"
