"""The lists of python.toml, and how a name is matched against them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(
    (files("acr_cli.toolchains") / "python.toml").read_text(encoding="utf-8")
)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a file's name fits one of the patterns (fnmatch, case counts). Pure."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def injected(name: str) -> bytes:
    """The source of one of our files that run inside the sandbox."""
    return (files("acr_cli.toolchains.injected") / name).read_bytes()
