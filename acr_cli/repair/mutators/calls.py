"""Calls: arguments exchanged, dropped, added; a call put around an expression or taken off; order; copies."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.source import Source


def arguments(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Two arguments exchanged, one left out, a parameter of the called function filled in."""
    t = source.table
    if node.type in t.sequences and len(node.named_children) > 1 and node.type != "list":
        yield from _exchanged(source, node, 0.5)
        return
    if node.type in t.pairs:
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        comprehension = node.parent is not None and node.parent.type in t.comprehensions
        if key is not None and value is not None and comprehension:
            yield replace(node, f"{source.of(value)}: {source.of(key)}", 0.7)
        return
    if node.type not in t.arguments or node.parent is None:
        return
    given = node.named_children
    if len(given) > 1:
        yield from _exchanged(source, node, 0.8)
    texts = [source.of(child) for child in given]
    for place in range(len(given)):
        rest = texts[:place] + texts[place + 1 :]
        yield replace(node, "(" + ", ".join(rest) + ")", 0.35 if len(given) > 1 else 0.15)
    yield from _filled(source, node, texts)


def _exchanged(source: Source, node: Node, weight: float) -> Iterator[Proposal]:
    children = node.named_children
    for place, one in enumerate(children):
        for other in children[place + 1 :]:
            if source.of(one) == source.of(other):
                continue
            between = source.text[one.end_byte : other.start_byte].decode()
            if one.type in source.table.keyword_arguments and other.type in source.table.keyword_arguments:
                continue
            yield Proposal(
                start=one.start_byte,
                end=other.end_byte,
                text=source.of(other) + between + source.of(one),
                weight=weight * (1.0 if other == children[min(place + 1, len(children) - 1)] else 0.5),
            )


def _filled(source: Source, node: Node, texts: list[str]) -> Iterator[Proposal]:
    """A further argument: a variable that is named like a parameter, or a usual value for it."""
    callee = node.parent.child_by_field_name("function") if node.parent is not None else None
    name = source.of(callee).rpartition(".")[2] if callee is not None else ""
    visible = source.variables_at(node)
    for function in source.functions:
        constructed = function.name == "__init__" and _class_name(source, function.node) == name
        if (function.name != name and not constructed) or len(texts) >= len(function.parameters):
            continue
        named = [text.partition("=")[0] for text in texts if "=" in text]
        positional = len(texts) - len(named)
        left = [p for p in function.parameters[positional:] if p not in named][:3]
        for place, parameter in enumerate(left):
            prefix = "" if place == 0 and not named else f"{parameter}="
            for value in visible[:10]:
                made = ", ".join([*texts, prefix + value])
                yield replace(node, f"({made})", 0.9 if value == parameter else 0.2)
            if parameter in source.members.get(source.table.receiver, ()):
                made = ", ".join([*texts, f"{prefix}{source.table.receiver}.{parameter}"])
                yield replace(node, f"({made})", 0.7)
            for value in ("True", "False", "None", "0", "1"):
                yield replace(node, f"({', '.join([*texts, f'{parameter}={value}'])})", 0.15)
    if name == "get" and len(texts) == 1:
        for place, value in enumerate(("0", "[]", '""', "{}", "False", "set()", "1")):
            yield replace(node, f"({texts[0]}, {value})", 0.5 * 0.95**place)
    if name in ("max", "min", "sum", "next", "pop", "getattr") and texts:
        for value, weight in (
            ("default=0", 0.4),
            ("default=None", 0.4),
            ("None", 0.3),
            ("0", 0.3),
            ("[]", 0.1),
        ):
            yield replace(node, f"({', '.join([*texts, value])})", weight)
    if name in ("split", "rsplit") and len(texts) < 2:
        yield replace(node, f"({', '.join([*texts, '1'])})" if texts else '(",")', 0.4)


def _class_name(source: Source, function: Node) -> str:
    owner = source.enclosing(function, source.table.classes)
    name = owner.child_by_field_name("name") if owner is not None else None
    return source.of(name) if name is not None else ""


