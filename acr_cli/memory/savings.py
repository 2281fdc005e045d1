"""What another way of choosing would have cost, from the records of this one: doubly robust.

For a way that always takes candidate a, the cost of step i is estimated by
    m(a, i) + [first choice was a] / propensity * (cost of that attempt - m(a, i))
with m a mean fitted by candidate and dimension. The first part is right when the means are, the second when
the propensities are, which are recorded: either suffices (Dudik, Langford and Li, 2011, equation 1). Success
likewise. Only first choices count: who is asked after a failure sees harder tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance

from acr_cli.memory.steps import Routed

ENOUGH = 30.0
"""Effective sample size below which nothing is claimed."""

PULL = 3.0
"""So many steps at the candidate's own mean pull the mean of a dimension towards it."""

Z = 1.96  # half-width of a 95 % interval, in standard deviations
TOO_LITTLE = "not enough evidence"


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What the live steps would have cost with one attempt of `reference` each, less what they did cost.

    May be negative. `low` and `high` are a 95 % interval. `success` is that of the reference at one attempt,
    `own_success` what the same steps reached in the end; None where nothing is claimed."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    reference: str = ""
    steps: int = 0  # in which the reference could have been taken
    effective: float = 0.0  # sample size, as good as so many steps that took the reference anyway
    success: float | None = None
    own_success: float | None = None
    reason: str = ""  # why there is no estimate


def strongest(steps: Sequence[Routed], adjusted: Mapping[str, tuple[float, float, float]]) -> str:
    """The candidate that succeeds most: by difficulty-adjusted success where that is known, else by the lower
    end of its success as a first choice; then the dearest. "" without any. Pure."""
    names = {name for step in steps for name in step.available}
    firsts = [(s.candidate, s.first_passed) for s in steps if s.first_passed is not None]

    def success(name: str) -> float:
        if name in adjusted:
            return adjusted[name][0]
        known = [passed for candidate, passed in firsts if candidate == name]
        return _low(sum(known), len(known))

    ranked = [(success(name), _mean_cost(steps, name) or 0.0, name) for name in names]
    return max(ranked)[2] if ranked else ""


def _low(passed: int, number: int) -> float:
    """The lower end of the 95 % interval of a rate (Wilson, 1927)."""
    if not number:
        return 0.0
    rate, z2 = passed / number, Z * Z
    return (rate + z2 / (2 * number) - Z * sqrt((rate * (1 - rate) + z2 / (4 * number)) / number)) / (
        1 + z2 / number
    )


def cheapest(steps: Sequence[Routed]) -> str:
    """The candidate whose attempts as a first choice cost least, or "". Pure."""
    names = {step.candidate for step in steps}
    ranked = [(cost, name) for name in names if (cost := _mean_cost(steps, name)) is not None]
    return min(ranked)[1] if ranked else ""


def _mean_cost(steps: Sequence[Routed], name: str) -> float | None:
    paid = [step.first_usd for step in steps if step.candidate == name]
    return fmean(paid) if paid else None


def saved(steps: Sequence[Routed], reference: str) -> Saved:
    """See `Saved`. Pure."""
    steps = [step for step in steps if reference in step.available]
    if not steps:
        return Saved(reference=reference, reason="no outcome yet")
    if len({name for step in steps for name in step.available}) < 2:
        return Saved(reference=reference, reason="only one model was used")
    weights = [1 / step.propensity for step in steps if step.candidate == reference]
    effective = sum(weights) ** 2 / sum(w * w for w in weights) if weights else 0.0
    told = Saved(reference=reference, steps=len(steps), effective=effective, reason=TOO_LITTLE)
    if effective < ENOUGH:
        return told
    costs = _values(steps, reference, lambda step: step.first_usd)
    differences = [cost - step.cost_usd for cost, step in zip(costs, steps, strict=True)]
    half = Z * sqrt(len(steps) * variance(differences))
    graded = [step for step in steps if step.first_passed is not None]
    success = _values(graded, reference, lambda step: float(bool(step.first_passed)))
    ends = [step.passed for step in steps if step.passed is not None]
    return Saved(
        estimate=sum(differences),
        low=sum(differences) - half,
        high=sum(differences) + half,
        reference=reference,
        steps=len(steps),
        effective=effective,
        success=min(max(fmean(success), 0.0), 1.0) if success else None,
        own_success=fmean(ends) if ends else None,
    )


def _values(steps: Sequence[Routed], reference: str, value: Callable[[Routed], float]) -> list[float]:
    """The doubly robust value of each step, had the reference been taken."""
    seen = [step for step in steps if step.candidate == reference]
    if not seen:
        return []
    mean = fmean(value(step) for step in seen)
    fitted: dict[str, float] = {}
    for dimension in {step.dimension for step in steps}:
        own = [value(step) for step in seen if step.dimension == dimension]
        fitted[dimension] = (sum(own) + PULL * mean) / (len(own) + PULL)
    return [
        fitted[step.dimension]
        + ((value(step) - fitted[step.dimension]) / step.propensity if step.candidate == reference else 0.0)
        for step in steps
    ]
