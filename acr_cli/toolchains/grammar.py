"""Where a source does not parse: tree-sitter's grammars, which run nothing of it."""

from __future__ import annotations

import re
from importlib import import_module


def syntax_error(grammar: str, source: bytes) -> str | None:
    """The first place that a grammar cannot take, as "line N: ...", or None.

    `grammar` names a module and, after a colon, its function where that is not `language`."""
    from tree_sitter import Language, Parser

    module, _, function = grammar.partition(":")
    language = Language(getattr(import_module(module), function or "language")())
    root = Parser(language).parse(source).root_node
    if not root.has_error:
        return None
    pending, first = [root], None
    while pending:
        node = pending.pop()
        if (node.is_error or node.is_missing) and (first is None or node.start_byte < first.start_byte):
            first = node
        pending.extend(child for child in node.children if child.has_error or child.is_missing)
    if first is None:
        return "line 1: cannot be parsed"
    line = first.start_point[0] + 1
    if first.is_missing:
        return f"line {line}: {first.type!r} is missing"
    text = source[first.start_byte : first.end_byte].decode("utf-8", "replace")
    shown = re.sub(r"\s+", " ", text).strip()[:60]
    return f"line {line}: cannot parse {shown!r}" if shown else f"line {line}: cannot be parsed"
