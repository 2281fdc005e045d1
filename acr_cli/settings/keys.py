"""The keys of the configuration and the shapes of their values.

Files, variables and flags all pass through one table, so that a value is refused in the same words wherever
it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isnan
from typing import Any

from acr_cli.errors import AcrError, ConfigurationError


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One key of the configuration."""

    name: str  # as written in TOML, tables by dots
    field: str  # of Settings
    kind: str  # text, list, flag, count, number, money, duration, size, days, variable
    choices: tuple[str, ...] = ()  # of a text
    group: str = ""  # of entry points, whose names are choices too
    low: float = 0
    above: bool = False  # whether `low` itself is too little
    high: float = float("inf")
    file: bool = True  # whether a config file may hold it
    project: str = ""  # how a project narrows it: "min" | "intersect" | "union" | "strict"; "": it may not
    about: str = ""

    @property
    def variable(self) -> str:
        return "ACR_" + self.name.upper().replace(".", "_")


SANDBOXES = ("auto", "docker", "bubblewrap", "none")
APPROVALS = ("auto", "edits", "all")
POLICIES = ("learned", "acrouter", "escalate", "fixed")
ROUTER_PROMPTS = ("zero-shot", "few-shot", "statistics")

KEYS: tuple[Key, ...] = (
    Key(
        name="policy",
        field="policy",
        kind="text",
        choices=POLICIES,
        about=f"how models are chosen: {', '.join(POLICIES)}",
    ),
    Key(name="model", field="model", kind="text", file=False, about="this model only"),
    Key(name="allow", field="allow", kind="list", project="intersect", about="only these models"),
    Key(name="exclude", field="exclude", kind="list", project="union", about="never these models"),
    Key(name="providers", field="providers", kind="list", about="accepted providers, found by their keys"),
    Key(
        name="exploration",
        field="exploration",
        kind="number",
        high=1,
        about="share of choices that try another one, to learn",
    ),
    Key(name="seed", field="seed", kind="count", about="of the random numbers, for repeatable runs"),
    Key(
        name="value_of_success",
        field="value_of_success",
        kind="money",
        above=True,
        high=100_000,
        about="USD a verified fix is worth to you",
    ),
    Key(
        name="value_of_hour",
        field="value_of_hour",
        kind="money",
        high=100_000,
        about="USD an hour of waiting costs you",
    ),
    Key(name="max_cost", field="max_cost", kind="money", project="min", about="USD for a run"),
    Key(
        name="max_cost_day",
        field="max_cost_day",
        kind="money",
        project="min",
        about="USD a day, all runs together",
    ),
    Key(
        name="max_cost_month",
        field="max_cost_month",
        kind="money",
        project="min",
        about="USD a month, all runs together",
    ),
    Key(name="max_steps", field="max_steps", kind="count", low=1, project="min", about="steps of a run"),
    Key(name="max_time", field="max_time", kind="duration", project="min", about="time of a run"),
    Key(name="attempts", field="attempts", kind="count", low=1, project="min", about="tries at a step"),
    Key(
        name="sandbox",
        field="sandbox",
        kind="text",
        choices=SANDBOXES,
        group="acr_cli.sandboxes",
        project="strict",
        about="where tests run",
    ),
    Key(name="image", field="image", kind="text", about="container image for the tests"),
    Key(name="dockerfile", field="dockerfile", kind="flag", about="build the repository's own Dockerfile"),
    Key(
        name="network",
        field="network",
        kind="text",
        choices=("none", "on"),
        project="strict",
        about="for tests and installing",
    ),
    Key(name="memory_limit", field="memory_limit", kind="size", low=1024**2, about="memory of the tests"),
    Key(
        name="disk_limit",
        field="disk_limit",
        kind="size",
        low=1024**2,
        about="what the tests may write into their copy",
    ),
    Key(name="pids", field="pids", kind="count", low=1, about="processes of the tests"),
    Key(name="test_timeout", field="test_timeout", kind="duration", about="time for one run of the tests"),
    Key(
        name="verify_time",
        field="verify_time",
        kind="duration",
        about="time for all runs of the tests behind one verdict",
    ),
    Key(
        name="repair_time",
        field="repair_time",
        kind="duration",
        about="time for one search of builtin/repair",
    ),
    Key(name="test", field="test", kind="text", about="the test command, otherwise detected"),
    Key(name="setup", field="setup", kind="text", about="the command that installs dependencies"),
    Key(name="copy_ignored", field="copy_ignored", kind="list", about="ignored files that the tests need"),
    Key(
        name="own_tests",
        field="own_tests",
        kind="flag",
        about="write a failing test first where no test covers the task",
    ),
    Key(
        name="judge",
        field="judge",
        kind="flag",
        about="ask a second model about a change that no test can show",
    ),
    Key(name="parallel", field="parallel", kind="count", low=1, about="attempts at a step side by side"),
    Key(name="voters", field="voters", kind="list", about="installed voters besides the built-in ones"),
    Key(name="policy_models", field="policy_models", kind="list", about="trained policy models that vote"),
    Key(name="router", field="router", kind="text", about="a model that is asked whom to choose"),
    Key(
        name="router_prompt",
        field="router_prompt",
        kind="text",
        choices=ROUTER_PROMPTS,
        about="what the router is told",
    ),
    Key(name="toolchains", field="toolchains", kind="list", about="installed toolchains, asked first"),
    Key(name="backends", field="backends", kind="list", about="installed backends that may take a step"),
    Key(
        name="approve",
        field="approve",
        kind="text",
        choices=APPROVALS,
        project="strict",
        about="what is asked: auto, nothing; edits, plans and patches; all, commands of models too",
    ),
    Key(
        name="allow_path",
        field="allow_path",
        kind="list",
        about="paths of files that tools run unasked, which a patch may change",
    ),
    Key(name="commit", field="commit", kind="flag", about="commit a verified fix"),
    Key(name="memory.bound", field="memory_bound", kind="count", low=1, about="outcomes that are kept"),
    Key(name="memory.store_text", field="store_text", kind="flag", project="strict", about="keep task texts"),
    Key(
        name="memory.half_life_days",
        field="half_life_days",
        kind="days",
        about='after which an outcome counts half; 0 or "none": never forget',
    ),
    Key(name="memory.url", field="memory_url", kind="text", about="Chroma server that a team shares"),
    Key(
        name="memory.token_env",
        field="memory_token_env",
        kind="variable",
        about="variable that holds the server's token",
    ),
    Key(name="memory.tenant", field="memory_tenant", kind="text", about="of the team on its server"),
    Key(name="memory.database", field="memory_database", kind="text", about="of the team on its server"),
    Key(name="memory.embedder", field="embedder", kind="text", about="minilm or sentence-transformers:MODEL"),
)
BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}


