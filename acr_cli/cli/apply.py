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
    from acr_cli.worktree.runs import find_run

    invocation: Invocation = ctx.obj
    settings = invocation.settings({"yes": yes or None})
    where = Path.cwd()
    if not yes:
        if not asks():
            raise UsageError(
                "Applying a patch that nothing proves needs your consent.", hint="--yes gives it."
            )
        folder = find_run(settings.home, run) if run else None
        if folder is not None:
            show_patch(invocation.err, folder.patch)
        if not confirmed("Apply this patch to your files?" if folder else "Apply the newest run's patch?"):
            return 0
    result = build.apply_run(settings, where=where, run_id=run, yes=True)
    if as_json:
        shapes.write(shapes.result(result))
    else:
        said = f"Applied {changed_lines(result.patch)} to {listed(result.files)}; `acr undo` reverses it."
        say(invocation.out, said)
    return 0
