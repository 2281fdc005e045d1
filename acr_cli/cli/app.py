"""The tree of commands. A command's module is imported when the command is called, not before."""

# ruff: noqa: PLR0917, ARG001  typer reads a command's options off its signature

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from acr_cli import __version__
from acr_cli.cli.examples import epilog
from acr_cli.cli.invocation import Invocation

COMMANDS: dict[str, tuple[str, str]] = {
    "fix": ("acr_cli.cli.fix", "Repair or change the repository you stand in."),
    "chat": ("acr_cli.cli.chat", "Talk about the repository you stand in."),
    "apply": ("acr_cli.cli.apply", "Apply a run's patch that was kept back."),
    "undo": ("acr_cli.cli.undo", "Reverse exactly the patch of a run."),
    "route": ("acr_cli.cli.route", "Show which model would be chosen, and why."),
    "memory": ("acr_cli.cli.memory", "What acr remembers of past outcomes."),
    "bench": ("acr_cli.cli.bench", "Replay policies on recorded outcomes."),
    "train": ("acr_cli.cli.train", "Train a policy model on recorded outcomes."),
    "models": ("acr_cli.cli.models", "The models that may be chosen."),
    "warm": ("acr_cli.cli.warm", "Fill memory from this repository's own history."),
    "runs": ("acr_cli.cli.runs", "Past runs."),
    "cache": ("acr_cli.cli.cache", "What acr keeps on disk and could make again."),
    "config": ("acr_cli.cli.config", "Settings: show, set, set up."),
    "doctor": ("acr_cli.cli.doctor", "Check what acr needs on this machine."),
    "completion": ("acr_cli.cli.completion", "Print a shell's completion script."),
}
"""Name -> module, whose `app` is the command, and the line that stands for it in the list of commands."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Repair": ("fix", "chat", "apply", "undo"),
    "Look and learn": ("route", "memory", "warm", "runs", "bench", "train"),
    "Set up": ("models", "config", "cache", "doctor", "completion"),
}
"""How the list of commands is divided."""

WIDE = 78  # columns of a help text from which on options stand in two columns
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_GLOBAL = "global_"


class Verbatim:
    """Takes what stands on the command line as it is.

    Ours are texts, lists of texts and switches, and Typer's own way to convert them imports pydantic, which
    takes as long as all the rest of a short command."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """A list for what may stand several times, else the value itself; None where nothing is given."""
        return list(value or ()) if param.multiple or param.nargs == -1 else value


def _verbatim(params: list[Any]) -> list[Any]:
    """The same parameters, with `Verbatim` in the place of Typer's conversion."""
    for param in params:
        if param.type_descriptor.annotation in (str, bool, list[str]):
            setattr(param, "get_runtime_param", Verbatim)  # noqa: B010  a method, of this one object
    return params


class Leaf(TyperCommand):
    """A command that takes the global options too, so that they may stand before or after its name."""

    def __init__(self, name: str | None, *, params: list[Any] | None = None, **rest: Any) -> None:
        super().__init__(name, params=[*(params or []), *_hidden_globals()], **rest)

    def get_params(self, ctx: Any) -> list[Any]:
        return _verbatim(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        _take_globals(ctx)
        return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if text := epilog(ctx.command_path):
            formatter.write_paragraph()
            formatter.write(text)


class Branch(TyperGroup):
    """A command with commands of its own; their lines in its help are whole."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _verbatim(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        lines = [(name, first_line(command)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


class Lazy(TyperGroup):
    """The root: knows its commands by name and line, and imports one when it is asked for."""

    def __init__(self, *, commands: Any = None, **rest: Any) -> None:
        super().__init__(**rest)
        self.commands = _Commands()

    def get_params(self, ctx: Any) -> list[Any]:
        return _verbatim(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Commands first, then the options in two columns: all of it is to fit on one screen."""
        narrow = formatter.width < WIDE
        margin, width = max(map(len, SECTIONS)) + 2, max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            rows = [(name, COMMANDS[name][1]) for name in names]
            if narrow:
                formatter.write(f"{title}:\n")
                formatter.write_dl(rows)
                continue
            for number, (name, says) in enumerate(rows):
                formatter.write(f"{'' if number else title:<{margin}}{name:<{width}}  {says}\n")
        options = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        formatter.write("Options, before or after a command:\n")
        if narrow:
            formatter.write_dl(options)
        else:
            formatter.write("".join(f"{line}\n" for line in _in_two_columns(options)))


class _Commands(MutableMapping[str, Any]):
    """Commands by name, each made when it is first looked at."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module, _ = COMMANDS[name]
            command = get_command(import_module(module).app)
            command.name = name
            self._made[name] = command
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def first_line(command: Any) -> str:
    """What a command's help begins with. Pure."""
    return str(command.help or "").strip().split("\n", maxsplit=1)[0]


def _in_two_columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and what they mean, the first half left of the second. Pure."""
    half = (len(rows) + 1) // 2
    columns = [rows[:half], rows[half:]]
    names = [max(len(name) for name, _ in column) for column in columns]
    cells = [[f"  {n:<{size}}  {says}" for n, says in c] for c, size in zip(columns, names, strict=True)]
    width = max(map(len, cells[0]))
    return [f"{left:<{width}}{right}".rstrip() for left, right in zip_longest(*cells, fillvalue="")]


def group(help_text: str) -> typer.Typer:
    """A command with commands of its own, or (with a single one and no callback) one command."""
    return typer.Typer(
        cls=Branch,
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"acr {__version__}\n")
        raise typer.Exit


@functools.cache
def root() -> TyperGroup:
    """The whole program as one command."""
    app = typer.Typer(
        cls=Lazy,
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )

    @app.callback()
    def acr(
        ctx: typer.Context,
        global_directory: str = typer.Option(None, "-C", metavar="DIR", help="Work in DIR."),
        global_quiet: bool = typer.Option(False, "-q", "--quiet", help="Only the result."),
        global_verbose: bool = typer.Option(False, "-v", "--verbose", help="Say more."),
        global_no_color: bool = typer.Option(False, "--no-color", help="No colour."),
        global_config: str = typer.Option(None, "--config", metavar="FILE", help="Instead of config.toml."),
        version: bool = typer.Option(
            False, "--version", help="Show the version.", is_eager=True, callback=_show_version
        ),
    ) -> None:
        """Repair code in git: route each step to a model, verify the result, remember."""
        _take_globals(ctx)

    command = get_command(app)
    if not isinstance(command, TyperGroup):
        raise TypeError("the root of the commands is no group")
    return command


@functools.cache
def _hidden_globals() -> tuple[Any, ...]:
    """The global options, as a command takes them: the same, without a line in its help."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    def options(
        global_directory: str = typer.Option(None, "-C", metavar="DIR", hidden=True),
        global_quiet: bool = typer.Option(False, "-q", "--quiet", hidden=True),
        global_verbose: bool = typer.Option(False, "-v", "--verbose", hidden=True),
        global_no_color: bool = typer.Option(False, "--no-color", hidden=True),
        global_config: str = typer.Option(None, "--config", metavar="FILE", hidden=True),
    ) -> None:
        """Only its parameters are used."""

    return tuple(get_command(app).params)


def _take_globals(ctx: Any) -> None:
    names = [name for name in ctx.params if name.startswith(_GLOBAL)]
    given = {name.removeprefix(_GLOBAL): ctx.params[name] for name in names}
    if not isinstance(ctx.command, TyperGroup):
        for name in names:
            del ctx.params[name]
    invocation = ctx.find_root().obj
    if isinstance(invocation, Invocation):
        invocation.update(**given)
