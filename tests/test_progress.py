"""What a run has come to: the receipt's estimate, the best attempt, the last line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.errors import ProviderError, SandboxBroken
from acr_cli.progress import Progress, Trial
from acr_cli.records import (
    EXIT_CODES,
    Attempt,
    Candidate,
    Choice,
    Context,
    Dimension,
    Evidence,
    Failed,
    Forecast,
    Passed,
    Status,
    Step,
    StepKind,
    Unverified,
    Usage,
    Verdict,
    Void,
)

STEP = Step(id="1", kind=StepKind.EDIT, text="", dimension=Dimension.AGENTIC_PROGRAMMING, language="python")
CHEAP = Candidate(id="cheap", backend="agent", model="cheap")
STRONG = Candidate(id="strong", backend="agent", model="strong")
REPAIR = Candidate(id="builtin/repair", backend="repair")


def progress(*, has_models: bool = True) -> Progress:
    budget = RunBudget(max_cost=1.0, max_steps=5, max_time=60.0, clock=lambda: 0.0)
    return Progress(run="r", budget=budget, clock=lambda: 12.0, started=2.0, has_models=has_models)


def forecast(name: str, p: float, usd: float | None) -> Forecast:
    return Forecast(candidate=name, p_success=p, p_low=p, p_high=p, cost_usd=usd, score=p)


def choice(*forecasts: Forecast) -> Choice:
    return Choice(candidate="cheap", propensity=1.0, policy="fixed", reason="because", forecasts=forecasts)


def trial(verdict: Verdict) -> Trial:
    attempt = Attempt(candidate="cheap", patch="p", files=("a.py",))
    return Trial(
        number=1,
        step=STEP,
        context=Context(text=""),
        choice=choice(),
        candidate=CHEAP,
        attempt=attempt,
        whole=attempt,
        verdict=verdict,
    )


def attempt(patch: str) -> Attempt:
    return Attempt(candidate="cheap", patch=patch, files=(patch,) if patch else ())


def test_the_receipt_estimates_the_ablest_model_alone_over_all_steps() -> None:
    known = progress()
    first = choice(
        forecast("cheap", 0.3, 0.01), forecast("strong", 0.8, 0.2), forecast("builtin/repair", 0.9, 0.0)
    )
    known.foresee(first, [CHEAP, STRONG, REPAIR])
    known.foresee(first, [CHEAP, STRONG, REPAIR])
    receipt = known.result(Status.FIXED, "").receipt
    assert (receipt.strongest, receipt.strongest_usd) == ("strong", pytest.approx(0.4))


def test_of_equally_able_models_the_dearer_one_is_the_strongest() -> None:
    known = progress()
    known.foresee(choice(forecast("cheap", 0.5, 0.01), forecast("strong", 0.5, 0.2)), [CHEAP, STRONG])
    assert known.strongest == "strong"


@pytest.mark.parametrize(
    "forecasts", [(), (forecast("cheap", 0.3, None),), (forecast("builtin/repair", 0.9, 0.0),)]
)
def test_without_a_priced_model_there_is_no_estimate(forecasts: tuple[Forecast, ...]) -> None:
    known = progress()
    known.foresee(choice(*forecasts), [CHEAP, REPAIR])
    receipt = known.result(Status.FIXED, "").receipt
    assert (receipt.strongest, receipt.strongest_usd) == ("", None)


def test_a_receipt_tells_money_tokens_and_seconds() -> None:
    known = progress()
    known.budget.charge(0.25)
    known.usage += Usage(input_tokens=10, output_tokens=5, calls=1)
    receipt = known.result(Status.FIXED, "").receipt
    assert (receipt.paid_usd, receipt.seconds, receipt.usage.calls) == (0.25, 10.0, 1)


@pytest.mark.parametrize(
    ("failures", "kept"),
    [
        ([("a", 0.2), ("b", 0.5), ("c", 0.3)], "b"),
        ([("a", 0.5), ("b", 0.5)], "a"),
        ([("", 0.5), ("b", 0.2)], "b"),
        ([("a", 0.2), ("", 0.9)], "a"),
        ([("", 0.2)], ""),
    ],
)
def test_the_best_failed_attempt_with_a_patch_is_kept(failures: list[tuple[str, float]], kept: str) -> None:
    known = progress()
    for patch, u in failures:
        known.failed(attempt(patch), Evidence(u=u))
    result = known.stopped(Status.ERROR, SandboxBroken("gone"))
    assert result.patch == kept
    assert result.files == ((kept,) if kept else ())


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Passed(evidence=Evidence(u=1.0)), Status.FIXED),
        (Unverified(evidence=Evidence(u=0.3)), Status.CHANGED_UNVERIFIED),
        (Failed(evidence=Evidence(u=0.3)), Status.NOT_FIXED),
    ],
)
def test_the_last_verdict_is_the_runs_status(verdict: Verdict, status: Status) -> None:
    known = progress()
    known.finished(STEP, trial(verdict), cost_usd=0.1)
    result = known.conclusion("patch", ("a.py",))
    assert (result.status, result.exit_code) == (status, EXIT_CODES[status])
    assert result.verified == (status is Status.FIXED)


@pytest.mark.parametrize("last", [trial(Void(reason="down")), None])
def test_a_step_that_nobody_finished_is_a_failure_of_the_providers(last: Trial | None) -> None:
    known = progress()
    known.finished(STEP, last, cost_usd=0.0)
    with pytest.raises(ProviderError) as caught:
        known.conclusion("", ())
    assert (
        caught.value.message
        == f"No candidate could finish: {'down' if last else 'no candidate was left to try'}."
    )
    assert known.steps[0].u is None


def test_a_plan_has_no_score() -> None:
    known = progress()
    known.finished(
        replace(STEP, kind=StepKind.PLAN), trial(Unverified(evidence=Evidence(u=0.0))), cost_usd=0.1
    )
    assert [report.u for report in known.steps] == [None]
    known.planned.append(replace(STEP, text="Do  it", files=("a.py",), failures=()))
    result = known.conclusion("", ())
    assert (result.status, result.exit_code) == (Status.PLANNED, 0)
    assert result.summary == "The plan:\n- edit: Do it (a.py); agentic programming"


@pytest.mark.parametrize(
    ("has_models", "patch", "hint"),
    [(False, "p", "acr models add"), (True, "p", "acr apply r"), (True, "", "--attempts 5")],
)
def test_the_hint_of_a_failure_says_what_helps(has_models: bool, patch: str, hint: str) -> None:
    known = progress(has_models=has_models)
    known.advice = "`--attempts 5` lets m try too."
    known.failed(attempt(patch), Evidence(u=0.5, reason="no."))
    known.finished(STEP, trial(Failed(evidence=Evidence(u=0.5, reason="no."))), cost_usd=0.1)
    assert hint in known.conclusion("", ()).hint
