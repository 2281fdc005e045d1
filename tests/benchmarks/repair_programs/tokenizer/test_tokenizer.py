import pytest
from evaluator import evaluate
from lexer import SyntaxProblem, tokens


def test_tokens():
    assert [token.text for token in tokens("2*(x_1 - 3.5)")] == ["2", "*", "(", "x_1", "-", "3.5", ")", ""]


def test_kinds_and_positions():
    assert [(token.kind, token.position) for token in tokens("a + 1")] == [
        ("name", 0),
        ("symbol", 2),
        ("number", 4),
        ("end", 5),
    ]


def test_strange_character():
    with pytest.raises(SyntaxProblem, match="unexpected '%' at 1"):
        list(tokens("1%2"))


def test_names():
    assert evaluate("(a + b) * a", a=3, b=4) == 21


def test_power_is_right_associative():
    assert evaluate("a ^ b ^ a", a=2, b=3) == 512


def test_numbers():
    assert evaluate("1 + 2 * 3") == 7


def test_numbers_and_names():
    assert evaluate("x / 4 - 0.5", x=10) == 2


def test_unknown_name():
    with pytest.raises(SyntaxProblem, match="unknown name y"):
        evaluate("y")


def test_open_parenthesis():
    with pytest.raises(SyntaxProblem):
        evaluate("(a", a=1)
