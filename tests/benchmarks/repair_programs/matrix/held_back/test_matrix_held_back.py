import pytest
from matrix import Matrix

LEFT = Matrix([[2, 0, 1], [1, 3, 5]])
RIGHT = Matrix([[1, 4], [2, 5], [3, 6]])


def test_rectangular():
    product, other = LEFT @ RIGHT, RIGHT @ LEFT
    assert product == Matrix([[5, 14], [22, 49]])
    assert other == Matrix([[6, 12, 21], [9, 15, 27], [12, 18, 33]])


def test_identity_is_neutral():
    assert Matrix.identity(2) @ LEFT == LEFT
    assert LEFT @ Matrix.identity(3) == LEFT


def test_row_by_column():
    assert Matrix([[1, 2, 3]]) @ Matrix([[4], [5], [6]]) == Matrix([[32]])
    assert Matrix([[1], [2]]) @ Matrix([[3, 4]]) == Matrix([[3, 4], [6, 8]])


def test_transposed_product():
    assert (LEFT @ RIGHT).transposed() == RIGHT.transposed() @ LEFT.transposed()


def test_not_commutative():
    up, down = Matrix([[1, 1], [0, 1]]), Matrix([[1, 0], [1, 1]])
    assert up @ down == Matrix([[2, 1], [1, 1]])
    assert down @ up == Matrix([[1, 1], [1, 2]])


def test_power():
    assert Matrix([[1, 1], [0, 1]]).power(7) == Matrix([[1, 7], [0, 1]])
    assert Matrix([[3, 2], [1, 1]]).power(0) == Matrix.identity(2)


def test_unfitting():
    with pytest.raises(ValueError, match="multiply"):
        LEFT @ LEFT
