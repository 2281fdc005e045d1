"""Which models may be chosen: the config's, those of accepted providers; and which could be proposed.

Accepting a provider takes a short named list of its models, never everything that its key could reach. A
provider without its key has no candidates.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from acr_cli.models.keys import KEY_VARIABLES
from acr_cli.models.prices import (
    OLLAMA_URL,
    endpoint,
    facts,
    is_local,
    is_loopback,
    price_of,
    provider_of,
)
from acr_cli.records import Candidate, Price
from acr_cli.settings import ModelEntry, Settings

SHORT_LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "anthropic": (
            "anthropic/claude-haiku-5-5",
            "anthropic/claude-sonnet-5-5",
            "anthropic/claude-opus-5-5",
        ),
        "openai": ("openai/gpt-6-luna", "openai/gpt-6.1-sol", "openai/gpt-5.6"),
        "gemini": ("gemini/gemini-3.8-flash", "gemini/gemini-4-argon"),
        "deepseek": ("deepseek/deepseek-v4-flash", "deepseek/deepseek-v4-pro"),
        "dashscope": ("dashscope/qwen3.8-flash", "dashscope/qwen3.8-max"),
        "moonshot": ("moonshot/kimi-k2.7-code", "moonshot/kimi-k3"),
        "zai": ("zai/glm-5.3",),
        "minimax": ("minimax/MiniMax-M3",),
        "xai": ("xai/grok-4.7",),
        "mistral": ("mistral/devstral-latest",),
    }
)
"""What accepting a provider adds: litellm's names, the cheapest first. "ollama" adds what it serves."""

OLLAMA = "ollama"
_OLLAMA_MODELS = 12  # of one server: a list that a person can read

Probe = Callable[[str, Mapping[str, Any] | None], Mapping[str, Any] | None]
"""Ask a URL on this machine, by POST where there is a body; its JSON answer, None when nobody answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A provider that could be used: by its key, or because a server on this machine answers."""

    provider: str  # as in Settings.providers
    evidence: str  # the variable that holds the key, or the URL that answers
    models: tuple[ModelEntry, ...]
    prices: tuple[Price, ...]  # one a model


def candidates(
    settings: Settings, environ: Mapping[str, str], *, probe: Probe | None = None
) -> tuple[Candidate, ...]:
    """Every language model that may be chosen, one candidate an effort, ids unique.

    From the config's models, the accepted providers whose key is there, and a model that the user named with
    `--model` or `--allow`. A locally accepted Ollama is asked what it serves."""
    entries = [*settings.models]
    for provider in settings.providers:
        if provider == OLLAMA:
            entries += _served(probe or ask_loopback)
        elif _key_variable(provider, environ):
            entries += [ModelEntry(id=name) for name in SHORT_LISTS.get(provider, ())]
    entries += _named(settings, entries)
    found: dict[str, Candidate] = {}
    for entry in entries:
        for effort in entry.effort or (None,):
            candidate = _candidate(entry, effort, environ, settings.time_price)
            if candidate.id in found and found[candidate.id].base_url != candidate.base_url:
                candidate = _candidate(entry, effort, environ, settings.time_price, at_host=True)
            found.setdefault(candidate.id, candidate)
    return tuple(found.values())


def detect(
    environ: Mapping[str, str], probe: Probe | None = None, *, time_price: float = 0.0
) -> tuple[Found, ...]:
    """What could be proposed: providers whose key is set, and an Ollama on its usual port.

    Nothing leaves this machine, and nothing found is used unasked."""
    found = [
        _found(provider, variable, [ModelEntry(id=name) for name in names], time_price)
        for provider, names in SHORT_LISTS.items()
        if (variable := _key_variable(provider, environ))
    ]
    if served := _served(probe or ask_loopback):
        found.append(_found(OLLAMA, OLLAMA_URL, served, time_price))
    return tuple(found)


def canonical(model: str) -> str:
    """A model's name without provider, date and tag, in lower case: "claude-opus-4-6". Pure."""
    name = model.lower().rsplit("/", 1)[-1]
    return re.sub(r"([-@]\d{4}-\d{2}-\d{2}|[-@]\d{6,8}|[-:]latest)$", "", name)


