"""What the failures say about the defect: exception types, names, how values differ from the expected.

Boosts are multiplied into a mutation's rank; they order the search and exclude nothing.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_COMPARED = re.compile(r"^(?:AssertionError: )?assert (.+?) == (.+)$", re.MULTILINE)
_UNEQUAL = re.compile(r"^(?:AssertionError: )?(.+?) != (.+?)(?: : .*)?$", re.MULTILINE)
_TRUTH = re.compile(r"^(?:AssertionError: )?assert (?:not )?(True|False|None|\[\]|\{\}|'')\s*$", re.MULTILINE)
_NOT_RAISED = re.compile(r"DID NOT RAISE.*?(\w+)(?:'>|>)?\s*$|\b(\w+) not raised", re.MULTILINE)
_QUOTED_NAME = re.compile(r"(?:name|attribute|argument|variable) '(\w+)'")
_ATTRIBUTE_OF = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (.+)$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_LONGEST = 2_000  # characters of a message that are read


@dataclass(frozen=True, kw_only=True, slots=True)
class Hints:
    """The failures of the targets, boiled down."""

    exceptions: frozenset[str] = frozenset()  # types that were raised, AssertionError left out
    not_raised: frozenset[str] = frozenset()  # types that a test waited for
    tags: frozenset[str] = frozenset()  # relations of got to expected, kinds of message
    names: frozenset[str] = frozenset()  # names that the messages mention
    owner_types: frozenset[str] = frozenset()  # types whose attribute was missing
    expected: tuple[Any, ...] = ()  # literal values that the tests wanted
    got: tuple[Any, ...] = ()
    pieces: tuple[tuple[str, str], ...] = ()  # (piece got, piece expected) of differing texts
    hung: bool = False

    def boost(self, kind: str) -> float:
        """How much more (or less) likely a kind of mutation is, given the failures."""
        factor = 1.0
        for tag in self.tags:
            factor *= _BOOSTS.get(tag, {}).get(kind, 1.0)
        for name in self.exceptions:
            factor *= _EXCEPTION_BOOSTS.get(name, {}).get(kind, 1.0)
        if self.not_raised:
            factor *= _BOOSTS["not_raised"].get(kind, 1.0)
        if self.hung:
            factor *= _BOOSTS["hung"].get(kind, 1.0)
        return min(factor, 6.0)


_BOOSTS: Mapping[str, Mapping[str, float]] = {
    "got_none": {
        "missing_return": 5.0,
        "return_value": 2.5,
        "guard": 1.2,
        "method": 1.3,
        "move": 1.5,
        "unwrap": 1.3,
    },
    "expected_none": {"guard": 2.5, "return_value": 1.5},
    "off_by_one": {"off_by_one": 2.5, "comparison": 1.6, "constant": 1.4, "bounds": 1.5, "augmented": 1.2},
    "shorter": {"off_by_one": 1.7, "comparison": 1.5, "bounds": 1.7, "move": 1.6, "insert": 1.5, "jump": 1.5},
    "longer": {
        "off_by_one": 1.6,
        "comparison": 1.5,
        "guard": 1.6,
        "condition": 1.5,
        "bounds": 1.5,
        "insert": 1.3,
    },
    "reordered": {"reverse": 3.0, "wrap": 1.6, "arguments": 1.6, "swap": 1.8, "comparison": 1.4, "flag": 2.0},
    "reversed": {"reverse": 5.0, "wrap": 1.5, "flag": 2.0, "comparison": 1.4, "method": 1.3, "operands": 1.8},
    "negated": {
        "negate": 2.2,
        "comparison": 1.8,
        "operator": 1.4,
        "operands": 1.8,
        "boolean": 1.5,
        "truth": 1.8,
    },
    "truth": {
        "negate": 1.6,
        "comparison": 1.6,
        "boolean": 1.8,
        "truth": 1.4,
        "condition": 1.5,
        "return_value": 1.3,
    },
    "type": {"wrap": 2.2, "unwrap": 1.8, "return_value": 1.4, "operator": 1.4, "exchange": 1.3},
    "text": {"string": 2.2, "method": 1.5, "wrap": 1.3, "exchange": 1.2},
    "case": {"method": 3.0, "wrap": 2.5, "unwrap": 1.5, "string": 1.3},
    "blank": {"method": 2.5, "wrap": 2.0, "string": 2.0, "unwrap": 1.3},
    "rounding": {"wrap": 1.8, "operator": 2.2, "exchange": 2.0, "unwrap": 1.5},
    "scaled": {"operator": 1.8, "constant": 2.0, "move": 1.5, "wrap": 1.3},
    "empty": {"return_value": 1.5, "negate": 1.6, "comparison": 1.4, "move": 1.4, "insert": 1.3},
    "duplicates": {"wrap": 1.7, "condition": 1.4, "insert": 1.6, "guard": 1.5},
    "not_raised": {
        "guard": 3.0,
        "raise": 3.0,
        "exception": 2.0,
        "comparison": 1.4,
        "condition": 1.5,
        "boolean": 1.4,
    },
    "hung": {
        "operator": 1.4,
        "comparison": 1.4,
        "augmented": 2.0,
        "move": 2.0,
        "insert": 2.2,
        "jump": 1.8,
        "off_by_one": 1.6,
        "copy": 1.5,
    },
    "none_value": {
        "guard": 3.0,
        "truth": 2.0,
        "condition": 2.0,
        "missing_return": 2.0,
        "default": 1.5,
        "boolean": 1.5,
    },
    "wrong_types": {"wrap": 2.5, "unwrap": 1.8, "operator": 1.2},
    "not_callable": {"unwrap": 3.0, "variable": 2.0, "attribute": 1.5},
    "missing_argument": {"arguments": 4.0, "default": 2.0, "decorator": 2.0, "receiver": 2.0},
    "extra_argument": {"arguments": 3.0, "receiver": 2.0, "decorator": 2.0},
    "unhashable": {"wrap": 3.0},
    "changed_size": {"wrap": 4.0, "copy": 4.0},
    "coroutine": {"wrap": 3.0},
}

_EXCEPTION_BOOSTS: Mapping[str, Mapping[str, float]] = {
    "IndexError": {
        "off_by_one": 2.5,
        "bounds": 2.0,
        "comparison": 1.8,
        "guard": 1.8,
        "condition": 1.8,
        "operands": 1.5,
    },
    "KeyError": {
        "lookup": 4.0,
        "guard": 1.6,
        "string": 1.6,
        "condition": 1.4,
        "insert": 1.4,
        "exception": 1.3,
    },
    "ZeroDivisionError": {
        "guard": 4.0,
        "condition": 1.6,
        "constant": 1.3,
        "comparison": 1.5,
        "exception": 1.3,
    },
    "NameError": {"import": 6.0, "name": 5.0, "variable": 2.5, "receiver": 3.0, "move": 2.0, "insert": 1.6},
    "UnboundLocalError": {"variable": 1.8, "move": 2.5, "insert": 2.5, "declare": 5.0, "default": 1.5},
    "AttributeError": {
        "attribute": 3.0,
        "method": 2.5,
        "guard": 1.5,
        "wrap": 1.5,
        "insert": 1.5,
        "super": 4.0,
        "name": 2.0,
    },
    "TypeError": {
        "wrap": 1.3,
        "unwrap": 1.3,
        "arguments": 1.5,
        "guard": 1.3,
        "decorator": 1.3,
        "receiver": 1.5,
    },
    "ValueError": {"wrap": 1.3, "guard": 1.6, "exception": 1.3, "method": 1.3},
    "RecursionError": {
        "guard": 2.5,
        "comparison": 1.8,
        "off_by_one": 1.8,
        "condition": 1.5,
        "operator": 1.5,
        "insert": 1.3,
    },
    "StopIteration": {"guard": 1.5, "exception": 1.5, "return_value": 1.3},
    "RuntimeError": {"copy": 3.0, "wrap": 1.8},
}

_MESSAGES: tuple[tuple[str, str], ...] = (
    ("NoneType", "none_value"),
    ("unsupported operand", "wrong_types"),
    ("must be str", "wrong_types"),
    ("not supported between instances", "wrong_types"),
    ("can only concatenate", "wrong_types"),
    ("expected str instance", "wrong_types"),
    ("indices must be integers", "wrong_types"),
    ("is not callable", "not_callable"),
    ("missing", "missing_argument"),
    ("positional argument", "extra_argument"),
    ("unexpected keyword argument", "extra_argument"),
    ("unhashable", "unhashable"),
    ("changed size during iteration", "changed_size"),
    ("mutated during iteration", "changed_size"),
    ("coroutine", "coroutine"),
)


def read(failures: Iterable[tuple[str, str]], *, hung: bool = False) -> Hints:
    """Hints from (exception type, message) of each failing target. Pure."""
    exceptions: set[str] = set()
    not_raised: set[str] = set()
    tags: set[str] = set()
    names: set[str] = set()
    owners: set[str] = set()
    expected: list[Any] = []
    got: list[Any] = []
    for exception, said in failures:
        message = said[:_LONGEST]
        if (waited := _NOT_RAISED.search(message)) is not None:
            not_raised.add(waited.group(1) or waited.group(2))
            continue
        if exception and exception not in ("AssertionError", "Failed"):
            exceptions.add(exception)
            tags.update(
                tag for text, tag in _MESSAGES if text in message and exception in ("TypeError", *_LOOSE)
            )
            names.update(_QUOTED_NAME.findall(message))
            owners.update(owner for owner, _ in _ATTRIBUTE_OF.findall(message))
            for listed in _MISSING.findall(message):
                names.update(_WORD.findall(listed))
            if exception == "KeyError":
                names.update(_WORD.findall(message))
            continue
        values = _compared(message)
        if values is not None:
            got.append(values[0])
            expected.append(values[1])
            tags |= relations(*values)
        elif _TRUTH.search(message) or "is not true" in message or "is not false" in message:
            tags.add("truth")
    pieces = [
        piece
        for one, other in zip(got, expected, strict=True)
        for a, b in _text_pairs(one, other)
        for piece in _pieces(a, b)
    ]
    return Hints(
        exceptions=frozenset(exceptions),
        not_raised=frozenset(not_raised),
        tags=frozenset(tags),
        names=frozenset(names),
        owner_types=frozenset(owners),
        expected=tuple(expected),
        got=tuple(got),
        pieces=tuple(dict.fromkeys(pieces))[:40],
        hung=hung,
    )


_LOOSE = ("AttributeError", "RuntimeError", "ValueError")


def _compared(message: str) -> tuple[Any, Any] | None:
    """The values (got, expected) that an assertion of equality printed, when both are whole literals."""
    for pattern in (_COMPARED, _UNEQUAL):
        for match in pattern.finditer(message):
            try:
                return ast.literal_eval(match.group(1)), ast.literal_eval(match.group(2))
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
    return None


def relations(got: Any, expected: Any) -> set[str]:
    """How a value differs from the one that was expected. Pure."""
    if got is None:
        return {"got_none"}
    if expected is None:
        return {"expected_none"}
    if isinstance(got, bool) and isinstance(expected, bool):
        return {"truth", "negated"}
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return _numbers(got, expected)
    if type(got) is not type(expected):
        return {"type"}
    if isinstance(got, str):
        return {"text"} | _texts(got, expected)
    if isinstance(got, list | tuple):
        return _sequences(list(got), list(expected))
    return _collections(got, expected) if isinstance(got, dict | set) else set()


def _collections(got: Any, expected: Any) -> set[str]:
    """As `relations`, of two dicts or two sets."""
    tags: set[str] = set()
    if len(got) != len(expected):
        tags.add("shorter" if len(got) < len(expected) else "longer")
    elif isinstance(got, dict) and set(map(repr, got)) == set(map(repr, expected)):
        for key in got:
            if key in expected and got[key] != expected[key]:
                tags |= relations(got[key], expected[key])
    return tags if got else tags | {"empty"}


def _numbers(got: float, expected: float) -> set[str]:
    tags = set()
    if abs(got - expected) == 1:
        tags.add("off_by_one")
    elif abs(got - expected) < 1:
        tags.add("rounding")
    if got == -expected:
        tags.add("negated")
    if got and expected and (got / expected in (2, 10, 100, 1000) or expected / got in (2, 10, 100, 1000)):
        tags.add("scaled")
    if isinstance(got, float) != isinstance(expected, float):
        tags.add("rounding")
    return tags


def _texts(got: str, expected: str) -> set[str]:
    tags = set()
    if got.lower() == expected.lower():
        tags.add("case")
    if got.split() == expected.split() or "".join(got.split()) == "".join(expected.split()):
        tags.add("blank")
    if got == expected[::-1]:
        tags.add("reversed")
    if abs(len(got) - len(expected)) == 1:
        tags.add("off_by_one")
    return tags


def _sequences(got: list[Any], expected: list[Any]) -> set[str]:
    if not got:
        return {"empty", "shorter"}
    if got == expected[::-1]:
        return {"reversed", "reordered"}
    if sorted(map(repr, got)) == sorted(map(repr, expected)):
        return {"reordered"}
    tags = set()
    if len(got) != len(expected):
        tags.add("shorter" if len(got) < len(expected) else "longer")
        if abs(len(got) - len(expected)) == 1:
            tags.add("off_by_one")
        if set(map(repr, got)) == set(map(repr, expected)):
            tags.add("duplicates")
    else:
        for one, other in zip(got, expected, strict=True):
            if one != other:
                tags |= relations(one, other)
    return tags


def _text_pairs(got: Any, expected: Any) -> Iterable[tuple[str, str]]:
    if isinstance(got, str) and isinstance(expected, str):
        yield got, expected
    elif isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        for one, other in zip(got, expected, strict=False):
            yield from _text_pairs(one, other)
    elif isinstance(got, dict) and isinstance(expected, dict):
        for key in got:
            if key in expected:
                yield from _text_pairs(got[key], expected[key])


def _pieces(got: str, expected: str) -> Iterable[tuple[str, str]]:
    """Differing pieces of two texts, short ones only; an insertion with what stands before or after it."""
    if len(got) > 2000 or len(expected) > 2000:
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, got, expected, autojunk=False).get_opcodes():
        if tag == "equal" or b - a > 12 or d - c > 12:
            continue
        for reach in (2, 1):
            if a >= reach and c >= reach:
                yield got[a - reach : b], expected[c - reach : d]
            if b + reach <= len(got) and d + reach <= len(expected):
                yield got[a : b + reach], expected[c : d + reach]
        yield got[a:b], expected[c:d]
