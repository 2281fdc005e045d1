"""What is known of a verifier's errors before any was seen."""

from __future__ import annotations

import pytest

from acr_cli.orchestrator.mistakes import Mistakes, usual


def test_a_judge_errs_more_than_tests_and_both_ways() -> None:
    tests, judge = usual("tests"), usual("judge")
    assert 0 < tests.false_accept < judge.false_accept < 0.5
    assert tests.false_reject <= judge.false_reject < 0.5


def test_a_search_against_the_tests_passes_wrongly_more_often() -> None:
    accepts = usual("tests").accepts(["some/model", "builtin/repair"])
    assert accepts[1] > accepts[0]


def test_rates_stand_in_the_order_of_the_names() -> None:
    known = Mistakes(false_accept=0.1, by_candidate={"b": 0.3})
    assert known.accepts(["a", "b", "c"]).tolist() == [0.1, 0.3, 0.1]
    assert known.accepts([]).tolist() == []


@pytest.mark.parametrize("kind", ["tests", "scores", "of somebody else"])
def test_any_kind_of_verifier_has_rates(kind: str) -> None:
    assert usual(kind) == usual("tests")
