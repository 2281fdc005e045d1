"""Values: literals, off by one, the bounds of slices and ranges, texts."""

# ruff: noqa: ARG001 - every mutator has the same signature, whether it needs the hints or not
from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Proposal, replace
from acr_cli.repair.source import Source, walk


def off_by_one(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """One more or one less, of a literal or of a whole expression in a place where numbers count."""
    t = source.table
    if node.type in t.integers:
        value = _integer(source.of(node))
        if value is None:
            return
        parent = node.parent
        negative = parent is not None and parent.type in t.unary
        yield replace(node, str(value + 1), 1.0)
        if value == 0 and not negative:
            yield replace(node, "-1", 0.9)
        elif value == 1 and parent is not None and parent.type in t.binary and not negative:
            yield replace(parent, source.of(parent.named_children[0]), 1.0)
        elif value > 0:
            yield replace(node, str(value - 1), 1.0)
        return
    weight = _counting_place(source, node)
    if weight and source.type_of(node) not in ("str", "list", "dict", "set", "tuple"):
        text = source.of(node)
        tight = node.type in t.binary and source.text[node.start_byte : node.end_byte].find(b"*") < 0
        text = f"({text})" if node.type in t.ternary | t.boolean | t.comparison else text
        yield replace(node, f"{text} - 1", weight * (0.7 if tight else 1.0))
        yield replace(node, f"{text} + 1", weight * (0.7 if tight else 1.0))


def _counting_place(source: Source, node: Node) -> float:
    """How likely a whole expression stands where one more or less matters, in [0, 1]."""
    t = source.table
    parent = node.parent
    if (
        parent is None
        or not source.is_value(node)
        or node.type in t.strings | t.floats | t.nothing | t.truths
    ):
        return 0.0
    if node.type not in t.identifiers | t.calls | t.attributes | t.subscripts | t.binary:
        return 0.0
    if parent.type in t.subscripts and parent.child_by_field_name("value") != node:
        return 0.9
    if parent.type in t.slices:
        return 0.9
    if parent.type in t.arguments and parent.parent is not None:
        callee = parent.parent.child_by_field_name("function")
        return 0.9 if callee is not None and source.of(callee) == "range" else 0.35
    if parent.type in t.comparison:
        return 0.5
    if parent.type in t.returns:
        return 0.35
    if parent.type in t.assignments | t.augmented:
        return 0.4
    return 0.3 if parent.type in t.binary | t.sequences else 0.0


def _integer(text: str) -> int | None:
    try:
        return int(text.replace("_", ""), 0)
    except ValueError:
        return None


def constant(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Another literal: usual ones, those of the file, those near it."""
    t = source.table
    text = source.of(node)
    if node.type in t.integers:
        value = _integer(text)
        usual = {"0": 0.7, "1": 0.7, "-1": 0.6, "2": 0.4, t.none: 0.3, "10": 0.1, "100": 0.1}
        if value is not None and value > 1:
            usual.update(
                {str(value * 2): 0.15, str(value * 10): 0.2, str(value // 2): 0.2, str(value // 10): 0.2}
            )
        usual.update({other: 0.25 for other in source.integer_texts[:12] if other not in usual})
        usual.update({'float("inf")': 0.15, 'float("-inf")': 0.25} if value in (0, 1) else {})
        usual.update({"1.0": 0.1, "0.0": 0.1} if value in (0, 1) else {})
        if node.parent is not None and node.parent.type in t.binary:
            del usual["0"]  # dropping the operand says the same
        yield from (replace(node, other, weight) for other, weight in usual.items() if other != text)
    elif node.type in t.floats:
        usual = {"0.0": 0.4, "1.0": 0.4, "0.5": 0.2}
        usual.update(dict.fromkeys(source.float_texts[:10], 0.4))
        try:
            value_f = float(text.replace("_", ""))
            usual.update({repr(value_f * 10): 0.3, repr(value_f / 10): 0.3, repr(value_f * 100): 0.3})
            usual.update({repr(value_f / 100): 0.3, repr(1 - value_f): 0.2, repr(value_f * 2): 0.15})
        except ValueError:
            pass
        yield from (replace(node, other, weight) for other, weight in usual.items() if other != text)
    elif node.type in t.sequences | {"dictionary"} and not node.named_children and source.is_value(node):
        empties = {"[]": 0.4, "{}": 0.4, "set()": 0.4, t.none: 0.3, '""': 0.2, "0": 0.2}
        yield from (replace(node, other, weight) for other, weight in empties.items() if other != text)


def truth(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """True for False, something for None."""
    t = source.table
    if node.type in t.truths:
        yield replace(node, t.false if source.of(node) == t.true else t.true, 1.0)
        yield replace(node, t.none, 0.3)
    elif node.type in t.nothing:
        for other, weight in (
            (t.false, 0.4),
            (t.true, 0.3),
            ("0", 0.5),
            ("[]", 0.5),
            ('""', 0.4),
            ("{}", 0.4),
        ):
            yield replace(node, other, weight)
        for other in ("-1", "1", "set()", 'float("inf")', 'float("-inf")'):
            yield replace(node, other, 0.2)


def string(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """Another text: one of the file, the empty one, or this one changed as the failure's texts differ."""
    t = source.table
    if node.type not in t.strings or source.is_docstring(node):
        return
    raw = source.of(node)
    content = next((child for child in node.named_children if child.type == "string_content"), None)
    inner = source.of(content) if content is not None else ""
    if len(inner) > 200:
        return
    interpolated = any(child.type == "interpolation" for child in node.named_children)
    for child in node.named_children:
        if child.type == "string_content":
            for got, wanted in hints.pieces:
                yield from _repaired(source, child, got, wanted)
    if interpolated:
        yield from _formats(source, node)
        return
    for other in source.string_texts[:25]:
        if other != raw and abs(len(other) - len(raw)) <= 20:
            yield replace(node, other, 0.4 if _alike(other, raw) else 0.2)
    changed = {
        "": 0.4,
        " ": 0.3,
        inner.strip(): 0.5,
        inner.lower(): 0.4,
        inner.upper(): 0.3,
        inner + " ": 0.2,
    }
    changed.update({inner.capitalize(): 0.2, inner[:-1]: 0.2, "\\n": 0.15, ", ": 0.15, ",": 0.1})
    yield from (replace(node, _quote(raw, new), weight) for new, weight in changed.items() if new != inner)
    yield from _formats(source, node)


def _quote(raw: str, text: str) -> str:
    """A text quoted like another literal."""
    quote = raw[-1]
    return f"{raw[: raw.index(quote)]}{quote}{text}{quote}"


def _alike(one: str, other: str) -> bool:
    a, b = one.strip("'\"").lower(), other.strip("'\"").lower()
    return bool(a and b) and (a in b or b in a or a[:3] == b[:3])


def _repaired(source: Source, content: Node, got: str, wanted: str) -> Iterator[Proposal]:
    """A literal's text with the piece that a test got replaced by the one that it expected."""
    text = source.of(content)
    if any(c in wanted for c in "\"'\\{}\n") or len(wanted) > 12:
        return
    if got and got in text:
        yield replace(content, text.replace(got, wanted, 1), 0.9)
        if text.count(got) > 1:
            yield replace(content, text.replace(got, wanted), 0.5)
            at = text.rfind(got)
            yield replace(content, text[:at] + wanted + text[at + len(got) :], 0.5)
    elif not got and wanted:
        yield replace(content, text + wanted, 0.4)
        yield replace(content, wanted + text, 0.4)


def _formats(source: Source, node: Node) -> Iterator[Proposal]:
    """Other format specifications of an interpolated text."""
    for part in walk(node):
        if part.type == "format_specifier":
            text = source.of(part)
            for new, weight in _other_formats(text):
                yield replace(part, new, weight)
        elif part.type == "interpolation" and not any(
            c.type == "format_specifier" for c in part.named_children
        ):
            text = source.of(part)
            yield replace(part, text[:-1] + ":.2f}", 0.2)
            yield replace(part, text[:-1] + ":02d}", 0.2)
            yield replace(part, text[:-1] + ":,}", 0.1)
            yield replace(part, text[:-1] + "!r}", 0.15)
        elif part.type == "type_conversion":
            yield replace(part, "", 0.5)


def _other_formats(text: str) -> Iterator[tuple[str, float]]:
    digits = "".join(c for c in text if c.isdigit()).lstrip("0")
    if digits:
        number = int(digits)
        yield text.replace(digits, str(number + 1)), 0.6
        if number > 0:
            yield text.replace(digits, str(number - 1)), 0.6
        if ":0" not in text and text[1:2].isdigit():
            yield ":0" + text[1:], 0.5
    for one, other in (
        ("<", ">"),
        (">", "<"),
        ("d", "x"),
        ("x", "d"),
        ("f", "d"),
        ("%", "f"),
        ("f", "%"),
        ("x", "X"),
    ):
        if one in text:
            yield text.replace(one, other), 0.4
    for sign in "<>^":
        if text[1:2].isdigit() and text[1] != "0":
            yield ":" + sign + text[1:], 0.4
    yield "", 0.2


def bounds(source: Source, node: Node, hints: Hints) -> Iterator[Proposal]:
    """A slice's or range's bounds: dropped, added, exchanged, made to count from the other end."""
    t = source.table
    if node.type in t.slices:
        yield from _slice(source, node)
    elif node.type in t.subscripts:
        yield from _index(source, node)
    elif node.type in t.calls:
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is not None and arguments is not None and source.of(callee) in ("range", "enumerate"):
            yield from _range(source, source.of(callee), arguments)


def _slice(source: Source, node: Node) -> Iterator[Proposal]:
    text = source.of(node)
    parts = [part.strip() for part in text.split(":")] if text.count(":") in (1, 2) else []
    if not parts:
        return
    start, stop, step = [*parts, ""][:3]
    tail = f":{step}" if step else ""
    made: dict[str, float] = {f":{stop}{tail}": 0.6, f"{start}:{tail}": 0.6, f"{stop}:{start}{tail}": 0.3}
    if start and not stop:
        made.update(
            {f":{start}{tail}": 0.8, f"-{start}:{tail}": 0.4, f":-{start}{tail}": 0.4, f"{start}:-1": 0.3}
        )
    if stop and not start:
        made.update(
            {f"{stop}:{tail}": 0.8, f":-{stop}{tail}": 0.3, f"1:{stop}{tail}": 0.4, f"-{stop}:{tail}": 0.5}
        )
    if stop:
        made.update({f"{start}:{stop} + 1{tail}": 0.6, f"{start}:{stop} - 1{tail}": 0.6})
        if start:
            made.update({f"{start}:{start} + {stop}{tail}": 0.4})
    if start:
        made.update({f"{start} + 1:{stop}{tail}": 0.5, f"{start} - 1:{stop}{tail}": 0.4})
    if not start and not stop:
        made.update({f"1:{tail}": 0.4, f":-1{tail}": 0.4})
    if step:
        made.update({f"{start}:{stop}": 0.6, f"{start}:{stop}:-{step}": 0.4, f"1:{stop}:{step}": 0.3})
    else:
        made.update({f"{start}:{stop}:-1": 0.4, f"{start}:{stop}:2": 0.1})
    for new, weight in made.items():
        if new != text and "--" not in new:
            yield replace(node, new, weight)


def _index(source: Source, node: Node) -> Iterator[Proposal]:
    indices = node.children_by_field_name("subscript")
    if len(indices) != 1 or indices[0].type in source.table.slices | source.table.strings:
        return
    index = source.of(indices[0])
    if index in ("0", "-1"):
        yield replace(indices[0], "-1" if index == "0" else "0", 1.0)
        yield replace(indices[0], "1:" if index == "0" else ":-1", 0.2)
    elif not index.startswith("-"):
        yield replace(
            indices[0], f"-{index}" if indices[0].type not in source.table.binary else f"-({index})", 0.3
        )
    else:
        yield replace(indices[0], index[1:], 0.5)
    if indices[0].type not in source.table.integers:
        yield replace(indices[0], f"{index}:", 0.1)
        yield replace(indices[0], f":{index}", 0.1)


def _range(source: Source, callee: str, arguments: Node) -> Iterator[Proposal]:
    parts = [source.of(child) for child in arguments.named_children]
    if not parts:
        return
    made: dict[str, float] = {}
    if callee == "enumerate":
        made = {f"{parts[0]}, 1": 0.8} if len(parts) == 1 else {parts[0]: 0.8}
    elif len(parts) == 1:
        stop = parts[0]
        made = {f"1, {stop}": 0.8, f"1, {stop} + 1": 0.8, f"0, {stop}, 2": 0.1, f"{stop} - 1, -1, -1": 0.5}
        made.update({f"2, {stop}": 0.2, f"2, {stop} + 1": 0.2, f"{stop}, 0, -1": 0.3})
    elif len(parts) == 2:
        start, stop = parts
        made = {
            stop: 0.6,
            f"{start}, {stop} + 1": 0.9,
            f"{start}, {stop} - 1": 0.6,
            f"{start} + 1, {stop}": 0.7,
        }
        made.update({f"{start} + 1, {stop} + 1": 0.4, f"{start}, {stop}, -1": 0.4, f"{stop}, {start}": 0.2})
        made.update(
            {f"{start}, {stop}, 2": 0.1, f"{start} - 1, {stop}": 0.3, f"{start} - 1, {stop} - 1": 0.2}
        )
    elif len(parts) == 3:
        start, stop, step = parts
        made = {
            f"{start}, {stop}": 0.5,
            f"{start}, {stop}, -{step}": 0.5,
            f"{start}, {stop} + {step}, {step}": 0.5,
        }
        made.update({f"{start}, {stop} + 1, {step}": 0.8, f"{start}, {stop} - 1, {step}": 0.8})
        made.update({f"{start} - 1, {stop}, {step}": 0.6, f"{start} + 1, {stop}, {step}": 0.6})
    for new, weight in made.items():
        if "--" not in new:
            yield replace(arguments, f"({new})", weight)
