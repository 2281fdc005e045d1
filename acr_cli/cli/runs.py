"""`acr runs`: past runs."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation, here
from acr_cli.cli.terminal import one_line
from acr_cli.cli.words import age, count, usd
from acr_cli.errors import UsageError
from acr_cli.events import Emit
from acr_cli.records import EXIT_CODES, SCHEMA, RunResult, Status
from acr_cli.worktree.runs import RunFolder, find_run

app = group("Past runs.")


@app.command("list", cls=Leaf)
def list_(
    ctx: typer.Context,
    limit: str = typer.Option("20", "-n", metavar="N", help="The newest N."),
    everywhere: bool = typer.Option(False, "--all", help="Of all repositories, also inside one."),
    status: str = typer.Option(None, metavar="STATUS,...", help="Only those that ended so: fixed, killed."),
    since: str = typer.Option(None, metavar="DURATION", help="Only those of this time: 2h, 7d."),
    as_json: bool = typer.Option(False, "--json", help="One run a line, as data."),
) -> int:
    """List runs, newest first.

    Inside a repository these are its own runs, elsewhere and with --all those of all repositories.
    """
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table
    from acr_cli.settings import BY_NAME, parse

    invocation: Invocation = ctx.obj
    root = None if everywhere else _repository_here()
    most = whole(limit, "-n")
    wanted = _statuses(status)
    oldest = time.time() - parse(BY_NAME["max_time"], since, "--since", UsageError) if since else 0.0
    known = (described(run) for run in build.runs(invocation.settings()))
    fitting = (
        run
        for run in known
        if (root is None or run["repository"] == str(root))
        and (not wanted or run["status"] in wanted)
        and run["time"] >= oldest
    )
    runs = list(islice(fitting, most))
    if as_json:
        for run in runs:
            shapes.write({"type": "run", "schema": SCHEMA, **run})
    elif not runs and (wanted or since):
        say(invocation.out, "No run fits.")
    elif not runs:
        say(
            invocation.out,
            f"No run of {root}; --all lists those of all repositories." if root else "No run yet.",
        )
    else:
        columns = ["=run", "=age", "status", ">cost", *([] if root else ["repository"]), "what"]
        show_table(invocation.out, columns, [_row(run, named=root is None) for run in runs])
    return 0


def _statuses(text: str | None) -> frozenset[str]:
    """The statuses of a flag; empty: all. Raises: UsageError."""
    known = (*(each.value for each in Status), "running", "killed")
    names = [name.strip().replace("-", "_").replace(" ", "_") for name in (text or "").split(",")]
    for name in filter(None, names):
        if name not in known:
            raise UsageError(f"--status knows no {name!r}.", hint=f"It takes {', '.join(known)}.")
    return frozenset(filter(None, names))


def _repository_here() -> Path | None:
    """The root of the repository that the user stands in, if any; git, which is slow, is not asked."""
    place = here().resolve()
    return next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)


def _row(run: Mapping[str, Any], *, named: bool) -> list[str]:
    """A run as a line of the table; `named`: with its repository."""
    repository = [one_line(PurePath(run["repository"]).name, 20)] if named else []
    when = age(time.time() - run["time"]) if run["time"] else "-"
    return [run["run"], when, _how(run), usd(run["cost_usd"]), *repository, _what(run)]


@app.command(cls=Leaf)
def show(
    ctx: typer.Context,
    run: str = typer.Argument(..., metavar="RUN", help="Its id, or the beginning of it."),
    as_json: bool = typer.Option(False, "--json", help="Its events and its result as JSON lines."),
) -> int:
    """Show what a run did, its patch and its result."""
    from acr_cli.cli import shapes
    from acr_cli.cli.diff_shown import show_patch
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
    for label, value in {**known, "status": _how(known)}.items():
        if value and label in ("run", "repository", "task", "status", "summary"):
            say(console, f"{label:<11}{value}")
    say(console, f"{'time':<11}{day(known['time'])}")
    say(console, f"{'cost':<11}{usd(known['cost_usd'])}")
    for event in folder.events():
        if line := _line(event):
            say(console, f"{'':<11}{line}", "dim")
    if patch := folder.patch:
        sys.stdout.flush()
        show_patch(console, patch)
    return 0


@app.command(cls=Leaf)
def resume(
    ctx: typer.Context,
    run: str = typer.Argument(..., metavar="RUN", help="Its id, or the beginning of it."),
    max_cost: str = typer.Option(None, metavar="USD", help="Most to spend, what is spent included."),
    max_steps: str = typer.Option(None, metavar="N", help="Most steps, those taken included."),
    max_time: str = typer.Option(None, metavar="DURATION", help="Most time from now on."),
    yes: bool = typer.Option(False, "--yes", help="Answer every question with yes."),
    as_json: bool = typer.Option(
        False, "--json", help="One JSON event a line on stdout; the result is the last."
    ),
) -> int:
    """Go on with a run that was killed, interrupted or stopped by its budget.

    It goes on at the last finished step, with the flags that it was begun with and from your files as they
    were then; what it has spent counts on.
    """
    from acr_cli import build
    from acr_cli.cli.asking import who_answers
    from acr_cli.cli.fix import carried_out
    from acr_cli.cli.shapes import JsonLines

    invocation: Invocation = ctx.obj
    lines = JsonLines()
    if as_json:
        invocation.on_failure = lines.fail
    chosen = find_run(invocation.settings().home, run)
    if (status := build.ended(invocation.settings(), chosen)) is not None:
        return _at_its_end(invocation, chosen, status, as_json=as_json)
    flags: dict[str, object] = {**build.flags_of(chosen), **({"yes": True} if yes else {})}
    given = {"max_cost": max_cost, "max_steps": max_steps, "max_time": max_time}
    flags |= {name: value for name, value in given.items() if value}
    _enter(chosen)
    settings = invocation.settings(flags)

    def work(emit: Emit, close: Callable[[], None]) -> RunResult:
        asked = who_answers(settings, invocation, close)
        return build.resume(settings, run=chosen, emit=emit, asks=asked)

    return carried_out(invocation, lines if as_json else None, work, lambda: settings)


@app.command(cls=Leaf)
def replay(
    ctx: typer.Context,
    run: str = typer.Argument(..., metavar="RUN", help="Its id, or the beginning of it."),
    as_json: bool = typer.Option(False, "--json", help="One JSON event a line; the outcome is the last."),
) -> int:
    """Do again what a run did, from the replies that it recorded, and compare the patches.

    No model is called and nothing is paid, remembered or applied; the tests run again, in the sandbox. Exit
    codes: 0 the same patch, byte by byte; 1 another one, or the run cannot be done again.
    """
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.diff_shown import show_patch
    from acr_cli.cli.render import Screen
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    chosen = find_run(invocation.settings().home, run)
    flags = build.flags_of(chosen)
    _enter(chosen)
    settings = invocation.settings(flags)
    screen = Screen(invocation.err, quiet=invocation.quiet, verbose=invocation.verbose)
    try:
        emit = shapes.JsonLines().emit if as_json else screen.emit
        done = build.replay(settings, run=chosen, emit=emit)
    finally:
        screen.close()
    result = done.result
    invocation.ends = 0 if done.identical else 1
    if as_json:
        about = {"run": chosen.id, "identical": done.identical, "status": result.status.value}
        shapes.write({"type": "replay", "schema": SCHEMA, **about, "patch": result.patch, "reason": done.why})
    elif done.identical:
        size = len(chosen.patch.encode(errors="surrogateescape"))
        say(invocation.out, f"The replay of {chosen.id} makes the same patch, byte by byte ({size} bytes).")
    elif done.why:
        say(invocation.out, f"The replay of {chosen.id} could not do the same. {done.why}")
    else:
        say(invocation.out, f"The replay of {chosen.id} makes another patch:")
        show_patch(invocation.out, result.patch)
    return invocation.ends


def _enter(run: RunFolder) -> None:
    """Stand in the run's repository, whose settings count. Raises: UsageError."""
    place = str(run.describe().get("repository", ""))
    try:
        os.chdir(place)
    except OSError as error:
        raise UsageError(
            f"The repository of {run.id} is not there any more: {place or 'unknown'}."
        ) from error


