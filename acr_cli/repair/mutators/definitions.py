"""Definitions and exceptions: defaults, decorators, base initialisers, handlers, raised types."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.mutators.conditions import _is_docstring
from acr_cli.repair.source import Source, walk


def shared_default(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A mutable default value made afresh at each call."""
    t = source.table
    if node.type not in t.default_parameters:
        return
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    function = source.enclosing(node, t.functions)
    body = function.child_by_field_name("body") if function is not None else None
    if name is None or value is None or body is None or not body.named_children:
        return
    text = source.of(value)
    if text not in t.mutable_literals and value.type not in ("list", "dictionary", "set", "call"):
        return
    first = next((s for s in body.named_children if not _is_docstring(source, s)), body.named_children[0])
    made = t.guard.format(
        indent=source.indent_of(first),
        unit=source.unit,
        condition=t.is_none.format(x=source.of(name)),
        action=f"{source.of(name)} = {text}",
    )
    between = source.text[value.end_byte : first.start_byte].decode()
    yield Proposal(start=value.start_byte, end=first.start_byte, text=t.none + between + made)


def default(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A default value changed, or given to the last parameter."""
    t = source.table
    if node.type in t.default_parameters:
        value = node.child_by_field_name("value")
        for other in ("None", "0", "1", "True", "False", '""', "[]"):
            if value is not None and other != source.of(value):
                yield replace(value, other, 0.5)
    elif node.type == "parameters" and node.named_children:
        last = node.named_children[-1]
        if last.type in t.identifiers and source.of(last) not in (t.receiver, "cls"):
            for other in ("None", "0", "True", "False", "[]", '""'):
                yield replace(
                    last, f"{source.of(last)}={other}", 0.6 if source.of(last) in hints.names else 0.2
                )


def decorator(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A decorator added to or taken from a method."""
    t = source.table
    if node.type in t.decorated:
        for child in node.named_children:
            if child.type in t.decorators:
                end = source.text.find(b"\n", child.end_byte) + 1
                start = child.start_byte
                rest = source.text[end : end + 200]
                indent = len(rest) - len(rest.lstrip(b" \t"))
                yield Proposal(start=start, end=end + indent, text="", weight=0.4)
                for other in ("@property", "@staticmethod", "@classmethod"):
                    if source.of(child) != other:
                        yield replace(child, other, 0.2)
    elif node.type in t.functions and (node.parent is None or node.parent.type not in t.decorated):
        owner = source.enclosing(node, t.classes | t.functions)
        if owner is None or owner.type not in t.classes:
            return
        names = source.parameters_of(node)
        usual = {"@property": 0.7 if names == (t.receiver,) else 0.1}
        usual["@staticmethod"] = 0.7 if t.receiver not in names and "cls" not in names else 0.2
        usual["@classmethod"] = 0.9 if names[:1] == ("cls",) else 0.1
        for text, weight in usual.items():
            start = node.start_byte
            yield Proposal(start=start, end=start, text=f"{text}\n{source.indent_of(node)}", weight=weight)


def base_call(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A missing call of the base class's method at the start of an overriding one."""
    t = source.table
    if node.type not in t.functions or not t.super_call:
        return
    owner = source.enclosing(node, t.classes | t.functions)
    body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
    if (
        owner is None
        or owner.type not in t.classes
        or body is None
        or name is None
        or not body.named_children
    ):
        return
    if owner.child_by_field_name("superclasses") is None or "super()" in source.of(body):
        return
    first = next((s for s in body.named_children if not _is_docstring(source, s)), body.named_children[0])
    parameters = [p for p in source.parameters_of(node) if p != t.receiver]
    given = [", ".join(parameters[:count]) for count in range(len(parameters), -1, -1)]
    given += parameters[1:]
    given += _analogous(source, owner)
    for arguments in dict.fromkeys(given):
        call = t.super_call.format(arguments=arguments).replace("__init__", source.of(name))
        text = f"{call}\n{source.indent_of(first)}"
        weight = 0.9 if source.of(name) == "__init__" else 0.4
        yield Proposal(
            start=first.start_byte,
            end=first.start_byte,
            text=text,
            weight=weight,
            line=first.start_point.row + 1,
        )


def _analogous(source: Source, owner: Node) -> Iterator[str]:
    """Arguments of other classes' base calls, with their class's name turned into this one's."""
    own = source.of(name) if (name := owner.child_by_field_name("name")) is not None else ""
    for node in source.nodes:
        callee = node.child_by_field_name("function") if node.type in source.table.calls else None
        if callee is None or not source.of(callee).startswith("super()."):
            continue
        given, other = node.child_by_field_name("arguments"), source.enclosing(node, source.table.classes)
        name = other.child_by_field_name("name") if other is not None else None
        if given is None or name is None:
            continue
        text, foreign = source.of(given)[1:-1], source.of(name)
        yield text.replace(foreign, own).replace(foreign.lower(), own.lower())


def capture(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A loop variable bound early in a lambda or inner function."""
    t = source.table
    loop = source.enclosing(node, t.loops | t.comprehensions)
    if loop is None:
        return
    targets: list[str] = []
    for part in walk(loop):
        if (
            part.type in t.loops | {"for_in_clause"}
            and (left := part.child_by_field_name("left")) is not None
        ):
            targets += [source.of(n) for n in walk(left) if n.type in t.identifiers]
    if node.type == "lambda":
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        for name in dict.fromkeys(targets):
            if body is not None and any(source.of(n) == name for n in walk(body) if n.type in t.identifiers):
                given = f"{source.of(parameters)}, " if parameters is not None else ""
                yield replace(node, f"lambda {given}{name}={name}: {source.of(body)}", 1.0)
    elif node.type in t.functions:
        parameters = node.child_by_field_name("parameters")
        for name in dict.fromkeys(targets):
            if parameters is not None and any(
                source.of(n) == name for n in walk(node) if n.type in t.identifiers
            ):
                given = source.of(parameters)[1:-1].strip()
                yield replace(parameters, f"({given}{', ' if given else ''}{name}={name})", 1.0)


def exception(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Another exception type caught or raised: the one that came, the one that was waited for, usual ones."""
    t = source.table
    if node.type in t.handlers:
        yield from _caught(source, node, hints)
    elif node.type in t.raises and node.named_children:
        raised = node.named_children[0]
        callee = raised.child_by_field_name("function") if raised.type in t.calls else raised
        if callee is None or callee.type not in t.identifiers:
            return
        own = [name for name in source.callables if name.endswith(("Error", "Exception"))]
        likely = dict.fromkeys(t.exception_types[:14], 0.25)
        likely.update(dict.fromkeys((*sorted(hints.not_raised), *own), 1.0))
        yield from (replace(callee, other, weight) for other, weight in likely.items())


def _caught(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    t = source.table
    caught = node.child_by_field_name("value")
    caught = caught or next((child for child in node.named_children if child.type not in t.blocks), None)
    if caught is None:
        return
    if caught.type == "as_pattern" and caught.named_children:
        caught = caught.named_children[0]
    old = source.of(caught)
    inside = old[1:-1] if caught.type == "tuple" else old
    for other in sorted((hints.exceptions | hints.not_raised) - {"Exception"}):
        if other not in old:
            yield replace(caught, other, 1.0)
            yield replace(caught, f"({inside}, {other})", 1.0)
    for other in t.exception_types:
        yield replace(caught, other, 0.25)
        if other not in old and other != "Exception":
            yield replace(caught, f"({inside}, {other})", 0.15)


def raising(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """An exception raised instead of a value returned or an error swallowed."""
    t = source.table
    if not hints.not_raised or node.type not in t.returns | t.jumps | t.expression_statements:
        return
    if _is_docstring(source, node) or source.function_of(node) is None:
        return
    for wanted in sorted(hints.not_raised):
        yield replace(node, f'raise {wanted}("invalid value")', 0.8)
    if source.enclosing(node, t.handlers) is not None:
        yield replace(node, "raise", 1.0)
        text = f"\n{source.indent_of(node)}raise"
        yield Proposal(start=node.end_byte, end=node.end_byte, text=text, weight=0.8)


def shared_attribute(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A mutable attribute that all objects of a class share, set in the initialiser of each."""
    t = source.table
    if node.type not in t.classes:
        return
    body = node.child_by_field_name("body")
    if body is None:
        return
    shared = []
    initialiser = None
    for child in body.named_children:
        if child.type in t.expression_statements and child.named_children:
            bound = child.named_children[0]
            right = bound.child_by_field_name("right")
            left = bound.child_by_field_name("left")
            if right is not None and left is not None and right.type in ("list", "dictionary", "set", "call"):
                shared.append((source.of(left), source.of(right)))
        name = child.child_by_field_name("name") if child.type in t.functions else None
        if name is not None and source.of(name) == "__init__":
            initialiser = child.child_by_field_name("body")
    for name_text, value in shared:
        if initialiser is not None and initialiser.named_children:
            first = next((s for s in initialiser.named_children if not _is_docstring(source, s)), None)
            if first is not None:
                text = f"{t.receiver}.{name_text} = {value}\n{source.indent_of(first)}"
                start = first.start_byte
                yield Proposal(start=start, end=start, text=text, weight=0.8, line=first.start_point.row + 1)
        else:
            methods = [c for c in body.named_children if c.type in t.functions | t.decorated]
            if methods:
                indent = source.indent_of(methods[0])
                made = f"{source.unit}{t.receiver}.{name_text} = {value}"
                text = f"def __init__({t.receiver}):\n{indent}{made}\n\n{indent}"
                start = methods[0].start_byte
                yield Proposal(start=start, end=start, text=text, weight=0.6)
