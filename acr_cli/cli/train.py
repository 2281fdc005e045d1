"""`acr train`: policy models, trained on recorded outcomes."""

# ruff: noqa: PLR0917  typer reads a command's options off its signature

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from acr_cli.cli.app import Leaf, group
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.runs import whole
from acr_cli.errors import UsageError
from acr_cli.records import SCHEMA
from acr_cli.settings.keys import either

if TYPE_CHECKING:
    from acr_cli.advisor.card import Card
    from acr_cli.build.training import Tell
    from acr_cli.training.lora import Seen

app = group("Train a policy model, which votes on whom to choose.")

KINDS = ("classifier", "lora")
DEVICES = ("auto", "cpu", "cuda")
FASTEST = 1.0  # rate of learning
_DIGITS = 9  # of a seed


@app.callback()
def commands() -> None:
    """Train a policy model, which votes on whom to choose."""


@app.command(cls=Leaf)
def policy(
    ctx: typer.Context,
    name: str = typer.Option(None, "--name", metavar="NAME", help="Of the model; default: its kind."),
    kind: str = typer.Option("classifier", metavar="|".join(KINDS), help="Of model: words, or an adapter."),
    matrix: str = typer.Option(None, metavar="FILE", help="Outcomes: task_id, model, score (CSV, Parquet)."),
    tasks: str = typer.Option(None, metavar="FILE", help="The tasks' texts: task_id, prompt (JSON Lines)."),
    own: bool = typer.Option(False, "--memory", help="Your own verified outcomes, also beside a matrix."),
    train: str = typer.Option("train", metavar="SPLIT,...", help="Splits to train on."),
    held_out: str = typer.Option("val", metavar="SPLIT,...", help="Splits to calibrate and measure on."),
    embed: bool = typer.Option(False, "--embed", help="lora: say what became of similar tasks."),
    base: str = typer.Option("", metavar="MODEL", help="lora: a folder, a .gguf file or a name on the hub."),
    steps: str = typer.Option("300", metavar="N", help="lora: most steps."),
    batch: str = typer.Option("4", metavar="N", help="lora: tasks at once."),
    accumulate: str = typer.Option("1", metavar="N", help="lora: batches a step."),
    rate: str = typer.Option("2e-4", metavar="X", help="lora: rate of learning."),
    patience: str = typer.Option("4", metavar="N", help="lora: measurements without a gain, then stop."),
    every: str = typer.Option("25", metavar="N", help="lora: steps between checkpoints."),
    characters: str = typer.Option("1600", metavar="N", help="lora: of a task's text."),
    device: str = typer.Option("auto", metavar="|".join(DEVICES), help="lora: where it is trained."),
    seed: str = typer.Option("0", metavar="N", help="lora: of order and dropout."),
    fresh: bool = typer.Option(False, "--fresh", help="lora: begin anew, also where a checkpoint is."),
    as_json: bool = typer.Option(False, "--json", help="The model's card as data."),
) -> int:
    """Train a policy model on an outcome matrix, your own outcomes, or both.

    A classifier goes by words and takes seconds; an adapter (lora) fine-tunes a language model and needs
    torch and acr-cli[local]. Its training goes on where it was broken off, if it is called the same again.
    """
    from acr_cli.build.training import Training
    from acr_cli.build.training import train as carry_out

    invocation: Invocation = ctx.obj
    settings = invocation.settings()
    chosen = _choice(kind, "--kind", KINDS)
    training = Training(
        name=name or chosen,
        kind=chosen,
        matrix=_path(matrix),
        tasks=_path(tasks),
        own=own,
        train=_names(train),
        held=_names(held_out),
        embed=embed,
        base=_base(base),
        steps=whole(steps, "--steps"),
        batch=whole(batch, "--batch"),
        accumulate=whole(accumulate, "--accumulate"),
        rate=_rate(rate),
        patience=whole(patience, "--patience"),
        every=whole(every, "--every"),
        characters=whole(characters, "--characters"),
        seed=_seed(seed),
        device=_choice(device, "--device", DEVICES),
        fresh=fresh,
    )
    with _progress(invocation) as (tell, seen):
        folder, card = carry_out(settings, training, tell=tell, seen=seen)
    if as_json:
        from acr_cli.cli import shapes

        shapes.write({"type": "policy_model", "schema": SCHEMA, "folder": str(folder), **asdict(card)})
    else:
        _show(invocation, folder, card, votes=card.name in settings.policy_models)
    return 0


def _show(invocation: Invocation, folder: Path, card: Card, *, votes: bool) -> None:
    from acr_cli.cli.table import say, show_table

    figures = {name: each for name, each in card.figures.items() if isinstance(each, dict)}
    rows = [[_TITLES.get(name, name), *_cells(each)] for name, each in figures.items()]
    say(invocation.out, f"{card.held_out} held-out tasks, one attempt each:")
    columns = ["chosen by", ">best chosen", ">mean score", ">regret", ">cost"]
    show_table(invocation.out, columns, rows)
    say(invocation.out, f"{folder}: trained on {card.tasks} tasks, knows {', '.join(card.candidates)}.")
    if not votes:
        say(invocation.out, f"It votes once it is chosen: acr config set policy_models {card.name}")


_TITLES = {
    "alone": "this model alone",
    "dimension_best": "best of each kind",
    "majority": "best on most tasks",
}


def _cells(figures: dict[str, Any]) -> list[str]:
    known = figures["tasks"] > 0  # 0: who was chosen has not tried any of them
    return [
        f"{100 * figures['accuracy']:.1f} %" if known else "-",
        f"{figures['avg_perf']:.2f}" if known else "-",
        f"{figures['cum_reg']:.1f}",
        f"${figures['total_usd']:.2f}",
    ]


@contextmanager
def _progress(invocation: Invocation) -> Iterator[tuple[Tell, Any]]:
    """What takes lines and steps: a bar with loss, held-out accuracy and regret on a terminal."""
    if invocation.quiet:
        yield (lambda _: None), (lambda _: None)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from acr_cli.cli.table import say

    console = invocation.err
    columns = (TextColumn("step"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        place: list[Any] = []

        def seen(now: Seen) -> None:
            if not place:
                place.append(bar.add_task("", total=now.steps))
            bar.update(place[0], completed=now.step, description=f"loss {now.loss:.3f}")
            if now.held_loss is not None:
                say(console, _measured(now))

        yield (lambda text: say(console, text)), seen


def _measured(now: Seen) -> str:
    return (
        f"step {now.step} of {now.steps}: loss {now.loss:.3f}; held out: loss {now.held_loss:.3f},"
        f" best chosen {100 * (now.accuracy or 0):.1f} %, regret {now.regret:.3f} a task"
    )


def _base(text: str) -> str:
    """A path is taken from where the user stands; a name on the hub as it is."""
    path = Path(text).expanduser()
    return str(path.absolute()) if text and path.exists() else text


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def _choice(given: str, flag: str, choices: tuple[str, ...]) -> str:
    if given not in choices:
        raise UsageError(f"{flag} must be {either(choices)}, not {given!r}.")
    return given


def _rate(text: str) -> float:
    """Raises: UsageError for what is no number in (0, 1]."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= FASTEST:
        raise UsageError(f"--rate must be a number above 0 and at most 1, not {text!r}.")
    return number


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _DIGITS:
        raise UsageError(f"--seed must be a whole number of at most {_DIGITS} digits, not {text!r}.")
    return int(text)
