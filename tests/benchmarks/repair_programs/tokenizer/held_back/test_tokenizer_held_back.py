import pytest
from evaluator import evaluate
from lexer import SyntaxProblem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0.25", 0.25),
        ("10 - 4 - 3", 3),
        ("2 * (3 + 4)", 14),
        ("7 / 2", 3.5),
        ("-2 ^ 2", -4),
        ("-(1 + 2)", -3),
        ("2 ^ -1", 0.5),
        ("1.5 * 1.5", 2.25),
        ("12 / 3 / 2", 2),
        ("- - 4", 4),
    ],
)
def test_values(text, value):
    result = evaluate(text)
    assert result == value
    assert isinstance(result, float)


@pytest.mark.parametrize("text", ["", "1 +", "1 2", "(1", "1)", "* 2"])
def test_problems(text):
    with pytest.raises(SyntaxProblem):
        evaluate(text)
