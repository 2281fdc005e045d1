"""The pages of the docs that are made from the code: every command's help, and every error.

`python -m acr_cli.cli.reference FOLDER` writes them; a test fails when they are stale.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acr_cli import errors
from acr_cli.cli.app import root
from acr_cli.errors import AcrError

REMEDIES = Path(__file__).with_name("remedies.toml")
"""What to do about each error, by its id."""

ALSO = (("output", 1, "Standard output cannot be written."), ("unexpected", 1, "Something nobody foresaw."))
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


PAGES: Mapping[str, Any] = {"errors.md": errors_page, "cli.md": commands_page}
"""File name -> what makes its text."""


if __name__ == "__main__":
    for file, made in PAGES.items():
        Path(sys.argv[1], file).write_text(made(), encoding="utf-8")
