"""The models as tables and as data: price, context, abilities, health, and what memory says of each."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acr_cli.cli.table import say, show_table
from acr_cli.cli.words import count, number, percent, usd
from acr_cli.errors import AcrError
from acr_cli.models.breaker import circuit_names
from acr_cli.models.keys import missing_key
from acr_cli.models.known import table
from acr_cli.records import SCHEMA, Candidate, Price
from acr_cli.redaction import without_keys
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from acr_cli.memory.stats import Group

KNOCK_SECONDS = 0.2


def show(
    out: Console, candidates: Sequence[Candidate], learned: Mapping[str, Group], states: Mapping[str, str]
) -> None:
    """One line a model."""
    columns = ["=model", ">USD/M in", ">out", ">context", "can", "state", "memory"]
    rows = []
    for each in candidates:
        context = number(each.context_window) if each.context_window else "-"
        rows.append(
            [
                each.id,
                *_prices(each.price),
                context,
                _abilities(each),
                states[each.id],
                _learned(learned.get(each.id)),
            ]
        )
    show_table(out, columns, rows)


def shape(
    candidate: Candidate, group: Group | None, state: str, environment: Mapping[str, str]
) -> dict[str, Any]:
    """A candidate as JSON. Pure."""
    price = candidate.price
    prices = {
        "input": price.input,
        "output": price.output,
        "per_second": price.per_second,
        "source": price.source,
    }
    memory = None
    if group is not None:
        names = ("outcomes", "success_rate", "mean_cost_usd")
        memory = {name: getattr(group, name) for name in names}
    return {
        "type": "model",
        "schema": SCHEMA,
        "model": candidate.id,
        "family": candidate.family,
        "effort": candidate.effort,
        "base_url": without_keys(candidate.base_url) if candidate.base_url else None,
        "local": candidate.local,
        "price": prices,
        "context_window": candidate.context_window,
        "tools": candidate.tools,
        "key": _key(candidate, environment),
        "health": state,
        "memory": memory,
    }


def show_known(out: Console, text: str) -> int:
    """The current models of the large providers whose name holds a text; how many."""
    known = table()
    rows = []
    for name, row in known.models.items():
        if text.lower() in name.lower():
            tools = "tools" if row.get("tools") else ""
            window = number(row["context_window"]) if row.get("context_window") else "-"
            rows.append([name, row["family"], f"{row['input']:g}", f"{row['output']:g}", window, tools])
    if rows:
        show_table(out, ["=model", "family", ">USD/M in", ">out", ">context", "can"], rows)
        say(out, f"{count(len(rows), 'model')}, as {known.source} knew them on {known.date}", "dim")
    return len(rows)


def health(
    candidates: Sequence[Candidate], environment: Mapping[str, str], *, resting: Collection[str] = ()
) -> dict[str, str]:
    """ "ready", "no key", "down" or "resting" of each candidate; only servers on this machine are knocked at.

    `resting` are the names of endpoints and models that have failed too often of late."""
    heard: dict[str, bool] = {}
    states = {}
    for each in candidates:
        if missing_key(each, environment):
            states[each.id] = "no key"
        elif not {*circuit_names(each)}.isdisjoint(resting):
            states[each.id] = "resting"
        elif each.local and each.base_url:
            if each.base_url not in heard:
                heard[each.base_url] = _hears(each.base_url)
            states[each.id] = "ready" if heard[each.base_url] else "down"
        else:
            states[each.id] = "ready"
    return states


def learned(settings: Settings) -> Mapping[str, Group]:
    """What memory holds of each candidate; {} where there is none, or it cannot be read."""
    from acr_cli import build

    if (settings.home / "memory").is_dir():
        with suppress(AcrError):
            return build.statistics(settings).models
    return {}


def _hears(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=KNOCK_SECONDS):
            return True
    except OSError:
        return False


def _prices(price: Price) -> tuple[str, str]:
    if not price.known:
        return "unpriced", ""
    if price.per_second and not price.input and not price.output:
        return f"{usd(price.per_second)}/s", ""
    return f"{price.input:g}", f"{price.output:g}"


def _abilities(candidate: Candidate) -> str:
    if not candidate.model:
        return "repair"
    known = ["tools"] if candidate.tools else []
    return ", ".join([*known, *([f"effort {candidate.effort}"] if candidate.effort else [])]) or "-"


def _learned(group: Group | None) -> str:
    if group is None or not group.outcomes:
        return "-"
    rate = f", {percent(group.success_rate)} passed" if group.success_rate is not None else ""
    return f"{count(group.outcomes, 'try', 'tries')}{rate}, {usd(group.mean_cost_usd)} each"


def _key(candidate: Candidate, environment: Mapping[str, str]) -> str:
    if candidate.api_key_env is None:
        return "none needed" if candidate.local else "-"
    return "set" if environment.get(candidate.api_key_env) else f"{candidate.api_key_env} is not set"
