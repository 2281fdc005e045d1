"""Statements: returned, moved, exchanged, deleted, inserted from elsewhere in the file."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.mutators.conditions import _is_docstring, _names, _readable
from acr_cli.repair.source import Source, walk


def return_value(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Another value returned: a variable in scope, an attribute, a usual value, a negation."""
    t = source.table
    if node.type not in t.returns:
        return
    value = node.named_children[0] if node.named_children else None
    old = source.of(value) if value is not None else ""
    function = source.function_of(node)
    if function is None:
        return
    for place, other in enumerate(_readable(source, node)):
        if other != old:
            yield replace(node, f"return {other}", 0.6 * 0.93**place)
    for other in source.members.get(t.receiver, ()):
        if t.receiver in source.parameters_of(function):
            yield replace(node, f"return {t.receiver}.{other}", 0.2)
    for usual, weight in ((t.none, 0.4), (t.true, 0.4), (t.false, 0.4), ("0", 0.3), ("[]", 0.3), ('""', 0.2)):
        yield replace(node, f"return {usual}", weight)
    for usual in ("{}", "1", "-1", "()", "set()", "0.0", 'float("inf")'):
        yield replace(node, f"return {usual}", 0.15)
    for other_node in walk(function):
        if (
            other_node.type in t.returns
            and other_node.id != node.id
            and source.of(other_node) != source.of(node)
        ):
            yield replace(node, source.of(other_node), 0.4)
    if value is not None and value.type in t.expressions:
        yield replace(
            node, f"return not {old}" if value.type not in t.boolean else f"return not ({old})", 0.2
        )
        yield replace(node, f"return [{old}]", 0.15)
        yield replace(node, f"return ({old},)", 0.05)


