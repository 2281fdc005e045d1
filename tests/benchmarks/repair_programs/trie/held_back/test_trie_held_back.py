import pytest
from trie import Trie

WORDS = ["a", "ab", "abc", "abd", "b", "bcd", "bce"]


@pytest.mark.parametrize("gone", WORDS)
def test_only_that_word_goes(gone):
    trie = Trie(WORDS)
    trie.remove(gone)
    rest = [word for word in WORDS if word != gone]
    assert trie.complete("") == rest
    assert trie.count(gone) == 0
    assert trie.size() == Trie(rest).size()


def test_removing_everything_leaves_nothing():
    for order in (WORDS, WORDS[::-1]):
        trie = Trie(WORDS)
        for word in order:
            trie.remove(word)
        assert trie.size() == 0
        assert trie.complete("") == []


def test_sibling_branch_stays():
    trie = Trie(["bcd", "bce"])
    trie.remove("bcd")
    assert trie.complete("b") == ["bce"]
    assert trie.size() == 3


def test_removed_whatever_its_count():
    trie = Trie(["x", "x", "xy"])
    trie.remove("x")
    assert trie.count("x") == 0
    assert trie.count("xy") == 1
    with pytest.raises(KeyError):
        trie.remove("x")
