"""`acr memory stats` as tables and small charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acr_cli.cli.charts import bar, line
from acr_cli.cli.runs import day
from acr_cli.cli.table import heading, say, show_table
from acr_cli.cli.words import count, number, percent, seconds, size, usd
from acr_cli.errors import BudgetExhausted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from acr_cli.memory.savings import Saved
    from acr_cli.memory.stats import Group, Interval, MemoryStats
    from acr_cli.settings import Settings

LEAST = 2  # points of a line


def show_stats(
    console: Console, known: MemoryStats, *, paid: Mapping[str, float] | None = None, unknown: str = ""
) -> None:
    """Totals, what was saved, a table for models, dimensions and both, and the learning curve.

    `paid` is USD of all runs this "day" and "month"; `unknown` is why nobody can say."""
    _show_totals(console, known)
    if paid is not None:
        spent = f"{usd(paid['day'])} today, {usd(paid['month'])} this month"
        say(console, f"all runs paid {spent}, also for what came to nothing")
    if unknown:
        say(console, unknown, "yellow")
    if known.oldest is None:
        return
    span = f"from {day(known.oldest)} to {day(known.newest or 0)}"
    say(console, f"{span}, embedded by {known.embedder or 'none'}")
    say(console, f"these outcomes cost {usd(known.total_usd)} and {seconds(known.total_seconds)}")
    _show_saved(console, known.saved, "always the strongest")
    _show_saved(console, known.saved_cheapest, "always the cheapest")
    _show_groups(console, known)
    _show_curve(console, known)


def paid_by_all(settings: Settings) -> tuple[dict[str, float] | None, str]:
    """What all runs paid this "day" and "month", or why that is unknown."""
    from acr_cli import build

    try:
        return build.paid(settings), ""
    except BudgetExhausted as error:
        return None, error.message


def _show_totals(console: Console, known: MemoryStats) -> None:
    bound = "" if known.narrowed else f" of at most {number(known.bound)}, {size(known.bytes)}"
    say(console, f"{count(known.outcomes, 'outcome')}{bound}")
    if known.evicted:
        say(console, f"{count(known.evicted, 'older outcome')} folded into the numbers")
    if known.damaged:
        say(console, f"{count(known.damaged, 'damaged outcome')} set aside", "yellow")


def _show_saved(console: Console, saved: Saved, against: str) -> None:
    named = f"{against} ({saved.reference})" if saved.reference else against
    if saved.estimate is None or saved.low is None or saved.high is None:
        say(console, f"no estimate of what was saved against {named}: {saved.reason}", "dim")
        return
    span = f"{signed(saved.low)} to {signed(saved.high)}"
    text = f"saved about {signed(saved.estimate)} ({span}) against {named}"
    if saved.success is not None and saved.own_success is not None:
        text += f", which would succeed at {percent(saved.success)} where {percent(saved.own_success)} did"
    say(console, text)


def signed(amount: float) -> str:
    """An amount of money that may be a loss. Pure."""
    return f"-{usd(-amount)}" if amount < 0 else usd(amount)


def _show_groups(console: Console, known: MemoryStats) -> None:
    plain = not console.encoding.lower().startswith("utf")
    columns = [">outcomes", ">success, raw", "", ">mean u", ">mean cost"]
    extra = ["success, adjusted"] if known.adjusted else []
    say(console)
    rows = [
        [name, *_numbers(each, plain=plain), *([_interval(known.adjusted.get(name))] if extra else [])]
        for name, each in known.models.items()
    ]
    show_table(console, ["model", *columns, *extra], rows)
    say(console)
    rows = [[name, *_numbers(each, plain=plain)] for name, each in known.dimensions.items()]
    show_table(console, ["dimension", *columns], rows)
    if len(known.models) > 1 and len(known.dimensions) > 1:
        say(console)
        rows = [[pair.model, pair.dimension, *_numbers(pair, plain=plain)] for pair in known.pairs]
        show_table(console, ["model", "dimension", *columns], rows)


def _numbers(group_: Group, *, plain: bool) -> list[str]:
    verified = group_.passed + group_.failed
    rate = f"{percent(group_.success_rate)} of {verified}" if group_.success_rate is not None else "-"
    mean_u = f"{group_.mean_u:.2f}" if group_.mean_u is not None else "-"
    length = bar(group_.success_rate, plain=plain)
    return [number(group_.outcomes), rate, length, mean_u, usd(group_.mean_cost_usd)]


def _interval(known: Interval | None) -> str:
    return f"{percent(known.mean)} ({percent(known.low)} to {percent(known.high)})" if known else "-"


def _show_curve(console: Console, known: MemoryStats) -> None:
    if len(known.curve) < LEAST:
        return
    plain = not console.encoding.lower().startswith("utf")
    dearest = max(bucket.cost_usd for bucket in known.curve)
    heading(console, "success at first choice, over time")
    firsts = [bucket.first_success for bucket in known.curve]
    for text in line(firsts, top=1.0, labels=("0 %", "100 %"), plain=plain):
        console.print(text, soft_wrap=True)
    heading(console, "cost of a step, over time")
    costs = [bucket.cost_usd for bucket in known.curve]
    for text in line(costs, top=dearest, labels=("$0", usd(dearest)), plain=plain):
        console.print(text, soft_wrap=True)
    say(console)
    rows = [
        [
            day(bucket.start),
            number(bucket.steps),
            percent(bucket.first_success) if bucket.first_success is not None else "-",
            percent(bucket.success) if bucket.success is not None else "-",
            usd(bucket.cost_usd),
        ]
        for bucket in known.curve
    ]
    show_table(console, ["=from", ">steps", ">first choice passed", ">passed", ">cost of a step"], rows)
