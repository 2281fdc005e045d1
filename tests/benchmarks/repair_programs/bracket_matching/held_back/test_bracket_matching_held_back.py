import pytest
from bracket_matching import is_balanced, needs_more


@pytest.mark.parametrize(
    "text", ["", "abc", "()", "[]{}()", "{[()]}", "'('", '"[" + "]"', "('it\\'s )')", "(\n[\n]\n)"]
)
def test_balanced(text):
    assert is_balanced(text) is True
    assert needs_more(text.split("\n")) is False


@pytest.mark.parametrize("text", ["(", "[", "{", "(()", "()(", "[{}", "(')'", ")", "())", "(]", "}{", "([)"])
def test_not_balanced(text):
    assert is_balanced(text) is False
    assert needs_more(text.split("\n")) is True


def test_growing_input():
    lines = ["call([", "  1,", "  2,", "])"]
    assert [needs_more(lines[:count]) for count in range(1, 5)] == [True, True, True, False]
    assert needs_more([]) is False
