"""Each mutator proposes the change that a defect of its kind needs, within its span."""

from __future__ import annotations

import ast
from functools import cache
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.repair import hints as hints_of
from acr_cli.repair import python_imports
from acr_cli.repair.hints import Hints
from acr_cli.repair.mutation import Mutation
from acr_cli.repair.mutators.table import MUTATORS
from acr_cli.repair.python import PYTHON, normalise
from acr_cli.repair.rank import propose
from acr_cli.repair.source import Types, parse
from acr_cli.repair.suspects import Suspicion
from tests.repair.programs import PROGRAMS


def mutations(
    text: str, hints: Hints | None = None, types: dict[int, Types] | None = None, kind: str = ""
) -> list[Mutation]:
    """All mutations (of one kind) of a text whose every line is suspicious."""
    source = parse("m.py", text.encode(), PYTHON, types)
    everywhere = Suspicion(scores={"m.py": dict.fromkeys(range(1, text.count("\n") + 2), 1.0)})
    mutators = [mutator for mutator in MUTATORS if kind in ("", mutator.kind)]
    return [ranked.mutation for ranked in propose(source, everywhere, hints or Hints(), mutators)]


def results(
    text: str, kind: str, hints: Hints | None = None, types: dict[int, Types] | None = None
) -> set[str | None]:
    """The meanings of all candidates of one kind."""
    return {normalise(mutation.apply(text.encode())) for mutation in mutations(text, hints, types, kind)}


def shown(function: int, **names: str) -> dict[int, Types]:
    """Types of names in the function at a line; `self__x` is `self.x`."""
    return {function: {name.replace("__", "."): frozenset({kind}) for name, kind in names.items()}}


