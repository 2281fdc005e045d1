"""Evaluate arithmetic expressions by recursive descent."""

import operator
from collections.abc import Callable, Mapping

from lexer import SyntaxProblem, Token, tokens

BINARY: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "^": (4, operator.pow),
}
UNARY_PRECEDENCE = 3


class Evaluator:
    def __init__(self, text: str, names: Mapping[str, float]) -> None:
        self._tokens = list(tokens(text))
        self._names = names
        self._index = 0

    def _take(self) -> Token:
        token = self._tokens[self._index]
        self._index += 1
        return token

    def _peek(self) -> Token:
        return self._tokens[self._index]

    def run(self) -> float:
        value = self._expression(0)
        rest = self._peek()
        if rest.kind != "end":
            raise SyntaxProblem(f"unexpected {rest.text!r} at {rest.position}")
        return value

    def _expression(self, least: int) -> float:
        value = self._operand()
        while self._peek().text in BINARY:
            precedence, apply = BINARY[self._peek().text]
            if precedence < least:
                break
            symbol = self._take().text
            right = self._expression(precedence if symbol == "^" else precedence + 1)
            value = apply(value, right)
        return value

    def _operand(self) -> float:
        token = self._take()
        if token.kind == "number":
            return token.text
        if token.kind == "name":
            if token.text not in self._names:
                raise SyntaxProblem(f"unknown name {token.text}")
            return float(self._names[token.text])
        if token.text == "-":
            return -self._expression(UNARY_PRECEDENCE)
        if token.text == "(":
            value = self._expression(0)
            if self._take().text != ")":
                raise SyntaxProblem("parenthesis is not closed")
            return value
        raise SyntaxProblem(f"unexpected {token.text or 'end'!r} at {token.position}")


def evaluate(text: str, **names: float) -> float:
    return Evaluator(text, names).run()
