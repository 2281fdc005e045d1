"""`acr config`: show, set and set up the settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.toml import literal
from acr_cli.settings import KEYS, ModelEntry, Settings

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
        line = f"# {key.name} is not set" if value is None else f"{key.name} = {literal(value)}"
        if not key.file and value is not None:
            line = f"# {line}"
        if origin:
            line += f"  # {settings.origins.get(key.name, 'default')}"
        lines.append(line)
    for model in settings.models:
        lines += ["", "[[model]]" + (f"  # {settings.origins.get('models', '')}" if origin else "")]
        lines += [f"{name} = {literal(value)}" for name, value in _model_table(model).items()]
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


@app.command("set", cls=Leaf)
def set_(
    ctx: typer.Context,
    key: str = typer.Argument(..., metavar="KEY", help="As in `acr config show`."),
    value: str = typer.Argument(..., metavar="VALUE", help="Lists are separated by commas."),
) -> int:
    """Set one key in the config file; its comments stay."""
    from acr_cli.cli.edit_config import set_key

    invocation: Invocation = ctx.obj
    written = set_key(invocation.config_file, key, value)
    sys.stdout.write(f"{key} = {literal(written)}\n")
    return 0


@app.command(cls=Leaf)
def init(
    ctx: typer.Context,
    yes: bool = typer.Option(False, "--yes", help="Accept every provider and server that is found."),
) -> int:
    """Write a commented config file, and accept providers found by their keys."""
    from acr_cli.cli.edit_config import create
    from acr_cli.cli.proposals import accept, found
    from acr_cli.cli.terminal import asks
    from acr_cli.errors import UsageError

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    proposals = [p for p in found(settings) if p.name not in settings.providers]
    if proposals and not yes and not asks():
        names = ", ".join(proposal.name for proposal in proposals)
        raise UsageError(f"Found {names}, and nobody is here to be asked.", hint="--yes accepts all of them.")
    file = invocation.config_file
    sys.stdout.write(f"{'wrote' if create(file) else 'kept'} {file}\n")
    accepted = accept(proposals, file, yes=yes)
    for name in accepted:
        sys.stdout.write(f"accepted {name}\n")
    if not proposals and not settings.models and not settings.providers:
        sys.stdout.write(
            "No provider's key and no local server was found. "
            "Failing tests can be repaired without any model.\n"
        )
    return 0
