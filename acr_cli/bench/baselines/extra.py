"""Libraries that only baselines need: the extra `bench`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from acr_cli.errors import ConfigurationError

BENCH = "pip install 'acr-cli[bench]'"


def require(module: str, policy: str, *, hint: str = BENCH) -> ModuleType:
    """The module. Raises: ConfigurationError, which says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.split(".", maxsplit=1)[0]
        raise ConfigurationError(
            f"The policy {policy} needs {library}, which cannot be imported: {error}.",
            hint=hint,
        ) from error
