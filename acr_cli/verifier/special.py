"""Special-casing: added code that compares with an input of a failing test and gives its expected answer.

Of each target test the literals are taken: strings of four characters or more, and numbers of three digits
or more. A condition on such a literal is special-casing where what depends on it is a literal of the test,
too, and where the first one stands neither in the product as it was nor in the words of the task. Python is
read by `ast`, everything else line by line.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence

from acr_cli.records import CaseResult, Finding
from acr_cli.verifier.added import Line
from acr_cli.verifier.targets import without_parameters

_STRING = re.compile(r'"((?:[^"\\\n]|\\.){1,200})"|\'((?:[^\'\\\n]|\\.){1,200})\'|`([^`\n]{1,200})`')
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?![\w.])")
_CONDITION = re.compile(
    r"[=!]==?|\bcase\b|\.equals\(|\.includes\(|\bwhen\b|=>|\bmatch\b|\beql\?|strcmp\(|[\"'`]\s*:"
)
_GIVES = re.compile(r"\breturn\b|=>|->|[:?](?!:)|(?<![=!<>])=(?!=)|\{|\bthen\b")
_AFTER = 2  # added lines after a condition that may hold its answer
_LETTERS, _LARGE = 4, 100

Literal = str | int | float


def find(
    added: Sequence[Line],
    targets: Sequence[CaseResult],
    tests: Mapping[str, str],
    now: Mapping[str, str],
    known: Callable[[str], bool],
) -> tuple[Finding, ...]:
    """`tests` are the sources of the targets' files, and `now` those of the touched files, by path; `known`
    says whether a text stands in the product as it was, or in the task."""
    by_literal: dict[Literal, str] = {}
    answers: set[Literal] = set()
    for case in targets:
        literals = _of_test(case, tests.get(case.file, ""))
        answers |= literals
        by_literal.update({each: case.id for each in literals if _telling(each)})
    found: dict[Literal, Finding] = {}
    for path in dict.fromkeys(line.path for line in added):
        lines = [line for line in added if line.path == path]
        read = _python if path.endswith(".py") else _by_line
        for literal, number in read(lines, now.get(path, ""), set(by_literal), answers):
            if literal not in found and not known(str(literal)):
                said = f"{path}, line {number}, answers {literal!r} as {by_literal[literal]} expects it."
                found[literal] = Finding(kind="special_case", text=said)
    return tuple(found.values())


def _telling(literal: Literal) -> bool:
    return len(literal) >= _LETTERS if isinstance(literal, str) else abs(literal) >= _LARGE


# --- the literals of a test -------------------------------------------------------------------------------


def _of_test(case: CaseResult, source: str) -> set[Literal]:
    """The literals of one test; of its whole file where it cannot be found there."""
    if not case.file.endswith(".py"):
        return _in_text(source)
    tree = _parsed(source)
    if tree is None:
        return _in_text(source)
    name = re.split(r"::|\.", without_parameters(case.id))[-1]
    own = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == name
    ]
    tables = [n for n in tree.body if isinstance(n, ast.Assign | ast.AnnAssign)] if own else []
    return {each for node in (*own, *tables) or (tree,) for each in _constants(node)}


def _constants(node: ast.AST) -> Iterator[Literal]:
    for each in ast.walk(node):
        value = each.value if isinstance(each, ast.Constant) else None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield value


def _in_text(text: str) -> set[Literal]:
    return set(_in_order(text))


def _numbers(text: str) -> Iterator[Literal]:
    for found in _NUMBER.findall(text):
        plain = found.replace("_", "")
        yield float(plain) if "." in plain else int(plain)


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# --- the added code ---------------------------------------------------------------------------------------

_Hits = Iterator[tuple[Literal, int]]


def _python(lines: Sequence[Line], source: str, telling: set[Literal], answers: set[Literal]) -> _Hits:
    tree = _parsed(source)
    if tree is None:
        yield from _by_line(lines, source, telling, answers)
        return
    numbers = {line.number for line in lines}
    for node in ast.walk(tree):
        for condition, body in _branches(node):
            asked = [each for each in _constants(condition) if each in telling]
            place = getattr(condition, "lineno", 0)
            if asked and place in numbers and any(_answers(part, answers, asked) for part in body):
                yield asked[0], place


def _branches(node: ast.AST) -> Iterator[tuple[ast.AST, Sequence[ast.AST]]]:
    """Conditions, each with what happens where it holds; of a table, a key and its value."""
    match node:
        case ast.If(test=test, body=body):
            yield test, body
        case ast.IfExp(test=test, body=answer):
            yield test, [answer]
        case ast.match_case(pattern=pattern, body=body):
            yield pattern, body
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield key, [value]


def _answers(part: ast.AST, answers: set[Literal], asked: Sequence[Literal]) -> bool:
    """Whether a literal of the test is what is given: returned, assigned, or the value of a table."""
    if isinstance(part, ast.expr):
        given: list[ast.AST] = [part]
    else:
        given = [
            n.value for n in ast.walk(part)
            if isinstance(n, ast.Return | ast.Assign | ast.AnnAssign | ast.Yield) and n.value is not None
        ]  # fmt: skip
    return any(value in answers and value not in asked for node in given for value in _plain(node))


def _plain(node: ast.AST) -> Iterator[Literal]:
    """The literals of an expression that is nothing but literals: 3, -3, (1, 2), ["a"]."""
    allowed = (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List, ast.Dict, ast.Set)
    if all(isinstance(each, allowed) for each in ast.walk(node) if isinstance(each, ast.expr)):
        yield from _constants(node)


def _by_line(lines: Sequence[Line], _: str, telling: set[Literal], answers: set[Literal]) -> _Hits:
    for at, line in enumerate(lines):
        if not _CONDITION.search(line.text):
            continue
        near = [n.text for n in lines[at + 1 : at + 1 + _AFTER] if n.number - line.number <= _AFTER]
        for asked in (each for each in _in_order(line.text) if each in telling):
            # Ruby's `return 5 if a == 1` gives its answer before.
            before, _, behind = line.text.partition(str(asked))
            given = {each for text in (before, behind, *near) for each in _given(text)} - {asked}
            if given & answers:
                yield asked, line.number
                break


def _given(text: str) -> set[Literal]:
    """The literals behind a sign that something is given: returned, assigned, or a value of a table."""
    sign = _GIVES.search(text)
    return _in_text(text[sign.end() :]) if sign else set()


def _in_order(text: str) -> list[Literal]:
    strings: list[Literal] = [a or b or c for a, b, c in _STRING.findall(text)]
    return [*strings, *_numbers(_STRING.sub(" ", text))]
