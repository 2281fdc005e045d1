"""`acr completion`: the shells' completion scripts, generated from the tree of commands.

The scripts are static text: Tab starts no Python, unless models, runs or outcomes are asked for. What may
stand at a place is read off its placeholder in the help: FILE, DIR, MODEL, RUN, ID, KEY, or the choices
themselves, as in `none|on`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from acr_cli.cli.app import COMMANDS, Leaf, first_line, group, root
from acr_cli.errors import UsageError
from acr_cli.records import Dimension
from acr_cli.settings import BY_NAME, KEYS

app = group("")

FILES = {"bash": "acr.bash", "zsh": "_acr", "fish": "acr.fish"}
_KINDS = {
    "FILE": "files",
    "FILE|-": "files",
    "DIR": "folders",
    "MODEL": "models",
    "MODEL,...": "models-list",
    "PROVIDER/NAME": "known",
    "RUN": "runs",
    "ID": "outcomes",
    "KEY": "keys",
    "VALUE": "value-of-key",
    "MODEL|PROVIDER": "configured",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """What may stand at a place: "any" | "files" | "folders" | "models" | ... | "choices"."""

    kind: str = "any"
    name: str = ""  # the placeholder
    choices: tuple[str, ...] = ()
    many: bool = False  # the last place, which any number may take


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """One option of a command."""

    names: tuple[str, ...]
    help: str
    value: Value | None = None  # None: it takes none


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A command: with commands of its own, or with arguments."""

    path: tuple[str, ...]  # ("acr", "memory", "list")
    help: str
    flags: tuple[Flag, ...] = ()
    arguments: tuple[Value, ...] = ()
    children: tuple[Node, ...] = ()

    def walk(self) -> tuple[Node, ...]:
        """This node and all below it, parents first."""
        return (self, *(each for child in self.children for each in child.walk()))


@app.command(cls=Leaf)
def completion(
    shell: str = typer.Argument(..., metavar="bash|zsh|fish", help="For which shell."),
) -> int:
    """Print a shell's completion script.

    bash: source it in ~/.bashrc. zsh: save it as _acr in a folder of $fpath. fish: save it as
    ~/.config/fish/completions/acr.fish.
    """
    if shell not in FILES:
        raise UsageError(f"There is no completion for {shell!r}.", hint="bash, zsh and fish have one.")
    sys.stdout.write(script(shell))
    return 0


def script(shell: str) -> str:
    """The completion script of "bash", "zsh" or "fish". Pure."""
    from acr_cli.cli import completion_bash, completion_fish, completion_zsh

    writers = {"bash": completion_bash.script, "zsh": completion_zsh.script, "fish": completion_fish.script}
    return writers[shell](tree())


def tree() -> Node:
    """The tree of commands as the scripts see it."""
    return _node(root(), ("acr",), "")


def values_of_keys() -> dict[str, tuple[str, ...]]:
    """What may stand after the keys of `acr config set` that have choices. Pure."""
    values = {key.name: key.choices or ("true", "false") for key in KEYS if key.choices or key.kind == "flag"}
    return {name: choices for name, choices in values.items() if BY_NAME[name].file}


def global_flags(top: Node) -> tuple[Flag, ...]:
    """The options that stand before or after any command."""
    return tuple(flag for flag in top.flags if "--version" not in flag.names and "--help" not in flag.names)


def _node(command: Any, path: tuple[str, ...], line: str) -> Node:
    children = getattr(command, "commands", {})
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    return Node(
        path=path,
        help=line,
        flags=(*(_flag(option) for option in options), Flag(names=("-h", "--help"), help="Show help.")),
        arguments=tuple(
            replace(_value(p.metavar), many=p.nargs == -1)
            for p in command.params
            if p.param_type_name == "argument"
        ),
        children=tuple(
            _node(children[name], (*path, name), _line(children[name], path, name)) for name in children
        ),
    )


def _line(command: Any, path: tuple[str, ...], name: str) -> str:
    if len(path) == 1:
        return COMMANDS[name][1]
    return first_line(command)


def _flag(option: Any) -> Flag:
    return Flag(
        names=tuple(option.opts),
        help=str(option.help or "").split("; default")[0],
        value=None if option.is_flag else _value(option.metavar),
    )


def _value(placeholder: str | None) -> Value:
    name = (placeholder or "").rstrip(".") if placeholder != "MODEL,..." else placeholder
    if name == "DIMENSION":
        return Value(kind="choices", name=name, choices=tuple(Dimension))
    if name in _KINDS:
        kind = _KINDS[name]
        keys = tuple(key.name for key in KEYS if key.file) if kind == "keys" else ()
        return Value(kind="choices" if keys else kind, name=name, choices=keys)
    if "|" in name and name == name.lower():
        return Value(kind="choices", name=name, choices=tuple(name.split("|")))
    return Value(name=name)


def write_all(folder: Path) -> None:
    """Write all scripts into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
