"""Layered settings: defaults, then files, then the command line."""

from collections.abc import Mapping
from typing import Any

MISSING = object()


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """A new mapping; tables are merged key by key, other values replaced, None removes a key."""
    merged = dict(base)
    for key, value in override.items():
        current = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(current, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(current, override)
        else:
            merged[key] = value
    return merged


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """All layers merged, later ones winning."""
    result: dict[str, Any] = {}
    for layer in layers:
        result = merge(result, layer)
    return result


def lookup(config: Mapping[str, Any], path: str, default: Any = MISSING) -> Any:
    """The value at a dotted path."""
    value: Any = config
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            if default is MISSING:
                raise KeyError(path)
            return default
        value = value[name]
    return value


def from_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options such as `server.port=80` as nested tables."""
    result: dict[str, Any] = {}
    for path, value in options.items():
        *tables, name = path.split(".")
        table = result
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = value
    return result