class Misfit(ValueError):
    """A value that its key cannot hold; says what it must be."""


def parse(key: Key, text: str, place: str, error: type[AcrError] = ConfigurationError) -> Any:
    """The value of a variable, a flag or `acr config set`. Raises: `error`, naming `place`."""
    value: object = text
    if key.kind == "list":
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif key.kind == "flag":
        value = {"1": True, "true": True, "yes": True, "on": True}.get(text.lower())
        value = {"0": False, "false": False, "no": False, "off": False}.get(text.lower(), value)
        value = text if value is None else value
    elif key.kind in ("count", "number", "money"):
        number = text.strip().removeprefix("$").replace("_", "") if key.kind == "money" else text.strip()
        try:
            value = int(number) if key.kind == "count" else float(number)
        except ValueError:
            value = text
    return checked(key, value, place, error)


def checked(key: Key, value: object, place: str, error: type[AcrError] = ConfigurationError) -> Any:
    """The value in the shape of its field. Raises: `error`."""
    subject = place if place == key.name or place.startswith(("-", "ACR_")) else f"{place}: {key.name}"
    try:
        return _SHAPES[key.kind](key, value)
    except Misfit as problem:
        told = f", not {_shown(value)}" if key.kind != "variable" else ""  # which may be the key itself
        raise error(f"{subject} {problem}{told}.") from None


def _text(key: Key, value: object) -> str:
    if not isinstance(value, str):
        raise Misfit("must be a text in quotes")
    if key.choices and value not in key.choices and value not in _installed(key.group):
        raise Misfit(f"must be {either((*key.choices, *_installed(key.group)))}")
    return value


def _installed(group: str) -> tuple[str, ...]:
    """The names that installed packages offer. Asked only about a value that is no built-in choice."""
    if not group:
        return ()
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group).names))


