from levenshtein import did_you_mean, distance, similarity, suggest

COMMANDS = ["status", "stash", "commit", "push", "pull"]


def test_equal_words():
    assert distance("same", "same") == 0


def test_empty_words():
    assert distance("", "abc") == 3
    assert distance("abc", "") == 3


def test_one_letter_more():
    assert distance("cat", "cats") == 1


def test_kitten_and_sitting():
    assert distance("kitten", "sitting") == 3


def test_similarity_of_nothing():
    assert similarity("", "") == 1.0


def test_similarity_of_unlike_words():
    assert similarity("ab", "") == 0.0


def test_suggest_in_order():
    assert suggest("pul", COMMANDS) == ["pull", "push"]


def test_no_suggestion():
    assert suggest("rebase", COMMANDS) == []


def test_no_sentence_for_a_known_word():
    assert did_you_mean("push", COMMANDS) is None
