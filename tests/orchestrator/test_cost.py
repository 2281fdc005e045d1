"""What an attempt is expected to cost: list, tokens, own outcomes, time, and the cache of who is warm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acr_cli.orchestrator.cost import Costs
from acr_cli.records import Candidate, Price, Tally
from tests.orchestrator.worlds import candidate, context, tally

LISTED = Candidate(
    id="listed", backend="agent", model="listed", price=Price(input=3.0, output=15.0, cached_input=0.3)
)
UNKNOWN = candidate("unknown")


def spent(name: str, count: int, usd: float, *, sent: int = 0, written: int = 0, **changes: object) -> Tally:
    """So many outcomes, each of this cost and these tokens."""
    return tally(
        name,
        count,
        0,
        cost_usd=count * usd,
        input_tokens=float(count * sent),
        output_tokens=float(count * written),
        **changes,
    )


def usd(candidate: Candidate, *tallies: Tally, **changes: object) -> float:
    found = Costs(context(tallies, **changes)).usd(candidate)
    assert found is not None
    return found


# --- before anything was learned --------------------------------------------------------------------------


def test_a_longer_prompt_costs_more() -> None:
    assert usd(LISTED, size_tokens=50_000) > usd(LISTED, size_tokens=1_000) > 0


def test_without_price_and_outcomes_the_cost_is_not_known() -> None:
    assert Costs(context()).usd(UNKNOWN) is None
    assert Costs(context()).price(UNKNOWN, 0.01) is None


def test_a_price_an_attempt_is_taken_as_it_is() -> None:
    assert usd(candidate("fixed", 0.25)) == 0.25


def test_a_backend_without_a_model_costs_no_money_but_its_seconds() -> None:
    repair = Candidate(id="builtin/repair", backend="repair", price=Price(per_second=0.001))
    costs = Costs(context())
    assert costs.usd(repair) == 0.0
    assert costs.price(repair) == pytest.approx(costs.seconds(repair) * 0.001)


# --- learned ----------------------------------------------------------------------------------------------


def test_tokens_are_learned_from_others_in_the_dimension() -> None:
    thrifty = usd(LISTED, spent("other", 50, 0.0, sent=1_000, written=100))
    lavish = usd(LISTED, spent("other", 50, 0.0, sent=200_000, written=20_000))
    assert thrifty < usd(LISTED) < lavish


def test_own_tokens_count_more_than_those_of_others() -> None:
    others = spent("other", 50, 0.0, sent=1_000, written=100)
    own = spent("listed", 50, 50_000 * 3e-6 + 5_000 * 15e-6, sent=50_000, written=5_000)
    assert usd(LISTED, others, own) == pytest.approx(50_000 * 3e-6 + 5_000 * 15e-6, rel=0.1)


def test_own_costs_take_the_place_of_the_list() -> None:
    dear = spent("listed", 100, 1.0)
    assert usd(LISTED, dear) == pytest.approx(1.0, rel=0.05)
    once = spent("listed", 1, 1.0)
    assert usd(LISTED) < usd(LISTED, once) < usd(LISTED, dear)


def test_an_unpriced_candidate_costs_what_it_has_cost() -> None:
    assert usd(UNKNOWN, spent("unknown", 4, 0.2)) == pytest.approx(0.2)
    elsewhere = spent("unknown", 4, 0.2, dimension="algorithm")
    assert usd(UNKNOWN, elsewhere) == pytest.approx(0.2)


def test_the_step_s_language_comes_first() -> None:
    tallies = (spent("unknown", 20, 0.1, language="go"), spent("unknown", 20, 0.9, language="rust"))
    go, rust, other = (usd(UNKNOWN, *tallies, language=name) for name in ("go", "rust", "python"))
    assert go < other < rust
    assert other == pytest.approx(0.5)


def test_unverified_outcomes_teach_cost_too() -> None:
    unverified = replace(spent("unknown", 0, 0.0), cost_usd=1.2, count=4.0, outcomes=4)
    assert usd(UNKNOWN, unverified) == pytest.approx(0.3)


def test_what_was_long_ago_counts_as_little_for_cost_as_for_number() -> None:
    old = replace(spent("unknown", 100, 1.0), passed=1.0, cost_usd=1.0, count=1.0)
    new = spent("unknown", 9, 0.1, after=["other"])
    assert usd(UNKNOWN, old, new) == pytest.approx((1.0 + 0.9) / 10)


# --- changes of the price list ----------------------------------------------------------------------------


def repriced(factor: float) -> Candidate:
    return replace(LISTED, price=Price(input=3.0 * factor, output=15.0 * factor, cached_input=0.3 * factor))


def test_a_new_price_list_counts_at_once() -> None:
    own = spent("listed", 200, 50_000 * 3e-6 + 5_000 * 15e-6, sent=50_000, written=5_000)
    before = usd(LISTED, own)
    assert usd(repriced(20), own) > 5 * before
    assert usd(repriced(1 / 20), own) < before / 5


def test_what_the_cache_has_saved_is_no_new_price() -> None:
    half = (50_000 * 3e-6 + 5_000 * 15e-6) / 2
    assert usd(LISTED, spent("listed", 200, half, sent=50_000, written=5_000)) == pytest.approx(
        half, rel=0.05
    )


# --- cache and time ---------------------------------------------------------------------------------------


def test_to_stay_with_a_warm_model_is_cheaper_than_to_switch() -> None:
    cold = usd(LISTED, size_tokens=20_000)
    warm = usd(LISTED, size_tokens=20_000, warm=("listed",))
    assert warm < cold
    assert usd(LISTED, size_tokens=20_000, warm=("other",)) == cold
    assert cold - warm == pytest.approx(22_000 * 2.7e-6)


def test_without_a_price_for_cached_input_warmth_saves_nothing() -> None:
    plain = replace(LISTED, price=Price(input=3.0, output=15.0))
    assert usd(plain, warm=("listed",)) == usd(plain)


def test_time_is_priced_by_the_candidate_or_by_the_user_if_that_is_more() -> None:
    local = replace(candidate("local", 0.0), price=Price(per_attempt=0.0, per_second=0.001), local=True)
    costs = Costs(context([tally("local", 100, 0, seconds=100 * 60.0)]))
    assert costs.seconds(local) == pytest.approx(60.0, rel=0.05)
    seconds = costs.seconds(local)
    assert costs.price(local) == pytest.approx(seconds * 0.001)
    assert costs.price(local, 0.01) == pytest.approx(seconds * 0.01)
    assert costs.price(candidate("other", 0.2)) == pytest.approx(0.2)
