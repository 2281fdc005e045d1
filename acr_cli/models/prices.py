"""What a model costs and can do: from the user's config, else from litellm's own map.

The map is a JSON file inside the installed litellm. Importing litellm to ask it takes seconds, reading the
file some forty milliseconds, so it is read, where the table of `known` does not do. Prices that depend
on the prompt's length are taken at their first tier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acr_cli.models.known import table
from acr_cli.settings import ModelEntry

if TYPE_CHECKING:
    from acr_cli.records import Price, Usage

OLLAMA_URL = "http://127.0.0.1:11434"
"""Where an Ollama listens unless the user's config says otherwise."""

OTHER_PROVIDERS = frozenset({"ollama", "ollama_chat", "openai", "hosted_vllm", "lm_studio", "litellm_proxy"})
"""Names of providers that need not have priced models in the map."""

MILLION = 1_000_000
_MAP = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What litellm's map knows of a model; None and False where it is silent."""

    input: float | None = None  # USD per million tokens
    output: float | None = None
    cached_input: float | None = None
    cache_write: float | None = None  # of input that the provider then keeps
    context_window: int | None = None  # tokens of a prompt
    max_output: int | None = None  # tokens of a reply
    tools: bool | None = None


def provider_of(model: str) -> str:
    """The provider's part of litellm's name: "anthropic" of "anthropic/claude-opus-4-6", "" without one."""
    provider, slash, _ = model.partition("/")
    return provider if slash else ""


def is_known(model: str) -> bool:
    """Whether litellm's map, or the name's first part, says who provides a model."""
    provider = provider_of(model)
    if provider in OTHER_PROVIDERS or model in current():
        return True
    known = whole_map()
    if not provider:
        return model in known
    return provider in {row.get("litellm_provider") for row in known.values()}


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this very machine by its literal address or by the name localhost. Pure."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def endpoint(entry: ModelEntry) -> str | None:
    """Where a model is reached: the config's URL, Ollama's usual one, or None: the provider's own."""
    if entry.base_url:
        return entry.base_url.rstrip("/")
    return OLLAMA_URL if provider_of(entry.id) in ("ollama", "ollama_chat") else None


def is_local(entry: ModelEntry) -> bool:
    """Whether a model answers from this machine. Ollama's "-cloud" models are only passed on by it."""
    url = endpoint(entry)
    return url is not None and is_loopback(url) and not entry.id.endswith("-cloud")


def facts(model: str) -> Facts:
    """What litellm's map says of a model by its full name, else by its name without the provider."""
    if (listed := current().get(model)) is not None:
        return Facts(**{name: value for name, value in listed.items() if name != "family"})
    known = whole_map()
    row = known.get(model)
    if row is None:
        provider, _, name = model.partition("/")
        row = known.get(name)
        # A bare name belongs to the provider that the map gives it; another one has prices of its own.
        if row is None or row.get("litellm_provider") not in (provider, f"{provider}_chat"):
            return Facts()
    return facts_of(row)


def facts_of(row: Mapping[str, Any]) -> Facts:
    """What one row of litellm's map says. Pure."""
    tiers = row.get("tiered_pricing")
    priced = tiers[0] if isinstance(tiers, list) and tiers else row
    return Facts(
        input=_usd(priced, "input_cost_per_token"),
        output=_usd(priced, "output_cost_per_token"),
        cached_input=_usd(priced, "cache_read_input_token_cost"),
        cache_write=_usd(priced, "cache_creation_input_token_cost"),
        context_window=_count(row, "max_input_tokens"),
        max_output=_count(row, "max_output_tokens"),
        tools=bool(row["supports_function_calling"]) if "supports_function_calling" in row else None,
    )


def price_of(entry: ModelEntry, *, time_price: float) -> Price:
    """The price of a model: config, else 0 USD and `time_price` a second on this machine, else litellm's map.

    `source` says which; "unpriced" where nobody knows.
    """
    from acr_cli.records import Price

    if entry.price is not None:
        return entry.price
    if is_local(entry):
        return Price(input=0.0, output=0.0, per_second=time_price, source="loopback")
    if endpoint(entry) is not None:
        # Somebody else's endpoint: what the model costs at its maker says nothing about the price here.
        return Price()
    known = facts(entry.id)
    if known.input is None or known.output is None:
        return Price()
    return Price(input=known.input, output=known.output, cached_input=known.cached_input, source="litellm")


def cost_of(price: Price, usage: Usage, *, written: int = 0, write: float | None = None) -> float:
    """USD of these tokens; 0 for an unpriced model. Seconds are not money paid and are not in it. Pure.

    `written` of the input tokens went into a cache, at `write` USD a million (None: as any other)."""
    if price.input is None or price.output is None:
        return 0.0
    cached = price.input if price.cached_input is None else price.cached_input
    kept = min(written, usage.input_tokens - usage.cached_tokens) if write is not None else 0
    fresh = max(0, usage.input_tokens - usage.cached_tokens - kept)
    spent = fresh * price.input + usage.cached_tokens * cached + usage.output_tokens * price.output
    return (spent + max(0, kept) * (write or 0.0)) / MILLION


@cache
def current() -> Mapping[str, Mapping[str, Any]]:
    """The models of `known`'s table; none where another map is installed, which then is read instead."""
    path = map_file()
    if path is not None and path.stat().st_size != table().map_bytes:
        return {}
    return table().models


def map_file() -> Path | None:
    """Where the installed litellm has its map."""
    spec = find_spec("litellm")
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / _MAP if folders else None
    return path if path is not None and path.is_file() else None


@cache
def whole_map() -> Mapping[str, Mapping[str, Any]]:
    """All of litellm's map, by its own names of models."""
    path = map_file()
    rows = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
    return rows if isinstance(rows, dict) else {}


def _usd(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return round(float(value) * MILLION, 6) if isinstance(value, int | float) else None


def _count(row: Mapping[str, Any], key: str) -> int | None:
    value = row.get(key)
    return int(value) if isinstance(value, int | float) else None
