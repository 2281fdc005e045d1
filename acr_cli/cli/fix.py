"""`acr fix`: repair or change the repository you stand in."""

# ruff: noqa: PLR0917, ARG001  typer reads a command's options off its signature

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.asking import may_run_unasked, who_answers
from acr_cli.cli.inputs import read_task
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.shapes import JsonLines
from acr_cli.cli.shapes import result as result_shape
from acr_cli.cli.terminal import asks, show_error
from acr_cli.errors import UsageError
from acr_cli.events import Emit, Notice
from acr_cli.records import RunResult, Status
from acr_cli.settings import POLICIES, Settings, given_flags

app = group("")

VALUES = (
    *("test", "model", "allow", "exclude", "policy", "max_cost", "max_steps", "max_time", "attempts"),
    "parallel",
    *("sandbox", "image", "network", "setup", "approve", "allow_path"),
)
SWITCHES = ("commit", "dry_run", "plan_only", "yes")
POLICY = typer.Option(
    None,
    metavar="|".join(POLICIES),
    help="How models are chosen. learned (the default): by outcomes and price; acrouter: by a weighted vote;"
    " escalate: the cheapest first; fixed: in the order of `acr models list`.",
)
SANDBOX = typer.Option(None, metavar="auto|docker|bubblewrap|none", help="Where tests run.")


