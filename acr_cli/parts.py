"""Parts by name: entry points, imported only when chosen. Built-in names cannot be taken over."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from acr_cli.errors import ConfigurationError

_NOUNS = {
    "voters": "voter",
    "embedders": "embedder",
    "sandboxes": "sandbox",
    "edit_formats": "edit format",
    "toolchains": "toolchain",
    "backends": "backend",
}


def load(group: str, name: str, builtin: Mapping[str, str]) -> Any:
    """The object behind `name`: a built-in ("module:attribute"), else an entry point of `acr_cli.GROUP`.

    Raises: ConfigurationError when nobody offers it or it cannot be imported."""
    if name in builtin:
        module, _, attribute = builtin[name].partition(":")
        return getattr(import_module(module), attribute)
    noun = _NOUNS[group]
    for point in entry_points(group=f"acr_cli.{group}", name=name):
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                f"The {noun} {name!r} ({point.value}) cannot be imported: {error}.",
                hint="Reinstall the package that offers it, or choose another.",
            ) from error
    known = ", ".join(sorted({*builtin, *(p.name for p in entry_points(group=f"acr_cli.{group}"))}))
    raise ConfigurationError(f"No {noun} is named {name!r}.", hint=f"Known: {known}.")
