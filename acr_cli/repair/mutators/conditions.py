"""Conditions: strengthened, weakened, tested for None; missing guards."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.source import Source, Types, walk


def condition(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A condition joined with another one: of the file, or a usual test of a variable in it."""
    t = source.table
    parent = node.parent
    if parent is None:
        return
    in_filter = parent.type == "if_clause"
    is_condition = in_filter or (
        parent.type in t.conditionals | t.ternary and parent.child_by_field_name("condition") == node
    )
    if parent.type in t.ternary and len(parent.named_children) == 3 and parent.named_children[1] == node:
        is_condition = True
    if parent.type in t.returns and node.type in t.comparison | t.boolean:
        is_condition = True
    if not is_condition:
        return
    text = source.of(node)
    strong = f"({text})" if _is_or(source, node) or node.type in t.ternary else text
    for other, weight in _tests(source, node):
        if other in text:
            continue
        joined = f"({other})" if " or " in other else other
        yield replace(node, t.both.format(x=strong, y=joined), weight)
        yield replace(node, t.both.format(x=joined, y=strong), weight * 0.8)
        yield replace(node, t.either.format(x=text, y=other), weight * 0.7)
        if "not " not in other[:4]:
            yield replace(node, t.either.format(x=f"not {_grouped(other)}", y=text), weight * 0.3)


def _is_or(source: Source, node: Node) -> bool:
    operator = node.child_by_field_name("operator") if node.type in source.table.boolean else None
    return operator is not None and source.of(operator) == "or"


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def _tests(source: Source, node: Node) -> Iterator[tuple[str, float]]:
    """Conditions that might be missing at a node: (text, weight)."""
    t = source.table
    visible = set(source.variables_at(node)) | {t.receiver} | t.builtins | set(source.top_names)
    for other in source.conditions:
        if other.id != node.id and _names(source, other) <= visible:
            near = source.function_of(other) == source.function_of(node)
            yield source.of(other), 0.8 if near else 0.35
    mentioned = _readable(source, node)
    types = source.types_at(node)
    for name in mentioned[:5]:
        yield from _tests_of(source, name, types.get(name, frozenset()))
    yield from _tests_of_two(mentioned, types)


def _tests_of(source: Source, name: str, kinds: frozenset[str]) -> Iterator[tuple[str, float]]:
    """Usual tests of one variable whose values had these types."""
    t = source.table
    if not kinds or "NoneType" in kinds:
        yield t.is_not_none.format(x=name), 0.7
    if not kinds or kinds & {"list", "dict", "str", "set", "tuple", "NoneType"}:
        yield name, 0.7
    if not kinds or kinds & {"int", "float"}:
        yield from ((f"{name} > 0", 0.5), (f"{name} >= 0", 0.4), (f"{name} != 0", 0.3), (f"{name} > 1", 0.15))
    if kinds & {"list", "str", "tuple"}:
        yield f"len({name}) > 1", 0.3


def _tests_of_two(names: list[str], types: Types) -> Iterator[tuple[str, float]]:
    """Usual tests of two variables: an index within bounds, two numbers compared, membership."""
    numbers = _of_types(names, types, {"int", "float"})
    for index in numbers[:3]:
        for holder in _of_types(names, types, {"list", "str", "tuple"})[:2]:
            yield f"{index} < len({holder})", 0.8
        for other in numbers[:4]:
            if index != other:
                yield f"{index} != {other}", 0.25
                yield f"{index} < {other}", 0.25
    for holder in _of_types(names, types, {"dict", "set", "list"})[:2]:
        for name in names[:4]:
            if name != holder:
                yield f"{name} in {holder}", 0.25
                yield f"{name} not in {holder}", 0.35


def _of_types(names: list[str], types: Types, wanted: set[str]) -> list[str]:
    return [name for name in names if types.get(name, frozenset()) & wanted]


def _names(source: Source, node: Node) -> set[str]:
    found = set()
    for part in walk(node):
        if part.type in source.table.identifiers:
            parent = part.parent
            member = parent is not None and parent.type in source.table.attributes
            if member and parent is not None and parent.child_by_field_name("attribute") == part:
                continue
            found.add(source.of(part))
    return found


def _readable(source: Source, node: Node) -> list[str]:
    """Variables and attributes to test at a node: those in it first, then those in scope."""
    t = source.table
    inside = []
    for part in walk(node):
        written = part.parent is not None and part.parent.child_by_field_name("left") == part
        if part.type in t.identifiers | t.attributes and (source.is_value(part) or written):
            inside.append(source.of(part))
    function = source.function_of(node)
    near = []
    if function is not None:
        near = [*source.parameters_of(function), *source.bound_by_function.get(function.start_byte, ())]
    names = dict.fromkeys(inside)
    names.update(dict.fromkeys(near))
    return [name for name in names if name not in (t.receiver, "cls", "_") and name not in source.callables]


