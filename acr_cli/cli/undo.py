"""`acr undo`: reverse exactly the patch of a run."""

from __future__ import annotations

from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.words import listed
from acr_cli.records import SCHEMA

app = group("")


@app.command(cls=Leaf)
def undo(
    ctx: typer.Context,
    run: str = typer.Argument(
        None, metavar="RUN", help="Its id; otherwise the newest here that was applied."
    ),
    as_json: bool = typer.Option(False, "--json", help="The result as data."),
) -> int:
    """Reverse exactly the patch of a run; what was changed since stays."""
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    undone, files = build.undo(invocation.settings(), where=Path.cwd(), run_id=run)
    if as_json:
        shapes.write({"type": "undone", "schema": SCHEMA, "run": undone.id, "files": list(files)})
    else:
        say(invocation.out, f"Reversed run {undone.id} in {listed(files)}.")
    return 0
