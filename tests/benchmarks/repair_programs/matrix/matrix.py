"""Small dense matrices."""

from collections.abc import Sequence


class Matrix:
    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        if not rows or not rows[0]:
            raise ValueError("a matrix has at least one entry")
        if any(len(row) != len(rows[0]) for row in rows):
            raise ValueError("rows differ in length")
        self.rows = [list(row) for row in rows]

    @classmethod
    def identity(cls, size: int) -> "Matrix":
        return cls([[1 if row == column else 0 for column in range(size)] for row in range(size)])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.rows == other.rows

    def __repr__(self) -> str:
        return f"Matrix({self.rows})"

    def __add__(self, other: "Matrix") -> "Matrix":
        if self.shape != other.shape:
            raise ValueError(f"cannot add {self.shape} and {other.shape}")
        return Matrix(
            [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(self.rows, other.rows, strict=True)]
        )

    def __matmul__(self, other: "Matrix") -> "Matrix":
        height, inner = self.shape
        if inner != other.shape[0]:
            raise ValueError(f"cannot multiply {self.shape} and {other.shape}")
        width = other.shape[1]
        return Matrix(
            [
                [sum(self.rows[i][k] * other.rows[i][j] for k in range(inner)) for j in range(width)]
                for i in range(height)
            ]
        )

    def transposed(self) -> "Matrix":
        return Matrix([list(column) for column in zip(*self.rows, strict=True)])

    def power(self, exponent: int) -> "Matrix":
        """The matrix multiplied with itself, by repeated squaring; exponent >= 0."""
        result, base = Matrix.identity(len(self.rows)), self
        while exponent:
            if exponent % 2:
                result = result @ base
            base = base @ base
            exponent //= 2
        return result