def missing_return(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`return` put before an expression that stands alone, or at the end of a body."""
    t = source.table
    if node.type in t.expression_statements and not _is_docstring(source, node):
        value = node.named_children[0] if node.named_children else None
        if value is not None and value.type in t.expressions and source.function_of(node) is not None:
            yield replace(node, f"return {source.of(value)}", 1.0)
            yield replace(node, f"yield {source.of(value)}", 0.1)
            yield replace(node, f"await {source.of(value)}", 0.1)
        if value is not None and value.type in t.assignments | t.augmented:
            right, left = value.child_by_field_name("right"), value.child_by_field_name("left")
            if right is not None and left is not None:
                yield replace(node, f"return {source.of(right)}", 0.3)
                text = f"\n{source.indent_of(node)}return {source.of(left)}"
                yield Proposal(start=node.end_byte, end=node.end_byte, text=text, weight=0.5, line=_row(node))
    if node.type in t.blocks and node.parent is not None and source.function_of(node) is not None:
        last = node.named_children[-1] if node.named_children else None
        if last is None or last.type in t.returns | t.raises | t.jumps:
            return
        values = [*_readable(source, last)[:6], t.true, t.false, t.none, "0", "[]", t.receiver]
        for place, value_text in enumerate(values):
            text = f"\n{source.indent_of(node.named_children[0])}return {value_text}"
            yield Proposal(
                start=last.end_byte, end=last.end_byte, text=text, weight=0.8 * 0.95**place, line=_row(last)
            )


def _row(node: Node) -> int:
    return node.start_point.row + 1


def jump(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """break, continue, return, yield and pass for each other."""
    t = source.table
    looped = source.enclosing(node, t.loops) is not None
    if node.type in t.jumps:
        for other in ("break", "continue", "return", "pass"):
            if other != source.of(node):
                yield replace(node, other, 0.8 if looped and other in ("break", "continue") else 0.4)
        for text in _returns_near(source, node):
            yield replace(node, text, 0.4)
        if source.of(node) == "pass":
            yield replace(node, "raise", 0.5)
    elif node.type in t.returns and looped:
        yield replace(node, "continue", 0.4)
        yield replace(node, "break", 0.4)
        if node.named_children:
            yield replace(node, f"yield {source.of(node.named_children[0])}", 0.2)
    elif node.type in t.yields and node.named_children:
        value = source.of(node.named_children[0])
        if "from" in source.of(node)[:11]:
            yield replace(node, f"yield {value}", 0.8)
        else:
            yield replace(node, f"yield from {value}", 0.7)
            yield replace(node, f"return {value}", 0.3)


def _returns_near(source: Source, node: Node) -> Iterator[str]:
    function = source.function_of(node)
    if function is not None:
        yield from dict.fromkeys(
            source.of(other) for other in walk(function) if other.type in source.table.returns
        )


def _in_block(source: Source, node: Node) -> bool:
    t = source.table
    return (
        node.type in t.statements
        and node.parent is not None
        and node.parent.type in t.blocks
        and node.start_point.row != node.parent.parent.start_point.row  # type: ignore[union-attr]
        and not _is_docstring(source, node)
    )


def _siblings(source: Source, node: Node) -> list[Node]:
    """The statements of a node's block, itself included."""
    block = node.parent
    return [c for c in block.named_children if c.type in source.table.statements] if block is not None else []


def _line_start(source: Source, byte: int) -> int:
    return source.text.rfind(b"\n", 0, byte) + 1


def _reindented(text: str, old: str, new: str) -> str:
    """The lines of a statement moved from one indentation to another; the first has none."""
    return re.sub(rf"(?m)^{re.escape(old)}", new, text) if old else text.replace("\n", "\n" + new)


def move(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A statement out of its block (after or before it), or into the block beside it."""
    t = source.table
    if not _in_block(source, node):
        return
    owner = node.parent.parent if node.parent is not None else None
    siblings = _siblings(source, node)
    if (
        owner is not None
        and owner.type in t.statements | t.clauses
        and owner.type not in t.functions | t.classes
    ):
        if siblings[-1] == node:
            yield _lifted_behind(source, node, owner, alone=len(siblings) == 1)
        if siblings[0] == node and owner.type in t.statements:
            yield _lifted_before(source, node, owner, alone=len(siblings) == 1)
    yield from _moved_in(source, node, siblings)


def _lifted_behind(source: Source, node: Node, owner: Node, *, alone: bool) -> Proposal:
    whole = owner.parent if owner.type in source.table.clauses and owner.parent is not None else owner
    indent, outer = source.indent_of(node), source.indent_of(whole)
    rest = source.text[node.end_byte : whole.end_byte].decode()
    parts = [f"{indent}{source.table.no_operation}"] if alone else []
    parts += [rest.strip("\n").rstrip()] if rest.strip() else []
    parts.append(outer + _reindented(source.of(node), indent, outer))
    start = _line_start(source, node.start_byte)
    return Proposal(start=start, end=whole.end_byte, text="\n".join(parts), line=_row(node))


def _lifted_before(source: Source, node: Node, owner: Node, *, alone: bool) -> Proposal:
    indent, outer = source.indent_of(node), source.indent_of(owner)
    start = _line_start(source, owner.start_byte)
    head = source.text[start : _line_start(source, node.start_byte)].decode()
    head = f"{head}{indent}{source.table.no_operation}" if alone else head.rstrip("\n")
    lifted = outer + _reindented(source.of(node), indent, outer)
    return Proposal(start=start, end=node.end_byte, text=f"{lifted}\n{head}", weight=0.8, line=_row(node))


def _next_line(source: Source, node: Node) -> int:
    end = source.text.find(b"\n", node.end_byte)
    return len(source.text) if end < 0 else end + 1


def _blocks_of(source: Source, statement: Node) -> Iterator[Node]:
    for child in statement.named_children:
        if child.type in source.table.blocks and child.named_children:
            yield child
        elif child.type in source.table.clauses:
            yield from _blocks_of(source, child)


def _moved_in(source: Source, node: Node, siblings: list[Node]) -> Iterator[Proposal]:
    t = source.table
    at = next((i for i, other in enumerate(siblings) if other == node), -1)
    indent, text = source.indent_of(node), source.of(node)
    before = siblings[at - 1] if at > 0 else None
    after = siblings[at + 1] if 0 <= at < len(siblings) - 1 else None
    if before is not None and before.type not in t.functions | t.classes | t.decorated:
        remarks = source.text[before.end_byte : node.start_byte].decode().rstrip()
        for block in _blocks_of(source, before):
            last = block.named_children[-1]
            inner = source.indent_of(block.named_children[0])
            tail = source.text[last.end_byte : before.end_byte].decode().rstrip()
            moved = f"\n{inner}{_reindented(text, indent, inner)}"
            new = moved + tail if tail else remarks + moved
            yield Proposal(start=last.end_byte, end=node.end_byte, text=new, weight=0.8, line=_row(node))
    if after is not None and after.type in t.loops | {"if_statement", "with_statement"}:
        body = next(_blocks_of(source, after), None)
        if body is not None:
            first = body.named_children[0]
            inner = source.indent_of(first)
            head = source.text[after.start_byte : first.start_byte].decode()
            yield Proposal(
                start=node.start_byte,
                end=first.start_byte,
                text=f"{head}{_reindented(text, indent, inner)}\n{inner}",
                weight=0.7,
                line=_row(after),
            )


def swap(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A statement exchanged with the next one, or put behind the next two."""
    t = source.table
    if not _in_block(source, node) or node.type in t.functions | t.classes | t.decorated:
        return
    other: Node | None = node.next_named_sibling
    for weight in (1.0, 0.4):
        while other is not None and other.type == "comment":
            other = other.next_named_sibling
        if other is None or other.type not in t.statements:
            return
        between = source.text[node.end_byte : other.start_byte].decode()
        yield Proposal(
            start=node.start_byte,
            end=other.end_byte,
            text=source.of(other) + between + source.of(node),
            weight=weight,
            line=_row(node),
        )
        if weight < 1.0:
            return
        further = other.next_named_sibling
        if further is not None and further.type in t.statements:
            # The statement goes behind the next two, which keep their order.
            rest = source.text[other.start_byte : further.end_byte].decode()
            yield Proposal(
                start=node.start_byte,
                end=further.end_byte,
                text=rest + between + source.of(node),
                weight=0.5,
                line=_row(node),
            )
        other = further


def delete(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A statement, or the condition around a block, taken away."""
    t = source.table
    if not _in_block(source, node) or node.type in t.imports:
        return
    alone = len(_siblings(source, node)) == 1
    if node.type in t.simple_statements or node.type in t.conditionals:
        if alone:
            yield replace(node, t.no_operation, 0.6)
        else:
            start, end = _line_start(source, node.start_byte), _next_line(source, node)
            yield Proposal(start=start, end=end, text="", weight=0.7, line=_row(node))
    if node.type in t.statements - t.simple_statements:
        indent = source.indent_of(node)
        for block_node in _blocks_of(source, node):
            first, last = block_node.named_children[0], block_node.named_children[-1]
            body = source.text[first.start_byte : last.end_byte].decode()
            inner = source.indent_of(first)
            if node.type in t.conditionals | {"with_statement", "try_statement"}:
                yield replace(node, _reindented(body, inner, indent), 0.5)
    if node.type in t.conditionals and node.next_named_sibling is not None:
        following = node.next_named_sibling
        if following.type == "if_statement" and node.type == "if_statement":
            start = following.start_byte
            yield Proposal(start=start, end=start, text="el", weight=0.8, line=_row(following))


def loop(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`while` for `if` and back; the same for what follows a loop's condition."""
    t = source.table
    word = node.children[0] if node.children else None
    if word is None or node.type not in t.conditionals:
        return
    if source.of(word) == "if":
        yield replace(word, "while", 1.0)
    elif source.of(word) == "while":
        yield replace(word, "if", 0.7)


def chain(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """`if` for `elif` and back, an `else` in the place of what follows."""
    t = source.table
    if node.type == "elif_clause":
        start = node.start_byte
        yield Proposal(start=start, end=start + 4, text="if", weight=1.0)
    elif node.type == "else_clause" and node.parent is not None and node.parent.type in t.loops:
        body = node.child_by_field_name("body")
        if body is not None and body.named_children:
            first, last = body.named_children[0], body.named_children[-1]
            text = source.text[first.start_byte : last.end_byte].decode()
            indent = source.indent_of(node)
            yield replace(node, _reindented(text, source.indent_of(first), indent), 0.8)


def insert(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A statement of the file before this one or at the end of its block, renamed to names in scope."""
    t = source.table
    if not _in_block(source, node) or node.type in t.imports:
        return
    function = source.function_of(node)
    if function is None:
        return
    visible = set(source.variables_at(node)) | {t.receiver} | t.builtins | set(source.top_names)
    indent = source.indent_of(node)
    last = node.next_named_sibling is None
    for text, weight in _ingredients(source, node, function, visible):
        yield Proposal(
            start=node.start_byte,
            end=node.start_byte,
            text=f"{text}\n{indent}",
            weight=weight,
            line=_row(node),
        )
        if last and node.type not in t.returns | t.raises | t.jumps:
            yield Proposal(
                start=node.end_byte,
                end=node.end_byte,
                text=f"\n{indent}{text}",
                weight=weight,
                line=_row(node),
            )


def _ingredients(
    source: Source, node: Node, function: Node, visible: set[str]
) -> Iterator[tuple[str, float]]:
    """One-line statements that may be missing: (text, weight), those of the file first."""
    t = source.table
    seen: dict[str, float] = {}
    for other in source.nodes:
        if other.type not in t.simple_statements - t.imports - t.jumps or _is_docstring(source, other):
            continue
        text = source.of(other)
        if "\n" in text or len(text) > 100 or text == source.of(node):
            continue
        near = source.function_of(other) == function
        if _names(source, other) <= visible:
            seen.setdefault(text, 0.7 if near else 0.25)
        if not near or other.type in t.expression_statements:
            for renamed in _renamed(source, other, node, visible):
                seen.setdefault(renamed, 0.25)
    for text, weight in _usual_statements(source, node):
        seen.setdefault(text, weight)
    yield from seen.items()


_RESETS = {"list": "[]", "dict": "{}", "set": "set()", "str": '""', "bool": "False"}
_FEEDERS = {"set": ("add", 0.6), "list": ("append", 0.3), "deque": ("append", 0.3)}


def _usual_statements(source: Source, node: Node) -> Iterator[tuple[str, float]]:
    """Counters moved on, containers fed or emptied, flags set, by the types of the variables in scope."""
    types = source.types_at(node)
    names = _readable(source, node)
    for name in names:
        kinds = types.get(name, frozenset())
        if "int" in kinds:
            yield from (
                (f"{name} += 1", 0.6),
                (f"{name} -= 1", 0.5),
                (f"{name} = 0", 0.3),
                (f"{name} = 1", 0.1),
            )
        if "bool" in kinds:
            yield f"{name} = True", 0.4
        if "list" in kinds:
            yield f"{name}.sort()", 0.2
        for kind in sorted(kinds & set(_RESETS)):
            yield f"{name} = {_RESETS[kind]}", 0.3
        for kind in sorted(kinds & set(_FEEDERS)):
            method, weight = _FEEDERS[kind]
            yield from ((f"{name}.{method}({other})", weight) for other in names[:6] if other != name)
    if source.enclosing(node, source.table.loops) is not None:
        yield "break", 0.4
        yield "continue", 0.4


def _renamed(source: Source, other: Node, node: Node, visible: set[str]) -> Iterator[str]:
    """A statement with one foreign (or any one) name for each variable in scope."""
    text = source.of(other)
    names = sorted(_names(source, other) - source.table.builtins - {source.table.receiver})
    foreign = [name for name in names if name not in visible]
    if len(foreign) > 1:
        return
    for name in foreign or names[:3]:
        for new in _readable(source, node)[:6]:
            if new != name and not (foreign == [] and new not in visible):
                yield re.sub(rf"(?<![\w.]){re.escape(name)}\b", new, text)