def _at_its_end(invocation: Invocation, run: RunFolder, status: Status, *, as_json: bool) -> int:
    """What `acr runs resume` says of a run with nothing left to do. The exit code is the run's."""
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say

    state = run.describe()
    if as_json:
        shapes.write({"type": "run", "schema": SCHEMA, **described(run), "patch": run.patch})
    else:
        how = "applied" if state.get("applied") else _how({"status": status.value, "applied": False})
        how += ", and taken back since" if state.get("undone") else ""
        say(invocation.out, f"The run {run.id} is at its end ({how}): nothing is left to do.")
    code = None if state.get("applied") else state.get("exit_code")  # of a fix that was not applied, it is 1
    return code if isinstance(code, int) else EXIT_CODES.get(status, 1)


def _how(run: Mapping[str, Any]) -> str:
    """How a run ended, for people: of a verified patch, whether it is applied. Pure."""
    if run["status"] == Status.FIXED and not run["applied"]:
        return "verified, not applied"
    return str(run["status"]).replace("_", " ")


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
        "cost_usd": _number(known.get("cost_usd")) or _spent(run, known),
        "files": [str(name) for name in files] if isinstance(files, list) else [],
        "summary": str(known.get("summary", "")),
    }


def _spent(run: RunFolder, known: Mapping[str, Any]) -> float:
    """What a run that was cut short had spent until its last finished step."""
    cut_short = known.get("status") in ("running", "killed", "interrupted", "error")
    reached = run.kept("checkpoint.json") if cut_short else None
    return _number(reached.get("spent_usd")) if isinstance(reached, dict) else 0.0


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
    if not text.isascii() or not text.isdigit() or not text.strip("0"):
        raise UsageError(f"{name} must be a whole number of at least 1, not {text!r}.")
    if len(text) > len(str(most)) or int(text) > most:
        raise UsageError(f"{name} must be at most {most}.")
    return int(text)