CASES: list[tuple[str, str, str]] = [
    ("comparison", "def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
    ("comparison", "def f(a, b):\n    return a == b\n", "def f(a, b):\n    return a != b\n"),
    ("comparison", "def f(a, b):\n    return a is b\n", "def f(a, b):\n    return a == b\n"),
    ("comparison", "def f(a, b):\n    return a not in b\n", "def f(a, b):\n    return a in b\n"),
    ("operator", "def f(a, b):\n    return a - b\n", "def f(a, b):\n    return a + b\n"),
    ("operator", "def f(a, b):\n    return a / b\n", "def f(a, b):\n    return a // b\n"),
    ("boolean", "def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
    ("boolean", "def f(a, b):\n    return a and b\n", "def f(a, b):\n    return b\n"),
    ("augmented", "def f(a, b):\n    a -= b\n    return a\n", "def f(a, b):\n    a += b\n    return a\n"),
    ("augmented", "def f(a, b):\n    a = b\n    return a\n", "def f(a, b):\n    a += b\n    return a\n"),
    ("grouping", "def f(a, b, c):\n    return a + b * c\n", "def f(a, b, c):\n    return (a + b) * c\n"),
    ("grouping", "def f(a, b):\n    return not a and b\n", "def f(a, b):\n    return not (a and b)\n"),
    ("operands", "def f(a, b):\n    return a - b\n", "def f(a, b):\n    return b - a\n"),
    ("operands", "def f(a, b):\n    return a - b\n", "def f(a, b):\n    return a\n"),
    ("negate", "def f(a):\n    if a:\n        return 1\n", "def f(a):\n    if not a:\n        return 1\n"),
    ("negate", "def f(a):\n    return not a\n", "def f(a):\n    return a\n"),
    ("negate", "def f(a):\n    return -a\n", "def f(a):\n    return a\n"),
    ("branches", "def f(a):\n    return 1 if a else 2\n", "def f(a):\n    return 2 if a else 1\n"),
    ("off_by_one", "def f(a):\n    return a[3]\n", "def f(a):\n    return a[2]\n"),
    ("off_by_one", "def f(n):\n    return range(n)\n", "def f(n):\n    return range(n + 1)\n"),
    ("bounds", "def f(a):\n    return a[1:]\n", "def f(a):\n    return a[:]\n"),
    ("bounds", "def f(a, n):\n    return a[:n]\n", "def f(a, n):\n    return a[n:]\n"),
    ("bounds", "def f(a):\n    return a[0]\n", "def f(a):\n    return a[-1]\n"),
    ("bounds", "def f(n):\n    return range(n)\n", "def f(n):\n    return range(1, n + 1)\n"),
    ("bounds", "def f(a):\n    return enumerate(a)\n", "def f(a):\n    return enumerate(a, 1)\n"),
    ("constant", "def f():\n    x = 1\n    return x\n", "def f():\n    x = 0\n    return x\n"),
    ("constant", "A = 7\ndef f():\n    return 5\n", "A = 7\ndef f():\n    return 7\n"),
    ("truth", "def f():\n    return True\n", "def f():\n    return False\n"),
    (
        "string",
        "A = '-'\ndef f(a):\n    return '_'.join(a)\n",
        "A = '-'\ndef f(a):\n    return '-'.join(a)\n",
    ),
    ("string", "def f(a):\n    return f'{a:.1f}'\n", "def f(a):\n    return f'{a:.2f}'\n"),
    ("variable", "def f(a, b):\n    return a + a\n", "def f(a, b):\n    return a + b\n"),
    (
        "name_for_number",
        "def f(a, n):\n    a -= 1\n    return a\n",
        "def f(a, n):\n    a -= n\n    return a\n",
    ),
    (
        "attribute",
        "class C:\n    def f(self):\n        return self.a + self.b\n",
        "class C:\n    def f(self):\n        return self.a + self.a\n",
    ),
    ("method", "def f(a, b):\n    a.append(b)\n", "def f(a, b):\n    a.extend(b)\n"),
    ("method", "def f(a):\n    return min(a)\n", "def f(a):\n    return max(a)\n"),
    ("arguments", "def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
    ("arguments", "def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(a)\n"),
    (
        "arguments",
        "def g(a, key=None):\n    pass\ndef f(a, key):\n    return g(a)\n",
        "def g(a, key=None):\n    pass\ndef f(a, key):\n    return g(a, key)\n",
    ),
    ("flag", "def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a, reverse=True)\n"),
    ("wrap", "def f(a):\n    return a\n", "def f(a):\n    return abs(a)\n"),
    ("wrap", "def f(a):\n    return a\n", "def f(a):\n    return a.strip()\n"),
    ("unwrap", "def f(a):\n    return abs(a)\n", "def f(a):\n    return a\n"),
    ("unwrap", "def f(a):\n    return a.strip()\n", "def f(a):\n    return a\n"),
    ("reverse", "def f(a):\n    return a\n", "def f(a):\n    return a[::-1]\n"),
    ("copy", "def f(a, b):\n    a.append(b)\n", "def f(a, b):\n    a.append(list(b))\n"),
    ("lookup", "def f(a, b):\n    return a[b]\n", "def f(a, b):\n    return a.get(b, 0)\n"),
    (
        "truth_test",
        "def f(a):\n    if a:\n        pass\n",
        "def f(a):\n    if a is not None:\n        pass\n",
    ),
    ("return_value", "def f(a, b):\n    return a\n", "def f(a, b):\n    return b\n"),
    ("missing_return", "def f(a):\n    g(a)\n", "def f(a):\n    return g(a)\n"),
    (
        "jump",
        "def f(a):\n    for x in a:\n        break\n",
        "def f(a):\n    for x in a:\n        continue\n",
    ),
    (
        "move",
        "def f(a):\n    for x in a:\n        g(x)\n        return x\n",
        "def f(a):\n    for x in a:\n        g(x)\n    return x\n",
    ),
    (
        "move",
        "def f(a):\n    for x in a:\n        g(x)\n    h(x)\n",
        "def f(a):\n    for x in a:\n        g(x)\n        h(x)\n",
    ),
    (
        "move",
        "def f(a):\n    for x in a:\n        n = 0\n        g(x)\n",
        "def f(a):\n    n = 0\n    for x in a:\n        g(x)\n",
    ),
    (
        "move",
        "def f(a):\n    n = 0\n    for x in a:\n        g(x)\n",
        "def f(a):\n    for x in a:\n        n = 0\n        g(x)\n",
    ),
    (
        "move",
        "def f(a):\n    if a:\n        g(a)\n        h(a)\n    else:\n        k(a)\n",
        "def f(a):\n    if a:\n        g(a)\n    else:\n        k(a)\n    h(a)\n",
    ),
    ("swap", "def f(a):\n    g(a)\n    h(a)\n", "def f(a):\n    h(a)\n    g(a)\n"),
    ("delete", "def f(a):\n    g(a)\n    h(a)\n", "def f(a):\n    h(a)\n"),
    ("loop", "def f(a):\n    if a:\n        a = g(a)\n", "def f(a):\n    while a:\n        a = g(a)\n"),
    (
        "chain",
        "def f(a):\n    if a:\n        g(a)\n    elif h(a):\n        k(a)\n",
        "def f(a):\n    if a:\n        g(a)\n    if h(a):\n        k(a)\n",
    ),
    (
        "insert",
        "def f(a, x):\n    a.add(x)\ndef g(b, x):\n    h(b)\n",
        "def f(a, x):\n    a.add(x)\ndef g(b, x):\n    b.add(x)\n    h(b)\n",
    ),
    (
        "shared_default",
        "def f(a, b=[]):\n    b.append(a)\n",
        "def f(a, b=None):\n    if b is None:\n        b = []\n    b.append(a)\n",
    ),
    (
        "decorator",
        "class C:\n    def f(self):\n        return 1\n",
        "class C:\n    @property\n    def f(self):\n        return 1\n",
    ),
    (
        "base_call",
        "class C(B):\n    def __init__(self, a):\n        self.b = 1\n",
        "class C(B):\n    def __init__(self, a):\n        super().__init__(a)\n        self.b = 1\n",
    ),
    (
        "capture",
        "def f(a):\n    return [lambda: x for x in a]\n",
        "def f(a):\n    return [lambda x=x: x for x in a]\n",
    ),
    (
        "shared",
        "class C:\n    a = []\n    def __init__(self):\n        self.b = 1\n",
        "class C:\n    a = []\n    def __init__(self):\n        self.a = []\n        self.b = 1\n",
    ),
    (
        "receiver",
        "class C:\n    def f(self):\n        self.n = 1\n        return n\n",
        "class C:\n    def f(self):\n        self.n = 1\n        return self.n\n",
    ),
    (
        "exception",
        "def f(a):\n    raise KeyError(a)\n",
        "def f(a):\n    raise ValueError(a)\n",
    ),
    ("exchange", "def f(a, b):\n    return a // b\n", "def f(a, b):\n    return -(-a // b)\n"),
    (
        "fallback",
        "def f(a):\n    for x in a:\n        pass\n",
        "def f(a):\n    for x in a or []:\n        pass\n",
    ),
    ("declare", "n = 0\ndef f():\n    n = n + 1\n", "n = 0\ndef f():\n    global n\n    n = n + 1\n"),
    ("default", "def f(a, b=0):\n    pass\n", "def f(a, b=1):\n    pass\n"),
]


@pytest.mark.parametrize(("kind", "before", "after"), CASES)
def test_a_mutator_proposes_the_fix(kind: str, before: str, after: str) -> None:
    assert normalise(after.encode()) in results(before, kind)


def test_every_kind_but_those_that_need_a_failure_has_a_case() -> None:
    assert {mutator.kind for mutator in MUTATORS} - {case[0] for case in CASES} == {
        "guard",
        "condition",
        "import",
        "name",
        "raise",
    }


def test_a_guard_is_made_of_the_types_that_the_tests_showed() -> None:
    before = "def f(values):\n    return sum(values) / len(values)\n"
    after = "def f(values):\n    if not values:\n        return 0\n    return sum(values) / len(values)\n"
    assert normalise(after.encode()) in results(before, "guard", types=shown(1, values="list"))


def test_a_guard_raises_what_a_test_waited_for() -> None:
    hints = hints_of.read([("Failed", "DID NOT RAISE <class 'ValueError'>")])
    before = "class A:\n    def f(self, n):\n        self.total -= n\n"
    made = results(before, "guard", hints, shown(2, n="int", self__total="int"))
    assert any(m and "'ValueError'" in m and "Compare(left=Attribute" in m for m in made)


def test_a_condition_is_strengthened_by_one_of_the_file() -> None:
    before = "def f(a, i):\n    if i < len(a):\n        pass\n    while a[i]:\n        i += 1\n"
    after = "def f(a, i):\n    if i < len(a):\n        pass\n    while i < len(a) and a[i]:\n        i += 1\n"
    assert normalise(after.encode()) in results(before, "condition")


def test_an_unknown_name_is_imported() -> None:
    hints = hints_of.read([("NameError", "name 'math' is not defined")])
    before = b'"""Doc."""\n\ndef f(a):\n    return math.sqrt(a)\n'
    after = b'"""Doc."""\n\nimport math\ndef f(a):\n    return math.sqrt(a)\n'
    found = PYTHON.missing_imports("m.py", before, {"m.py": before})
    source = parse("m.py", before, PYTHON, imports=found)
    everywhere = Suspicion(scores={"m.py": dict.fromkeys(range(1, 5), 1.0)})
    best = max(propose(source, everywhere, hints, MUTATORS), key=lambda ranked: ranked.score)
    assert best.mutation.apply(before) == after


FILES = {
    "src/box/__init__.py": b"from .const import Bound, inf\n",
    "src/box/const.py": b"class Bound: ...\ninf = _Inf()\n",
    "src/box/deep/__init__.py": b"",
    "src/box/deep/one.py": b"import numpy as np\nfrom ..const import Bound as B\n",
    "tests/test_box.py": b"from helper import make\n",
    "helper.py": b"def make(): ...\n",
}


@pytest.mark.parametrize(
    ("path", "text", "first"),
    [
        ("src/box/api.py", "def f(x):\n    return inf, Bound(x)\n", "from .const import Bound, inf\n"),
        ("src/box/deep/two.py", "def f(x):\n    return Bound(x)\n", "from ..const import Bound\n"),
        ("src/box/deep/two.py", "print(B, np)\n", "import numpy as np\nfrom ..const import Bound as B\n"),
        ("main.py", "def f():\n    return make()\n", "from helper import make\n"),
        ("main.py", "def f(x: Sequence[int]) -> Any: ...\n", "from typing import Any, Sequence\n"),
        ("main.py", "def f():\n    with suppress(OSError): pass\n", "from contextlib import suppress\n"),
        ("main.py", "def f(p):\n    return dumps(p)\n", "from json import dumps\n"),
    ],
)  # fmt: skip
def test_imports_are_written_as_the_repository_writes_them(path: str, text: str, first: str) -> None:
    assert PYTHON.missing_imports(path, text.encode(), {**FILES, path: text.encode()})[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "import os\nclass A(B := object):\n    def f(self, *a, **k): return os, B, a, k, A, len, __file__\n",
        "from os import *\nprint(getcwd())\n",
        "try:\n    x = 1\nexcept OSError as e:\n    print(e)\n",
        "def f(v):\n    match v:\n        case [a, *b]: return a, b\n        case {1: c, **d}: return c, d\n",
        "def f(:\n",
        "print(nobody_knows_it)\n",
    ],
)
def test_what_is_bound_or_known_to_nobody_is_not_imported(text: str) -> None:
    assert PYTHON.missing_imports("m.py", text.encode(), FILES) == ()


def test_files_nearby_are_asked_first_and_no_more_than_needed() -> None:
    far = {f"far/of{number}.py": b"from far.one import load\n" for number in range(python_imports.ENOUGH * 3)}
    near = {f"src/of{number}.py": b"from near.one import load\n" for number in range(python_imports.ENOUGH)}
    large = {"src/large.py": b"from large import load\n" * (python_imports.MOST_BYTES // 20)}
    found = PYTHON.missing_imports("src/main.py", b"load()\n", {**far, **large, **near})
    assert found == ("from near.one import load\n", "from json import load\n")


def test_an_import_follows_those_that_are_there() -> None:
    hints = hints_of.read([("NameError", "name 'suppress' is not defined")])
    before = (
        b"from __future__ import annotations\n\nimport os\n\n\nwith suppress(OSError):\n    os.stat('x')\n"
    )
    source = parse("m.py", before, PYTHON, imports=PYTHON.missing_imports("m.py", before, {}))
    everywhere = Suspicion(scores={"m.py": {6: 1.0}})
    best = max(propose(source, everywhere, hints, MUTATORS), key=lambda ranked: ranked.score)
    assert b"import os\nfrom contextlib import suppress\n\n\nwith" in best.mutation.apply(before)


def test_a_truth_value_is_not_negated() -> None:
    source = "def f(a):\n    while False:\n        return a\n"
    assert not [m for m in mutations(source, kind="negate") if m.text == b"not False"]
    assert normalise(source.replace("False", "True").encode()) in results(source, "truth")


def test_a_method_that_a_type_lacks_becomes_one_that_it_has() -> None:
    hints = hints_of.read([("AttributeError", "'list' object has no attribute 'add'")])
    before = "def f(a, b):\n    a.add(b)\n"
    assert normalise(b"def f(a, b):\n    a.append(b)\n") in results(before, "method", hints)


def test_a_text_is_repaired_by_what_the_test_expected() -> None:
    hints = hints_of.read([("AssertionError", "assert 'Hello Bob!' == 'Hello, Bob!'")])
    before = "def f(a):\n    return 'Hello ' + a + '!'\n"
    after = "def f(a):\n    return 'Hello, ' + a + '!'\n"
    assert normalise(after.encode()) in results(before, "string", hints)


@cache
def everything(text: str) -> list[Mutation]:
    return mutations(text)


TEXTS = [dedent(program.module).lstrip() for program in PROGRAMS]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_a_candidate_differs_within_its_span_only(text: str, data: st.DataObject) -> None:
    source = text.encode()
    mutation = data.draw(st.sampled_from(everything(text)))
    changed = mutation.apply(source)
    assert 0 <= mutation.start <= mutation.end <= len(source)
    assert changed != source
    assert changed.startswith(source[: mutation.start])
    assert changed.endswith(source[mutation.end :])
    assert len(changed) == len(source) - (mutation.end - mutation.start) + len(mutation.text)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_a_candidate_with_a_meaning_parses(text: str, data: st.DataObject) -> None:
    changed = data.draw(st.sampled_from(everything(text))).apply(text.encode())
    if normalise(changed) is not None:
        ast.parse(changed)


@pytest.mark.parametrize("text", TEXTS)
def test_almost_all_candidates_compile(text: str) -> None:
    sample = everything(text)[::11]
    bad = [m for m in sample if normalise(m.apply(text.encode())) is None]
    assert len(bad) <= 0.05 * len(sample)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = not a == b", "x = a != b"),
        ("x = a > b", "x = b < a"),
        ("x = (a)", "x = a"),
        ("x = 'a'", 'x = "a"'),
        ("x += 1", "x = x + 1"),
        ("x = a - 1", "x = a + -1"),
    ],
)
def test_pieces_that_mean_the_same_have_one_key(one: str, other: str) -> None:
    assert normalise(one.encode()) == normalise(other.encode())


@pytest.mark.parametrize("text", ["x = (", "return 1", "break", "def f(a, a): pass"])
def test_what_does_not_compile_has_no_key(text: str) -> None:
    assert normalise(text.encode()) is None
