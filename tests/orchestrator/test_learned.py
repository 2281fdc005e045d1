"""The default policy: who is tried, what that follows from, how likely it was, and when it stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from acr_cli.orchestrator.learned import Learned
from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.prior import Prior
from acr_cli.protocols import Voter
from acr_cli.records import SCORES, Candidate, Choice, Context, Neighbour, Price, Tally, Vote
from tests.orchestrator import worlds
from tests.orchestrator.worlds import candidate, context

CHEAP, STRONG = candidate("cheap", 0.02), candidate("strong", 0.4)
POOL = (CHEAP, STRONG)
SURE = Mistakes()
COSTS = {"cheap": 0.02, "middle": 0.1, "strong": 0.4, "a": 0.3, "b": 0.3}


def tally(name: str, passed: float, failed: float, after: Sequence[str] = (), **changes: object) -> Tally:
    """Outcomes that have cost what the list says."""
    cost = COSTS.get(name, 0.1) * (passed + failed)
    return worlds.tally(name, passed, failed, after, **{"cost_usd": cost, **changes})


def neutral(_candidate: Candidate, _dimension: str) -> Prior:
    return Prior(value=0.5, note="nothing is known")


def learned(*voters: Voter, mistakes: Mistakes = SURE, **settings: float) -> Learned:
    return Learned(
        voters,
        **{"exploration": 0.0, "value_of_success": 1.5, **settings},
        mistakes=lambda _: mistakes,
        rates=neutral,
    )


def chosen(
    policy: Learned, known: Context, pool: tuple[Candidate, ...] = POOL, rng: Random | None = None
) -> Choice:
    choice = policy.choose(known, pool, rng)
    assert choice is not None
    return choice


CHEAP_FAILS = (tally("cheap", 2, 98, cost_usd=15.0), tally("strong", 70, 28, after=["cheap"]))
CHEAP_SOLVES = (tally("cheap", 80, 20), tally("strong", 10, 10, after=["cheap"]))


# --- what experience does ---------------------------------------------------------------------------------


def test_after_the_cheap_one_failed_again_and_again_the_strong_one_is_first() -> None:
    assert chosen(learned(), context(CHEAP_FAILS)).candidate == "strong"


def test_after_the_cheap_one_solved_it_stays_first_and_the_strong_one_follows() -> None:
    choice = chosen(learned(), context(CHEAP_SOLVES))
    assert choice.candidate == "cheap"
    assert [rung.candidate for rung in choice.ladder] == ["cheap", "strong"]
    after = chosen(learned(), context(CHEAP_SOLVES, failed=("cheap",), attempts=2))
    assert after.candidate == "strong"


def test_the_strong_one_is_not_judged_by_its_raw_rate_after_failures() -> None:
    hard = (tally("cheap", 50, 50), tally("strong", 12, 38, after=["cheap"]))
    strong = chosen(learned(), context(hard)).forecast("strong")
    assert strong is not None
    assert strong.p_success > 12 / 50 + 0.1


def test_a_failure_makes_everybody_less_likely() -> None:
    known = context((tally("cheap", 50, 50), tally("strong", 70, 30)))
    before = chosen(learned(), known).forecast("strong")
    after = chosen(learned(), replace(known, failed=("cheap",), attempts=2)).forecast("strong")
    assert before is not None
    assert after is not None
    assert after.p_success < before.p_success - 0.05


def test_outcomes_of_another_dimension_say_nothing() -> None:
    elsewhere = tuple(replace(each, dimension="algorithm") for each in CHEAP_FAILS)
    known, unknown = (chosen(learned(), context(each)) for each in (elsewhere, ()))
    assert [f.p_success for f in known.forecasts] == pytest.approx([f.p_success for f in unknown.forecasts])


def test_the_step_s_language_is_told_apart() -> None:
    go = (tally("cheap", 1, 60, language="go"), tally("cheap", 60, 1, language="python"))
    in_go, in_python = (
        chosen(learned(), context(go, language=name)).forecast("cheap") for name in ("go", "python")
    )
    assert in_go is not None
    assert in_python is not None
    assert in_go.p_success < in_python.p_success - 0.2


def test_intervals_hold_the_chance_and_narrow() -> None:
    few, many = (chosen(learned(), context((tally("cheap", n, n),))).forecast("cheap") for n in (1, 100))
    assert few is not None
    assert many is not None
    for each in (few, many):
        assert 0 <= each.p_low <= each.p_success <= each.p_high <= 1
    assert many.p_high - many.p_low < few.p_high - few.p_low


# --- behind a weak verifier -------------------------------------------------------------------------------


def test_behind_a_weak_verifier_a_cheap_success_is_worth_less() -> None:
    """Most of what the cheap one passes is wrong; whoever comes after it comes too late."""
    outcomes = (tally("cheap", 45, 55), tally("strong", 90, 10))
    weak = Mistakes(false_accept=0.4)
    assert chosen(learned(), context(outcomes)).candidate == "cheap"
    assert chosen(learned(mistakes=weak), context(outcomes)).candidate == "strong"


def test_behind_a_weak_verifier_the_strong_one_is_first_by_its_worth_not_its_rate() -> None:
    outcomes = (tally("cheap", 60, 40), tally("strong", 95, 5))
    scores = {}
    for accepts in (0.0, 0.3):
        choice = chosen(learned(mistakes=Mistakes(false_accept=accepts)), context(outcomes))
        scores[accepts] = {f.candidate: f.score for f in choice.forecasts}
    gap = {accepts: each["strong"] - each["cheap"] for accepts, each in scores.items()}
    assert gap[0.3] > gap[0.0] + 0.1


# --- time, kin, money -------------------------------------------------------------------------------------


def test_a_free_local_model_is_compared_by_its_time() -> None:
    local = Candidate(
        id="local", backend="agent", model="local", local=True, price=Price(input=0.0, output=0.0)
    )
    remote = candidate("remote", 0.05)
    outcomes = tuple(
        tally(name, 60, 40, seconds=100 * seconds, cost_usd=100 * usd)
        for name, seconds, usd in (("local", 600.0, 0.0), ("remote", 10.0, 0.05))
    )
    choices = [
        chosen(learned(value_of_hour=value), context(outcomes, attempts=1), (local, remote)).candidate
        for value in (0.0, 10.0)
    ]
    assert choices == ["local", "remote"]


def test_efforts_of_a_model_share_ability() -> None:
    low, high = (
        candidate(f"vendor/big@{effort}", usd, model="vendor/big")
        for effort, usd in (("low", 0.1), ("high", 0.3))
    )
    stranger = candidate("vendor/other", 0.1)
    known = context((tally("vendor/big@low", 60, 5), tally("third", 30, 30)))
    choice = chosen(learned(), known, (low, high, stranger))
    kin, other = choice.forecast("vendor/big@high"), choice.forecast("vendor/other")
    assert kin is not None
    assert other is not None
    assert kin.p_success > other.p_success + 0.1


def test_endpoints_of_a_model_are_kin_too() -> None:
    here, there = candidate("one/model-x", 0.1), candidate("two/model-x", 0.1)
    stranger = candidate("two/model-y", 0.1)
    choice = chosen(learned(), context((tally("one/model-x", 2, 60),)), (here, there, stranger))
    kin, other = choice.forecast("two/model-x"), choice.forecast("two/model-y")
    assert kin is not None
    assert other is not None
    assert kin.p_success < other.p_success


def test_a_success_that_is_worth_more_is_worth_a_dearer_attempt() -> None:
    outcomes = (tally("cheap", 40, 60), tally("strong", 90, 10))
    alone = context(outcomes, attempts=1)
    choices = [chosen(learned(value_of_success=value), alone).candidate for value in (0.5, 5.0)]
    assert choices == ["cheap", "strong"]


def test_scores_below_a_pass_are_worth_something() -> None:
    """Where an attempt that fails is half right, there is less to gain from another one."""
    outcomes = (tally("cheap", 50, 50), tally("strong", 25, 25, after=["cheap"]))
    partial = (
        replace(outcomes[0], verifier=SCORES, u_passed=50.0, u_failed=24.0),
        replace(outcomes[1], verifier=SCORES, u_passed=25.0, u_failed=12.0),
    )
    failed = {"failed": ("cheap",), "attempts": 1}
    assert learned().choose(context(outcomes, **failed), POOL, None) is not None
    assert learned().choose(context(partial, **failed), POOL, None) is None


# --- propensity and exploration ---------------------------------------------------------------------------

THREE = (*POOL, candidate("middle", 0.1))
KNOWN = context((tally("cheap", 12, 8), tally("middle", 5, 4), tally("strong", 9, 5)))


def test_without_exploration_the_best_is_certain() -> None:
    for seed in range(20):
        choice = chosen(learned(), KNOWN, THREE, Random(seed))
        assert (choice.propensity, choice.explored) == (1.0, False)
        assert choice.candidate == chosen(learned(), KNOWN, THREE).candidate


def test_propensities_are_those_of_the_draws() -> None:
    policy, rng = learned(exploration=0.6), Random(4)
    draws = [chosen(policy, KNOWN, THREE, rng) for _ in range(1_500)]
    propensity = {draw.candidate: draw.propensity for draw in draws}
    counts = Counter(draw.candidate for draw in draws)

    assert len(propensity) == 3
    assert sum(propensity.values()) == pytest.approx(1.0)
    for name, chance in propensity.items():
        assert counts[name] / 1_500 == pytest.approx(chance, abs=0.04)
    assert all(
        draw.explored == (draw.candidate != chosen(policy, KNOWN, THREE).candidate) for draw in draws[:50]
    )


@pytest.mark.parametrize("exploration", [0.05, 0.5, 1.0])
def test_no_more_than_the_share_of_exploration_goes_elsewhere(exploration: float) -> None:
    choice = chosen(learned(exploration=exploration), KNOWN, THREE, Random(0))
    best = chosen(learned(exploration=exploration), KNOWN, THREE)
    assert best.propensity >= 1 - exploration
    assert 0 < choice.propensity <= 1


def test_the_same_draws_give_the_same_choices() -> None:
    first, second = (
        [chosen(learned(exploration=0.5), KNOWN, THREE, rng).candidate for _ in range(30)]
        for rng in (Random(1), Random(1))
    )
    assert first == second


# --- where it ends ----------------------------------------------------------------------------------------


def test_the_first_attempt_is_always_made_and_the_next_only_while_it_pays() -> None:
    dear = (candidate("a", 10.0), candidate("b", 10.0))
    assert learned().choose(context(), dear, None) is not None
    assert learned().choose(context(failed=("a",), attempts=2), dear, None) is None


@pytest.mark.parametrize(
    ("changes", "pool"),
    [
        ({}, ()),
        ({"attempts": 0}, POOL),
        ({"failed": ("cheap", "strong")}, POOL),
        ({"failed": ("cheap",), "unavailable": ("strong",)}, POOL),
        ({"unavailable": ("cheap", "strong")}, POOL),
    ],
)
def test_where_nobody_is_left_nobody_is_chosen(
    changes: dict[str, object], pool: tuple[Candidate, ...]
) -> None:
    assert learned(exploration=0.5).choose(context(**changes), pool, Random(0)) is None


def test_who_failed_or_broke_is_never_chosen() -> None:
    policy = learned(exploration=1.0)
    for seed in range(40):
        known = replace(KNOWN, failed=("cheap",), unavailable=("middle",), attempts=2)
        assert chosen(policy, known, THREE, Random(seed)).candidate == "strong"


def test_the_ladder_keeps_to_the_attempts_and_adds_up() -> None:
    for attempts in (1, 2, 3):
        ladder = chosen(learned(), replace(KNOWN, attempts=attempts), THREE).ladder
        assert 1 <= len(ladder) <= attempts
        assert all(a.p_cumulative < b.p_cumulative <= 1 for a, b in pairwise(ladder))
        assert all(a.cost_cumulative_usd <= b.cost_cumulative_usd for a, b in pairwise(ladder))
        assert len({rung.candidate for rung in ladder}) == len(ladder)


def test_many_candidates_and_many_failures_are_no_burden() -> None:
    pool = tuple(candidate(f"m{n:02}", 0.001 * (1 + n)) for n in range(40))
    known = context(failed=tuple(c.id for c in pool[:24]), attempts=16)
    choice = chosen(learned(exploration=0.1), known, pool, Random(0))
    assert choice.candidate not in known.failed
    assert len(choice.forecasts) == 40


def test_of_many_candidates_none_that_was_left_out_looks_better_than_the_chosen_one() -> None:
    pool = tuple(candidate(f"m{n:02}", 5.0 + n) for n in range(20))  # nobody is worth it
    choice = chosen(learned(), context(), pool)
    assert choice.forecasts[0].candidate == choice.candidate
    assert choice.forecasts[0].score < 0


def test_a_candidate_that_is_gone_from_the_pool_has_failed_all_the_same() -> None:
    known = context((tally("gone", 90, 10), tally("strong", 50, 50)))
    before, after = (
        chosen(learned(), each).forecast("strong")
        for each in (known, replace(known, failed=("gone",), attempts=2))
    )
    assert before is not None
    assert after is not None
    assert after.p_success < before.p_success


# --- the answer where nobody passed -----------------------------------------------------------------------


def test_of_rejected_attempts_the_likeliest_is_handed_in() -> None:
    known = context((tally("cheap", 20, 80), tally("strong", 90, 10)), attempts=0)
    policy = learned(mistakes=Mistakes(false_reject=0.1))
    assert policy.answer(replace(known, failed=("cheap", "strong")), POOL) == "strong"
    assert policy.answer(replace(known, failed=("strong", "cheap")), POOL) == "strong"
    assert policy.answer(replace(known, failed=("cheap",)), POOL) == "cheap"


def test_an_answer_of_somebody_who_has_left_does_no_harm() -> None:
    assert learned().answer(context(failed=("gone", "strong"), attempts=0), POOL) in {"gone", "strong"}


# --- the vote ---------------------------------------------------------------------------------------------


class Fortune:
    """Votes one for one candidate and nearly zero for the others."""

    name = "fortune"
    weight = 3.0

    def __init__(self, favourite: str) -> None:
        self.favourite = favourite

    def vote(self, _context: Context, candidates: object) -> dict[str, Vote]:
        return {
            c.id: Vote(voter=self.name, value=0.95 if c.id == self.favourite else 0.05, weight=3.0)
            for c in candidates  # type: ignore[attr-defined]
        }


EQUAL = (candidate("a", 0.3), candidate("b", 0.3))


def test_another_voter_is_listened_to_until_outcomes_speak_against_it() -> None:
    policy = learned(Fortune("b"))
    assert chosen(policy, context(attempts=1), EQUAL).candidate == "b"

    wrong = (tally("a", 16, 4), tally("b", 4, 16, gains=(("fortune", -40.0), ("trait", 5.0))))
    choice = chosen(policy, context(wrong, attempts=1), EQUAL)
    assert choice.candidate == "a"
    votes = {vote.voter: vote.weight for vote in choice.forecasts[0].votes}
    assert votes["fortune"] < 0.01


def test_every_candidate_has_the_vote_of_the_trait_and_where_it_comes_from() -> None:
    near = tuple(
        Neighbour(id=str(n), similarity=0.9, candidate="a", passed=True, u=1.0, cost_usd=0.1)
        for n in range(3)
    )
    choice = chosen(learned(Fortune("a")), context((tally("a", 3, 1),), neighbours=near), EQUAL)
    votes = {f.candidate: {v.voter: v for v in f.votes} for f in choice.forecasts}
    assert set(votes["a"]) == set(votes["b"]) == {"trait", "fortune"}
    assert votes["a"]["trait"].note == "solved 3 of 4"
    assert sum(v.weight for v in votes["a"].values()) == pytest.approx(1.0)
    assert choice.neighbours == near


def test_every_number_is_finite_with_the_most_one_sided_evidence() -> None:
    extreme = (
        tally("cheap", 100_000, 0, cost_usd=1e-9),
        tally("strong", 0, 100_000, cost_usd=1e6),
        tally("strong", 1e-12, 0, after=["cheap"]),
    )
    for mistakes in (SURE, Mistakes(false_accept=0.9, false_reject=0.05)):
        choice = chosen(learned(mistakes=mistakes, exploration=0.5), context(extreme), POOL, Random(0))
        numbers = [x for f in choice.forecasts for x in (f.p_success, f.p_low, f.p_high, f.score)]
        assert np.isfinite(numbers).all()


def test_fractions_of_outcomes_count_as_fractions() -> None:
    """As a half-life makes them."""

    def share(weight: float) -> float:
        outcomes: list[Tally] = [tally("cheap", 9 * weight, weight)]
        forecast = chosen(learned(), context(outcomes)).forecast("cheap")
        assert forecast is not None
        return forecast.p_success

    assert share(0.01) < share(0.5) < share(5)
