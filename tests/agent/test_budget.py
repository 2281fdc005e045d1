"""The caps of a run."""

from __future__ import annotations

import math

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.errors import BudgetExhausted


def make(**caps: float) -> tuple[RunBudget, list[float]]:
    now = [100.0]
    known = {"max_cost": 1.0, "max_steps": 2, "max_time": 60.0}
    return RunBudget(**{**known, **caps}, clock=lambda: now[0]), now


def test_money_is_refused_before_it_is_spent() -> None:
    budget, _ = make()
    budget.charge(0.75)
    budget.affords(0.25)
    with pytest.raises(BudgetExhausted, match=r"may cost \$0.2600; \$0.2500 of \$1") as caught:
        budget.affords(0.26)
    assert (caught.value.exit_code, "--max-cost" in caught.value.hint) == (6, True)
    assert (budget.spent_usd, budget.remaining_usd) == (0.75, 0.25)


def test_money_spent_beyond_the_cap_stops_everything() -> None:
    budget, _ = make()
    budget.charge(1.5)
    with pytest.raises(BudgetExhausted, match="spent"):
        budget.check()
    assert budget.remaining_usd == 0.0


def test_a_free_call_is_affordable_with_a_cap_of_zero() -> None:
    budget, _ = make(max_cost=0)
    budget.check()
    budget.affords(0.0)
    with pytest.raises(BudgetExhausted):
        budget.affords(0.000001)


def test_an_unpriced_call_needs_a_run_without_a_cap() -> None:
    with pytest.raises(BudgetExhausted, match="no known price") as caught:
        make()[0].affords(None)
    assert "config.toml" in caught.value.hint
    budget, _ = make(max_cost=math.inf)
    budget.affords(None)
    assert budget.remaining_usd == math.inf


def test_steps_are_counted() -> None:
    budget, _ = make()
    budget.count_step()
    budget.count_step()
    with pytest.raises(BudgetExhausted, match="2 steps"):
        budget.count_step()


def test_time_runs_out() -> None:
    budget, now = make()
    budget.check()
    now[0] += 59.5
    assert budget.remaining_seconds == pytest.approx(0.5)
    now[0] += 1
    with pytest.raises(BudgetExhausted, match="1 min"):
        budget.check()
    assert budget.remaining_seconds == 0.0
