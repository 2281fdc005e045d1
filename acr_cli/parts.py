"""Parts by name: entry points, imported only when chosen. Built-in names cannot be taken over."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from acr_cli.errors import ConfigurationError


def load(group: str, name: str, builtin: Mapping[str, str]) -> Any:
    """The object behind `name`: a built-in ("module:attribute"), else an installed entry point of `acr_cli.GROUP`.

    Raises: ConfigurationError when nobody offers it or it cannot be imported."""
    if name in builtin:
        module, _, attribute = builtin[name].partition(":")
        return getattr(import_module(module), attribute)
    for point in entry_points(group=f"acr_cli.{group}", name=name):
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                f"{group} {name!r} of {point.value!r} cannot be imported: {error}.",
                hint="Reinstall the package that offers it, or choose another.",
            ) from error
    known = ", ".join(sorted({*builtin, *(p.name for p in entry_points(group=f"acr_cli.{group}"))}))
    raise ConfigurationError(f"No {group} is named {name!r}.", hint=f"Known: {known}.")
