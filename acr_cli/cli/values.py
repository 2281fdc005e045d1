"""Values that completion scripts ask for; answered without typer and without any slow library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from acr_cli.cli.invocation import Invocation
from acr_cli.cli.terminal import one_line
from acr_cli.errors import UsageError
from acr_cli.settings import Settings

MOST = 400


def print_values(arguments: Sequence[str], invocation: Invocation) -> int:
    """One value a line. Raises: UsageError for an unknown kind."""
    kind = arguments[0] if arguments else ""
    if kind not in KINDS:
        raise UsageError(f"--values takes one of {', '.join(KINDS)}.")
    invocation.quiet = True
    for value in KINDS[kind](invocation.settings())[:MOST]:
        sys.stdout.write(one_line(value) + "\n")
    return 0


def _models(settings: Settings) -> list[str]:
    from acr_cli.models.catalogue import ids

    return [*ids(settings, os.environ), "builtin/repair", *settings.backends]


def _known(_: Settings) -> list[str]:
    from acr_cli.models.known import table

    return list(table().models)


def _configured(settings: Settings) -> list[str]:
    return [*dict.fromkeys(model.id for model in settings.models), *settings.providers]


def _runs(settings: Settings) -> list[str]:
    folder = settings.home / "runs"
    if not folder.is_dir():
        return []
    return sorted((run.name for run in folder.iterdir() if run.is_dir()), reverse=True)


def _outcomes(settings: Settings) -> list[str]:
    from acr_cli import build

    return [outcome.id for outcome in build.memory(settings).list(limit=MOST)]


KINDS: Mapping[str, Callable[[Settings], list[str]]] = {
    "models": _models,
    "known": _known,
    "configured": _configured,
    "runs": _runs,
    "outcomes": _outcomes,
}
