import pytest
from run_length import decode, encode, longest, runs, spans


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", ""),
        ("a", "a"),
        ("aa", "2a"),
        ("aab", "2ab"),
        ("abb", "a2b"),
        ("aba", "aba"),
        ("aaabbbaaa", "3a3b3a"),
        ("z" * 15, "15z"),
    ],
)
def test_encode(text, code):
    assert encode(text) == code
    assert decode(code) == text


def test_counts_add_up():
    items = [1, 1, 2, 3, 3, 3, 1]
    assert runs(items) == [(1, 2), (2, 1), (3, 3), (1, 1)]
    assert sum(count for _, count in runs(items)) == len(items)


def test_wide_spans():
    assert list(spans([True, True, False, False, True, True, True])) == [(0, 2), (4, 7)]
    assert list(spans([False, False])) == []


def test_longest():
    assert longest("abbccc") == ("c", 3)
    assert longest("aabb") == ("a", 2)


def test_any_iterable():
    assert runs(iter([None, None, 0, 0])) == [(None, 2), (0, 2)]
