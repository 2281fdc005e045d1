"""Names: another variable, attribute, method or function; a missing receiver, import or declaration."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.source import Source


def likeness(one: str, other: str) -> float:
    """How alike two names are, in [0, 1]."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def variable(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A variable for another one in scope: of the same type first, then by nearness and likeness."""
    t = source.table
    if node.type not in t.identifiers or not source.is_value(node):
        return
    name = source.of(node)
    types = source.types_at(node)
    own = types.get(name, frozenset())
    function = source.function_of(node)
    near = set(source.bound_by_function.get(function.start_byte, ())) if function is not None else set()
    near |= set(source.parameters_of(function)) if function is not None else set()
    for place, other in enumerate(source.variables_at(node)):
        if other in (name, "_") or other in (t.receiver, "cls"):
            continue
        weight = 0.8 if other in near else 0.35
        weight *= _agreement(own, types.get(other, frozenset()))
        weight *= 0.7 + 0.6 * likeness(name, other)
        yield replace(node, other, min(1.0, weight) * 0.97**place)
    for place, other in enumerate(source.members.get(t.receiver, ())):
        if t.receiver in types:
            weight = 0.3 * _agreement(own, types.get(f"{t.receiver}.{other}", frozenset()))
            yield replace(
                node, f"{t.receiver}.{other}", weight * (1.8 if other == name else 1.0) * 0.97**place
            )


