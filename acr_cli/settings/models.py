"""`[[model]]` tables of the user's config."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acr_cli.errors import ConfigurationError
from acr_cli.settings.keys import either, ended, holds_key, nearest, variable_problem
from acr_cli.settings.lines import line_of
from acr_cli.settings.records import ModelEntry

if TYPE_CHECKING:
    from acr_cli.records import Price

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TEXTS = ("id", "family", "base_url", "api_key_env", "edit")
_KEYS = (*_TEXTS, "price", "effort", "tools", "context_window")
_PRICES = ("input", "output", "cached_input", "per_second")


def model_entry(table: object, file: str, text: str, number: int) -> ModelEntry:
    """The `number`-th (from 0) model of a config file.

    Raises: ConfigurationError, naming file, line and key."""
    key, problem = fault(table)
    if problem or not isinstance(table, dict):
        line = line_of(text, f"model.{key}", occurrence=number)
        raise ConfigurationError(f"{file}, line {line}: {ended(problem)}")
    return ModelEntry(
        **{name: table[name] for name in (*_TEXTS, "tools", "context_window") if name in table},
        effort=tuple(table.get("effort", ())),
        price=_price(table["price"]) if "price" in table else None,
    )


def fault(table: object) -> tuple[str, str]:
    """The key of a model's table that is wrong, and why; two empty texts where all is well. Pure."""
    if not isinstance(table, dict):
        return "", "each model is a table, [[model]]"
    for key, value in table.items():
        if key not in _KEYS:
            return key, f"unknown key {key!r} of a model{nearest(key, _KEYS)}"
        if problem := _problem(key, value):
            return key, f"{key} of a model {problem}"
    if not table.get("id"):
        return "", 'a model needs an id, such as id = "anthropic/claude-opus-4-6"'
    return "", ""


def _problem(key: str, value: object) -> str:
    """Why a value is none for its key; "" where it is. Pure."""
    match key:
        case "base_url":
            return _url_problem(value)
        case "api_key_env":
            return variable_problem(value)
        case "tools":
            return "" if isinstance(value, bool) else "must be true or false"
        case "context_window":
            whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
            return "" if whole else "must be a number of tokens"
        case "effort":
            known = isinstance(value, list) and all(effort in EFFORTS for effort in value)
            return "" if known else f"must be a list of {either(EFFORTS)}"
        case "price":
            return _price_problem(value)
        case _:
            return "" if isinstance(value, str) and value.strip() else "must be a text in quotes"


def _url_problem(value: object) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
        port_is_read = parts is not None and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is not an address"
    if parts is None or not port_is_read or parts.scheme not in ("http", "https") or not parts.hostname:
        return "must be an address such as http://localhost:8080/v1"
    if parts.username or parts.password:
        return "must not hold a password: name the variable of the key with api_key_env"
    if holds_key(str(value)):
        return "must not hold a key: name its variable with api_key_env"
    if parts.scheme == "http" and not _is_near(parts.hostname):
        return "must begin with https:// unless it is in your own network"
    return ""


def _is_near(host: str) -> bool:
    """Whether a host is this machine or in a private network, by name or number. Pure."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _price_problem(value: object) -> str:
    if not isinstance(value, dict):
        return "must be a table like {input = 5, output = 25}, in USD per million tokens"
    for name, number in value.items():
        if name not in _PRICES:
            return f"has an unknown part {name!r}{nearest(name, _PRICES)}"
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not isfinite(number)
            or number < 0
        ):
            return f"needs a number of USD for {name}"
    return ""


def _price(table: Mapping[str, Any]) -> Price:
    from acr_cli.records import Price

    return Price(**{name: float(number) for name, number in table.items()}, source="config")
