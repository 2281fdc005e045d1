"""The tables of the languages (`NAME.toml`), what all share (`shared.toml`), our files in the sandbox."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from typing import Any


@functools.cache
def table(name: str) -> dict[str, Any]:
    """The table of a language."""
    return tomllib.loads((files("acr_cli.toolchains") / f"{name}.toml").read_text(encoding="utf-8"))


def injected(name: str) -> bytes:
    """The source of one of our files that run inside the sandbox."""
    return (files("acr_cli.toolchains.injected") / name).read_bytes()