def _agreement(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return 0.6
    return 1.0 if one & other else 0.25


def attribute(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """An attribute for another one, or another object's attribute of the same name."""
    t = source.table
    if node.type not in t.attributes or source.is_callee(node):
        return
    owner, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
    if owner is None or name is None:
        return
    text = source.of(name)
    types = source.types_at(node)
    own = types.get(source.of(node), frozenset())
    seen = dict.fromkeys(source.members.get(source.of(owner), ()), 0.8)
    seen.update({n.partition(".")[2]: 0.8 for n in types if n.startswith(f"{source.of(owner)}.")})
    for other in source.all_members:
        seen.setdefault(other, 0.3)
    for other in source.methods:
        seen.setdefault(other, 0.15)
    for other, weight in seen.items():
        if other != text:
            fit = weight * _agreement(own, types.get(f"{source.of(owner)}.{other}", frozenset()))
            yield replace(name, other, min(1.0, fit * (0.6 + 0.8 * likeness(text, other))))
    if text in source.methods:
        yield replace(node, f"{source.of(node)}()", 0.6)
    if source.is_value(node):
        yield from _other_owner(source, node, owner, text)


def _other_owner(source: Source, node: Node, owner: Node, text: str) -> Iterator[Proposal]:
    """The attribute's name alone, where it is a variable, or the same attribute of another object."""
    t = source.table
    variables = source.variables_at(node)
    if text in variables:
        yield replace(node, text, 0.7)
    elif text.lstrip("_") in variables:
        yield replace(node, text.lstrip("_"), 0.5)
    if owner.type not in t.identifiers:
        return
    for other in variables[:8]:
        if other not in (source.of(owner), text):
            yield replace(owner, other, 0.3)
    if source.of(owner) != t.receiver and t.receiver in source.types_at(node):
        yield replace(owner, t.receiver, 0.4)


def name_for_number(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A variable in scope where a number was written down."""
    if node.type in source.table.integers:
        for other in source.variables_at(node)[:12]:
            yield replace(node, other, 0.6)


def method(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A called method or function for its usual mix-up, one of the file, or a name that the type has."""
    t = source.table
    if node.type not in t.calls:
        return
    callee = node.child_by_field_name("function")
    if callee is None:
        return
    if callee.type in t.attributes:
        name = callee.child_by_field_name("attribute")
        if name is not None:
            yield from _method_names(source, name, hints)
    elif callee.type in t.identifiers:
        yield from _function_names(source, node, callee)


def _function_names(source: Source, node: Node, callee: Node) -> Iterator[Proposal]:
    text = source.of(callee)
    for place, other in enumerate(source.table.function_exchange.get(text, ())):
        yield replace(callee, other, 0.9 - 0.15 * place)
    count = _argument_count(node)
    for function in source.functions:
        if not function.method and function.name != text and function.name:
            fits = function.required <= count <= len(function.parameters)
            weight = (0.5 if fits else 0.1) * (0.6 + 0.8 * likeness(text, function.name))
            yield replace(callee, function.name, min(1.0, weight))
    for other in source.callables:
        if other != text:
            yield replace(callee, other, 0.1 + 0.3 * likeness(text, other))


def _method_names(source: Source, name: Node, hints: Hints) -> Iterator[Proposal]:
    t = source.table
    text = source.of(name)
    for place, other in enumerate(t.method_exchange.get(text, ())):
        if "(" not in other:
            yield replace(name, other, 0.9 - 0.15 * place)
    for other in (*source.methods, *source.all_members):
        if other != text and not (other.startswith("__") and other.endswith("__")):
            yield replace(name, other, 0.35 * (0.5 + likeness(text, other)))
    for owner in sorted(hints.owner_types):
        yield from _known_names(name, text, t.types.get(owner, ()))


def _known_names(name: Node, text: str, known: Iterable[str]) -> Iterator[Proposal]:
    """Names that a type really has, for one that it has not."""
    usual = {"add": "append", "push": "append", "append": "add", "contains": "index", "length": "count"}
    for other in known:
        alike = likeness(text, other)
        if alike > 0.5 or usual.get(text) == other:
            yield replace(name, other, max(alike, 0.9 if usual.get(text) == other else 0.0))


def _argument_count(call: Node) -> int:
    arguments = call.child_by_field_name("arguments")
    return len(arguments.named_children) if arguments is not None else 0


def exchange(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A call's whole form: a method for a property and back, division of numbers by a rounding function."""
    t = source.table
    if node.type in t.attributes and not source.is_callee(node):
        name = node.child_by_field_name("attribute")
        if name is not None:
            for other in t.method_exchange.get(source.of(name), ()):
                yield replace(name, other, 0.6)
    elif node.type in t.binary:
        parts = [source.of(child) for child in node.named_children]
        sign = node.child_by_field_name("operator")
        if sign is not None and len(parts) == 2 and source.of(sign) in ("//", "/"):
            a, b = parts
            yield replace(node, f"round({a} / {b})", 0.3)
            yield replace(node, f"-(-{a} // {b})", 0.4)
            yield replace(node, f"({a} + {b} - 1) // {b}", 0.2)
            yield replace(node, f"int({a} / {b})", 0.3)


def name(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A name that the failure calls unknown: what it was meant to be."""
    t = source.table
    text = source.of(node)
    if node.type not in t.identifiers or text not in hints.names:
        return
    parent = node.parent
    if parent is not None and parent.type in t.attributes and parent.child_by_field_name("attribute") == node:
        for other in (*source.all_members, *source.methods):
            if other != text:
                yield replace(node, other, 0.2 + 0.8 * likeness(text, other))
        return
    if not hints.exceptions & {"NameError", "UnboundLocalError"}:
        return
    for other in (*source.variables_at(node), *source.top_names, *sorted(t.builtins)):
        alike = likeness(text, other)
        if other != text and alike > 0.5:
            yield replace(node, other, alike)


def imports(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """The imports of all that the file uses and nothing in it binds, where the failure calls one unknown."""
    if node.type not in source.table.identifiers or source.of(node) not in hints.names:
        return
    place = _import_place(source)
    for number, text in enumerate(source.imports):
        yield Proposal(start=place, end=place, text=text, weight=0.9**number, line=node.start_point.row + 1)


def _import_place(source: Source) -> int:
    """After the imports that the file begins with, else before its first statement but a docstring."""
    t, after = source.table, -1
    for child in source.tree.root_node.named_children:
        if child.type in t.imports | {"future_import_statement"}:
            after = source.text.find(b"\n", child.end_byte) + 1
        elif child.type != "comment" and not (
            child.type in t.expression_statements and child.named_children[0].type in t.strings
        ):
            return after if after > 0 else child.start_byte
    return max(after, 0)


def receiver(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`self.` put before a name or taken away; `self` added to a method's parameters."""
    t = source.table
    if node.type in t.identifiers:
        text = source.of(node)
        parent = node.parent
        known = text in source.members.get(t.receiver, ()) or text in source.methods
        is_name = parent is None or parent.type not in t.attributes | {"parameters", "keyword_argument"}
        within = source.enclosing(node, t.classes) is not None and source.function_of(node) is not None
        if known and is_name and within and source.indent_of(node):
            yield replace(node, f"{t.receiver}.{text}", 1.0 if text in hints.names else 0.6)
    elif node.type == "parameters" and source.enclosing(node, t.classes) is not None:
        names = [source.of(child) for child in node.named_children]
        if t.receiver not in names and "cls" not in names:
            yield replace(node, "(" + ", ".join([t.receiver, *names]) + ")", 0.8)


def declare(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A missing declaration that an assigned name belongs to the module or an outer function."""
    t = source.table
    if node.type not in t.functions:
        return
    body = node.child_by_field_name("body")
    if body is None or not body.named_children:
        return
    outer = source.function_of(node)
    first = body.named_children[0]
    for bound in source.bound_by_function.get(node.start_byte, ()):
        if outer is not None and bound in source.bound_by_function.get(outer.start_byte, ()):
            word = "nonlocal"
        elif bound in source.bound_by_function.get(-1, ()):
            word = "global"
        else:
            continue
        text = f"{word} {bound}\n{source.indent_of(first)}"
        yield Proposal(start=first.start_byte, end=first.start_byte, text=text, weight=0.8, line=_row(first))


def _row(node: Node) -> int:
    return node.start_point.row + 1
