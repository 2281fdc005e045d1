"""Which models may be chosen: the config's, those of accepted providers; and which could be proposed.

Accepting a provider takes a short named list of its models, never everything that its key could reach. A
provider without its key has no candidates.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard
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
from acr_cli.settings import ModelEntry, Settings

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from acr_cli.records import Candidate, Price

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
SERVERS: Mapping[str, str] = MappingProxyType(
    {
        "vllm": "http://127.0.0.1:8000/v1",
        "lm_studio": "http://127.0.0.1:1234/v1",
        "llama_cpp": "http://127.0.0.1:8080/v1",
    }
)
"""Servers of local models that speak OpenAI's protocol, and where each listens unless told otherwise."""

_SERVED_AT_MOST = 12  # models of one server: a list that a person can read

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
    return tuple(
        _candidate(name, entry, effort, environ, settings.time_price)
        for name, entry, effort in _chosen(settings, environ, probe or ask_loopback)
    )


def ids(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of the same candidates, without what they cost and can do: for completion, in no time."""
    return tuple(name for name, _, _ in _chosen(settings, environ, ask_loopback))


def _chosen(
    settings: Settings, environ: Mapping[str, str], probe: Probe
) -> Iterator[tuple[str, ModelEntry, str | None]]:
    """Each candidate's id, model and effort."""
    entries = [*settings.models]
    for provider in settings.providers:
        if provider == OLLAMA:
            entries += _served(probe)
        elif provider in SERVERS:
            entries += _listed(SERVERS[provider], probe)
        elif _key_variable(provider, environ):
            entries += [ModelEntry(id=name) for name in SHORT_LISTS.get(provider, ())]
    entries += _named(settings, entries)
    places: dict[str, str | None] = {}
    for entry in entries:
        for effort in entry.effort or (None,):
            url, name = endpoint(entry), _id(entry, effort)
            if url and name in places and places[name] != url:
                name = _id(entry, effort, host=urlsplit(url).netloc)
            if name not in places:
                places[name] = url
                yield name, entry, effort


def _id(entry: ModelEntry, effort: str | None, host: str = "") -> str:
    name = f"{entry.id}+{host}" if host else entry.id
    return name if effort is None else f"{name}@{effort}"


def detect(
    environ: Mapping[str, str], probe: Probe | None = None, *, time_price: float = 0.0
) -> tuple[Found, ...]:
    """What could be proposed: providers whose key is set, and servers of local models on their usual ports.

    Nothing leaves this machine, and nothing found is used unasked."""
    found = [
        _found(provider, variable, [ModelEntry(id=name) for name in names], time_price)
        for provider, names in SHORT_LISTS.items()
        if (variable := _key_variable(provider, environ))
    ]
    ask = probe or ask_loopback
    if served := _served(ask):
        found.append(_found(OLLAMA, OLLAMA_URL, served, time_price))
    for server, url in SERVERS.items():
        if listed := _listed(url, ask):
            found.append(_found(server, url, listed, time_price))
    return tuple(found)


def near(model: str) -> str:
    """The current model that a name nobody knows most likely means, "" where none is near."""
    from acr_cli.models.known import table
    from acr_cli.settings.keys import closest

    provider, name = provider_of(model), model.rpartition("/")[2]
    known = {
        each.partition("/")[2]: each
        for each in reversed(list(table().models))
        if not provider or provider_of(each) == provider
    }
    return known.get(closest(name, list(known)), "")


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
    """A `Probe` with a third of a second's patience, two in all; it asks this machine and no other.

    Whatever holds the port, this ends and raises nothing: what is no JSON, or too long, is no answer."""
    import http.client

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
        answer = json.loads(_whole(response)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None


def _whole(response: HTTPResponse) -> bytes:
    """All of an answer. Raises: TimeoutError where it is too long or does not come to an end."""
    read, until = bytearray(), time.monotonic() + _PATIENCE
    while part := response.read1(_ANSWER_AT_MOST):
        read += part
        if len(read) > _ANSWER_AT_MOST or time.monotonic() > until:
            raise TimeoutError
    return bytes(read)


_PATIENCE = 2.0  # seconds for one answer of a server on this machine
_ANSWER_AT_MOST = 4 * 1024**2  # bytes of it


def _candidate(
    name: str, entry: ModelEntry, effort: str | None, environ: Mapping[str, str], time_price: float
) -> Candidate:
    from acr_cli.records import Candidate

    known = facts(entry.id)
    url = endpoint(entry)
    variable = entry.api_key_env
    if variable is None and url is None:
        variable = _key_variable(provider_of(entry.id) or "openai", environ, default=True)
    return Candidate(
        id=name,
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
    names = [row.get("name") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    served = []
    for name in [n for n in names if _is_name(n) and not n.endswith("-cloud")][:_SERVED_AT_MOST]:
        about = probe(f"{OLLAMA_URL}/api/show", {"model": name}) or {}
        abilities = about.get("capabilities")
        if isinstance(abilities, list) and "completion" not in abilities:
            continue
        sizes = about.get("model_info")
        lengths = sizes.items() if isinstance(sizes, dict) else ()
        window = next((v for k, v in lengths if k.endswith(".context_length")), None)
        served.append(
            ModelEntry(
                id=f"ollama_chat/{name}",
                tools="tools" in abilities if isinstance(abilities, list) else None,
                context_window=window if isinstance(window, int) else None,
            )
        )
    return served


def _is_name(name: object) -> TypeGuard[str]:
    """Whether something that a server says can be a model's name. Pure."""
    return isinstance(name, str) and bool(name.strip()) and name.isprintable()


def _listed(url: str, probe: Probe) -> list[ModelEntry]:
    """The models that a local server of OpenAI's protocol lists; none of what only took its port."""
    rows = (probe(f"{url}/models", None) or {}).get("data")
    served = []
    for row in rows[:_SERVED_AT_MOST] if isinstance(rows, list) else ():
        name = row.get("id") if isinstance(row, dict) else None
        if not _is_name(name) or row.get("object") != "model" or "embed" in name:
            continue
        about = row.get("meta")  # llama.cpp's; vLLM says it at once
        window = row.get("max_model_len") or (about.get("n_ctx_train") if isinstance(about, dict) else None)
        served.append(
            ModelEntry(
                id=f"openai/{name}", base_url=url, context_window=window if isinstance(window, int) else None
            )
        )
    return served
