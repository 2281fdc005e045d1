"""Which of several passing candidates is the fix: the likelier, smaller and least fitted one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acr_cli.repair.mutation import Mutation
from acr_cli.repair.rank import Ranked, smallness
from acr_cli.repair.source import Source

PENALTIES = {"delete": 0.4, "return_value": 0.7, "fallback": 0.7, "truth": 0.9, "insert": 0.8}
"""Kinds that pass weak tests more often than they are right."""

LITERAL = 0.5  # for a new literal that stands nowhere else in the file
SETTLED = 0.3  # for a condition that is always true or false

_CONSTANT = re.compile(r"^(True|False|None|0|1|\"\"|\[\]|\{\})$")
_NEW_LITERAL = re.compile(r"(?<![\w.])(\d{2,}|'[^']+'|\"[^\"]+\")")


def preference(ranked: Ranked, source: Source) -> float:
    """A passing candidate's worth: rank without hints, smallness again, what speaks for overfitting. Pure."""
    mutation = ranked.mutation
    worth = ranked.base * smallness(source.text, mutation) * PENALTIES.get(mutation.kind, 1.0)
    new = mutation.text.decode("utf-8", "replace")
    for literal in _NEW_LITERAL.findall(new):
        if literal.encode() not in source.text:
            worth *= LITERAL
    if _CONSTANT.match(new.strip()) and _is_condition(source, mutation):
        worth *= SETTLED
    return worth


def _is_condition(source: Source, mutation: Mutation) -> bool:
    node = source.tree.root_node.descendant_for_byte_range(
        mutation.start, max(mutation.start, mutation.end - 1)
    )
    while node is not None and node.parent is not None and node.start_byte == mutation.start:
        if node.parent.type in source.table.conditionals:
            return node.parent.child_by_field_name("condition") == node
        node = node.parent
    return False


def describe(mutations: Iterable[Mutation], sources: dict[str, Source]) -> str:
    """Where and what was changed, on one line, for people."""
    return " and ".join(_one(mutation, sources[mutation.path]) for mutation in mutations)


def _one(mutation: Mutation, source: Source) -> str:
    line = source.text.count(b"\n", 0, mutation.start) + 1
    text = source.text
    start = text.rfind(b"\n", 0, mutation.start) + 1
    end = text.find(b"\n", mutation.end)
    end = len(text) if end < 0 else end
    old = text[start:end].decode("utf-8", "replace")
    new = (text[start : mutation.start] + mutation.text + text[mutation.end : end]).decode("utf-8", "replace")
    if "\n" not in old + new and _short(old) != _short(new):
        return f"{mutation.path}:{line} `{_short(old)}` became `{_short(new)}`"
    put = _short(mutation.text.decode("utf-8", "replace"))
    if mutation.start == mutation.end and put and "\n" not in put:
        return f"{mutation.path}:{line} `{put}` was put before it"
    return f"{mutation.path}:{line} was changed ({mutation.kind.replace('_', ' ')})"


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 90 else text[:87] + "..."
