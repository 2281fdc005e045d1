"""`acr doctor`: what acr needs on this machine, checked cheaply; nothing is changed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from acr_cli import __version__
from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.errors import SandboxUnavailable
from acr_cli.records import SCHEMA
from acr_cli.settings import Settings

app = group("")


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: str  # "ok" | "note": works without it | "missing"
    says: str
    hint: str = ""


@app.command(cls=Leaf)
def doctor(
    ctx: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="One check a line, as data."),
) -> int:
    """Check what acr needs on this machine."""
    from acr_cli.cli import shapes
    from acr_cli.cli.table import say, show_table

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    checks = [check(settings) for check in CHECKS]
    checks.append(_sandbox(settings.sandbox, {check.name: check for check in checks}))
    if as_json:
        for check in checks:
            shapes.write({"type": "check", "schema": SCHEMA, **asdict(check)})
    else:
        show_table(invocation.out, ["", "", ""], [[c.name, c.state, c.says] for c in checks])
        for check in checks:
            if check.hint:
                say(invocation.out, f"{check.name}: {check.hint}")
    return 4 if any(check.state == "missing" for check in checks) else 0


def _python(_: Settings) -> Check:
    return Check(name="python", state="ok", says=f"{sys.version.split()[0]}, acr {__version__}")


def _git(_: Settings) -> Check:
    if (version := _asked("git", "--version")) is None:
        return Check(name="git", state="missing", says="not on PATH", hint="Install git.")
    return Check(name="git", state="ok", says=version)


def _docker(settings: Settings) -> Check:
    from acr_cli.sandbox.engine import broken, connect
    from acr_cli.sandbox.images import DEFAULT_IMAGES

    image = settings.image or DEFAULT_IMAGES["python"]
    try:
        engine = connect(os.environ)
    except SandboxUnavailable as error:
        return Check(name="docker", state="note", says=error.message.rstrip("."), hint=error.hint)
    with closing(engine.client):
        says = f"engine {engine.version}"
        try:
            with broken("list its images"):
                there = bool(engine.client.images.list(name=image))
        except SandboxUnavailable as error:
            return Check(name="docker", state="note", says=f"{says}: {error.message}", hint=error.hint)
    if there:
        return Check(name="docker", state="ok", says=f"{says}, image {image} is there")
    hint = f"The first run pulls {image}; where that cannot be, name one that is there: acr config set image."
    return Check(name="docker", state="ok", says=f"{says}, image {image} is not there yet", hint=hint)


def _bubblewrap(_: Settings) -> Check:
    if not sys.platform.startswith("linux"):
        return Check(name="bubblewrap", state="note", says="Linux only")
    from acr_cli.sandbox.bubblewrap import INSTALL_HINT, find_program

    program, why_not = find_program(os.environ)
    if program is None:
        return Check(name="bubblewrap", state="note", says=why_not, hint=INSTALL_HINT)
    return Check(name="bubblewrap", state="ok", says=str(program))


def _home(settings: Settings) -> Check:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        hint = "Name another folder with ACR_HOME."
        return Check(name="home", state="missing", says=f"{settings.home} cannot be written", hint=hint)
    free = shutil.disk_usage(place).free / 1024**3
    return Check(name="home", state="ok", says=f"{settings.home}, {free:.0f} GiB free")


def _keys(settings: Settings) -> Check:
    path = settings.home / ".env"
    if not path.exists():
        return Check(name="keys", state="ok", says="from the environment only")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Check(name="keys", state="note", says=f"others may read {path}", hint=f"chmod 600 {path}")
    return Check(name="keys", state="ok", says=f"from the environment and {path}")


def _embedder(settings: Settings) -> Check:
    name, _, model = settings.embedder.partition(":")
    needed = {"minilm": ("onnxruntime", "tokenizers"), "sentence-transformers": ("sentence_transformers",)}
    absent = [module for module in needed.get(name, ()) if importlib.util.find_spec(module) is None]
    if absent:
        hint = "Install acr-cli[local]." if model else "Install acr-cli again."
        return Check(name="embedder", state="missing", says=f"{', '.join(absent)} is not there", hint=hint)
    return Check(name="embedder", state="ok", says=settings.embedder)


def _models(settings: Settings) -> Check:
    listed = [model.id for model in settings.models] + [f"{name} (provider)" for name in settings.providers]
    if not listed:
        hint = "`acr config init` proposes what it finds; failing tests can be repaired without any model."
        return Check(name="models", state="note", says="none accepted", hint=hint)
    return Check(name="models", state="ok", says=", ".join(listed))


def _sandbox(wanted: str, checks: Mapping[str, Check]) -> Check:
    """Whether tests can run as it is configured."""
    if wanted == "none":
        says = "none, as configured: tests run on this machine without any protection"
        return Check(
            name="sandbox", state="note", says=says, hint="`acr config set sandbox auto` confines them."
        )
    for name in ("docker", "bubblewrap") if wanted == "auto" else (wanted,):
        if checks[name].state == "ok":
            return Check(name="sandbox", state="ok", says=f"{name}, {_why(wanted)}")
    if wanted == "auto":
        hint = "Start Docker or install bubblewrap; --sandbox none runs the tests without any protection."
        return Check(name="sandbox", state="missing", says="neither Docker nor bubblewrap works", hint=hint)
    hint = "Mend it, or let acr choose: `acr config set sandbox auto`."
    return Check(name="sandbox", state="missing", says=f"{wanted}, as configured, does not work", hint=hint)


def _why(wanted: str) -> str:
    return "the first that works" if wanted == "auto" else "as configured"


CHECKS: tuple[Callable[[Settings], Check], ...] = (
    _python,
    _git,
    _docker,
    _bubblewrap,
    _home,
    _keys,
    _embedder,
    _models,
)


def _asked(*command: str) -> str | None:
    """The first line that a program prints; None when it is absent, fails or takes ten seconds."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True, cwd=Path.home()
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().split("\n")[0]