def _list(_key: Key, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Misfit("must be a list of texts")
    return tuple(value)


def _flag(_key: Key, value: object) -> bool:
    if not isinstance(value, bool):
        raise Misfit("must be true or false")
    return value


def _number(key: Key, value: object) -> float:
    what = "an amount of USD" if key.kind == "money" else "a number"
    bounds = f" of at least {key.low:g}"
    if key.above:
        bounds = f" above {key.low:g} and at most {key.high:.0f}"
    elif key.high < float("inf"):
        bounds = f" between {key.low:g} and {key.high:.0f}"
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        raise Misfit(f"must be {what}{bounds}")
    if not key.low <= value <= key.high or (key.above and value == key.low):
        raise Misfit(f"must be {what}{bounds}")
    return float(value)


def _count(key: Key, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < key.low:
        raise Misfit(f"must be a whole number of at least {key.low:g}")
    return value


def _duration(_key: Key, value: object) -> float:
    if isinstance(value, str):
        value = _scaled(value, {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400})
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value) or value <= 0:
        raise Misfit("must be a duration like 90, 90s, 15m or 1h")
    return float(value)


def _size(key: Key, value: object) -> int:
    if isinstance(value, str):
        units = {u: 1024**n for n, u in enumerate(("", "k", "m", "g"))}
        value = _scaled(value.lower().removesuffix("ib").removesuffix("b"), units)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < key.low:
        raise Misfit("must be a size like 512MiB or 2GiB")
    return int(value)


def _scaled(text: str, units: Mapping[str, int]) -> float | None:
    """The number in front of a unit, in the unit's base; several may follow each other ("1h30m")."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.strip().lower())
    spelled = re.fullmatch(r"(?:\d+(?:\.\d+)?\s*[a-z]*\s*)+", text.strip().lower())
    if not spelled or any(unit not in units for _, unit in parts):
        return None
    return sum(float(number) * units[unit] for number, unit in parts)


def _days(_key: Key, value: object) -> float:
    """ "none" is 0."""
    if value == "none":
        return 0.0
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value) or value < 0:
        raise Misfit('must be a number of days, 0 or "none"')
    return float(value)


def _variable(_key: Key, value: object) -> str:
    if problem := variable_problem(value):
        raise Misfit(problem)
    return str(value)


_SHAPES: Mapping[str, Callable[[Key, object], Any]] = {
    "text": _text,
    "list": _list,
    "flag": _flag,
    "count": _count,
    "number": _number,
    "money": _number,
    "duration": _duration,
    "size": _size,
    "days": _days,
    "variable": _variable,
}


_PLAIN = re.compile(r"[A-Z_]{1,40}|https?://[A-Za-z0-9.-]{1,60}(:\d{1,5})?(/\w{1,12}){0,4}/?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_OF_AN_ADDRESS = re.compile(
    r"[?&;#](?:[\w-]*[_-])?(?:key|apikey|token|secret|sig|password|auth)=.", re.IGNORECASE
)


def variable_problem(value: object) -> str:
    """Why a value is not the name of an environment variable; it is not repeated, as it may be the key."""
    if isinstance(value, str) and _VARIABLE.fullmatch(value) and not holds_key(value):
        return ""
    return "must be the name of the variable that holds the key, such as OPENAI_API_KEY, and not the key"


def holds_key(text: str) -> bool:
    """Whether a text has, or is, what looks like a key."""
    if _PLAIN.fullmatch(text):  # as nearly all are: the shapes of keys take ten milliseconds to import
        return False
    from acr_cli.redaction import redact, without_keys

    whole = "/" not in text and redact(text) != text
    return whole or without_keys(text) != text or _KEY_OF_AN_ADDRESS.search(text) is not None


# --- words ------------------------------------------------------------------------------------------------


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: "; did you mean 'max_cost'?", or ".". Pure."""
    near = closest(name, known)
    return f"; did you mean {near!r}?" if near else "."


def closest(name: str, known: Sequence[str]) -> str:
    """The name that was meant: the shortest that it begins, else the most similar, else "". Pure."""
    begun = [each for each in known if name.strip("-") and each.startswith(name)]
    if begun:
        return min(begun, key=len)
    bare = {each.strip("-"): each for each in known}
    near = get_close_matches(name.strip("-"), bare, n=1, cutoff=0.6)
    return bare[near[0]] if near else ""


def ended(sentence: str) -> str:
    """With a full stop where it has no end yet. Pure."""
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def either(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


def _shown(value: object) -> str:
    from acr_cli.redaction import without_keys

    text = str(value).lower() if isinstance(value, bool) else without_keys(repr(value))
    return text if len(text) <= 60 else text[:57] + "..."
