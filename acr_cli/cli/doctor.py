"""`acr doctor`: what acr needs on this machine; only `--fix` changes anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.checks import Check
from acr_cli.errors import AcrError, ConfigurationError, SandboxUnavailable, UsageError

if TYPE_CHECKING:
    from acr_cli.cli.invocation import Invocation
    from acr_cli.settings import Settings

app = group("")


@app.command(cls=Leaf)
def doctor(
    ctx: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="One check a line, as data."),
    online: bool = typer.Option(
        False, "--online", help="Ask every model for one word too; this is paid for."
    ),
    fix: bool = typer.Option(False, "--fix", help="Mend what can be mended safely; asks before it installs."),
    yes: bool = typer.Option(False, "--yes", help="Answer the questions of --fix with yes."),
) -> int:
    """Check what acr needs on this machine, and say what to do about each failure.

    Exit codes: 0 nothing is missing; 3 the configuration is wrong; 4 something else is missing."""
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table
    from acr_cli.records import SCHEMA

    invocation: Invocation = ctx.obj
    if yes and not fix:
        raise UsageError("--yes answers what --fix asks.", hint="Give both.")
    checks = _looked(invocation, online=online)
    if fix:
        checks = [_mended(check, yes=yes) for check in checks]
    missing = [check.name for check in checks if check.state == "missing"]
    if missing:
        invocation.ends = (ConfigurationError if "config" in missing else SandboxUnavailable).exit_code
    if as_json:
        for check in checks:
            shape = {"name": check.name, "state": check.state, "says": check.says, "hint": check.hint}
            shapes.write({"type": "check", "schema": SCHEMA, **shape, "fixable": check.mend is not None})
    else:
        show_table(invocation.out, ["=", "=", ""], [[c.name, c.state, c.says] for c in checks])
        for check in checks:
            if check.hint:
                say(invocation.out, f"{check.name}: {check.hint}")
    return invocation.ends


def _looked(invocation: Invocation, *, online: bool) -> list[Check]:
    """Every check in the order in which they are shown."""
    from acr_cli.cli import checks as c

    settings, config = _settings(invocation)
    first = [c.python(settings), c.git(settings), config]
    first += [_tried(check, settings) for check in (c.home, c.disk, c.keys)]
    engines = {check.name: check for check in (c.docker(settings), c.bubblewrap(settings))}
    chosen = c.sandbox(settings, engines)
    found = [*first, *engines.values(), chosen]
    if chosen.state == "ok":
        found.append(_limits(settings, engines["docker"]))
    rest: tuple[Callable[[Settings], Check], ...] = (
        *(c.memory, c.embedder, c.policy, c.models, c.leftovers, c.completion, c.terminal),
    )
    found += [_tried(check, settings) for check in rest]
    return [*found, *(c.online(settings) if online else ())]


def _tried(check: Callable[[Settings], Check], settings: Settings) -> Check:
    """A check; where a file or folder keeps it from looking, that is what it found."""
    try:
        return check(settings)
    except OSError as error:
        what = f"{error.filename}: {(error.strerror or 'cannot be read').lower()}"
        hint = "See who owns it, or name another folder with ACR_HOME."
        return Check(name=check.__name__, state="missing", says=what, hint=hint)


def _limits(settings: Settings, docker: Check) -> Check:
    from acr_cli.cli import checks as c

    if settings.sandbox in ("auto", "docker") and docker.state == "ok" and docker.hint:
        # Trying would pull the image.
        return Check(name="limits", state="note", says="not tried: the image is not there yet")
    return c.limits(settings)


def _settings(invocation: Invocation) -> tuple[Settings, Check]:
    """The settings, and whether they can be read; the defaults where they cannot."""
    from acr_cli.cli.words import count
    from acr_cli.settings import Settings, home_folder

    file = invocation.config_file
    try:
        settings = invocation.settings()
    except ConfigurationError as error:
        hint = error.hint or "`acr config show` reads it again; all else is checked with the defaults."
        broken = Check(name="config", state="missing", says=error.message.rstrip("."), hint=hint)
        return Settings(home=home_folder()), broken
    if not file.exists():
        hint = "`acr config init` writes one, with what it finds here."
        return settings, Check(name="config", state="ok", says="the defaults", hint=hint)
    values = sum(where != "default" for where in settings.origins.values())
    return settings, Check(name="config", state="ok", says=f"{file}, {count(values, 'value')} set")


def _mended(check: Check, *, yes: bool) -> Check:
    """The check after what `--fix` could do about it."""
    from acr_cli.cli.terminal import asks, confirmed

    if check.mend is None:
        return check
    if check.asks and not yes and not (asks() and confirmed(check.asks)):
        return replace(check, hint=f"Not mended without your yes. {check.hint}")
    try:
        done = check.mend()
    except (AcrError, OSError) as error:
        return replace(check, hint=f"It could not be mended: {error}")
    return Check(name=check.name, state="ok", says=f"mended: {done}")
