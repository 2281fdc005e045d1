"""Voters and their vote: bounds, what silence means, and what failures do to a chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.orchestrator.cost import Costs
from acr_cli.orchestrator.difficulty import given_failures
from acr_cli.orchestrator.vote import forecasts
from acr_cli.orchestrator.voters import BUILTIN
from acr_cli.parts import load
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Context, Dimension, Neighbour, Price, Tally, Vote
from acr_cli.testing.voters import check_voter


def voters() -> list[Voter]:
    return [load("voters", name, BUILTIN)() for name in BUILTIN]


def priced(name: str, usd: float | None, *, per_second: float = 0.0) -> Candidate:
    price = Price(input=usd, output=usd, per_second=per_second)
    return Candidate(id=name, backend="agent", model=name, price=price)


PROBABILITY = st.floats(min_value=0.0, max_value=1.0)
COUNT = st.floats(min_value=0.0, max_value=1e6)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        id=st.sampled_from(["a", "openai/gpt-5.4", "anthropic/claude-opus-4-6@high", "builtin/repair"]),
        backend=st.just("agent"),
        model=st.sampled_from(["", "x", "openai/gpt-5.4", "glm-5"]),
        family=st.sampled_from(["", "glm"]),
        price=st.builds(
            Price,
            input=st.none() | st.floats(min_value=0.0, max_value=1e4),
            output=st.none() | st.floats(min_value=0.0, max_value=1e4),
            per_second=st.floats(min_value=0.0, max_value=10.0),
        ),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda c: c.id,
)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Context, list[Candidate]]:
    candidates = draw(CANDIDATES)
    names = st.sampled_from([*(c.id for c in candidates), "no/longer-here"])
    dimension = draw(st.sampled_from(Dimension))
    tallies = st.builds(
        Tally,
        candidate=names,
        dimension=st.sampled_from([dimension.value, "algorithm"]),
        passed=COUNT,
        failed=COUNT,
        cost_usd=COUNT,
        seconds=COUNT,
        outcomes=st.integers(min_value=0, max_value=10**6),
    )
    neighbours = st.builds(
        Neighbour,
        id=st.just("n"),
        similarity=st.floats(min_value=0.5, max_value=1.0),
        candidate=names,
        passed=st.booleans(),
        u=PROBABILITY,
        cost_usd=COUNT,
    )
    context = Context(
        text="t",
        dimension=dimension,
        size_tokens=draw(st.integers(min_value=0, max_value=10**6)),
        failed=tuple(draw(st.lists(names, max_size=3, unique=True))),
        unavailable=tuple(draw(st.lists(names, max_size=2, unique=True))),
        neighbours=tuple(draw(st.lists(neighbours, max_size=10))),
        tallies=tuple(draw(st.lists(tallies, max_size=4))),
    )
    return context, candidates


@pytest.mark.parametrize("name", BUILTIN)
def test_a_builtin_voter_keeps_to_the_rules(name: str) -> None:
    check_voter(load("voters", name, BUILTIN)())


@given(situation=situations())
def test_votes_chances_and_scores_are_within_bounds(situation: tuple[Context, list[Candidate]]) -> None:
    context, candidates = situation
    found = forecasts(voters(), context, candidates)
    assert sorted(f.candidate for f in found) == sorted(c.id for c in candidates)
    for forecast in found:
        assert all(0.0 <= vote.value <= 1.0 for vote in forecast.votes)
        assert 0.0 <= forecast.p_low <= forecast.p_success <= forecast.p_high <= 1.0
        assert 0.0 <= forecast.score <= 1.0
        assert forecast.cost_usd is None or forecast.cost_usd >= 0.0


@given(situation=situations())
def test_those_that_are_left_come_first_by_score(situation: tuple[Context, list[Candidate]]) -> None:
    context, candidates = situation
    found = forecasts(voters(), context, candidates)
    gone = [f.candidate in {*context.failed, *context.unavailable} for f in found]
    assert gone == sorted(gone)
    left = [f.score for f, out in zip(found, gone, strict=True) if not out]
    assert left == sorted(left, reverse=True)


# --- single voters ----------------------------------------------------------------------------------------


def test_a_candidate_without_a_known_price_gets_no_vote_on_price() -> None:
    context = Context(text="")
    votes = {f.candidate: f for f in forecasts(voters(), context, [priced("known", 1.0), priced("un", None)])}
    assert "price" in {vote.voter for vote in votes["known"].votes}
    assert "price" not in {vote.voter for vote in votes["un"].votes}
    assert votes["un"].cost_usd is None
    assert votes["un"].score == votes["un"].p_success  # neither for nor against


def test_cheap_and_unknown_comes_before_dear_and_unknown() -> None:
    ranked = forecasts(voters(), Context(text=""), [priced("dear", 20.0), priced("cheap", 0.1)])
    assert [f.candidate for f in ranked] == ["cheap", "dear"]
    assert ranked[0].p_success == ranked[1].p_success


def test_the_seconds_of_a_local_model_have_their_price() -> None:
    slow = [Tally(candidate="slow", dimension="agentic_programming", seconds=60_000.0, outcomes=100)]
    context = Context(text="", tallies=tuple(slow))
    candidates = [priced(name, 0.0, per_second=0.0005) for name in ("slow", "quick")]
    costs = Costs(context)
    assert costs.seconds(candidates[0]) > costs.seconds(candidates[1]) == 30.0
    assert [f.candidate for f in forecasts(voters(), context, candidates)] == ["quick", "slow"]
    assert costs.usd(candidates[0]) == 0.0
    assert costs.price(candidates[1]) == pytest.approx(0.015)


def test_own_costs_outweigh_the_price_list_in_the_end() -> None:
    candidate = priced("m", 1.0)
    listed = Costs(Context(text="")).usd(candidate)
    assert listed is not None
    tally = Tally(candidate="m", dimension="agentic_programming", cost_usd=1000.0, outcomes=1000)
    own = Costs(Context(text="", tallies=(tally,))).usd(candidate)
    assert own == pytest.approx(1.0, rel=0.01)
    other = Tally(candidate="m", dimension="algorithm", cost_usd=1000.0, outcomes=1000)
    assert Costs(Context(text="", tallies=(other,))).usd(candidate) == listed


def test_one_neighbour_alone_does_not_decide() -> None:
    near = Neighbour(id="1", similarity=0.9, candidate="m", passed=False, u=0.0, cost_usd=0.0)
    (vote,) = (
        load("voters", "neighbours", BUILTIN)()
        .vote(Context(text="", neighbours=(near,)), [priced("m", 1.0), priced("other", 1.0)])
        .values()
    )
    assert 0.3 < vote.value < 0.5
    assert vote.note == "solved 0 of 1 similar tasks"


def test_the_posterior_moves_from_the_published_rate_to_the_own_one() -> None:
    voter = load("voters", "posterior", BUILTIN)()
    values = []
    for outcomes in (1, 10, 1000):
        tally = Tally(candidate="glm-5", dimension="agentic_programming", passed=float(outcomes))
        values.append(voter.vote(Context(text="", tallies=(tally,)), [priced("glm-5", 1.0)])["glm-5"].value)
    assert 0.2857 < values[0] < values[1] < values[2] < 1.0
    assert values[2] > 0.99


def test_outcomes_of_another_dimension_are_not_counted() -> None:
    tally = Tally(candidate="m", dimension="algorithm", passed=10.0)
    votes = load("voters", "posterior", BUILTIN)().vote(
        Context(text="", tallies=(tally,)), [priced("m", 1.0)]
    )
    assert votes == {}


def test_the_interval_narrows_with_own_outcomes() -> None:
    def width(outcomes: float) -> float:
        tally = Tally(candidate="m", dimension="agentic_programming", passed=outcomes, failed=outcomes)
        (found,) = forecasts(voters(), Context(text="", tallies=(tally,)), [priced("m", 1.0)])
        return found.p_high - found.p_low

    assert width(0) > width(3) > width(100)


# --- what a failure says ----------------------------------------------------------------------------------


@given(chance=PROBABILITY)
def test_without_failures_a_chance_is_what_it_was(chance: float) -> None:
    assert given_failures(chance, []) == chance


@given(chance=st.floats(min_value=0.02, max_value=0.98), failed=st.lists(PROBABILITY, min_size=1, max_size=4))
def test_failures_lower_a_chance_and_more_of_them_lower_it_more(chance: float, failed: list[float]) -> None:
    chances = [given_failures(chance, failed[:n]) for n in range(1, len(failed) + 1)]
    # Of a candidate that seldom succeeds a failure says next to nothing; the approximation is good to 0.01.
    assert chances[0] <= chance + 0.01
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(chances))
    assert all(0.0 <= c <= 1.0 for c in chances)


@given(low=PROBABILITY, high=PROBABILITY, failed=st.lists(PROBABILITY, max_size=3))
def test_failures_keep_the_order_of_candidates(low: float, high: float, failed: list[float]) -> None:
    low, high = sorted((low, high))
    assert given_failures(low, failed) <= given_failures(high, failed) + 1e-12


def test_the_failure_of_an_able_one_says_more() -> None:
    assert given_failures(0.5, [0.9]) < given_failures(0.5, [0.5]) < given_failures(0.5, [0.1]) < 0.5


# --- the check that voters of other packages run ----------------------------------------------------------


class Boasting:
    """Breaks one rule."""

    name = "boasting"
    weight = 1.0

    def __init__(self, vote: Vote, *, everybody: bool = False) -> None:
        self.said = vote
        self.everybody = everybody

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        return dict.fromkeys(["ghost"] if self.everybody else [c.id for c in candidates], self.said)


@pytest.mark.parametrize(
    ("voter", "reason"),
    [
        (Boasting(Vote(voter="boasting", value=1.1, weight=1.0, note="x")), "no vote in"),
        (Boasting(Vote(voter="other", value=1.0, weight=1.0, note="x")), "signed by 'other'"),
        (Boasting(Vote(voter="boasting", value=1.0, weight=1.0)), "where a vote comes from"),
        (Boasting(Vote(voter="boasting", value=1.0, weight=1.0, note="x"), everybody=True), "nobody asked"),
    ],
)
def test_the_check_of_voters_finds_what_is_wrong(voter: Voter, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        check_voter(voter)