def family(model: str) -> str:
    """The canonical name without version numbers and size: "claude-opus", "gpt-mini", "qwen-coder". Pure."""
    words = canonical(model).split(":", 1)[0].split("-")
    kept = [re.sub(r"(?<=[a-z])\d+(\.\d+)*$", "", word) for word in words if not _VERSION.fullmatch(word)]
    return "-".join(word for word in kept if word) or canonical(model)


_VERSION = re.compile(r"[kmvr]?\d+(\.\d+)*[bk]?")


def ask_loopback(url: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
    """A `Probe` with a third of a second's patience; it asks this machine and no other."""
    parts = urlsplit(url)
    if not is_loopback(url) or parts.hostname is None:
        return None
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=0.3)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(
            "GET" if data is None else "POST", parts.path, data, {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        answer = json.loads(response.read()) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None


def _candidate(
    entry: ModelEntry,
    effort: str | None,
    environ: Mapping[str, str],
    time_price: float,
    *,
    at_host: bool = False,
) -> Candidate:
    known = facts(entry.id)
    name = entry.id
    url = endpoint(entry)
    if at_host and url:
        name += f"+{urlsplit(url).netloc}"
    variable = entry.api_key_env
    if variable is None and url is None:
        variable = _key_variable(provider_of(entry.id) or "openai", environ, default=True)
    return Candidate(
        id=name if effort is None else f"{name}@{effort}",
        backend="agent",
        model=entry.id,
        family=entry.family or family(entry.id),
        base_url=url,
        api_key_env=variable or None,
        effort=effort,
        edit_format=entry.edit,
        price=price_of(entry, time_price=time_price),
        local=is_local(entry),
        context_window=entry.context_window or (None if url else known.context_window),
        tools=known.tools if entry.tools is None and url is None else entry.tools,
    )


def _key_variable(provider: str, environ: Mapping[str, str], *, default: bool = False) -> str:
    """The variable that holds a provider's key; where none is set "", or with `default` the usual one."""
    names = KEY_VARIABLES.get(provider, ())
    usual = names[0] if default and names else ""
    return next((name for name in names if environ.get(name)), usual)


def _named(settings: Settings, known: Iterable[ModelEntry]) -> list[ModelEntry]:
    """Models that a flag names by provider and that are in no list: naming one accepts it, for this run."""
    flagged = [settings.model] if settings.model and _by_user(settings, "model") else []
    if _by_user(settings, "allow"):
        flagged += settings.allow
    ids = {entry.id for entry in known}
    added = []
    for name in flagged:
        model, _, effort = name.partition("@")
        if model not in ids and provider_of(model) in (*KEY_VARIABLES, OLLAMA, "ollama_chat"):
            added.append(ModelEntry(id=model, effort=(effort,) if effort else ()))
    return added


def _by_user(settings: Settings, key: str) -> bool:
    """Whether a value comes from a flag or the environment: a project's file may not add a model."""
    return settings.origins.get(key, "").startswith(("--", "ACR_"))


def _found(provider: str, evidence: str, models: list[ModelEntry], time_price: float) -> Found:
    prices = tuple(price_of(entry, time_price=time_price) for entry in models)
    return Found(provider=provider, evidence=evidence, models=tuple(models), prices=prices)


def _served(probe: Probe) -> list[ModelEntry]:
    """The chat models of an Ollama on its usual port that really run on this machine."""
    listing = probe(f"{OLLAMA_URL}/api/tags", None) or {}
    rows = listing.get("models")
    names = (
        [str(row.get("name") or "") for row in rows if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )
    served = []
    for name in [n for n in names if n and not n.endswith("-cloud")][:_OLLAMA_MODELS]:
        about = probe(f"{OLLAMA_URL}/api/show", {"model": name}) or {}
        abilities = about.get("capabilities")
        if isinstance(abilities, list) and "completion" not in abilities:
            continue
        sizes = about.get("model_info")
        window = next((v for k, v in sizes.items() if k.endswith(".context_length")), None) if sizes else None
        served.append(
            ModelEntry(
                id=f"ollama_chat/{name}",
                tools="tools" in abilities if isinstance(abilities, list) else None,
                context_window=window if isinstance(window, int) else None,
            )
        )
    return served