def none_test(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Truth for `is not None` and back; `x or y` for `x if x is not None else y`."""
    t = source.table
    parent = node.parent
    if parent is None:
        return
    holds = parent.type in t.conditionals | t.boolean | t.negation | t.ternary | {"if_clause"}
    if node.type in t.identifiers | t.attributes | t.calls and source.is_value(node) and holds:
        text = source.of(node)
        if parent.type in t.negation:
            yield replace(parent, t.is_none.format(x=text), 1.0)
            yield replace(parent, f"{text} == 0", 0.2)
        elif parent.type not in t.ternary or parent.named_children[1] == node:
            yield replace(node, t.is_not_none.format(x=text), 1.0)
            yield replace(node, f"{text} > 0", 0.4)
            yield replace(node, f"len({text}) > 1", 0.2)
    if node.type in t.comparison:
        text = source.of(node)
        for ending, made in ((" is not None", "{x}"), (" is None", "not {x}")):
            if text.endswith(ending):
                yield replace(node, made.format(x=text[: -len(ending)]), 0.8)
    if node.type in t.boolean and _is_or(source, node) and parent.type not in t.conditionals | t.boolean:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            a, b = source.of(left), source.of(right)
            yield replace(node, f"{a} if {t.is_not_none.format(x=a)} else {b}", 1.0)


def fallback(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A value that may be missing gets one: `x or []`, `x if y else 0`."""
    t = source.table
    parent = node.parent
    if (
        parent is None
        or not source.is_value(node)
        or node.type in t.strings | t.integers | t.truths | t.nothing
    ):
        return
    text = source.of(node)
    if parent.type in t.loops | {"for_in_clause"}:
        yield replace(node, f"{text} or []", 0.5)
    if parent.type not in t.returns | t.assignments:
        return
    for value in ("0", "[]", '""', "{}"):
        yield replace(node, f"{text} or {value}", 0.12)
    kinds = source.types_at(node)
    for name in _readable(source, node)[:3]:
        seen = kinds.get(name, frozenset())
        for value in ("0", "None", "[]", '""') if node.type in t.binary | t.calls | t.subscripts else ():
            weight = 0.5 if value in ("0", "None") else 0.15
            yield replace(
                node, f"{text} if {name} else {value}", weight * (0.5 if seen and not seen - {"str"} else 1.0)
            )


def guard(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """An early way out before a statement: a variable is None, empty, zero or negative, or as elsewhere."""
    t = source.table
    if node.type not in t.statements or node.parent is None or node.parent.type not in t.blocks:
        return
    if node.type in t.imports | t.functions | t.classes or _is_docstring(source, node):
        return
    function = source.function_of(node)
    if function is None:
        return
    siblings = [
        s for s in node.parent.named_children if s.type in t.statements and not _is_docstring(source, s)
    ]
    first = bool(siblings) and siblings[0] == node and node.parent.parent == function
    place = 1.0 if first else 0.5
    actions = list(_actions(source, node, function, hints))
    for test, likely in _guard_tests(source, node, hints):
        for action, fit in actions:
            text = t.guard.format(
                indent=source.indent_of(node), unit=source.unit, condition=test, action=action
            )
            yield Proposal(
                start=node.start_byte,
                end=node.start_byte,
                text=text,
                weight=place * likely * fit,
                line=node.start_point.row + 1,
            )


def _is_docstring(source: Source, node: Node) -> bool:
    t = source.table
    return (
        node.type in t.expression_statements
        and bool(node.named_children)
        and node.named_children[0].type in t.strings
    )


def _guard_tests(source: Source, node: Node, hints: Hints) -> Iterator[tuple[str, float]]:
    """Conditions under which a statement may have to be skipped: (text, weight)."""
    t = source.table
    types = source.types_at(node)
    names = _readable(source, node)[:6]
    for name in names:
        yield from _edge_cases(source, name, types.get(name, frozenset()))
        if name.count(".") == 0 and hints.not_raised & {"TypeError"}:
            yield f"not isinstance({name}, int)", 0.4
            yield f"not isinstance({name}, str)", 0.4
    numbers = _of_types(names, types, {"int", "float"})[:4]
    for one in numbers:
        for other in numbers:
            if one != other:
                yield f"{one} > {other}", 0.35
                yield f"{one} == {other}", 0.25
                yield f"{one} >= {other}", 0.2
    for holder in _of_types(names, types, {"dict", "set", "list", "defaultdict"})[:3]:
        for name in names[:4]:
            if name != holder:
                yield f"{name} in {holder}", 0.45
                yield f"{name} not in {holder}", 0.45
    visible = set(source.variables_at(node)) | {t.receiver} | t.builtins | set(source.top_names)
    for other_node in source.conditions:
        if _names(source, other_node) <= visible:
            yield source.of(other_node), 0.4
            yield t.negated.format(x=_grouped(source.of(other_node))), 0.15
    yield from _absent_parts(source, node)


def _edge_cases(source: Source, name: str, kinds: frozenset[str]) -> Iterator[tuple[str, float]]:
    """The edge cases of one variable whose values had these types."""
    t = source.table
    if "NoneType" in kinds or not kinds:
        yield t.is_none.format(x=name), 0.9
    if kinds & {"list", "dict", "str", "set", "tuple", "NoneType", "deque"} or not kinds:
        yield t.negated.format(x=name), 0.75
    if kinds & {"int", "float"} or not kinds:
        likely = {"== 0": 0.7, "< 0": 0.8, "<= 0": 0.8, "== 1": 0.3, "< 1": 0.2, "<= 1": 0.3}
        yield from ((f"{name} {test}", weight) for test, weight in likely.items())
    if kinds & {"list", "str", "tuple"}:
        yield f"len({name}) == 1", 0.25
        yield f"len({name}) < 2", 0.25
    if kinds & {"str"}:
        yield f"not {name}.strip()", 0.4


def _absent_parts(source: Source, node: Node) -> Iterator[tuple[str, float]]:
    """That what a call or an index looks for is not there: `"=" not in part` before `part.split("=")`."""
    t = source.table
    for part in walk(node):
        if part.type in t.calls:
            callee, given = part.child_by_field_name("function"), part.child_by_field_name("arguments")
            owner = callee.child_by_field_name("object") if callee is not None else None
            first = given.named_children[0] if given is not None and given.named_children else None
            if owner is not None and first is not None and first.type in t.strings | t.identifiers:
                yield f"{source.of(first)} not in {source.of(owner)}", 1.0
        elif part.type in t.subscripts:
            yield from _absent_index(source, part)
        elif part.type in t.binary:
            operator, right = part.child_by_field_name("operator"), part.child_by_field_name("right")
            divides = operator is not None and source.of(operator) in ("/", "//", "%")
            if divides and right is not None and right.type not in t.integers | t.floats | t.strings:
                yield f"{source.of(right)} == 0", 0.9
                yield f"not {source.of(right)}", 0.6


def _absent_index(source: Source, part: Node) -> Iterator[tuple[str, float]]:
    t = source.table
    owner, keys = part.child_by_field_name("value"), part.children_by_field_name("subscript")
    if owner is None or len(keys) != 1 or keys[0].type in t.slices:
        return
    key, holder = source.of(keys[0]), source.of(owner)
    if keys[0].type not in t.integers:
        yield f"{key} not in {holder}", 0.6
        yield f"{key} >= len({holder})", 0.5
        yield f"{key} < 0", 0.2
    else:
        yield f"len({holder}) <= {key}", 0.4
        yield f"not {holder}", 0.8


def _actions(source: Source, node: Node, function: Node, hints: Hints) -> Iterator[tuple[str, float]]:
    t = source.table
    looped = source.enclosing(node, t.loops)
    if looped is not None and source.function_of(looped) == function:
        yield "continue", 0.8
        yield "break", 0.5
    seen: dict[str, float] = {}
    for raised in sorted(hints.not_raised):
        yield f'raise {raised}("invalid value")', 1.0
    if hints.not_raised:
        return
    for value in dict.fromkeys(repr(value) for value in hints.expected):
        usual = value in ("None", "True", "False", "0", "1", "-1", "''", "[]", "{}", "()", "0.0")
        if len(value) <= 6:
            seen[f"return {value}"] = 1.0 if usual else 0.1
    for other in walk(function):
        if other.type in t.returns | t.raises and source.function_of(other) == function:
            text = source.of(other)
            if "\n" not in text and len(text) < 60:
                seen.setdefault(text, 0.6)
    parameters = [p for p in source.parameters_of(function) if p != t.receiver]
    for value, weight in (("None", 0.5), ("0", 0.4), ("[]", 0.4), ('""', 0.3), ("False", 0.4), ("True", 0.3)):
        seen.setdefault(f"return {value}", weight)
    for value in ("{}", "1", "-1", "0.0", "set()", "()"):
        seen.setdefault(f"return {value}", 0.2)
    for name in parameters[:2]:
        seen.setdefault(f"return {name}", 0.4)
    seen.setdefault("return", 0.2)
    yield from seen.items()
