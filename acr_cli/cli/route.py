"""`acr route`: what would be chosen, and why; calls no backend."""

from __future__ import annotations

from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.fix import POLICY
from acr_cli.cli.inputs import read_task
from acr_cli.cli.invocation import Invocation

app = group("")


@app.command(cls=Leaf)
def route(
    ctx: typer.Context,
    task: str = typer.Argument(..., metavar="TASK|-", help="The task, as for `acr fix`."),
    explain: bool = typer.Option(
        False, "--explain", help="All that led to it: chances, costs, votes, who follows, why not the others."
    ),
    as_json: bool = typer.Option(False, "--json", help="The same as data."),
    policy: str = POLICY,
) -> int:
    """Show which model would be chosen, and why; no model is called."""
    invocation: Invocation = ctx.obj
    wanted, _ = read_task(task, None, None, None)
    settings = invocation.settings({"policy": policy})
    from acr_cli import build
    from acr_cli.cli import route_shown, shapes

    routed = build.route(settings, where=Path.cwd(), task=wanted.text)
    if as_json:
        shapes.write(shapes.route(routed))
    else:
        route_shown.show(invocation.out, routed, explain=explain)
    return 0
