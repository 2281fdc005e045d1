"""`acr apply`: apply a run's patch that was kept back because nothing proves it."""

from __future__ import annotations

from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import asks, confirmed
from acr_cli.cli.words import changed_lines, listed
from acr_cli.errors import UsageError
from acr_cli.records import SCHEMA

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
    from acr_cli.worktree.repository import open_repository
    from acr_cli.worktree.runs import find_run

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    where = Path.cwd()
    chosen = find_run(settings.home, run, repository=open_repository(where).root)
    if not yes:
        if not asks():
            raise UsageError(
                "Applying a patch that nothing proves needs your consent.", hint="--yes gives it."
            )
        show_patch(invocation.err, chosen.patch)
        if not confirmed(f"Apply this patch of run {chosen.id} to your files?"):
            return 0
    applied, files = build.apply_run(settings, where=where, run_id=chosen.id)
    if as_json:
        shape = {"type": "applied", "schema": SCHEMA, "run": applied.id, "files": list(files)}
        shapes.write({**shape, "patch": applied.patch})
    else:
        changed = f"{changed_lines(applied.patch)} in {listed(files)}"
        say(invocation.out, f"Applied run {applied.id}: {changed}; `acr undo` reverses it.")
    return 0
