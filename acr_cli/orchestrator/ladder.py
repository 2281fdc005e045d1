"""The ladder of escalation: who would come next, each failure known to the one after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from acr_cli.records import Context, Forecast, Rung


def ladder(context: Context, rank: Callable[[Context], Sequence[Forecast]]) -> tuple[Rung, ...]:
    """The rungs of a step, up to the attempts that are left. Pure.

    `rank` puts those in order who are left. Chances and costs (expected, USD) add up: a rung costs only where
    all before it have failed."""
    rungs: list[Rung] = []
    missed, cost = 1.0, 0.0
    attempts = context.attempts
    while len(rungs) < attempts and (left := rank(context)):
        following = left[0]
        cost += missed * (following.cost_usd or 0.0)
        missed *= 1 - following.p_success
        rungs.append(Rung(candidate=following.candidate, p_cumulative=1 - missed, cost_cumulative_usd=cost))
        context = replace(context, failed=(*context.failed, following.candidate))
    return tuple(rungs)


def still_there(context: Context, ranked: Sequence[Forecast]) -> list[Forecast]:
    """Those that have neither failed nor broken on this step, in their order. Pure."""
    gone = {*context.failed, *context.unavailable}
    return [forecast for forecast in ranked if forecast.candidate not in gone]
