import pytest
from text_wrapping import justify, paragraph, wrap

TEXT = "the quick brown fox jumps over the lazy dog and runs away from it"


@pytest.mark.parametrize("width", range(1, 30))
def test_width_is_kept_and_no_letter_lost(width):
    lines = wrap(TEXT, width)
    assert all(len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == TEXT.replace(" ", "")


def test_lines_are_filled():
    assert wrap("ab cd ef", 5) == ["ab cd", "ef"]
    assert wrap("ab cd ef", 4) == ["ab", "cd", "ef"]
    assert wrap("ab cd ef", 8) == ["ab cd ef"]
    assert wrap("ab cd ef", 7) == ["ab cd", "ef"]


def test_rest_of_a_broken_word_takes_the_next():
    assert wrap("abcdefg hi", 5) == ["abcde", "fg hi"]
    assert wrap("abcdefg hij", 5) == ["abcde", "fg", "hij"]


def test_one_column():
    assert wrap("ab c", 1) == ["a", "b", "c"]


def test_justified_lines():
    for line in paragraph(TEXT, 16).split("\n")[:-1]:
        assert len(line) == 16
    assert justify("aa bb", 5) == "aa bb"
