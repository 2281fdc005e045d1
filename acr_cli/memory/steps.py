"""Steps as memory shows them: the first choice and its propensity, the end, and what all of it cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from acr_cli.records import Outcome

BUCKETS = 10
LEAST = 5  # steps in a bucket of the learning curve


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed:
    """One step with credit of its own, all of whose attempts are live."""

    time: float  # Unix time of its first attempt
    dimension: str
    candidate: str  # first choice
    propensity: float  # of the first choice, (0, 1]
    available: tuple[str, ...]  # who could have been the first choice
    first_passed: bool | None  # None: unverified
    passed: bool | None  # in the end
    first_usd: float
    cost_usd: float  # all attempts


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """Steps that follow each other in time. Rates are None without a verified step."""

    start: float  # Unix time of the first
    end: float  # of the last
    steps: int
    first_success: float | None  # share of first choices that passed
    success: float | None  # share of steps that passed in the end
    cost_usd: float  # mean of a step


def routed(outcomes: Iterable[Outcome]) -> tuple[Routed, ...]:
    """The steps of these outcomes in order of time; one whose first attempt is missing is left out. Pure."""
    steps: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.shared_credit:
            steps.setdefault((outcome.run, outcome.step), []).append(outcome)
    found = [_step(sorted(attempts, key=lambda o: o.attempt)) for attempts in steps.values()]
    return tuple(sorted((step for step in found if step is not None), key=lambda step: step.time))


def _step(attempts: Sequence[Outcome]) -> Routed | None:
    first, last = attempts[0], attempts[-1]
    if first.attempt != 1 or not 0 < first.propensity <= 1:
        return None
    return Routed(
        time=first.time,
        dimension=first.dimension,
        candidate=first.candidate,
        propensity=first.propensity,
        available=first.available,
        first_passed=first.passed if first.teaches else None,
        passed=last.passed if last.teaches else None,
        first_usd=first.cost_usd,
        cost_usd=sum(attempt.cost_usd for attempt in attempts),
    )


def learning_curve(steps: Sequence[Routed]) -> tuple[Bucket, ...]:
    """At most `BUCKETS` buckets of equally many steps, at least `LEAST` each, oldest first. Pure."""
    number = max(1, min(BUCKETS, len(steps) // LEAST)) if steps else 0
    edges = [round(i * len(steps) / number) for i in range(number + 1)] if number else []
    return tuple(_bucket(steps[a:b]) for a, b in pairwise(edges))


def _bucket(steps: Sequence[Routed]) -> Bucket:
    firsts = [step.first_passed for step in steps if step.first_passed is not None]
    ends = [step.passed for step in steps if step.passed is not None]
    return Bucket(
        start=steps[0].time,
        end=steps[-1].time,
        steps=len(steps),
        first_success=fmean(firsts) if firsts else None,
        success=fmean(ends) if ends else None,
        cost_usd=fmean(step.cost_usd for step in steps),
    )
