"""Who is chosen: order, exploration, escalation, the ladder, and the sentence of why."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from acr_cli.errors import ConfigurationError
from acr_cli.orchestrator.policies import POLICIES, open_policy
from acr_cli.protocols import Policy
from acr_cli.records import Candidate, Choice, Context, Neighbour, Price, Tally


def candidate(name: str, usd: float) -> Candidate:
    return Candidate(id=name, backend="agent", model=name, price=Price(input=usd, output=usd))


WEAK, MIDDLE, STRONG = candidate("weak", 0.1), candidate("middle", 1.0), candidate("strong", 5.0)
POOL = (WEAK, MIDDLE, STRONG)
CONTEXT = Context(text="the tests fail", size_tokens=1_000)


def acrouter(*, exploration: float = 0.0) -> Policy:
    return open_policy("acrouter", exploration=exploration)


def chosen(policy: Policy, context: Context = CONTEXT, rng: Random | None = None) -> Choice:
    choice = policy.choose(context, POOL, rng)
    assert choice is not None
    return choice


def experience(*outcomes: tuple[str, int, int]) -> Context:
    """A context in which these (candidate, passed, failed) are remembered, near and in this dimension."""
    tallies = [
        Tally(candidate=c, dimension="agentic_programming", passed=p, failed=f) for c, p, f in outcomes
    ]
    near = [
        Neighbour(id=f"{c}{n}", similarity=0.9, candidate=c, passed=n < p, u=0.5, cost_usd=0.0)
        for c, p, f in outcomes
        for n in range(p + f)
    ]
    return replace(CONTEXT, tallies=tuple(tallies), neighbours=tuple(near))


# --- what experience does ---------------------------------------------------------------------------------


def test_of_two_unknown_ones_the_cheap_one_is_first_and_the_reason_is_its_price() -> None:
    choice = chosen(acrouter())
    assert choice.candidate == "weak"
    assert choice.reason.startswith("cheaper ($")


def test_a_handful_of_failures_and_successes_turn_the_order_and_the_reason_names_them() -> None:
    choice = chosen(acrouter(), experience(("weak", 0, 4), ("strong", 4, 0)))
    assert choice.candidate == "strong"
    assert "strong solved 4 of 4 similar tasks" in choice.reason
    assert len(choice.neighbours) == 8
    forecast = choice.forecast("weak")
    assert forecast is not None
    assert forecast.p_success < 0.3


def test_one_success_of_the_cheap_one_keeps_it_first() -> None:
    assert chosen(acrouter(), experience(("weak", 1, 0))).candidate == "weak"


def test_one_failure_of_the_cheap_one_does_not_settle_it() -> None:
    before, after = chosen(acrouter()), chosen(acrouter(), experience(("weak", 0, 1)))
    one, two = before.forecast("weak"), after.forecast("weak")
    assert one is not None
    assert two is not None
    assert one.p_success > two.p_success > one.p_success * 0.7


# --- escalation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("exploration", [0.0, 1.0])
def test_those_that_failed_or_broke_are_never_chosen(name: str, exploration: float) -> None:
    policy = open_policy(name, exploration=exploration)
    context = replace(CONTEXT, failed=("weak",), unavailable=("middle",))
    for seed in range(20):
        assert chosen(policy, context, Random(seed)).candidate == "strong"
    nobody = replace(CONTEXT, failed=("weak", "middle"), unavailable=("strong",))
    assert policy.choose(nobody, POOL, Random(0)) is None
    assert policy.choose(CONTEXT, (), Random(0)) is None


@pytest.mark.parametrize("name", POLICIES)
def test_escalation_goes_through_everybody_once(name: str) -> None:
    policy, context, taken = open_policy(name, exploration=0.3), CONTEXT, []
    while choice := policy.choose(context, POOL, Random(len(taken))):
        taken.append(choice.candidate)
        context = replace(context, failed=tuple(taken))
    assert sorted(taken) == ["middle", "strong", "weak"]


def test_after_a_failure_the_reason_names_who_failed() -> None:
    choice = chosen(acrouter(), replace(CONTEXT, failed=("weak",)))
    assert choice.reason.startswith("after weak failed, ")
    last = chosen(acrouter(), replace(CONTEXT, failed=("weak", "middle")))
    assert last.reason == "after weak and middle failed, the only candidate that is left"


def test_an_only_candidate_is_said_to_be_that() -> None:
    for name in POLICIES:
        choice = open_policy(name, exploration=0.0).choose(CONTEXT, [WEAK], None)
        assert choice is not None
        assert choice.reason == "the only candidate"


# --- exploration ------------------------------------------------------------------------------------------


def test_each_candidate_is_drawn_as_often_as_its_propensity_says() -> None:
    policy, draws = acrouter(exploration=0.3), 4_000
    rng = Random(7)
    choices = [chosen(policy, rng=rng) for _ in range(draws)]
    counts = Counter(choice.candidate for choice in choices)
    stated = {choice.candidate: choice.propensity for choice in choices}
    assert sum(stated.values()) == pytest.approx(1.0)
    for name, propensity in stated.items():
        deviation = (propensity * (1 - propensity) / draws) ** 0.5
        assert counts[name] / draws == pytest.approx(propensity, abs=4 * deviation)
    assert {c.explored for c in choices if c.candidate == "weak"} == {False}
    assert all("drawn at random" in c.reason for c in choices if c.explored)


def test_without_a_generator_nothing_is_explored() -> None:
    assert {chosen(acrouter(exploration=1.0)).candidate for _ in range(20)} == {"weak"}


def test_the_only_one_that_is_left_has_propensity_one() -> None:
    context = replace(CONTEXT, failed=("weak", "middle"))
    assert chosen(acrouter(exploration=0.5), context, Random(1)).propensity == 1.0


# --- the ladder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_the_ladder_rises_and_has_no_more_rungs_than_attempts(name: str) -> None:
    for attempts in (1, 2, 3, 5):
        context = replace(CONTEXT, attempts=attempts)
        rungs = chosen(open_policy(name, exploration=0.0), context).ladder
        assert len(rungs) == min(attempts, len(POOL))
        assert len({rung.candidate for rung in rungs}) == len(rungs)
        for lower, upper in pairwise(rungs):
            assert lower.p_cumulative < upper.p_cumulative < 1.0
            assert lower.cost_cumulative_usd <= upper.cost_cumulative_usd


@pytest.mark.parametrize("name", POLICIES)
def test_the_ladder_begins_with_the_choice_and_goes_on_where_a_failure_leads(name: str) -> None:
    policy = open_policy(name, exploration=0.0)
    first = chosen(policy)
    assert first.ladder[0].candidate == first.candidate
    second = chosen(policy, replace(CONTEXT, failed=(first.candidate,), attempts=2))
    assert first.ladder[1].candidate == second.candidate
    assert [r.candidate for r in second.ladder] == [r.candidate for r in first.ladder[1:]]


# --- fixed orders -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("escalate", ["weak", "middle", "strong", "unpriced"]),
        ("fixed", ["unpriced", "strong", "weak", "middle"]),
    ],
)
def test_an_ordered_policy_keeps_its_order(name: str, expected: list[str]) -> None:
    unpriced = Candidate(id="unpriced", backend="agent", model="unpriced")
    choice = open_policy(name, exploration=0.0).choose(
        replace(CONTEXT, attempts=4), (unpriced, STRONG, WEAK, MIDDLE), Random(0)
    )
    assert choice is not None
    assert [rung.candidate for rung in choice.ladder] == expected
    assert (choice.propensity, choice.policy, choice.explored) == (1.0, name, False)


def test_an_unknown_policy_or_voter_is_one_sentence() -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_policy("best", exploration=0.0)
    assert (caught.value.exit_code, caught.value.message) == (3, "No policy is named 'best'.")
    assert caught.value.hint == "Known: learned, acrouter, escalate, fixed."
    with pytest.raises(ConfigurationError, match="'oracle'"):
        open_policy("acrouter", exploration=0.0, voters=["oracle"])


def test_a_voter_that_is_named_twice_votes_once() -> None:
    plain = chosen(acrouter())
    twice = chosen(open_policy("acrouter", exploration=0.0, voters=["prior", "price"]))
    assert twice.forecasts == plain.forecasts
