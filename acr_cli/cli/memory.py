"""`acr memory`: what acr remembers of past outcomes."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.runs import day, whole
from acr_cli.cli.terminal import asks, confirmed, one_line
from acr_cli.cli.words import count, listed, number, usd
from acr_cli.errors import UsageError
from acr_cli.records import SCHEMA, Dimension, Outcome
from acr_cli.settings.keys import either

if TYPE_CHECKING:
    from acr_cli.memory.store import Memory

app = group("What acr remembers of past outcomes.")

LAST = 50  # outcomes in a report
VERDICTS = ("passed", "failed", "unverified")
JSON = typer.Option(False, "--json", help="As data.")


@app.command(cls=Leaf)
def stats(
    ctx: typer.Context,
    model: str = typer.Option(None, metavar="MODEL", help="Of this model."),
    dimension: str = typer.Option(
        None, metavar="DIMENSION", help=f"Of this dimension: {', '.join(Dimension)}."
    ),
    repository: str = typer.Option(None, "--repo", metavar="DIR|ID", help="Of this repository."),
    since: str = typer.Option(None, metavar="DATE", help="No older than this, as 2026-01-31."),
    as_json: bool = JSON,
) -> int:
    """Show success and cost by model and dimension, what was saved, and how acr has learnt."""
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.memory_stats import paid_by_all, show_stats

    invocation: Invocation = ctx.obj
    _check_choice("--dimension", dimension, tuple(Dimension))
    settings = invocation.settings()
    known = build.statistics(
        settings,
        candidate=model,
        dimension=dimension,
        repository=_identity(repository),
        since=_time(since, "--since"),
    )
    paid, unknown = (None, "") if known.narrowed else paid_by_all(settings)
    if as_json:
        shapes.write({**known.as_json(), "paid_usd": paid})
    else:
        show_stats(invocation.out, known, paid=paid, unknown=unknown)
    return 0


@app.command("list", cls=Leaf)
def list_(
    ctx: typer.Context,
    limit: str = typer.Option("20", "-n", metavar="N", help="The newest N."),
    model: str = typer.Option(None, metavar="MODEL", help="Of this model."),
    dimension: str = typer.Option(
        None, metavar="DIMENSION", help=f"Of this dimension: {', '.join(Dimension)}."
    ),
    verdict: str = typer.Option(None, metavar="passed|failed|unverified", help="With this verdict."),
    as_json: bool = JSON,
) -> int:
    """List outcomes, newest first."""
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table

    invocation: Invocation = ctx.obj
    _check_choice("--dimension", dimension, tuple(Dimension))
    _check_choice("--verdict", verdict, VERDICTS)
    store = build.memory(invocation.settings())
    outcomes = store.list(whole(limit, "-n"), candidate=model, dimension=dimension, verdict=verdict)
    if as_json:
        for outcome in outcomes:
            shapes.write(outcome_shape(outcome))
    elif not outcomes:
        say(invocation.out, "No outcome.")
    else:
        columns = ["=id", "=time", "model", "dimension", "verdict", ">u", ">cost", "task"]
        show_table(invocation.out, columns, [_row(outcome) for outcome in outcomes])
    return 0


def _check_choice(flag: str, given: str | None, choices: Sequence[str]) -> None:
    """Raises: UsageError for a value that no outcome has."""
    if given is not None and given not in choices:
        raise UsageError(f"{flag} must be {either(choices)}, not {given!r}.")


def _row(outcome: Outcome) -> list[str]:
    return [
        outcome.id,
        day(outcome.time),
        outcome.candidate,
        outcome.dimension,
        outcome.verdict,
        f"{outcome.u:.2f}",
        usd(outcome.cost_usd),
        one_line(outcome.text, 50),
    ]


def outcome_shape(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: every field but the vector, whose length stands instead. Pure."""
    record = asdict(outcome)
    del record["vector"]
    return {"type": "outcome", "schema": SCHEMA, **record, "vector_size": len(outcome.vector)}


