"""Values as TOML. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from acr_cli.cli.terminal import hidden_shown
from acr_cli.redaction import without_keys


def literal(value: object) -> str:
    """A value as it is written in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case list() | tuple():
            return f"[{', '.join(literal(item) for item in value)}]"
        case Mapping():
            return f"{{{', '.join(f'{name} = {literal(item)}' for name, item in value.items())}}}"
        case _:
            return hidden_shown(json.dumps(str(value), ensure_ascii=False))


def shown(value: object) -> str:
    """The same for a screen: without a key or password that stands in it, as in a command or an address."""
    return literal(_without_keys(value))


def _without_keys(value: object) -> object:
    match value:
        case str():
            return without_keys(value)
        case list() | tuple():
            return [_without_keys(each) for each in value]
        case Mapping():
            return {name: _without_keys(each) for name, each in value.items()}
        case _:
            return value
