"""`acr runs`: past runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import one_line
from acr_cli.cli.words import age, count, usd
from acr_cli.records import SCHEMA
from acr_cli.worktree.runs import RunFolder, find_run

app = group("Past runs.")


@app.command("list", cls=Leaf)
def list_(
    ctx: typer.Context,
    limit: str = typer.Option("20", "-n", metavar="N", help="The newest N."),
    everywhere: bool = typer.Option(False, "--all", help="Of all repositories, also inside one."),
    as_json: bool = typer.Option(False, "--json", help="One run a line, as data."),
) -> int:
    """List runs, newest first.

    Inside a repository these are its own runs, elsewhere and with --all those of all repositories.
    """
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table

    invocation: Invocation = ctx.obj
    here = None if everywhere else _repository_here()
    most = whole(limit, "-n")
    known = (described(run) for run in build.runs(invocation.settings()))
    runs = list(islice((run for run in known if here is None or run["repository"] == str(here)), most))
    if as_json:
        for run in runs:
            shapes.write({"type": "run", "schema": SCHEMA, **run})
    elif not runs:
        say(
            invocation.out,
            f"No run of {here}; --all lists those of all repositories." if here else "No run yet.",
        )
    else:
        columns = ["=run", "=age", "status", ">cost", *([] if here else ["repository"]), "what"]
        show_table(invocation.out, columns, [_row(run, named=here is None) for run in runs])
    return 0


def _repository_here() -> Path | None:
    """The root of the repository that the user stands in, if any; git, which is slow, is not asked."""
    place = Path.cwd().resolve()
    return next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)


def _row(run: Mapping[str, Any], *, named: bool) -> list[str]:
    """A run as a line of the table; `named`: with its repository."""
    repository = [one_line(PurePath(run["repository"]).name, 20)] if named else []
    when = age(time.time() - run["time"]) if run["time"] else "-"
    status = run["status"].replace("_", " ")
    return [run["run"], when, status, usd(run["cost_usd"]), *repository, _what(run)]


@app.command(cls=Leaf)
def show(
    ctx: typer.Context,
    run: str = typer.Argument(..., metavar="RUN", help="Its id, or the beginning of it."),
    as_json: bool = typer.Option(False, "--json", help="Its events and its result as JSON lines."),
) -> int:
    """Show what a run did, its patch and its result."""
    from acr_cli.cli import shapes
    from acr_cli.cli.render import show_patch
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    folder = find_run(invocation.settings().home, run)
    known = described(folder)
    if as_json:
        for event in folder.events():
            shapes.write(event)
        shapes.write({"type": "run", "schema": SCHEMA, **known, "patch": folder.patch})
        return 0
    console = invocation.out
    for label in ("run", "repository", "task", "status", "summary"):
        if known[label]:
            say(console, f"{label:<11}{known[label]}")
    say(console, f"{'time':<11}{day(known['time'])}")
    say(console, f"{'cost':<11}{usd(known['cost_usd'])}")
    for event in folder.events():
        if line := _line(event):
            say(console, f"{'':<11}{line}", "dim")
    if patch := folder.patch:
        sys.stdout.flush()
        show_patch(console, patch)
    return 0


def described(run: RunFolder) -> dict[str, Any]:
    """What `acr runs` says of a run; a run that was cut short says less."""
    known = run.describe()
    files = known.get("files")
    return {
        "run": run.id,
        "time": _number(known.get("time")),
        "repository": str(known.get("repository", "")),
        "task": str(known.get("task", "")),
        "status": str(known.get("status", "unknown")),
        "applied": bool(known.get("applied")),
        "cost_usd": _number(known.get("cost_usd")),
        "files": [str(name) for name in files] if isinstance(files, list) else [],
        "summary": str(known.get("summary", "")),
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _what(run: Mapping[str, Any]) -> str:
    files = f"  ({count(len(run['files']), 'file')})" if run["files"] else ""
    return one_line(run["task"] or "make the failing tests pass", 50) + files


def _line(event: Mapping[str, Any]) -> str:
    """One line of a logged event; "" for those that say nothing afterwards."""
    match event:
        case {"type": "choice", "choice": {"candidate": candidate, "reason": reason}}:
            return f"chose {candidate}: {reason}"
        case {"type": "attempt", "attempt": {"candidate": candidate, "summary": summary, "void": void}}:
            return f"{candidate}: {void or summary or 'done'}"
        case {"type": "verdict", "candidate": candidate, "verdict": {"kind": kind, "reason": reason}}:
            return f"{candidate}: {kind}. {reason}"
        case {"type": "notice", "text": text}:
            return str(text)
        case _:
            return ""


def day(moment: float) -> str:
    """Unix time as local date and time; "-" for none, or for one that no calendar holds."""
    try:
        return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M") if moment else "-"
    except (OverflowError, ValueError, OSError):
        return "-"


def whole(text: str, name: str, *, most: int = 1_000_000_000) -> int:
    """A count given as a flag. Raises: UsageError."""
    from acr_cli.errors import UsageError

    if not text.isascii() or not text.isdigit() or not text.strip("0"):
        raise UsageError(f"{name} must be a whole number of at least 1, not {text!r}.")
    if len(text) > len(str(most)) or int(text) > most:
        raise UsageError(f"{name} must be at most {most}.")
    return int(text)
