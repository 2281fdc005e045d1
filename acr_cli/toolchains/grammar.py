"""Where a source does not parse: tree-sitter's grammars, which run nothing of it."""

from __future__ import annotations

import re
import time
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


_PIECE = 65_536  # bytes that a grammar is handed at once
_PATIENCE = 1.0  # seconds for one source; what takes longer is left to its own compiler


def syntax_error(grammar: str, source: bytes) -> str | None:
    """The first place that a grammar cannot take, as "line N: ...", or None.

    `grammar` names a module and, after a colon, its function where that is not `language`."""
    from tree_sitter import Language, Parser

    module, _, function = grammar.partition(":")
    language = Language(getattr(import_module(module), function or "language")())
    root = _parsed(Parser(language), source)
    if root is None or not root.has_error:
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


def _parsed(parser: Parser, source: bytes) -> Node | None:
    """The root of the tree; None where a grammar takes too long for it, as for thousands of open brackets."""
    end = time.monotonic() + _PATIENCE

    def piece(at: int, _: object) -> bytes:
        return source[at : at + _PIECE]

    try:  # once that is true, it gives up
        return parser.parse(piece, progress_callback=lambda *_: time.monotonic() > end).root_node
    except (ValueError, AttributeError):
        return None
