"""The published prior: success rate of a model in a dimension, and how it was found.

Lookup: the exact name, then an alias, then the family; a model that none of them knows starts neutral, at the
mean of its dimension, and so does a small sibling of a large model. Figures and source: `priors.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from statistics import fmean

from acr_cli.records import Candidate

_VENDOR = re.compile(r"^([a-z]\w*\.)+(?=[a-z])")  # "us.anthropic.claude-..."
_VERSION = re.compile(r"([-@](20\d{6}|20\d\d-\d\d-\d\d|\d{4}|latest|default)|-v\d+:\d+|:[\w.-]+)+$")
_SMALL = re.compile(r"[-:](mini|nano|lite|flash|air|tiny|small|\d+(\.\d+)?b)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """A success rate in [0, 1] and where it comes from, for people."""

    value: float
    note: str


Rates = Callable[[Candidate, str], Prior]
"""(candidate, dimension) -> what is expected of it before it was ever tried."""


@dataclass(frozen=True, slots=True)
class _Table:
    columns: dict[str, int]
    models: dict[str, list[float]]
    backends: dict[str, float]
    aliases: dict[str, str]
    families: dict[str, str]


@lru_cache(maxsize=1024)
def plain_name(model: str) -> str:
    """A model's name without provider, date and tag, in lower case. Pure."""
    return _VERSION.sub("", _VENDOR.sub("", model.lower().rsplit("/", 1)[-1]))


def published_rate(candidate: Candidate, dimension: str) -> Prior:
    """The prior of a candidate in a dimension. Pure."""
    return published(candidate.model or candidate.id, candidate.family, dimension)


@lru_cache(maxsize=4096)
def published(model: str, family: str, dimension: str) -> Prior:
    """The prior of a model (litellm's name, or the id of a backend without one) in a dimension, or over all
    where the dimension is none of ours. Pure."""
    table = _table()
    if model in table.backends:
        return Prior(value=table.backends[model], note="published for its kind")
    column = table.columns.get(dimension)  # None: of a foreign matrix
    name = plain_name(model)
    known = table.aliases.get(name, name)
    if known in table.models:
        note = "published" if known == name else f"published for {known}"
        return Prior(value=_cell(table.models[known], column), note=note)
    kin = () if _SMALL.search(model.lower()) else (name, family.lower())
    for beginning in sorted(table.families, key=len, reverse=True):
        if any(one.startswith(beginning) for one in kin):
            relative = table.families[beginning]
            return Prior(value=_cell(table.models[relative], column), note=f"inherited from {relative}")
    neutral = fmean(_cell(row, column) for row in table.models.values())
    return Prior(value=neutral, note="no published figure: starts neutral")


def _cell(row: list[float], column: int | None) -> float:
    return fmean(row) if column is None else row[column]


@lru_cache(maxsize=1)
def _table() -> _Table:
    content = tomllib.loads(files("acr_cli.orchestrator").joinpath("priors.toml").read_text("utf-8"))
    columns = {name: index for index, name in enumerate(content["columns"])}
    return _Table(columns, content["models"], content["backends"], content["aliases"], content["families"])
