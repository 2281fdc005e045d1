"""`acr bench`: policies replayed on recorded outcomes, compared and drawn."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.runs import whole
from acr_cli.errors import UsageError
from acr_cli.settings.keys import either

if TYPE_CHECKING:
    from acr_cli.build.benching import Plan, Tick

app = group("Replay policies on recorded outcomes; compare and draw the results.")

DIMENSIONS = ("given", "inferred", "none")
COSTS = ("reported", "floor")
MOST_JOBS = 64
MOST_SEEDS = 1000


@app.command(cls=Leaf)
def replay(
    ctx: typer.Context,
    matrix: str = typer.Option(
        ..., metavar="FILE", show_default=False, help="Outcomes: task_id, model, score (CSV, Parquet)."
    ),
    tasks: str = typer.Option(None, metavar="FILE", help="The tasks' texts: task_id, prompt (JSON Lines)."),
    stream: str = typer.Option(None, metavar="SPLIT,...", help="Replay these splits; default: all others."),
    warm: str = typer.Option(None, metavar="SPLIT,...", help="What is known before: full rows of these."),
    only: str = typer.Option("*", metavar="GLOB", help="Only tasks with such an id."),
    policy: str = typer.Option(None, metavar="P,...", help="Who takes part; default: all that can."),
    attempts: str = typer.Option("1", metavar="K", help="Most attempts at a task."),
    verifier_error: str = typer.Option(
        "0,0", metavar="FALSE_ACCEPT,FALSE_REJECT", help="Shares of verdicts that are wrong."
    ),
    shared_accepts: str = typer.Option(
        "0", metavar="SHARE", help="Of the false accepts, those that every wrong answer to a task shares."
    ),
    dimension: str = typer.Option("given", metavar="|".join(DIMENSIONS), help="Where dimensions are from."),
    cost: str = typer.Option(
        "reported", metavar="|".join(COSTS), help="floor: at least tokens x list price of input."
    ),
    prices: str = typer.Option(None, metavar="FILE", help="Price list: model, input, output, usd_per_task."),
    hide_prices: bool = typer.Option(
        False, "--hide-prices", help="The price list serves the floor alone; no policy sees it."
    ),
    drop_twins: bool = typer.Option(
        False, "--drop-twins", help="Leave out tasks whose text a warm split holds too."
    ),
    seeds: str = typer.Option("5", metavar="N", help="Orders of the stream."),
    budget: str = typer.Option(None, metavar="USD", help="Most to spend on a stream."),
    all_attempts: bool = typer.Option(
        False, "--all-attempts", help="K attempts also at tasks that no test can judge."
    ),
    embed: bool = typer.Option(False, "--embed", help="Embed known texts, so that neighbours vote."),
    half_life: str = typer.Option(
        None, metavar="TASKS", help="An outcome of so many tasks ago counts half; default: never."
    ),
    jobs: str = typer.Option("1", metavar="N", help="Processes; the numbers do not depend on it."),
    trace: str = typer.Option(None, metavar="FILE", help="Write every attempt to FILE (JSON Lines)."),
    output: str = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Keep the result, and its tasks beside it (.parquet)."
    ),
    as_json: bool = typer.Option(False, "--json", help="The result as data."),
) -> int:
    """Replay recorded outcomes through policies, and measure what they would have reached and paid.

    A policy sees a task's text, language and dimension, and of each model that it tries a verdict and the
    cost. A try passes where its score is 0.5 or more; the first that passes is the answer.
    """
    from acr_cli.build.benching import Plan
    from acr_cli.build.benching import replay as play

    accept, reject = _shares(verifier_error)
    plan = Plan(
        matrix=Path(matrix).expanduser(),
        tasks=_path(tasks),
        stream=_names(stream),
        warm=_names(warm),
        only=only,
        policies=_names(policy),
        attempts=whole(attempts, "--attempts"),
        false_accept=accept,
        false_reject=reject,
        shared_accepts=_number(shared_accepts, "--shared-accepts", most=1),
        dimension=_choice(dimension, "--dimension", DIMENSIONS),
        floor=_choice(cost, "--cost", COSTS) == "floor",
        prices=_path(prices),
        prices_hidden=hide_prices,
        drop_twins=drop_twins,
        seeds=whole(seeds, "--seeds", most=MOST_SEEDS),
        budget=_optional(budget, "--budget") or float("inf"),
        all_attempts=all_attempts,
        embed=embed,
        half_life=_optional(half_life, "--half-life"),
        jobs=min(whole(jobs, "--jobs"), MOST_JOBS),
    )
    invocation: Invocation = ctx.obj
    cache = invocation.settings().home / "cache"
    kept = _keeping(output, trace, plan)
    with _opened(trace) as file, _progress(invocation) as tick:
        done = play(plan, cache, trace=file, tick=tick)
    if kept is not None:
        done.write(kept)
    if as_json:
        from acr_cli.cli import shapes

        shapes.write(dict(done.result))
    else:
        from acr_cli.cli.bench_shown import show_result

        show_result(invocation.out, done.result)
    return 0


@app.command(cls=Leaf)
def compare(
    ctx: typer.Context,
    results: list[str] = typer.Argument(..., metavar="FILE...", help="Results that `-o` kept."),
    as_json: bool = typer.Option(False, "--json", help="As data."),
) -> int:
    """Show how results differ: their settings, and each policy against the first result that has it.

    Differences have 95 % intervals where the tasks were kept (the .parquet beside a result) and are the same.
    """
    if len(results) < 2:
        raise UsageError("Comparing takes two results or more.")
    from acr_cli.bench.comparing import compared

    invocation: Invocation = ctx.obj
    found = compared([Path(one) for one in results])
    if as_json:
        from acr_cli.cli import shapes

        shapes.write(found)
    else:
        from acr_cli.cli.bench_shown import show_comparison

        show_comparison(invocation.out, found)
    return 0


@app.command(cls=Leaf)
def figure(
    results: list[str] = typer.Argument(..., metavar="FILE...", help="Results that `-o` kept."),
    output: str = typer.Option(..., "-o", "--output", metavar="FILE", help="A name in .svg, .png or .pdf."),
    policy: str = typer.Option(None, metavar="P,...", help="Draw these; default: all."),
) -> int:
    """Draw cumulative regret over the stream, and quality against cost.

    A line of regret needs the tasks (the .parquet beside a result); its band is over the orders of the
    stream.
    """
    from acr_cli.bench.figures import draw

    path = _writable(output, "-o")
    if path is not None:
        draw([Path(one) for one in results], path, policies=_names(policy))
    return 0


@contextmanager
def _progress(invocation: Invocation) -> Iterator[Tick]:
    """A bar on stderr, where that is a terminal."""
    console = invocation.err
    if invocation.quiet or not console.is_terminal:
        yield lambda _policy, _tasks, _all: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda policy, tasks, all_: bar.update(task, description=policy, advance=tasks, total=all_)


@contextmanager
def _opened(path: str | None) -> Iterator[IO[str] | None]:
    """A file to write lines to. Raises: UsageError."""
    if path is None:
        yield None
        return
    try:
        with Path(path).expanduser().open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise UsageError(f"--trace {path}: {error.strerror or error}.") from error


def _keeping(output: str | None, trace: str | None, plan: Plan) -> Path | None:
    """Where a result is kept; neither it, nor its tasks, nor the trace lies on what is read or on each other.

    Raises: UsageError."""
    from acr_cli.bench.results import beside

    kept = _writable(output, "-o")
    if kept is not None and beside(kept) == kept:
        raise UsageError(f"-o {output}: that name is for the tasks.", hint="Name the result, as test.json.")
    taken = {one.resolve() for one in (plan.matrix, plan.tasks, plan.prices) if one is not None}
    written = [] if trace is None else [("--trace", Path(trace).expanduser())]
    written += [] if kept is None else [("-o", kept), ("-o", beside(kept))]
    for flag, path in written:
        if path.resolve() in taken:
            raise UsageError(
                f"{flag} would overwrite {path}, which this replay reads or writes too.",
                hint="Take another name.",
            )
        taken.add(path.resolve())
    return kept


def _writable(path: str | None, flag: str) -> Path | None:
    """Where something is to be kept, checked before the work begins. Raises: UsageError."""
    if path is None:
        return None
    place = Path(path).expanduser().absolute()
    if place.is_dir():
        raise UsageError(f"{flag} {path} is a folder.")
    if not place.parent.is_dir():
        raise UsageError(f"{flag} {path}: there is no folder {place.parent}.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise UsageError(f"{flag} {path}: you may not write there.")
    return place


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in (text or "").split(","))))


def _number(text: str, flag: str, *, most: float = float("inf")) -> float:
    """Raises: UsageError for what is no number in [0, most]."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most or number == float("inf"):
        limits = "0 or more" if most == float("inf") else f"from 0 to {most:g}"
        raise UsageError(f"{flag} must be a number, {limits}, not {text!r}.")
    return number


def _optional(text: str | None, flag: str) -> float | None:
    """Raises: UsageError for what is no number above 0."""
    if text is None:
        return None
    number = _number(text, flag)
    if number == 0:
        raise UsageError(f"{flag} must be more than 0.")
    return number


def _shares(text: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise UsageError(f"--verifier-error takes two shares, as 0.1,0.05, not {text!r}.")
    accept, reject = (_number(part.strip(), "--verifier-error", most=1) for part in parts)
    return accept, reject


def _choice(given: str, flag: str, choices: tuple[str, ...]) -> str:
    if given not in choices:
        raise UsageError(f"{flag} must be {either(choices)}, not {given!r}.")
    return given
