"""Suspicion, hints, order of the search, and the choice among what passes."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.repair import hints as hints_of
from acr_cli.repair.hints import Hints, relations
from acr_cli.repair.mutation import Mutation
from acr_cli.repair.mutators.table import MUTATORS
from acr_cli.repair.python import PYTHON
from acr_cli.repair.rank import Ranked, interleave, propose
from acr_cli.repair.select import preference
from acr_cli.repair.source import parse
from acr_cli.repair.suspects import DEEPEST, IMPORTED, ONLY_FAILING, Run, Suspicion, suspect


def ranked(kind: str, score: float, start: int = 0, text: str = "x") -> Ranked:
    mutation = Mutation(
        path="m.py", start=start, end=start + 1, text=text.encode(), kind=kind, weight=1.0, line=1
    )
    return Ranked(mutation=mutation, score=score, base=score)


def test_a_line_that_only_failing_tests_run_is_the_most_suspicious() -> None:
    failing = [Run(lines={"m.py": [1, 2]})]
    passing = [Run(lines={"m.py": [1]}), Run(lines={"m.py": [1]})]
    suspicion = suspect(failing, passing, {})
    assert isclose(suspicion.of("m.py", [2]), ONLY_FAILING)
    assert isclose(suspicion.of("m.py", [1]), 1 / 3**0.5)
    assert suspicion.of("m.py", [3]) == 0.0


def test_the_deepest_frame_of_a_traceback_counts_more() -> None:
    run = Run(lines={"m.py": [1, 2, 3]}, frames=(("m.py", 1), ("m.py", 3)))
    suspicion = suspect([run], [], {})
    assert isclose(suspicion.of("m.py", [3]), DEEPEST)
    assert suspicion.of("m.py", [2]) < suspicion.of("m.py", [1]) < suspicion.of("m.py", [3])


def test_lines_that_run_at_import_are_suspected_a_little() -> None:
    suspicion = suspect([Run(lines={"m.py": [5]})], [], {"m.py": [1, 5]})
    assert suspicion.of("m.py", [1]) == IMPORTED
    assert suspicion.of("m.py", [5]) == 1.0


@pytest.mark.parametrize(
    ("got", "expected", "tag"),
    [
        (None, 3, "got_none"),
        (3, 4, "off_by_one"),
        (2.4, 2, "rounding"),
        (-3, 3, "negated"),
        (5, 50, "scaled"),
        ("a", 1, "type"),
        ("Ab", "ab", "case"),
        ("a  b", "a b", "blank"),
        ([1, 2], [2, 1], "reversed"),
        ([2, 1, 3], [1, 2, 3], "reordered"),
        ([1], [1, 2], "shorter"),
        ([1, 2], [1], "longer"),
        ([1, 1], [1], "duplicates"),
        ([], [1], "empty"),
        ({"a": 1}, {"a": 2}, "off_by_one"),
        (True, False, "truth"),
    ],
)
def test_how_a_value_differs(got: object, expected: object, tag: str) -> None:
    assert tag in relations(got, expected)


TAGS = {
    "got_none",
    "expected_none",
    "truth",
    "negated",
    "off_by_one",
    "rounding",
    "scaled",
    "type",
    "text",
    "case",
    "blank",
    "reversed",
    "reordered",
    "shorter",
    "longer",
    "duplicates",
    "empty",
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_any_two_values_can_be_compared(got: object, expected: object) -> None:
    assert relations(got, expected) <= TAGS


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_message_can_be_read(message: str, exception: str) -> None:
    assert isinstance(hints_of.read([(exception, message)]), Hints)


def test_hints_of_a_missing_exception() -> None:
    assert hints_of.read([("Failed", "DID NOT RAISE <class 'KeyError'>")]).not_raised == {"KeyError"}
    assert hints_of.read([("AssertionError", "ValueError not raised")]).not_raised == {"ValueError"}


def test_hints_of_a_comparison_in_unittest() -> None:
    hints = hints_of.read([("AssertionError", "3 != 4")])
    assert (hints.got, hints.expected) == ((3,), (4,))
    assert "off_by_one" in hints.tags


def test_an_exception_makes_its_kind_of_fix_likelier() -> None:
    assert hints_of.read([("IndexError", "list index out of range")]).boost("off_by_one") > 1.0
    assert hints_of.read([("TypeError", "'NoneType' object is not iterable")]).boost("guard") > 1.0
    assert Hints().boost("guard") == 1.0


def test_the_best_comes_first_and_no_kind_starves() -> None:
    many = [ranked("wrap", 0.5, start) for start in range(200)]
    order = list(interleave([*many, ranked("guard", 0.2), ranked("comparison", 0.9)]))
    kinds = [r.mutation.kind for r in order]
    assert kinds[0] == "comparison"
    assert kinds.index("guard") < 60
    assert len(order) == 202


def test_the_order_does_not_depend_on_the_order_of_the_input() -> None:
    some = [ranked(kind, 0.5, start) for kind in ("wrap", "guard") for start in range(5)]
    assert list(interleave(some)) == list(interleave(some[::-1]))


def test_no_candidate_is_proposed_for_lines_that_failing_tests_do_not_run() -> None:
    source = parse("m.py", b"def f(a):\n    return a + 1\n\ndef g(a):\n    return a + 2\n", PYTHON)
    found = propose(source, Suspicion(scores={"m.py": {2: 1.0}}), Hints(), MUTATORS)
    assert found
    assert all(r.mutation.line < 5 for r in found)


def test_a_constant_condition_is_worth_less_than_a_changed_comparison() -> None:
    text = b"def f(a):\n    if a > 1:\n        return a\n"
    source = parse("m.py", text, PYTHON)
    at = text.index(b"a > 1")
    always = Mutation(path="m.py", start=at, end=at + 5, text=b"True", kind="truth", weight=1.0, line=2)
    changed = Mutation(
        path="m.py", start=at + 2, end=at + 3, text=b"<", kind="comparison", weight=1.0, line=2
    )
    assert preference(Ranked(mutation=always, score=1, base=1), source) < 0.5 * preference(
        Ranked(mutation=changed, score=1, base=1), source
    )


def test_a_literal_from_nowhere_is_worth_less() -> None:
    source = parse("m.py", b"def f(a):\n    return a\n", PYTHON)
    made = [
        Mutation(path="m.py", start=21, end=22, text=text, kind="return_value", weight=1.0, line=2)
        for text in (b"4217", b"self")
    ]
    hard, soft = (preference(Ranked(mutation=m, score=1, base=1), source) for m in made)
    assert hard < soft


def test_clauses_that_never_ran_are_ranked_by_the_statement_they_belong_to() -> None:
    branch = b"        if a:\n            pass\n        else:\n            pass\n"
    text = b"def f(a):\n    try:\n" + branch + b"    finally:\n        pass\n"
    source = parse("m.py", text, PYTHON)
    assert propose(source, Suspicion(scores={"m.py": {1: 1.0}}), Hints(), MUTATORS) == []
    assert propose(source, Suspicion(scores={"m.py": {3: 1.0}}), Hints(), MUTATORS)
