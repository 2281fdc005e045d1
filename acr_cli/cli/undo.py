"""`acr undo`: reverse exactly the patch of a run."""

from __future__ import annotations

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation, here
from acr_cli.cli.words import listed

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
    where = here()
    settings = invocation.settings()
    chosen = build.run_to_undo(settings, where=where, run_id=run)
    done = build.undo_run(settings, chosen, where=where, tell=lambda text: say(invocation.err, text))
    if as_json:
        shapes.write(shapes.carried("undone", done.run, done.files, done.patch))
    else:
        say(invocation.out, f"Reversed run {done.run} in {listed(done.files)}.")
    return 0
