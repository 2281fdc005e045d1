"""`acr config`: show, set and set up the settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation, here
from acr_cli.cli.terminal import one_line
from acr_cli.cli.toml import literal, shown
from acr_cli.errors import RepositoryRefused, UsageError
from acr_cli.settings import BY_NAME, KEYS, PROJECT_FILE, ModelEntry, Settings
from acr_cli.settings.keys import nearest

if TYPE_CHECKING:
    from acr_cli.records import Price

app = group("Settings: show, set, set up.")


@app.command(cls=Leaf)
def show(
    ctx: typer.Context,
    origin: bool = typer.Option(False, "--origin", help="Say where each value comes from."),
) -> int:
    """Show every setting as it counts here, as TOML."""
    invocation: Invocation = ctx.obj
    sys.stdout.write("\n".join(_shown(invocation.settings(), origin=origin)) + "\n")
    return 0


def _shown(settings: Settings, *, origin: bool) -> list[str]:
    lines = []
    for key in KEYS:
        value = getattr(settings, key.field)
        line = f"# {key.name} is not set" if value is None else f"{key.name} = {shown(value)}"
        if not key.file and value is not None:
            line = f"# {line}"
        if origin:
            line += f"  # {one_line(settings.origins.get(key.name, 'default'), 500)}"
        lines.append(line)
    for model in settings.models:
        lines += ["", "[[model]]" + (f"  # {settings.origins.get('models', '')}" if origin else "")]
        lines += [f"{name} = {shown(value)}" for name, value in _model_table(model).items()]
    return lines


def _model_table(model: ModelEntry) -> dict[str, object]:
    """What of a model is set. Pure."""
    table: dict[str, object] = {"id": model.id}
    for name in ("family", "base_url", "api_key_env", "tools", "context_window"):
        value = getattr(model, name)
        if value not in (None, ""):
            table[name] = value
    if model.effort:
        table["effort"] = model.effort
    if model.edit != "auto":
        table["edit"] = model.edit
    if model.price is not None:
        table["price"] = _price_table(model.price)
    return table


def _price_table(price: Price) -> dict[str, float]:
    parts = {"input": price.input, "output": price.output, "cached_input": price.cached_input}
    known = {name: value for name, value in parts.items() if value is not None}
    return {**known, "per_second": price.per_second} if price.per_second else known


@app.command(cls=Leaf)
def path(ctx: typer.Context) -> int:
    """Print where the config file is."""
    invocation: Invocation = ctx.obj
    sys.stdout.write(f"{invocation.config_file}\n")
    return 0


@app.command(cls=Leaf)
def get(
    ctx: typer.Context,
    key: str = typer.Argument(..., metavar="KEY", help="As in `acr config show`."),
    origin: bool = typer.Option(False, "--origin", help="Say where it comes from."),
) -> int:
    """Print the value of one key as it counts here, as TOML; nothing where it is not set."""
    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    if key not in BY_NAME:
        raise UsageError(f"There is no key {key!r}{nearest(key, list(BY_NAME))}", hint=_ALL_KEYS)
    value = getattr(settings, BY_NAME[key].field)
    said = "" if value is None else shown(value)
    where = f"  # {one_line(settings.origins.get(key, 'default'), 500)}" if origin else ""
    sys.stdout.write(f"{said}{where}\n")
    return 0


@app.command("set", cls=Leaf)
def set_(
    ctx: typer.Context,
    key: str = typer.Argument(..., metavar="KEY", help="As in `acr config show`."),
    value: str = typer.Argument(..., metavar="VALUE", help="Lists are separated by commas."),
    project: bool = typer.Option(
        False, "--project", help="In this repository's .acr.toml, which may only narrow."
    ),
) -> int:
    """Set one key in the config file; its comments stay."""
    from acr_cli.cli.edit_config import set_in_project, set_key

    invocation: Invocation = ctx.obj
    if project:
        written = set_in_project(_project_file(), key, value)
    else:
        written = set_key(invocation.config_file, key, value)
    sys.stdout.write(f"{key} = {shown(written)}\n")
    return 0


@app.command(cls=Leaf)
def unset(
    ctx: typer.Context,
    key: str = typer.Argument(..., metavar="KEY", help="As in `acr config show`."),
) -> int:
    """Take one key out of the config file, so that its default counts again."""
    from acr_cli.cli.edit_config import unset_key

    invocation: Invocation = ctx.obj
    if not unset_key(invocation.config_file, key):
        sys.stdout.write(f"{key} is not set in {invocation.config_file}\n")
        return 0
    default = getattr(Settings(home=Path()), BY_NAME[key].field)
    sys.stdout.write(f"{key} = {literal(default)}\n" if default is not None else f"{key} is not set\n")
    return 0


_ALL_KEYS = "`acr config show` lists all keys."


def _project_file() -> Path:
    """Where the repository around this folder has its settings. Raises: RepositoryRefused."""
    place = here()
    root = next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)
    if root is None:
        raise RepositoryRefused("This is no git repository.", hint="`git init` makes one.")
    return root / PROJECT_FILE


@app.command(cls=Leaf)
def init(
    ctx: typer.Context,
    yes: bool = typer.Option(False, "--yes", help="Accept every provider and server that is found."),
) -> int:
    """Write a commented config file, and accept providers and servers that are found.

    Nothing is overwritten: a file that is there keeps all that it says, and gets what you accept."""
    from acr_cli.cli.set_up import set_up

    return set_up(ctx.obj, yes=yes)