def flag(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`reverse=True` and `key=...` of sorting calls, added, dropped or changed."""
    t = source.table
    if node.type not in t.calls:
        return
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if callee is None or given is None:
        return
    name = source.of(callee).rpartition(".")[2]
    if name not in ("sorted", "sort", "max", "min"):
        return
    texts = [source.of(child) for child in given.named_children]
    if name in ("sorted", "sort"):
        without = [text for text in texts if not text.startswith("reverse")]
        if len(without) == len(texts):
            yield replace(given, "(" + ", ".join([*texts, "reverse=True"]) + ")", 0.9)
        else:
            yield replace(given, "(" + ", ".join(without) + ")", 0.9)
    keyed = [text for text in texts if text.startswith("key")]
    if keyed:
        yield replace(given, "(" + ", ".join(t_ for t_ in texts if t_ not in keyed) + ")", 0.3)
        yield from _keys(source, given)
    else:
        for key in ("len", "str.lower", "lambda item: item[1]", "lambda item: item[0]", "abs", "str"):
            yield replace(given, "(" + ", ".join([*texts, f"key={key}"]) + ")", 0.3)


def _keys(source: Source, given: Node) -> Iterator[Proposal]:
    """Another key function: negated, or with one more part to break ties."""
    for child in given.named_children:
        value = child.child_by_field_name("value") if child.type in source.table.keyword_arguments else None
        if value is None or value.type != "lambda":
            continue
        body, parameters = value.child_by_field_name("body"), value.child_by_field_name("parameters")
        if body is None or parameters is None:
            continue
        text, item = source.of(body), source.of(parameters)
        yield replace(body, f"-{text}" if not text.startswith("-") else text[1:], 0.6)
        yield replace(body, f"({text}, {item})", 0.3)
        for place in (0, 1):
            if f"{item}[{place}]" not in text:
                yield replace(body, f"({text}, {item}[{place}])", 0.4)
        if body.type == "tuple":
            for part in body.named_children:
                other = source.of(part)
                yield replace(part, other[1:] if other.startswith("-") else f"-{other}", 0.6)


def wrap(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A call around an expression, chosen by the type that the tests showed."""
    t = source.table
    weight = _wrappable(source, node)
    if not weight:
        return
    text = source.of(node)
    plain = node.type in t.identifiers | t.calls | t.attributes | t.subscripts | t.strings | t.parenthesised
    kind = source.type_of(node)
    for template, likely in t.wrappers.get(kind, t.wrappers[""]):
        outer = template.startswith(("{x}", "-", "~", "*", "not", "await"))
        inner = f"({text})" if outer and not plain else text
        yield replace(node, template.format(x=inner), weight * likely)
    for function in source.functions:
        if len(function.parameters) >= 1 and function.required <= 1 and function.name:
            callee = f"{t.receiver}.{function.name}" if function.method else function.name
            if (function.method and t.receiver not in source.types_at(node)) or not function.answers:
                continue
            around = source.function_of(node)
            recursive = around is not None and around.start_byte == function.node.start_byte
            unused = source.text.count(function.name.encode()) == 1
            yield replace(node, f"{callee}({text})", weight * (0.9 if unused else 0.1 if recursive else 0.3))
    if kind in ("", "int", "float"):
        for other in source.variables_at(node)[:6]:
            if other != text and kind and source.types_at(node).get(other, frozenset()) & {"int", "float"}:
                yield replace(node, f"min({text}, {other})", weight * 0.2)
                yield replace(node, f"max({text}, {other})", weight * 0.2)


def _wrappable(source: Source, node: Node) -> float:
    """How likely a call around this expression is missing, in [0, 1]; 0 where none can stand."""
    t = source.table
    parent = node.parent
    if parent is None or not source.is_value(node) or node.type in t.truths | t.nothing | t.parenthesised:
        return 0.0
    if node.type in t.integers | t.floats | {"lambda"}:
        return 0.0
    if node.type in t.strings:
        return 0.1
    if parent.type in t.loops | {"for_in_clause"}:
        return 0.9
    if parent.type in t.returns | t.assignments | t.augmented:
        return 0.9
    if parent.type in t.comparison | t.binary:
        return 0.7
    if parent.type in t.arguments | t.keyword_arguments | {"interpolation"} | t.pairs:
        return 0.7
    if parent.type in t.sequences | t.subscripts | t.attributes | t.comprehensions:
        return 0.45
    return 0.3


def unwrap(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A call taken off its argument or its object; an index taken off."""
    t = source.table
    if node.type in t.calls:
        callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is None or given is None:
            return
        for child in given.named_children[:2]:
            if child.type not in t.keyword_arguments:
                yield replace(node, source.of(child), 0.7 if len(given.named_children) == 1 else 0.3)
        if callee.type in t.attributes:
            owner = callee.child_by_field_name("object")
            if owner is not None:
                yield replace(node, source.of(owner), 0.7)
        if not given.named_children:
            yield replace(node, source.of(callee), 0.4)
    elif node.type in t.subscripts:
        owner = node.child_by_field_name("value")
        if owner is not None and source.is_value(node):
            yield replace(node, source.of(owner), 0.3)


def reverse(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """The order turned round: reversed(), [::-1], an added sort's direction."""
    t = source.table
    if not source.is_value(node) or node.parent is None:
        return
    if source.type_of(node) not in ("", "str", "list", "tuple", "dict") or node.type in t.binary | t.boolean:
        return
    text = source.of(node)
    inner = text if node.type in t.identifiers | t.calls | t.attributes | t.subscripts else f"({text})"
    place = node.parent.type
    if place in t.returns | t.assignments:
        yield replace(node, f"{inner}[::-1]", 0.7)
        yield replace(node, f"list(reversed({text}))", 0.3)
    elif place in t.loops | {"for_in_clause"}:
        yield replace(node, f"reversed({text})", 0.9)
        yield replace(node, f"sorted({text})", 0.4)
        yield replace(node, f"list({text})", 0.4)
    if node.type in t.subscripts and text.endswith("[::-1]"):
        yield replace(node, text[: -len("[::-1]")], 1.0)


def copy(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A copy of something mutable where it is stored, returned or iterated over."""
    t = source.table
    if node.type not in t.identifiers | t.attributes or not source.is_value(node) or node.parent is None:
        return
    kind = source.type_of(node)
    if kind not in ("", "list", "dict", "set", "deque", "defaultdict"):
        return
    if node.parent.type not in t.returns | t.assignments | t.arguments | t.loops | t.pairs | t.sequences:
        return
    text = source.of(node)
    weight = 0.9 if kind else 0.25
    for template in {"list": ("list({x})",), "dict": ("dict({x})",), "set": ("set({x})",)}.get(
        kind, ("list({x})", "dict({x})", "{x}.copy()", "{x}[:]")
    ):
        yield replace(node, template.format(x=text), weight)
    nested = {
        "list": "[list(part) for part in {x}]",
        "dict": "{{key: list(part) for key, part in {x}.items()}}",
    }
    if kind in nested:
        yield replace(node, nested[kind].format(x=text), 0.2)


def lookup(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`d[k]` for `d.get(k)` and back."""
    t = source.table
    if node.type in t.subscripts and source.is_value(node):
        owner = node.child_by_field_name("value")
        keys = node.children_by_field_name("subscript")
        if owner is None or len(keys) != 1 or keys[0].type in t.slices:
            return
        kind = source.type_of(owner)
        a, b = source.of(owner), source.of(keys[0])
        if kind in ("list", "", "deque"):
            yield replace(node, f"{a}.pop({b})" if b != "-1" else f"{a}.pop()", 0.5)
        if kind in ("list", "str", "tuple"):
            return
        known = 1.0 if kind else 0.6
        yield replace(node, f"{a}.get({b})", 0.9 * known)
        for place, value in enumerate(("0", "[]", '""', "{}", "False", b, "1", "set()")):
            yield replace(node, f"{a}.get({b}, {value})", 0.7 * known * 0.95**place)
    elif node.type in t.calls:
        callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        name = callee.child_by_field_name("attribute") if callee is not None else None
        if callee is None or given is None or name is None or source.of(name) not in ("get", "pop"):
            return
        owner = callee.child_by_field_name("object")
        if owner is not None and given.named_children:
            yield replace(node, f"{source.of(owner)}[{source.of(given.named_children[0])}]", 0.6)
