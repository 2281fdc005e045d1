"""`acr apply`: apply a run's patch that was not applied, because nothing proves it or for a dry run."""

from __future__ import annotations

import time

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation, here
from acr_cli.cli.runs import described
from acr_cli.cli.terminal import asks, confirmed
from acr_cli.cli.words import ago, changed_lines, listed
from acr_cli.errors import UsageError
from acr_cli.records import Status
from acr_cli.worktree.runs import RunFolder

app = group("")


@app.command(cls=Leaf)
def apply(
    ctx: typer.Context,
    run: str = typer.Argument(
        None, metavar="RUN", help="Its id, or the beginning of it; otherwise the newest here with a patch."
    ),
    yes: bool = typer.Option(
        False, "--yes", help="Do not ask; without it a patch that no test proves is shown, and asked about."
    ),
    as_json: bool = typer.Option(False, "--json", help="The result as data."),
) -> int:
    """Apply a run's patch that was kept back.

    A verified patch (of --dry-run) is applied without a question; of one that no test proves, or that changes
    what tools run without being asked (CI, .envrc, hooks), you are shown the lines, and asked. Files that
    have changed since are left alone, and so is all else.
    """
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    where = here()
    chosen = build.run_to_apply(invocation.settings(), where=where, run_id=run)
    if not yes and not _consents(chosen, invocation):
        say(invocation.err, "Nothing was applied.")
        return 0
    done = build.apply_run(chosen, where=where)
    if as_json:
        shapes.write(shapes.carried("applied", done.run, done.files, done.patch))
    else:
        changed = f"{changed_lines(done.patch)} in {listed(done.files)}"
        say(invocation.out, f"Applied {_named(chosen)}: {changed}; `acr undo` reverses it.")
    return 0


def _consents(run: RunFolder, invocation: Invocation) -> bool:
    """Whether a patch may be applied: a verified one always, any other once the user has seen it.

    Raises: UsageError where nobody can be asked."""
    from acr_cli import build
    from acr_cli.cli.diff_shown import show_patch

    status = described(run)["status"]
    if not run.patch:
        return True  # what follows says so
    run_unasked = build.run_unasked(run, allowed=invocation.settings().allow_path)
    if run_unasked:
        why = f"changes what tools run without being asked ({listed(list(run_unasked))})"
    elif status == Status.FIXED:
        return True
    else:
        unproved = status == Status.CHANGED_UNVERIFIED
        why = "is proved by no test" if unproved else "does not make the failing tests pass"
    said = f"The patch of {_named(run)} {why}"
    if not asks():
        raise UsageError(
            f"{said}; applying it needs your consent.",
            hint=f"`acr runs show {run.id}` shows it; --yes applies it.",
        )
    show_patch(invocation.err, run.patch)
    return confirmed(f"{said}. Apply it to your files?")


def _named(run: RunFolder) -> str:
    """A run by its id and its age."""
    began = described(run)["time"]
    return f"run {run.id} ({ago(time.time() - began)})" if began else f"run {run.id}"
