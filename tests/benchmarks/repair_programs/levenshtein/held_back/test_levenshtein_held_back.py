import pytest
from levenshtein import did_you_mean, distance, similarity, suggest


@pytest.mark.parametrize(
    ("source", "target", "steps"),
    [
        ("a", "b", 1),
        ("ab", "ba", 2),
        ("flaw", "lawn", 2),
        ("saturday", "sunday", 3),
        ("intention", "execution", 5),
        ("abc", "xyz", 3),
        ("abc", "abx", 1),
        ("abc", "xbc", 1),
        ("aaa", "a", 2),
        ("gumbo", "gambol", 2),
    ],
)
def test_both_ways(source, target, steps):
    assert distance(source, target) == steps
    assert distance(target, source) == steps


def test_similarity():
    assert similarity("abcd", "abcx") == 0.75
    assert similarity("abc", "xyz") == 0


def test_suggestions_are_limited():
    assert suggest("cat", ["bat", "rat", "hat", "mat"], limit=2) == ["bat", "hat"]
    assert suggest("cat", ["cow"], farthest=1) == []


def test_sentence():
    assert did_you_mean("comit", ["commit", "push"]) == "did you mean 'commit'?"