@app.command(cls=Leaf)
def show(
    ctx: typer.Context,
    id_: str = typer.Argument(..., metavar="ID", help="Of the outcome, or the beginning of it."),
    as_json: bool = JSON,
) -> int:
    """Show everything that is kept of one outcome."""
    from acr_cli import build
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    store = build.memory(invocation.settings())
    outcome = _found(store, id_)
    if as_json:
        shapes.write(outcome_shape(outcome))
        return 0
    for name, value in outcome_shape(outcome).items():
        if name not in ("type", "schema", "signals", "usage", "price", "embedder", "vector_size"):
            shown = day(value) if name == "time" else value
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else shown
            say(invocation.out, f"{name:<15}{shown}")
    for signal in outcome.signals:
        said = f"{signal.name} {signal.value:.2f} x {signal.weight:g}  {signal.note}"
        say(invocation.out, f"{'signal':<15}{said}")
    say(invocation.out, f"{'vector':<15}{len(outcome.vector)} numbers of {outcome.embedder or 'no embedder'}")
    say(invocation.out, f"{'kept in':<15}{store.folder}")
    tokens = f"{number(outcome.usage.input_tokens)} in, {number(outcome.usage.output_tokens)} out"
    say(invocation.out, f"{'tokens':<15}{tokens}, {count(outcome.usage.calls, 'call')}")
    return 0


def _found(store: Memory, id_: str) -> Outcome:
    """The outcome of this id or unique beginning. Raises: UsageError, StoreError."""
    if exact := store.get(id_):
        return exact
    begun = [each for each in store.list(store.stats().outcomes) if id_ and each.id.startswith(id_)]
    if len(begun) > 1:
        which = listed([each.id for each in begun])
        raise UsageError(f"{id_!r} is the beginning of several outcomes: {which}.", hint="Give more of it.")
    if not begun:
        raise UsageError(f"There is no outcome {id_!r}.", hint="`acr memory list` shows them.")
    return begun[0]


@app.command(cls=Leaf)
def forget(
    ctx: typer.Context,
    ids: list[str] = typer.Argument(None, metavar="ID", help="These outcomes."),
    model: str = typer.Option(None, metavar="MODEL", help="All of this model."),
    repository: str = typer.Option(
        None, metavar="DIR|ID", help="All of this repository: its folder, or as `acr memory show` names it."
    ),
    before: str = typer.Option(None, metavar="DATE", help="All that are older, as 2026-01-31."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
) -> int:
    """Remove outcomes for good: those for which all that is given holds.

    Their number is shown and asked about first.
    """
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    wanted: Mapping[str, Any] = {
        "ids": tuple(ids or ()),
        "candidate": model,
        "repository": _identity(repository),
        "before": _time(before, "--before"),
    }
    if not any(wanted.values()):
        raise UsageError("What is to be forgotten?", hint="Give an id, --model, --repository or --before.")
    settings = invocation.settings()
    store = build.memory(settings)
    for id_ in ids or ():
        if store.get(id_) is None:
            raise UsageError(f"There is no outcome {id_!r}.", hint="`acr memory list` shows them.")
    known = store.stats()
    number_ = len(store.list(known.outcomes, **wanted))
    criteria = _criteria(ids or (), model, repository, before)
    older = bool(known.evicted and not ids)
    if not number_ and not older:
        say(invocation.out, f"Nothing was forgotten: there is no outcome{criteria}.")
        return 0
    chosen = count(number_, "outcome") + criteria
    chosen += ", and what older ones left in the statistics" if older else ""
    if not yes:
        if not asks():
            raise UsageError(
                f"Forgetting {chosen} cannot be undone and needs your consent.", hint="--yes gives it."
            )
        if not confirmed(f"Forget {chosen}, for good?"):
            say(invocation.err, "Nothing was forgotten.")
            return 0
    forgotten = store.forget(**wanted)
    say(invocation.out, f"Forgot {count(forgotten.outcomes + forgotten.evicted, 'outcome')}.")
    if forgotten.mixed:
        kept = count(forgotten.mixed, "older outcome")
        say(invocation.out, f"{kept} could not be told apart from newer ones, and stay as numbers.")
    runs = settings.home / "runs"
    if runs.is_dir() and not invocation.quiet:
        said = f"Runs still hold texts of their tasks and tests; a run goes with its folder in {runs}."
        say(invocation.err, said, "dim")
    return 0


@app.command("export", cls=Leaf)
def export_(
    ctx: typer.Context,
    file: str = typer.Argument(
        ..., metavar="FILE|-", help="Ends in .jsonl, .jsonl.gz or .parquet; - is standard output."
    ),
    model: str = typer.Option(None, metavar="MODEL", help="Of this model."),
    dimension: str = typer.Option(
        None, metavar="DIMENSION", help=f"Of this dimension: {', '.join(Dimension)}."
    ),
    repository: str = typer.Option(None, "--repo", metavar="DIR|ID", help="Of this repository."),
    since: str = typer.Option(None, metavar="DATE", help="No older than this, as 2026-01-31."),
) -> int:
    """Write outcomes to a file, to be queried or taken to another machine.

    Evicted outcomes are numbers by now, and stay here.
    """
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    _check_choice("--dimension", dimension, tuple(Dimension))
    number_ = build.export_memory(
        invocation.settings(),
        file,
        candidate=model,
        dimension=dimension,
        repository=_identity(repository),
        since=_time(since, "--since"),
    )
    if not invocation.quiet:
        say(invocation.err, f"Wrote {count(number_, 'outcome')}.")
    return 0


@app.command("import", cls=Leaf)
def import_(
    ctx: typer.Context,
    file: str = typer.Argument(
        ..., metavar="FILE|-", help="As `acr memory export` writes it; - is standard input."
    ),
) -> int:
    """Take in outcomes of another machine; what is known already changes nothing."""
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    taken = build.import_memory(invocation.settings(), file)
    invocation.ends = 0 if taken.added or taken.known or not taken.refused else 1
    say(invocation.out, f"Took in {count(taken.added, 'outcome')}; {number(taken.known)} were known.")
    if taken.refused:
        first = taken.refused[0]
        what = count(len(taken.refused), "line")
        say(
            invocation.err,
            f"{what} left out, the first of them line {first.place}: {first.reason}.",
            "yellow",
        )
    return invocation.ends


@app.command(cls=Leaf)
def reindex(ctx: typer.Context) -> int:
    """Embed all kept texts with the embedder that is set now.

    The old vectors serve until all is done; an interrupted one goes on where it was.
    """
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=invocation.err, disable=invocation.quiet, transient=True) as bar:
        task = bar.add_task("embedding", total=None)
        told = build.reindex(
            settings, progress=lambda done, all_: bar.update(task, completed=done, total=all_)
        )
    say(invocation.out, f"Embedded {count(told.embedded, 'outcome')} with {settings.embedder}.")
    if told.without_text:
        kept = count(told.without_text, "outcome")
        say(invocation.out, f"{kept} without text keep their old vectors, and are not found by meaning.")
    return 0


