"""Values as TOML. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from acr_cli.cli.terminal import hidden_shown


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