@app.command(cls=Leaf)
def fix(
    ctx: typer.Context,
    task: str = typer.Argument(
        None, metavar="TASK|-", help="What to do; without it: make failing tests pass."
    ),
    issue: str = typer.Option(None, metavar="FILE|-", help="The text of an issue, or its address on GitHub."),
    log: str = typer.Option(None, metavar="FILE|-", help="A failing log, also as a CI service prints it."),
    test: str = typer.Option(None, metavar="CMD", help="The test command; otherwise it is detected."),
    model: str = typer.Option(None, metavar="MODEL", help="This model only, without routing."),
    allow: str = typer.Option(None, metavar="MODEL,...", help="Choose among these models only."),
    exclude: str = typer.Option(None, metavar="MODEL,...", help="Never choose these models."),
    policy: str = POLICY,
    max_cost: str = typer.Option(None, metavar="USD", help="Most to spend; default 1."),
    max_steps: str = typer.Option(None, metavar="N", help="Most steps; default 20."),
    max_time: str = typer.Option(None, metavar="DURATION", help="Most time (90s, 15m, 1h); default 15m."),
    attempts: str = typer.Option(None, metavar="N", help="Most attempts at a step; default 3."),
    parallel: str = typer.Option(None, metavar="N", help="Attempts side by side; the first success wins."),
    sandbox: str = SANDBOX,
    image: str = typer.Option(
        None, metavar="IMAGE", help="For the tests; devcontainer or Dockerfile: the repository's own."
    ),
    network: str = typer.Option(None, metavar="none|on", help="Network for the tests; default none."),
    setup: str = typer.Option(
        None, metavar="CMD", help="Installs dependencies into the sandbox; with network."
    ),
    commit: bool = typer.Option(False, "--commit", help="Commit exactly the changed files."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the verified patch, but do not apply it."),
    plan_only: bool = typer.Option(False, "--plan-only", help="Show the steps of the plan, and stop."),
    approve: str = typer.Option(
        None, metavar="auto|edits|all", help="Ask before plans and patches (edits), commands too (all)."
    ),
    allow_path: str = typer.Option(
        None, metavar="GLOB,...", help="Change these too, though tools run them unasked (CI, .envrc, hooks)."
    ),
    yes: bool = typer.Option(False, "--yes", help="Answer every question with yes."),
    as_json: bool = typer.Option(
        False, "--json", help="One JSON event a line on stdout; the result is the last."
    ),
    output: str = typer.Option(None, "-o", "--output", metavar="FILE", help="Write the patch to FILE too."),
) -> int:
    """Repair or change the repository you stand in.

    Without TASK the failing tests are what is to be fixed. A patch is applied only when tests prove it; it is
    left uncommitted, and `acr undo` reverses it.

    Exit codes: 0 fixed and verified, or nothing to fix; 1 not fixed; 2 usage; 3 configuration or keys;
    4 no sandbox, or the tests cannot start in it; 5 every provider failed; 6 the budget is reached;
    8 a patch that nothing proves was kept; 9 the repository is refused; 130 interrupted.
    """
    invocation: Invocation = ctx.obj
    lines = JsonLines()
    if as_json:
        invocation.on_failure = lines.fail
    if dry_run and commit:
        raise UsageError("--dry-run applies nothing, so --commit has nothing to commit.")
    flags: dict[str, object] = {name: ctx.params[name] for name in VALUES}
    # A flag that is not given leaves what the configuration says.
    flags |= {name: ctx.params[name] or None for name in SWITCHES}
    settings = invocation.settings(flags)
    wanted, remark = read_task(task, issue, log, settings.test)
    patch_file = _writable(output)

    def work(emit: Emit, close: Callable[[], None]) -> RunResult:
        nonlocal settings
        if remark:
            emit(Notice(level="info", text=remark))
        settings = with_providers(settings, invocation, emit, quiet=as_json)
        from acr_cli import build

        asked = who_answers(settings, invocation, close)
        ask_tests = partial(_test_command, emit) if asks() and not (as_json or yes) else None
        ask_unasked = partial(may_run_unasked, invocation, close) if asks() and not (as_json or yes) else None
        result = build.run(
            settings,
            where=Path.cwd(),
            task=wanted,
            emit=emit,
            asks=asked,
            ask_tests=ask_tests,
            ask_unasked=ask_unasked,
        )
        if patch_file is not None:
            _write_patch(patch_file, result.patch)
        return result

    return carried_out(invocation, lines if as_json else None, work, lambda: settings)


def carried_out(
    invocation: Invocation,
    lines: JsonLines | None,
    work: Callable[[Emit, Callable[[], None]], RunResult],
    settings: Callable[[], Settings],
) -> int:
    """A run on the screen, or as JSON lines: its events, its result, and what memory does afterwards.

    `work` is given where events go, and what ends the spinner. The exit code."""
    from acr_cli.build import Settling

    emit, close, finish = _sinks(invocation, lines, plans=not settings().plan_only)
    with Settling(settings) as settling:
        try:
            result = work(settling.hearing(emit), close)
        finally:
            close()
        invocation.on_failure = None  # what the run came to is known
        invocation.ends = result.exit_code
        try:
            finish(result)
        except OSError as error:  # the exit code says how it ended
            invocation.lost = error
        except KeyboardInterrupt:  # seen enough
            pass
        if result.status is Status.INTERRUPTED:  # who interrupts wants acr to end; the next run settles
            return result.exit_code
        with suppress(KeyboardInterrupt):  # the run has ended; what is not settled now, the next one settles
            told = settling.end()
            if told and not invocation.quiet:
                sys.stderr.write(f"{told}\n")
    return result.exit_code


def _sinks(
    invocation: Invocation, lines: JsonLines | None, *, plans: bool
) -> tuple[Emit, Callable[[], None], Callable[[RunResult], None]]:
    """Where events go, how that ends, and how the result is shown."""
    if lines is not None:
        return lines.emit, lambda: None, lambda result: lines.end(result_shape(result))
    from acr_cli.cli.render import Screen
    from acr_cli.cli.report import show_result

    screen = Screen(invocation.err, quiet=invocation.quiet, verbose=invocation.verbose, plans=plans)

    def finish(result: RunResult) -> None:
        try:
            show_result(invocation.out, result)
        finally:
            if result.error_id:
                show_error(result.summary, result.hint, id_=result.error_id, no_color=invocation.no_color)

    return screen.emit, screen.close, finish


def with_providers(settings: Settings, invocation: Invocation, emit: Emit, *, quiet: bool) -> Settings:
    """Propose what was found by its key where nothing is accepted yet; nothing is ever used unasked."""
    answered = "providers" in settings.origins  # an empty list is a no, which is not asked for again
    if settings.models or answered or settings.model or settings.allow:
        return settings
    from acr_cli.cli.proposals import accept, found

    proposals = found(settings)
    if not proposals:
        return settings
    if quiet or not asks():
        names = ", ".join(proposal.name for proposal in proposals)
        emit(Notice(level="info", text=f"{names} could be used, but was not accepted: `acr config init`."))
        return settings
    accepted = accept(proposals, invocation.config_file)
    if not accepted:
        return settings
    return invocation.settings({**given_flags(settings), "providers": list(accepted)})


def _test_command(emit: Emit) -> str:
    """The command that somebody types, for this run alone; "" for none."""
    sys.stderr.write("Which command runs the tests, at the root of the repository? (Enter: there are none) ")
    sys.stderr.flush()
    command = sys.stdin.readline().strip()
    if command:
        text = f"For this run; `acr config set test {shlex.quote(command)}` keeps it, for every repository."
        emit(Notice(level="info", text=text))
    return command


def _writable(output: str | None) -> Path | None:
    """The file for the patch, checked before anything is paid. Raises: UsageError."""
    if output is None:
        return None
    path = Path(output).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"-o {output}: no file can be written there.")
    return path


def _write_patch(path: Path, patch: str) -> None:
    """The bytes of the patch as they are. An error is reported, the run's own result still counts."""
    try:
        path.write_bytes(patch.encode(errors="surrogateescape"))
    except OSError as error:
        sys.stderr.write(f"warning: -o {path}: {error.strerror}.\n")
