"""Why a candidate was not chosen, and what stands behind the one that was: short phrases. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from acr_cli.cli.words import usd
from acr_cli.records import Context, Forecast

if TYPE_CHECKING:
    from acr_cli.build.routing import Routed

WORTH = "learned"
"""The policy whose scores are USD."""


def why_not(routed: Routed) -> dict[str, str]:
    """A reason for each candidate that was compared and not chosen, in the order of their use."""
    others = [each for each in in_order(routed) if each.candidate != routed.choice.candidate]
    return {each.candidate: _reason(routed, each) for each in others}


def in_order(routed: Routed) -> list[Forecast]:
    """The forecasts: the chosen one, who would follow it, then the others, best score first."""
    place = {rung.candidate: number for number, rung in enumerate(routed.choice.ladder)}
    place[routed.choice.candidate] = -1
    return sorted(routed.choice.forecasts, key=lambda f: (place.get(f.candidate, math.inf), -f.score))


def the_end(routed: Routed) -> str:
    """Why the ladder goes no further."""
    tried = {*routed.context.failed, *(rung.candidate for rung in routed.choice.ladder)}
    left = [f for f in routed.choice.forecasts if f.candidate not in {*tried, *routed.context.unavailable}]
    if not left:
        return "then nobody is left"
    if len(routed.choice.ladder) >= routed.context.attempts:
        return f"then the attempts are used up (attempts = {routed.context.attempts})"
    return "then it stops: nobody else is worth the price, once these have failed"


def attempts_here(context: Context, candidate: str | None = None) -> int:
    """How many outcomes there are in the step's dimension, of all candidates or of one."""
    return sum(
        tally.outcomes
        for tally in context.tallies
        if tally.dimension == context.dimension and candidate in (None, tally.candidate)
    )


def compared(routed: Routed, each: Forecast) -> bool:
    """Whether a candidate's score was worked out: where there are many, only the best for their price are
    looked at in every order. The others have the least score that there is, or 0 where that is more."""
    known = {routed.choice.candidate, *(rung.candidate for rung in routed.choice.ladder)}
    if routed.choice.policy != WORTH or each.candidate in known:
        return True
    scores = [forecast.score for forecast in routed.choice.forecasts]
    return each.score != 0.0 and not (each.score == min(scores) < 0 and scores.count(each.score) > 1)


def record(context: Context, candidate: str) -> str:
    """What a candidate has shown in the step's dimension: "solved 26 of 56", "none yet"."""
    own = [t for t in context.tallies if (t.dimension, t.candidate) == (context.dimension, candidate)]
    passed, tried = sum(t.passed for t in own), sum(t.passed + t.failed for t in own)
    if not tried:
        return "none yet"
    late = sum(t.passed + t.failed for t in own if t.failed_before)
    # Outcomes fade with age: what is left of one is still one.
    solved = f"solved {passed:.0f} of {max(tried, 1):.0f}"
    return f"{solved}, {late:.0f} after others failed" if late >= 0.5 else solved


def _reason(routed: Routed, each: Forecast) -> str:
    if each.candidate in routed.context.failed:
        return "has failed on this step"
    if each.candidate in routed.context.unavailable:
        return "has broken down in this run"
    ladder = [rung.candidate for rung in routed.choice.ladder]
    if each.candidate in ladder:
        before = ladder[ladder.index(each.candidate) - 1]
        return f"{_behind(routed, each)}next if {before} fails"
    if not compared(routed, each):
        return "not among the best for their price"
    if len(ladder) >= routed.context.attempts:
        return f"{_behind(routed, each)}others take the attempts that there are"
    return f"{_behind(routed, each)}not worth its price once the others have failed"


def _behind(routed: Routed, each: Forecast) -> str:
    """How far behind the chosen one; "" where that is not what decided."""
    if routed.choice.policy == "escalate":
        return "not the cheapest; "
    if routed.choice.policy == "fixed":
        return "later in the pool; "
    chosen = routed.choice.forecast(routed.choice.candidate)
    if chosen is None or chosen.score < each.score:
        return ""
    if routed.choice.policy == WORTH:
        return f"worth {usd(chosen.score - each.score)} less; "
    return f"score {each.score:.3f} against {chosen.score:.3f}; "
