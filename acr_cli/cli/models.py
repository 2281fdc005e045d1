"""`acr models`: the models that may be chosen."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.runs import whole
from acr_cli.cli.terminal import clean
from acr_cli.cli.words import seconds, usd
from acr_cli.errors import ProviderError, UsageError
from acr_cli.models.keys import missing_key
from acr_cli.protocols import Budget
from acr_cli.records import SCHEMA, Candidate
from acr_cli.settings import Settings, load_environment
from acr_cli.settings.keys import ended

BUILT_IN = "builtin/repair"

app = group("The models that may be chosen.")


@app.command("list", cls=Leaf)
def list_(
    ctx: typer.Context,
    text: str = typer.Argument("", metavar="TEXT", help="Only those whose name holds it."),
    known: bool = typer.Option(
        False, "--known", help="The current models of the large providers instead: what can be added."
    ),
    as_json: bool = typer.Option(False, "--json", help="As data."),
) -> int:
    """List the models that may be chosen: price, context, what memory says; and what is not accepted yet."""
    from acr_cli import build
    from acr_cli.cli import models_shown, shapes
    from acr_cli.cli.table import say
    from acr_cli.models.rests import resting

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    if known:
        return _known(invocation, text, as_json=as_json)
    environment = load_environment(home=settings.home)
    candidates = [each for each in build.candidates(settings) if text.lower() in each.id.lower()]
    rests = resting(settings.home)
    states = models_shown.health(candidates, environment, resting=[rest.name for rest in rests])
    learned = models_shown.learned(settings)
    if as_json:
        for each in candidates:
            shapes.write(models_shown.shape(each, learned.get(each.id), states[each.id], environment))
        return 0
    models_shown.show(invocation.out, candidates, learned, states)
    for model, name in [(c.id, name) for c in candidates if (name := _unset(c, environment))]:
        say(invocation.out, f"{model} needs {name}, which is not set.", "yellow")
    for rest in rests:
        minutes = max(1, round((rest.until - time.time()) / 60))
        say(invocation.out, f"{rest.name} rests for about {minutes} min, since {rest.reason}", "yellow")
    if not text:
        _show_proposals(invocation, settings)
    return 0


def _unset(candidate: Candidate, environment: Mapping[str, str]) -> str:
    """The variable of a candidate's key that is not set, also where it may do without. Pure."""
    named = candidate.api_key_env or ""
    return missing_key(candidate, environment) or ("" if environment.get(named) else named)


def _show_proposals(invocation: Invocation, settings: Settings) -> None:
    """What was found but not accepted, and what was accepted but is not there."""
    from acr_cli.cli.proposals import found
    from acr_cli.cli.table import say

    proposals = found(settings)
    for proposal in proposals:
        if proposal.name not in settings.providers:
            say(invocation.out, f"{proposal.says} Not accepted yet: `acr config init`.", "dim")
    for name in sorted({*settings.providers} - {proposal.name for proposal in proposals}):
        say(invocation.out, f"{name} is accepted, but its key is not set or it does not answer.", "yellow")


def _known(invocation: Invocation, text: str, *, as_json: bool) -> int:
    from acr_cli.cli import models_shown, shapes
    from acr_cli.models.known import table

    if as_json:
        for name, row in table().models.items():
            if text.lower() in name.lower():
                shapes.write({"type": "known_model", "schema": SCHEMA, "model": name, **row})
    elif not models_shown.show_known(invocation.out, text):
        raise UsageError(f"No current model's name holds {text!r}{_meant(text)}")
    return 0


def _meant(model: str) -> str:
    """The end of a sentence about a name that nobody knows. Pure."""
    from acr_cli.models.catalogue import near

    name = near(model)
    return f"; did you mean {name!r}?" if name else "."


@app.command(cls=Leaf)
def add(
    ctx: typer.Context,
    model: str = typer.Argument(
        ..., metavar="PROVIDER/NAME", help="As litellm names it: anthropic/claude-opus-4-6."
    ),
    base_url: str = typer.Option(None, metavar="URL", help="An OpenAI-compatible endpoint."),
    api_key_env: str = typer.Option(None, metavar="VARIABLE", help="The variable that holds the key."),
    price: str = typer.Option(None, metavar="IN,OUT", help="USD per million tokens."),
    effort: str = typer.Option(None, metavar="LEVEL,...", help="Reasoning efforts, each a candidate."),
    family: str = typer.Option(
        None,
        metavar="NAME",
        help="Whose published results it is expected to match at first; default: by its name.",
    ),
    edit: str = typer.Option(
        None,
        metavar="FORMAT",
        help="How it writes edits: tools, search-replace, whole-file, unified-diff or auto (the default).",
    ),
    context: str = typer.Option(None, metavar="TOKENS", help="Its context window."),
) -> int:
    """Add a model to the config file; from then on it may be chosen."""
    from acr_cli.cli.edit_config import add_model
    from acr_cli.settings.models import fault

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    if any(known.id == model and known.base_url == base_url for known in settings.models):
        raise UsageError(f"{model} is listed already.", hint="`acr models remove` takes it out.")
    given = {"base_url": base_url, "api_key_env": api_key_env, "family": family, "edit": edit}
    entry: dict[str, object] = {"id": model, **{name: text for name, text in given.items() if text}}
    if price is not None:
        entry["price"] = _price(price)
    if effort is not None:
        entry["effort"] = [level.strip() for level in effort.split(",") if level.strip()]
    if context is not None:
        entry["context_window"] = whole(context, "--context")
    key, problem = fault(entry)
    if problem:
        raise UsageError(ended(problem[:1].upper() + problem[1:]), hint=f"Change {_flag(key)}.")
    _check_provider(model, base_url)
    add_model(invocation.config_file, entry)
    sys.stdout.write(f"added {clean(model)} to {invocation.config_file}\n")
    _warn_unpriced(invocation, model)
    return 0


