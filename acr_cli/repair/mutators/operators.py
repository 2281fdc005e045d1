"""Operators: exchanged, negated, regrouped, their operands swapped or dropped."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.source import Source


def _token(source: Source, start: int, end: int, text: str, weight: float) -> Proposal:
    """Exchange an operator, with spaces around a word where there were none."""
    if text[-1].isalpha() and source.text[end : end + 1] not in (b" ", b"\n", b"("):
        text += " "
    if text[0].isalpha() and source.text[start - 1 : start] not in (b" ", b"\n", b")"):
        text = " " + text
    return Proposal(start=start, end=end, text=text, weight=weight)


def comparison(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`<` for `<=`, `==` for `is`, `in` for `not in`, and so on."""
    if node.type not in source.table.comparison:
        return
    operators = node.children_by_field_name("operators")
    for start, end in _runs(operators):
        text = " ".join(source.text[start:end].decode().split())
        for other, weight in source.table.comparison_exchange.get(text, {}).items():
            yield _token(source, start, end, other, weight)


def _runs(operators: list[Node]) -> Iterator[tuple[int, int]]:
    """Spans of operators; words that stand together ("is not") are one."""
    spans: list[tuple[int, int]] = []
    for operator in operators:
        if spans and operator.start_byte - spans[-1][1] <= 1 and operator.type in ("not", "in", "is"):
            spans[-1] = (spans[-1][0], operator.end_byte)
        else:
            spans.append((operator.start_byte, operator.end_byte))
    yield from spans


def binary(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`+` for `-`, `/` for `//`, and so on."""
    if node.type not in source.table.binary:
        return
    operator = node.child_by_field_name("operator")
    if operator is None:
        return
    for other, weight in source.table.binary_exchange.get(source.of(operator), {}).items():
        yield replace(operator, other, weight)


def augmented(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`+=` for `-=` or `=`, and `=` for `+=`."""
    t = source.table
    if node.type in t.augmented:
        operator = node.child_by_field_name("operator")
        if operator is not None:
            for other, weight in t.augmented_exchange.get(source.of(operator), {}).items():
                yield replace(operator, other, weight)
    elif node.type in t.assignments and (right := node.child_by_field_name("right")) is not None:
        left = node.child_by_field_name("left")
        sign = next((child for child in node.children if child.type == "="), None)
        if left is None or sign is None or right.type in t.assignments or node.child_by_field_name("type"):
            return
        function = source.function_of(node)
        rebinding = source.of(left) not in source.parameters_of(function) if function is not None else True
        looped = source.enclosing(node, t.loops) is not None
        yield replace(sign, "+=", 0.9 if looped else 0.4 if not rebinding else 0.3)
        yield replace(sign, "-=", 0.3 if looped else 0.1)
        yield replace(sign, "*=", 0.3 if looped else 0.1)
        yield replace(sign, "|=", 0.05)


def boolean(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`and` for `or`, one operand alone, and the grouping of a mixed chain."""
    if node.type not in source.table.boolean:
        return
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return
    other = source.table.boolean_exchange.get(source.of(operator))
    if other is not None:
        yield replace(operator, other, 1.0)
        if left.type in source.table.boolean:
            yield replace(node, f"({source.of(left)}) {other} {source.of(right)}", 0.3)
    yield replace(node, source.of(left), 0.45)
    yield replace(node, source.of(right), 0.45)


def grouping(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Other parentheses: `(a + b) * c` for `a + b * c`, `not (a and b)` for `not a and b`, and back."""
    t = source.table
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if node.type in t.binary | t.boolean and left is not None and right is not None and operator is not None:
        sign = source.of(operator)
        same = t.binary if node.type in t.binary else t.boolean
        if right.type in same and (parts := _parts(source, right)):
            a, inner, b = parts
            yield replace(node, f"({source.of(left)} {sign} {a}) {inner} {b}", 1.0)
        if left.type in same and (parts := _parts(source, left)):
            a, inner, b = parts
            yield replace(node, f"{a} {inner} ({b} {sign} {source.of(right)})", 1.0)
        if left.type in t.negation and node.type in t.boolean:
            argument = left.child_by_field_name("argument")
            if argument is not None:
                yield replace(node, f"not ({source.of(argument)} {sign} {source.of(right)})", 0.8)
        if left.type in t.unary and node.type in t.binary:
            argument = left.child_by_field_name("argument")
            if argument is not None:
                yield replace(node, f"-({source.of(argument)} {sign} {source.of(right)})", 0.4)
    elif node.type in t.parenthesised and node.named_children:
        inside = node.named_children[0]
        if inside.type in t.binary | t.boolean:
            yield replace(node, source.of(inside), 0.8)
        if node.parent is not None and node.parent.type in t.negation and inside.type in t.boolean:
            yield replace(node.parent, "not " + source.of(inside), 0.6)


def _parts(source: Source, node: Node) -> tuple[str, str, str] | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return None
    return source.of(left), source.of(operator), source.of(right)


def operands(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Operands swapped (`b - a`), or one of them alone."""
    t = source.table
    if node.type not in t.binary:
        return
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return
    sign = source.of(operator)
    if sign in ("-", "/", "//", "%", "**", "<<", ">>") or sign == "+":
        a, b = source.of(left), source.of(right)
        a = f"({a})" if left.type in t.binary else a
        b = f"({b})" if right.type in t.binary else b
        yield replace(node, f"{b} {sign} {a}", 0.8 if sign != "+" else 0.5)
    small = 1.0 if right.type in t.integers else 0.5
    yield replace(node, source.of(left), 0.5 * small)
    yield replace(node, source.of(right), 0.25)


def negate(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A condition or truth value negated, or its negation dropped."""
    t = source.table
    if node.type in t.negation:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            yield replace(node, source.of(argument), 1.0)
    if node.type in t.unary:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            yield replace(node, source.of(argument), 0.8)
    parent = node.parent
    if parent is None or node.type in t.negation:
        return
    is_condition = (
        parent.type in t.conditionals | t.ternary
        and (parent.child_by_field_name("condition") == node or parent.type in t.ternary)
    ) or parent.type in t.boolean | {"if_clause"}
    if node.type in t.comparison:
        if is_condition or parent.type in t.returns:
            yield replace(node, f"not ({source.of(node)})", 0.5)
    elif source.of(node) in (t.true, t.false):
        return  # `truth` writes the other one
    elif node.type in t.expressions and (is_condition or parent.type in t.returns):
        text = source.of(node)
        text = f"({text})" if node.type in t.boolean | t.ternary else text
        yield replace(node, t.negated.format(x=text), 0.9 if is_condition else 0.3)


def branches(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """The two values of a conditional expression exchanged, or one of them alone."""
    if node.type not in source.table.ternary or len(node.named_children) != 3:
        return
    yes, condition, no = (source.of(child) for child in node.named_children)
    yield replace(node, f"{no} if {condition} else {yes}", 1.0)
    yield replace(node, yes, 0.3)
    yield replace(node, no, 0.3)
