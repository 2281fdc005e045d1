"""`acr route`: what would be chosen, and why; calls no backend."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.fix import POLICY
from acr_cli.cli.inputs import read_task
from acr_cli.cli.invocation import Invocation
from acr_cli.events import Event, Notice

app = group("")


@app.command(cls=Leaf)
def route(
    ctx: typer.Context,
    task: str = typer.Argument(..., metavar="TASK|-", help="The task, as for `acr fix`."),
    explain: bool = typer.Option(
        False, "--explain", help="All that led to it: chances, costs, votes, who follows, why not the others."
    ),
    ask: bool = typer.Option(False, "--ask", help="Ask the router model as well, which may cost."),
    as_json: bool = typer.Option(False, "--json", help="The same as data."),
    policy: str = POLICY,
) -> int:
    """Show which model would be chosen, and why; no model is called without --ask."""
    invocation: Invocation = ctx.obj
    wanted, _ = read_task(task, None, None, None)
    settings = invocation.settings({"policy": policy})
    from acr_cli import build
    from acr_cli.cli import route_shown, shapes
    from acr_cli.cli.table import say

    routed = build.route(
        settings, where=Path.cwd(), task=wanted.text, ask=ask, emit=partial(_tell, invocation)
    )
    if as_json:
        shapes.write(shapes.route(routed))
    else:
        route_shown.show(invocation.out, routed, explain=explain)
        if explain and settings.router and not (ask or settings.model):
            say(invocation.out, f"router: {settings.router} was not asked; --ask asks it", "dim")
    return 0


def _tell(invocation: Invocation, event: Event) -> None:
    """What the router said, or why it did not."""
    from acr_cli.cli.table import say

    if isinstance(event, Notice) and not invocation.quiet:
        say(invocation.err, event.text)