@app.command(cls=Leaf)
def sync(ctx: typer.Context) -> int:
    """Send outcomes to the team's server and fetch those of others, now.

    After each run it happens by itself, in the background.
    """
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    done = build.synchronise(invocation.settings())
    invocation.ends = 1 if done.problem else 0
    say(invocation.out, done.line()[0].upper() + done.line()[1:])
    return invocation.ends


@app.command(cls=Leaf)
def report(
    ctx: typer.Context,
    output: str = typer.Option(
        "acr-memory.html", "-o", metavar="FILE", help="The page; it is complete in itself."
    ),
    model: str = typer.Option(None, metavar="MODEL", help="Of this model."),
    dimension: str = typer.Option(
        None, metavar="DIMENSION", help=f"Of this dimension: {', '.join(Dimension)}."
    ),
    repository: str = typer.Option(None, "--repo", metavar="DIR|ID", help="Of this repository."),
    since: str = typer.Option(None, metavar="DATE", help="No older than this, as 2026-01-31."),
) -> int:
    """Write the statistics as a page for a browser."""
    from acr_cli import build
    from acr_cli.cli.memory_report import page
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    _check_choice("--dimension", dimension, tuple(Dimension))
    chosen: dict[str, Any] = {
        "candidate": model,
        "dimension": dimension,
        "repository": _identity(repository),
        "since": _time(since, "--since"),
    }
    settings = invocation.settings()
    known = build.statistics(settings, **chosen)
    last = build.memory(settings).list(LAST, **chosen)
    path = Path(output).expanduser()
    try:
        path.touch(mode=0o600)  # it holds texts of tasks
        path.write_text(page(known, last), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.") from error
    say(invocation.err, f"Wrote {path}.")
    return 0


def _criteria(ids: Sequence[str], model: str | None, repository: str | None, before: str | None) -> str:
    """What outcomes are chosen by, in words. Pure."""
    parts = [f" named {listed(ids)}"] if ids else []
    parts += [f" of {model}"] if model else []
    parts += [f" in {repository}"] if repository else []
    parts += [f" older than {before}"] if before else []
    return "".join(parts)


def _identity(repository: str | None) -> str | None:
    """How memory names a repository that was given by its folder or by that name.

    Raises: RepositoryRefused."""
    from acr_cli import build

    if repository is None or not Path(repository).expanduser().is_dir():
        return repository
    return build.identity(Path(repository).expanduser())


def _time(text: str | None, flag: str) -> float | None:
    """Unix time of the beginning of a day, in the local zone. Raises: UsageError."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise UsageError(f"{flag} must be a date like 2026-01-31, not {text!r}.") from None
