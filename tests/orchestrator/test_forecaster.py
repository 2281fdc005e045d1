"""What is expected of each candidate: prior, own outcomes, other voters, and what of it was kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acr_cli.orchestrator.forecaster import Forecaster, Outlook, adjusted_success
from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.prior import Prior, published_rate
from acr_cli.orchestrator.voters.neighbours import NeighbourVoter
from acr_cli.records import Candidate, Context, Neighbour, Tally
from tests.orchestrator.worlds import DIMENSION, World, candidate, context, tally

POOL = (candidate("a", 0.1), candidate("b", 0.2))


def told(figures: dict[str, float]) -> Forecaster:
    """Of whom nothing is told, nothing is known."""

    def rates(c: Candidate, _dimension: str) -> Prior:
        return Prior(value=figures.get(c.id, 0.5), note="told")

    return Forecaster([], mistakes=lambda _: Mistakes(), rates=rates)


def chance(outlook: Outlook) -> dict[str, float]:
    return dict(zip(outlook.names, outlook.chance.tolist(), strict=True))


# --- the prior --------------------------------------------------------------------------------------------


def test_before_any_outcome_the_prior_speaks() -> None:
    known = chance(told({"a": 0.3, "b": 0.8}).outlook(context(), POOL))
    assert known == {"a": pytest.approx(0.3, abs=0.03), "b": pytest.approx(0.8, abs=0.03)}


def test_outcomes_overrule_the_prior() -> None:
    outcomes = (tally("a", 180, 20), tally("b", 20, 180))
    known = chance(told({"a": 0.3, "b": 0.8}).outlook(context(outcomes), POOL))
    assert known["a"] > 0.8
    assert known["b"] < 0.2


def test_a_price_says_nothing_of_ability_listed_or_paid() -> None:
    """Else a dear one that was tried would look abler than one whose cost nobody knows yet."""
    listed = chance(told({}).outlook(context(), POOL))
    assert listed["a"] == pytest.approx(listed["b"])
    pool = (candidate("tried"), candidate("untried"), candidate("other"))
    seen = {
        usd: chance(told({}).outlook(context((tally("tried", 1, 1, cost_usd=usd),)), pool))
        for usd in (0.001, 100.0)
    }
    assert seen[0.001] == pytest.approx(seen[100.0])


def test_what_is_published_of_a_known_model_counts() -> None:
    forecaster = Forecaster([], mistakes=lambda _: Mistakes(), rates=published_rate)
    pool = (candidate("gpt-5.4", 0.1), candidate("nobody/has-heard-of", 0.1))
    known = forecaster.outlook(context(dimension="agentic_programming"), pool)
    expected = published_rate(pool[0], "agentic_programming").value
    assert chance(known)["gpt-5.4"] == pytest.approx(expected, abs=0.06)


# --- votes ------------------------------------------------------------------------------------------------


def near(name: str, passed: int, failed: int) -> tuple[Neighbour, ...]:
    return tuple(
        Neighbour(id=f"{name}{n}", similarity=0.9, candidate=name, passed=n < passed, u=0.5, cost_usd=0.0)
        for n in range(passed + failed)
    )


def test_neighbours_are_evidence() -> None:
    forecaster = Forecaster([NeighbourVoter()], mistakes=lambda _: Mistakes(), rates=published_rate)
    known = context(neighbours=near("a", 0, 5) + near("b", 5, 0))
    with_them, without = (chance(forecaster.outlook(each, POOL)) for each in (known, context()))
    assert with_them["a"] < without["a"]
    assert with_them["b"] > without["b"]


def test_an_opinion_is_lowered_by_what_has_failed() -> None:
    forecaster = Forecaster([NeighbourVoter()], mistakes=lambda _: Mistakes(), rates=published_rate)
    known = context(neighbours=near("b", 5, 0))

    def vote(each: Context) -> float:
        return forecaster.outlook(each, POOL).votes["b"]["neighbours"].value

    assert vote(replace(known, failed=("a",), attempts=2)) < vote(known)


# --- prices -----------------------------------------------------------------------------------------------


def test_a_candidate_of_unknown_price_counts_as_a_cheap_one_until_it_was_tried() -> None:
    pool = (*POOL, candidate("unpriced"))
    unknown = told({}).outlook(context(), pool)
    assert unknown.cost[2] is None
    assert 0 < unknown.price[2] < unknown.price[0]
    tried = told({}).outlook(context((tally("unpriced", 1, 1, cost_usd=2.0),)), pool)
    assert tried.cost[2] == pytest.approx(1.0)
    assert tried.price[2] == pytest.approx(1.0)


def test_where_no_price_is_known_all_are_free() -> None:
    assert told({}).outlook(context(), (candidate("x"), candidate("y"))).price.tolist() == [0.0, 0.0]


# --- what is kept -----------------------------------------------------------------------------------------


def test_what_was_kept_is_what_would_be_made() -> None:
    """One forecaster over many contexts, among them other languages, pools and verifiers."""
    world = World(ability=(-1.0, 1.0))
    tallies = [
        replace(
            each, candidate="ab"[int(each.candidate[1])], failed_before=("a",) if each.failed_before else ()
        )
        for each in world.tried(60)
    ]
    local = [replace(each, language="go") for each in tallies]
    contexts = [
        context(tallies),
        context(tallies + local, language="go"),
        context(tallies + local, language="rust"),
        context(tallies, verifier="judge"),
        context(tallies, failed=("a",)),
        context(tallies[:1]),
        context(),
    ]
    one = told({})
    for known in contexts + contexts[::-1]:
        for pool in (POOL, POOL[::-1], POOL[:1]):
            kept, fresh = one.outlook(known, pool), told({}).outlook(known, pool)
            assert kept.chance == pytest.approx(fresh.chance, abs=1e-9)
            assert kept.low == pytest.approx(fresh.low, abs=1e-9)
            assert kept.trait.spread == fresh.trait.spread


# --- for people -------------------------------------------------------------------------------------------


def test_success_at_equal_difficulty_is_not_the_raw_rate() -> None:
    world = World(ability=(-1.5, -0.5, 0.8), spread=3.0)
    found = adjusted_success(
        tuple(world.tried(2_000)), mistakes=lambda _: Mistakes(), rates=lambda *_: Prior(value=0.5, note="")
    )
    for name, truth in zip(world.names, world.truth(), strict=True):
        mean, low, high = found[name]
        assert low <= mean <= high
        assert mean == pytest.approx(truth, abs=0.12)


def test_success_over_dimensions_is_weighted_by_their_tasks() -> None:
    outcomes = (tally("a", 900, 100), tally("a", 1, 9, dimension="algorithm"))
    mean, _, _ = adjusted_success(
        outcomes, mistakes=lambda _: Mistakes(), rates=lambda *_: Prior(value=0.5, note="")
    )["a"]
    assert mean > 0.8
    assert adjusted_success((), mistakes=lambda _: Mistakes(), rates=published_rate) == {}


def test_tasks_are_those_of_the_dimension() -> None:
    known = told({}).outlook(context((tally("a", 3, 4), tally("b", 2, 2, after=["a"]))), POOL)
    assert known.tasks == 7
    assert DIMENSION == "bug_fixing"


def test_a_dimension_where_nothing_was_verified_has_no_adjusted_success() -> None:
    unverified = Tally(candidate="m", dimension=DIMENSION, outcomes=1, count=1.0, cost_usd=0.1)
    assert adjusted_success((unverified,), mistakes=lambda _: Mistakes(), rates=published_rate) == {}
