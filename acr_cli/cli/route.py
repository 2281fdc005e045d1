"""`acr route`: what would be chosen, and why; calls no backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.fix import POLICY
from acr_cli.cli.inputs import read_task
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.words import percent, usd
from acr_cli.records import Candidate, Choice, Context, Forecast

if TYPE_CHECKING:
    from rich.console import Console

app = group("")


@app.command(cls=Leaf)
def route(
    ctx: typer.Context,
    task: str = typer.Argument(..., metavar="TASK|-", help="The task, as for `acr fix`."),
    explain: bool = typer.Option(False, "--explain", help="Every candidate with its votes, and the ladder."),
    as_json: bool = typer.Option(False, "--json", help="The same as data."),
    policy: str = POLICY,
) -> int:
    """Show which model would be chosen, and why; no model is called."""
    invocation: Invocation = ctx.obj
    wanted, _ = read_task(task, None, None, None)
    settings = invocation.settings({"policy": policy})
    from acr_cli import build

    context, choice, candidates = build.route(settings, where=Path.cwd(), task=wanted.text)
    if as_json:
        from acr_cli.cli import shapes

        shapes.write(shapes.route(context, choice, candidates))
    else:
        show_choice(invocation.out, context, choice, candidates, explain=explain)
    return 0


def show_choice(
    console: Console, context: Context, choice: Choice, candidates: Sequence[Candidate], *, explain: bool
) -> None:
    """The choice and its reason; with `explain` all that led to it."""
    from rich.text import Text

    from acr_cli.cli.table import heading, say, show_table
    from acr_cli.cli.terminal import one_line

    forecast = choice.forecast(choice.candidate)
    expected = ""
    if forecast is not None:
        expected = f"  expects {percent(forecast.p_success)} for {_cost(forecast)}"
    console.print(Text.assemble((one_line(choice.candidate), "bold cyan"), expected), soft_wrap=True)
    say(console, choice.reason)
    if not explain:
        return
    language = f", {context.language}" if context.language else ""
    say(console)
    say(console, f"{context.dimension}{language}; policy {choice.policy}, propensity {choice.propensity:.2f}")
    voters = list(dict.fromkeys(vote.voter for each in choice.forecasts for vote in each.votes))
    ranked = sorted(choice.forecasts, key=lambda each: -each.score)
    say(console)
    show_table(
        console,
        [
            "candidate",
            ">score",
            ">success",
            ">90 % range",
            ">cost",
            *(f">{voter}" for voter in voters),
            "note",
        ],
        [_row(each, voters) for each in ranked],
    )
    _show_notes(console, ranked)
    if choice.neighbours:
        heading(console, "nearest past outcomes")
        show_table(
            console,
            [">similarity", "model", "outcome", ">cost", "task"],
            [
                [
                    f"{n.similarity:.2f}",
                    n.candidate,
                    "passed" if n.passed else "failed",
                    usd(n.cost_usd),
                    n.text,
                ]
                for n in choice.neighbours
            ],
        )
    if choice.ladder:
        heading(console, "if it fails, in this order")
        show_table(
            console,
            ["model", ">success so far", ">cost so far"],
            [[r.candidate, percent(r.p_cumulative), usd(r.cost_cumulative_usd)] for r in choice.ladder],
        )
    if left_out := [c.id for c in candidates if choice.forecast(c.id) is None]:
        say(console)
        say(console, f"not eligible here: {', '.join(left_out)}", "dim")


def _row(each: Forecast, voters: Sequence[str]) -> list[str]:
    votes = {vote.voter: f"{vote.value:.2f} x {vote.weight:g}" for vote in each.votes}
    return [
        each.candidate,
        f"{each.score:.3f}",
        percent(each.p_success),
        f"{each.p_low:.2f}-{each.p_high:.2f}",
        _cost(each),
        *(votes.get(voter, "-") for voter in voters),
        each.note,
    ]


def _show_notes(console: Console, ranked: Sequence[Forecast]) -> None:
    from acr_cli.cli.table import say

    for each in ranked:
        for vote in each.votes:
            if vote.note:
                say(console, f"  {each.candidate}, {vote.voter}: {vote.note}", "dim")


def _cost(each: Forecast) -> str:
    return "an unknown cost" if each.cost_usd is None else usd(each.cost_usd)
