"""u: weights, bounds, and that it rises with every signal."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.records import Baseline, CaseResult, Failed, Passed, SuiteReport, Unverified
from acr_cli.verifier import score
from acr_cli.verifier.judge import judge

unit = st.floats(min_value=0.0, max_value=1.0)
kinds = st.sampled_from(sorted(score.WEIGHTS))


@pytest.mark.parametrize("kind", sorted(score.WEIGHTS))
def test_the_weights_of_a_kind_sum_to_one(kind: str) -> None:
    assert math.fsum(score.WEIGHTS[kind].values()) == pytest.approx(1.0)


def test_without_a_real_test_score_the_published_weights_hold() -> None:
    assert score.WEIGHTS["wish"] == {"syntax": 0.3, "visible_tests": 0.4, "heuristic": 0.3}


@pytest.mark.parametrize("kind", sorted(score.WEIGHTS))
def test_the_table_that_is_documented_is_the_one_that_holds(kind: str) -> None:
    rows = [line.strip("|").split("|") for line in (score.__doc__ or "").splitlines() if "|" in line]
    column = [cell.strip() for cell in rows[0]].index(kind)
    documented = {
        row[0].strip(): float(row[column]) for row in rows[2:] if row[column].strip() and row[0].strip()
    }
    assert documented == pytest.approx(dict(score.WEIGHTS[kind]))


@given(kinds, st.data())
def test_u_rises_when_any_signal_rises(kind: str, data: st.DataObject) -> None:
    low = {name: data.draw(unit, label=name) for name in score.WEIGHTS[kind]}
    raised = data.draw(st.sampled_from(sorted(low)), label="raised")
    high = {**low, raised: data.draw(st.floats(min_value=low[raised], max_value=1.0), label="to")}
    before, after = score.u(score.signals(kind, low)), score.u(score.signals(kind, high))
    assert 0.0 <= before <= after <= 1.0
    if high[raised] - low[raised] > 1e-6:
        assert after > before


@given(st.integers(min_value=0, max_value=10**6), st.integers(min_value=1, max_value=10**6))
def test_the_more_other_patches_pass_the_less_unique_one_is(few: int, more: int) -> None:
    assert 0.0 < score.uniqueness(few + more) < score.uniqueness(few) <= 1.0


@given(st.text(max_size=2_000))
def test_the_heuristic_stays_in_its_range(patch: str) -> None:
    assert 0.0 <= score.heuristic(patch) <= 1.0


def test_a_small_tidy_patch_looks_better_than_a_large_or_untidy_one() -> None:
    small = "--- a/x\n+++ b/x\n@@\n-old\n+new\n"
    assert score.heuristic(small) == 1.0
    assert score.heuristic(small + "+breakpoint()\n") == 0.5
    assert 0.5 < score.heuristic(small + "+line\n" * 600) < 0.6


outcomes = st.sampled_from(["passed", "failed", "error", "skipped", "missing"])


@given(
    st.lists(
        st.tuples(st.sampled_from(["passed", "failed", "error", "skipped"]), outcomes), min_size=1, max_size=8
    ),
    st.integers(min_value=0, max_value=1_000),
    st.booleans(),
)
def test_a_verified_change_scores_high_and_a_failed_one_low(
    pairs: list[tuple[str, str]], alternatives: int, fault: bool
) -> None:
    def report(states: list[str], why: str = "") -> SuiteReport:
        cases = [CaseResult(id=f"t{n}", outcome=s) for n, s in enumerate(states) if s != "missing"]
        return SuiteReport(cases=tuple(cases), fault=why)

    before = report([first for first, _ in pairs])
    baseline = Baseline(report=before, targets=before.failing())
    after = report([second for _, second in pairs], "it fell over" if fault else "")
    verdict = judge(baseline, after, patch="", alternatives=alternatives, undone=())
    good = not fault and all(
        second == "passed" for first, second in pairs if first in ("passed", "failed", "error")
    )
    match verdict:
        case Passed(evidence=found):
            assert good
            assert baseline.targets
            assert found.u > 0.7
        case Failed(evidence=found):
            assert not good
            assert found.u <= 0.451
        case Unverified():
            assert good
            assert not baseline.targets
