"""The pages of the docs that are made from the code: every command's help, every setting, every error.

`python -m acr_cli.cli.reference FOLDER` writes them; a test fails when they are stale.
"""

from __future__ import annotations

import inspect
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from acr_cli import errors
from acr_cli.cli.app import root
from acr_cli.errors import AcrError
from acr_cli.settings.keys import KEYS
from acr_cli.settings.records import Settings

REMEDIES = Path(__file__).with_name("remedies.toml")
"""What to do about each error, by its id."""

ALSO = (
    ("out-of-memory", 1, "This machine's memory is used up."),
    ("output", 1, "Standard output cannot be written."),
    ("unexpected", 1, "Something nobody foresaw."),
)
"""Errors that are no `AcrError`: id, exit code, what it is."""

GENERATED = "<!-- Made from the code by `make docs`; do not edit. -->"


def rows() -> list[tuple[str, int, str]]:
    """Every error's id, exit code and first line of description, by exit code. Pure."""
    found = {AcrError.id: (AcrError.exit_code, str(AcrError.__doc__).split("\n", 1)[0])}
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, AcrError) and kind is not AcrError:
            found[kind.id] = (kind.exit_code, str(kind.__doc__).split("\n", 1)[0])
    listed = [(name, code, says) for name, (code, says) in found.items()]
    return sorted([*listed, *ALSO], key=lambda row: (row[1], row[0]))


def errors_page() -> str:
    """docs/errors.md."""
    remedies = tomllib.loads(REMEDIES.read_text(encoding="utf-8"))
    lines = [
        GENERATED,
        "",
        "# Errors",
        "",
        "Every error is one sentence on standard error, with its id in brackets at the end, and mostly a",
        "second line that says what to do. With `--json` the id stands in `error.id`. Ids and exit codes",
        "stay as they are from release to release.",
        "",
        "| Id | Exit code |",
        "|---|---|",
    ]
    lines += [f"| [`{name}`](#{name}) | {code} |" for name, code, _ in rows()]
    for name, code, says in rows():
        lines += ["", f"## {name}", "", f"{says} Exit code {code}.", "", remedies[name]]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """docs/cli.md: the help of every command, as it is printed 80 columns wide."""
    lines = [
        GENERATED,
        "",
        "# Commands",
        "",
        "The global options stand before or after a command's name. Results go to standard output, progress",
        "to standard error. Errors and exit codes are explained in [errors](errors.md).",
    ]
    fresh = root.__wrapped__()  # a command keeps the help option that it was first asked for
    for path, text in _helps(fresh, ("acr",)):
        lines += ["", f"{'#' * min(len(path) + 1, 3)} {' '.join(path)}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _helps(command: Any, path: tuple[str, ...], parent: Any = None) -> Iterator[tuple[tuple[str, ...], str]]:
    options = {**command.context_settings, "terminal_width": 80, "max_content_width": 80}
    context = command.context_class(command, info_name=path[-1], parent=parent, **options)
    yield path, command.get_help(context)
    children = getattr(command, "commands", {})
    for name in children:
        yield from _helps(children[name], (*path, name), context)


def settings_page() -> str:
    """docs/settings.md: every key with its default and what a repository may do to it."""
    lines = [
        GENERATED,
        "",
        "# Settings",
        "",
        "How they are set, and where they are looked for, stands in [configuration](configuration.md).",
        "",
        "| key | default | what it is | in a repository's `.acr.toml` |",
        "|---|---|---|---|",
    ]
    defaults = {each.name: getattr(Settings(home=Path()), each.name) for each in fields(Settings)}
    for key in KEYS:
        if key.file:
            value = "" if defaults[key.field] is None else f"`{_toml(key.kind, defaults[key.field])}`"
            unsaid = [choice for choice in key.choices if choice not in key.about]
            about = key.about + (f" ({', '.join(key.choices)})" if unsaid else "")
            lines.append(f"| `{key.name}` | {value} | {about} | {_NARROWED[key.project]} |")
    return "\n".join(lines) + "\n"


_NARROWED = {
    "": "",
    "min": "may lower it",
    "intersect": "may narrow it",
    "union": "may add to it",
    "strict": "may make it stricter",
}


def _toml(kind: str, value: Any) -> str:
    """As one would write it in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "duration":
        return f'"{value / 60:g}m"' if value % 60 == 0 else f'"{value:g}s"'
    if kind == "size":
        return f'"{value / 1024**3:g}GiB"'
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


PAGES: Mapping[str, Any] = {
    "errors.md": errors_page,
    "cli.md": commands_page,
    "settings.md": settings_page,
}
"""File name -> what makes its text."""


if __name__ == "__main__":
    for file, made in PAGES.items():
        Path(sys.argv[1], file).write_text(made(), encoding="utf-8")
