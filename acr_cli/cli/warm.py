"""`acr warm`: fill memory from this repository's own history."""

# ruff: noqa: PLR0917, ARG001  typer reads a command's options off its signature

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.fix import SANDBOX
from acr_cli.cli.invocation import Failure, Invocation
from acr_cli.cli.shapes import JsonLines
from acr_cli.cli.shapes import write as write_line
from acr_cli.cli.terminal import one_line, show_error
from acr_cli.cli.words import count, seconds, usd
from acr_cli.errors import UsageError
from acr_cli.events import Emit, Event, RunStarted, SandboxReady, to_json
from acr_cli.history.records import CommitSkipped, TaskEnded, TaskFound, TaskReport, WarmResult
from acr_cli.records import SCHEMA

if TYPE_CHECKING:
    from rich.console import Console

    from acr_cli.cli.render import Screen

app = group("")

VALUES = ("test", "model", "allow", "exclude", "max_cost", "sandbox", "image", "network", "setup")
COMMITS = 100
_STATUS_OF = {"budget": "budget", "interrupted": "interrupted", "repository": "refused"}


@app.command(cls=Leaf)
def warm(
    ctx: typer.Context,
    max_cost: str | None = typer.Option(
        None, metavar="USD", help="Most to spend on all tasks; always asked for."
    ),
    commits: str = typer.Option(str(COMMITS), metavar="N", help="Look at the newest N commits."),
    dry_run: bool = typer.Option(False, "--dry-run", help="List the tasks and what they may cost; no model."),
    test: str = typer.Option(None, metavar="CMD", help="The test command; otherwise it is detected."),
    model: str = typer.Option(None, metavar="MODEL", help="This model only."),
    allow: str = typer.Option(None, metavar="MODEL,...", help="These models only."),
    exclude: str = typer.Option(None, metavar="MODEL,...", help="Never these models."),
    sandbox: str = SANDBOX,
    image: str = typer.Option(None, metavar="IMAGE", help="The container image for the tests."),
    network: str = typer.Option(None, metavar="none|on", help="Network for the tests; default none."),
    setup: str = typer.Option(
        None, metavar="CMD", help="Installs dependencies into the sandbox; with network."
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON event a line; the result is the last."),
) -> int:
    """Fill memory from this repository's own history.

    Past commits whose tests fail without them and pass with them become tasks: the state before the commit,
    its message and its tests; the fix is hidden. Your models take them, the cheapest first, and what the
    tests say of each goes to memory. Your files are not touched. Called again, it goes on where it ended.

    --dry-run runs these tests too, and keeps what they showed for the real run.

    Exit codes: 0 done; 2 usage; 3 configuration or keys; 4 no sandbox, or no past tests can start in it;
    5 every provider failed; 6 the budget is reached; 9 the repository is refused; 130 interrupted.
    """
    invocation: Invocation = ctx.obj
    if as_json:
        invocation.on_failure = lambda failure: write_line(_failed(failure, dry_run=dry_run))
    if max_cost is None and not dry_run:
        raise UsageError(
            "What may it cost at most?", hint="Give --max-cost USD, or --dry-run to see what there is."
        )
    from acr_cli.cli.runs import whole

    most = whole(commits, "--commits")
    flags: dict[str, object] = {name: ctx.params[name] for name in VALUES}
    settings = invocation.settings({**flags, "dry_run": dry_run or None})
    emit, close = _sink(invocation, as_json=as_json)
    try:
        from acr_cli import build

        result = build.warm(settings, where=Path.cwd(), commits=most, emit=emit)
    finally:
        close()
    invocation.ends = result.exit_code
    try:
        if as_json:
            write_line(shape(result))
        else:
            show(invocation.out, result)
    except OSError as error:  # the exit code says how it ended
        invocation.lost = error
    if result.error_id and not as_json:
        show_error(result.message, result.hint, id_=result.error_id, no_color=invocation.no_color)
    invocation.on_failure = None  # the result has been said
    with suppress(KeyboardInterrupt):  # what is not settled now, the next run settles
        build.settle(settings)
    return result.exit_code


def _sink(invocation: Invocation, *, as_json: bool) -> tuple[Emit, Callable[[], None]]:
    """Where events go, and how that ends."""
    if as_json:
        return JsonLines().emit, lambda: None
    from acr_cli.cli.render import Screen

    screen = Screen(invocation.err, quiet=invocation.quiet, verbose=invocation.verbose)
    progress = _Progress(screen, invocation)
    return progress.emit, screen.close


class _Progress:
    """What happens on stderr: the lines of `acr fix`, under one for each task. `emit` never raises."""

    def __init__(self, screen: Screen, invocation: Invocation) -> None:
        self._screen = screen
        self._console = invocation.err
        self._quiet, self._verbose = invocation.quiet, invocation.verbose
        self._sandbox: SandboxReady | None = None

    def emit(self, event: Event) -> None:
        match event:
            case CommitSkipped():
                if self._verbose:
                    self._line("skipped", f"{event.commit[:10]} {event.subject}", event.reason)
            case TaskFound():
                self._line(
                    "task", f"{event.number}. {event.commit[:10]} {event.subject}", _tests(event.tests)
                )
            case TaskEnded(task=task):
                if task.status in _WHY and not self._quiet:
                    self._line(
                        "", f"{_WHY[task.status]}: {task.reason}" if task.reason else _WHY[task.status]
                    )
            case SandboxReady() if event == self._sandbox:
                pass  # said already
            case RunStarted() if not self._verbose:
                pass
            case _:
                self._sandbox = event if isinstance(event, SandboxReady) else self._sandbox
                self._screen.emit(event)

    def _line(self, label: str, text: str, rest: str = "") -> None:
        from rich.text import Text

        if self._quiet:
            return
        self._screen.close()
        line = Text.assemble((f"{label:<10}", "bold"), one_line(text, 100))
        if rest:
            line.append("  " + one_line(rest, 200), "dim")
        with suppress(OSError):  # a screen that has gone away stops nothing
            self._console.print(line, soft_wrap=True)


_WHY = {
    "done": "done before",
    "no_candidate": "nobody can take it",
    "error": "left out",
    "stopped": "stopped",
}


def _tests(tests: tuple[str, ...]) -> str:
    return f"{count(len(tests), 'failing test')}"


def show(console: Console, result: WarmResult) -> None:
    """The table of the tasks, what was skipped, and what it comes to."""
    from acr_cli.cli.table import say, show_table

    if result.tasks:
        last = ">expected" if result.dry_run else ">cost"
        columns = [
            "=commit",
            "what",
            ">tests",
            "=outcome",
            "by",
            *([] if result.dry_run else [">tries"]),
            last,
        ]
        columns += [] if result.dry_run else [">time"]
        show_table(console, columns, [_row(task, dry_run=result.dry_run) for task in result.tasks])
        say(console)
    say(console, summary(result))
    for name, record in result.candidates.items():
        say(
            console,
            f"  {name}: {record.passed} of {count(record.attempts, 'attempt')} passed,"
            f" {usd(record.cost_usd)}, {seconds(record.seconds)}",
        )
    if result.skipped:
        reasons = ", ".join(f"{reason} ({many})" for reason, many in result.skipped.items())
        say(console, f"{count(sum(result.skipped.values()), 'commit')} left out: {reasons}.", "dim")


def _row(task: TaskReport, *, dry_run: bool) -> list[str]:
    begin = [task.commit[:10], one_line(task.subject, 48), str(len(task.tests))]
    outcome = "open" if task.status == "listed" else task.status.replace("_", " ")
    if dry_run:
        return [*begin, outcome, task.candidate or "-", usd(task.expected_usd) if outcome == "open" else "-"]
    ran = bool(task.run)
    numbers = [str(task.attempts), usd(task.cost_usd), seconds(task.seconds)] if ran else ["-", "-", "-"]
    return [*begin, outcome, task.candidate or "-", *numbers]


def summary(result: WarmResult) -> str:
    """What a call comes to, in a sentence. Pure."""
    looked = f"{count(result.commits, 'commit')} looked at"
    tasks = count(len(result.tasks), "task")
    if not result.commits:
        return "There is no commit yet, so there is nothing to learn from."
    if result.dry_run:
        still = [task for task in result.tasks if task.status == "listed"]
        cost = f", expected to cost {usd(result.expected_usd)}" if still else ""
        return f"{looked}, {tasks} found, {len(still)} open{cost}. No model was called."
    passed = sum(task.status == "passed" for task in result.tasks)
    before = sum(task.status == "done" for task in result.tasks)
    done = f", {before} done before" if before else ""
    return (
        f"{looked}, {tasks} found{done}, {passed} passed now; {count(result.outcomes, 'new outcome')}"
        f" in memory, {usd(result.cost_usd)} paid, {seconds(result.seconds)}."
    )


def shape(result: WarmResult) -> dict[str, Any]:
    """The last line of `acr warm --json`. Pure."""
    error = {"id": result.error_id, "message": result.message, "hint": result.hint}
    return {
        "type": "warm",
        "schema": SCHEMA,
        "status": result.status,
        "exit_code": result.exit_code,
        "repository": result.repository,
        "dry_run": result.dry_run,
        "commits": result.commits,
        "tasks": [to_json(TaskEnded(task=task))["task"] for task in result.tasks],
        "skipped": dict(result.skipped),
        "models": {
            name: {
                "attempts": record.attempts,
                "passed": record.passed,
                "cost_usd": record.cost_usd,
                "seconds": record.seconds,
            }
            for name, record in result.candidates.items()
        },
        "outcomes": result.outcomes,
        "expected_usd": result.expected_usd if result.dry_run else None,
        "cost_usd": result.cost_usd,
        "seconds": result.seconds,
        "error": error if result.error_id else None,
    }


def _failed(failure: Failure, *, dry_run: bool) -> dict[str, Any]:
    """The last line where nothing was looked at. Pure."""
    empty = WarmResult(
        status=_STATUS_OF.get(failure.id, "error"),
        exit_code=failure.exit_code,
        repository="",
        dry_run=dry_run,
        commits=0,
        error_id=failure.id,
        message=failure.message,
        hint=failure.hint,
    )
    return shape(empty)
