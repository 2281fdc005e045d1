"""The tests that stand in a Rust source beside what they test: found by tree-sitter, brought back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(
    rb"#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b)"
)
_NAMED = frozenset({"mod_item", "function_item", "struct_item", "enum_item", "macro_definition", "const_item",
                    "static_item", "type_item", "trait_item", "use_declaration", "impl_item"})  # fmt: skip

_Key = tuple[str, ...]  # kind and name of the enclosing modules, then of the item itself


def restored(before: bytes, after: bytes, *, new_tests: bool) -> bytes:
    """`after` with each test item of `before` as it was there; further ones go unless `new_tests`. Pure.

    A source that does not parse is returned as it is: it is rejected for that."""
    old, new = _items(before), _items(after)
    if old is None or new is None:
        return after
    texts = {key: before[start:end] for key, start, end in old}
    pieces, at = [], 0
    for key, start, end in new:
        if key in texts or not new_tests:
            pieces += [after[at:start], texts.pop(key, b"")]
            at = end
    pieces.append(after[at:])
    # What was deleted comes back at the end; a test deeper inside a module is then found missing by its name.
    pieces += [b"\n" + text + b"\n" for key, text in texts.items() if len(key) == 1]
    return b"".join(pieces)


def _items(source: bytes) -> list[tuple[_Key, int, int]] | None:
    """The outermost test items with their attributes: key, start, end, in order; None for no parse."""
    import tree_sitter_rust
    from tree_sitter import Language, Parser

    root = Parser(Language(tree_sitter_rust.language())).parse(source).root_node
    return None if root.has_error else list(_within(root, ()))


def _within(parent: Node, where: _Key) -> Iterator[tuple[_Key, int, int]]:
    start, is_test = -1, False
    numbers: dict[str, int] = {}
    for node in parent.children:
        if node.type == "attribute_item":
            start = node.start_byte if start < 0 else start
            is_test = is_test or _TEST.match(node.text or b"") is not None
            continue
        if node.type in ("line_comment", "block_comment"):
            continue
        name = _name(node)
        if is_test and node.type in _NAMED:
            numbers[name] = numbers.get(name, 0) + 1
            yield (*where, f"{name}#{numbers[name]}"), start, node.end_byte
        elif node.type == "mod_item" and (body := node.child_by_field_name("body")) is not None:
            yield from _within(body, (*where, name))
        start, is_test = -1, False


def _name(node: Node) -> str:
    named = node.child_by_field_name("name")
    text = (named.text if named is not None else node.text) or b""
    return f"{node.type} {text.decode('utf-8', 'replace')}"
