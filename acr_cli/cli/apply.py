"""`acr apply`: apply a run's patch that was kept back because nothing proves it."""

from __future__ import annotations

from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import asks, confirmed
from acr_cli.cli.words import changed_lines, listed
from acr_cli.errors import UsageError

app = group("")


@app.command(cls=Leaf)
def apply(
    ctx: typer.Context,
    run: str = typer.Argument(None, metavar="RUN", help="Its id; otherwise the newest here with a patch."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
    as_json: bool = typer.Option(False, "--json", help="The result as data."),
) -> int:
    """Apply a run's patch that was kept back; files that have changed since are left alone."""
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.render import show_patch
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    where = Path.cwd()
    chosen = build.run_to_apply(invocation.settings(), where=where, run_id=run)
    if not yes:
        if not asks():
            raise UsageError(
                "Applying a patch that nothing proves needs your consent.", hint="--yes gives it."
            )
        show_patch(invocation.err, chosen.patch)
        if not confirmed(f"Apply this patch of run {chosen.id} to your files?"):
            return 0
    done = build.apply_run(chosen, where=where)
    if as_json:
        shapes.write(shapes.carried("applied", done.run, done.files, done.patch))
    else:
        changed = f"{changed_lines(done.patch)} in {listed(done.files)}"
        say(invocation.out, f"Applied run {done.run}: {changed}; `acr undo` reverses it.")
    return 0