def _check_provider(model: str, base_url: str | None) -> None:
    """Raises: UsageError for a name that says nothing of who is to be asked."""
    from acr_cli.models.prices import is_known

    if is_known(model) and (base_url is None or "/" in model):
        return
    if base_url is not None:
        hint = f"An OpenAI-compatible endpoint is named openai/{model.rsplit('/', 1)[-1]}."
    else:
        hint = "Write PROVIDER/NAME, as anthropic/claude-opus-4-6, or openai/NAME with --base-url."
    raise UsageError(f"{model} names no provider that is known{_meant(model)}", hint=hint)


def _warn_unpriced(invocation: Invocation, model: str) -> None:
    """Say of a model that was added that no run with a cap on its cost will take it."""
    from acr_cli import build
    from acr_cli.cli.table import say

    added = [each for each in build.candidates(invocation.settings()) if each.model == model]
    if added and not all(each.price.known for each in added):
        end = _meant(model).removeprefix(".")
        text = (
            f"warning: no price of {model} is known{end or '.'} A run leaves it out unless it has"
            " --max-cost inf; give it a price with --price."
        )
        say(invocation.err, text, "yellow")


def _flag(key: str) -> str:
    """What of the command line a key of the file comes from. Pure."""
    return {"id": "PROVIDER/NAME", "context_window": "--context"}.get(key, f"--{key.replace('_', '-')}")


def _price(text: str) -> dict[str, float]:
    try:
        into, out = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--price must be two amounts like 5,25, not {text!r}.") from None
    return {"input": into, "output": out}


@app.command(cls=Leaf)
def remove(
    ctx: typer.Context,
    model: str = typer.Argument(
        ..., metavar="MODEL|PROVIDER", help="The id of a model, or an accepted provider."
    ),
) -> int:
    """Take a model, or an accepted provider, out of the config file."""
    from acr_cli.cli.edit_config import reject_provider, remove_model

    invocation: Invocation = ctx.obj
    file: Path = invocation.config_file
    if model == BUILT_IN:
        raise UsageError(
            f"{model} is built in and cannot be removed.",
            hint=f"`acr fix --exclude {model}` leaves it out once, `acr config set exclude {model}` always.",
        )
    if not file.exists() or not (remove_model(file, model) or reject_provider(file, model)):
        raise UsageError(f"{model} is not in {file}.", hint=_listed_in(invocation.settings()))
    sys.stdout.write(f"removed {clean(model)} from {file}\n")
    return 0


def _listed_in(settings: Settings) -> str:
    names = [*dict.fromkeys(model.id for model in settings.models), *settings.providers]
    return f"It lists {', '.join(names)}." if names else "It lists no model and no provider."


@app.command("test", cls=Leaf)
def probe(
    ctx: typer.Context,
    model: str = typer.Argument(None, metavar="MODEL", help="Otherwise every model."),
) -> int:
    """Ask models for one word each, to see whether they answer; this is paid for, within the caps."""
    from acr_cli import build
    from acr_cli.cli.table import say

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    names = [model] if model else [c.id for c in _models(settings)]
    if not names:
        raise UsageError(
            "There is no model to test.",
            hint="`acr models add` adds one; `acr config init` proposes those that it finds.",
        )
    budget = build.run_budget(settings)
    invocation.ends = ProviderError.exit_code
    answered = [_answers(settings, name, budget, invocation) for name in names]
    if not any(answered) and len(names) > 1:
        say(invocation.err, "No model answered.")
    return invocation.ends


def _models(settings: Settings) -> list[Candidate]:
    from acr_cli import build

    return [candidate for candidate in build.candidates(settings) if candidate.model]


def _answers(settings: Settings, name: str, budget: Budget, invocation: Invocation) -> bool:
    """Whether a model answers; what it said and what that cost, or why not, is shown.

    Raises: BudgetExhausted."""
    from acr_cli import build
    from acr_cli.cli.table import say

    try:
        reply = build.probe(settings, name, budget)
    except ProviderError as error:
        # One provider that fails is this command's result, not its end.
        say(invocation.out, error.message, "red")
        if error.hint:
            say(invocation.out, f"  {error.hint}")
        return False
    invocation.ends = 0
    say(
        invocation.out,
        f"{name} answers: {reply.content} ({usd(reply.cost_usd)}, {seconds(reply.seconds)})",
        "green",
    )
    return True
