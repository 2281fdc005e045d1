"""`acr models`: what is known, what answers, and what it costs to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acr_cli.records import Usage
from acr_cli.testing.answers import Say
from acr_cli.testing.loopback import LoopbackServer


@pytest.fixture
def file(acr_home: Path) -> Path:
    acr_home.mkdir()
    path = acr_home / "config.toml"
    path.write_text('[[model]]\nid = "anthropic/claude-opus-4-6"\n')
    return path


def test_known_models_are_listed_with_family_price_context_and_date(acr) -> None:
    lines = acr("models", "list", "--known", "claude-opus").stdout.splitlines()
    assert lines[1].split() == ["anthropic/claude-opus-4-5", "claude-opus", "5", "25", "200,000", "tools"]
    assert "litellm" in lines[-1]
    (row, *_) = map(json.loads, acr("models", "list", "--known", "claude-opus", "--json").stdout.splitlines())
    assert (row["type"], row["family"], row["input"]) == ("known_model", "claude-opus", 5.0)
    done = acr("models", "list", "--known", "claude-opsu")
    assert (done.returncode, "did you mean" in done.stderr) == (2, True)


def test_a_model_that_does_not_exist_is_added_with_the_near_one_named(acr, file: Path) -> None:
    done = acr("models", "add", "anthropic/claude-opus-5-6")
    assert (done.returncode, "did you mean 'anthropic/claude-opus-5-5'?" in done.stderr) == (0, True)


def test_a_test_says_what_it_cost_and_the_list_whether_a_server_answers(acr, file: Path) -> None:
    with LoopbackServer(
        {"mine": [Say(text="ready", usage=Usage(input_tokens=100, output_tokens=10))]}
    ) as server:
        url = server.base_url
        acr("models", "add", "openai/mine", "--base-url", url, "--price", "1,2")
        assert acr("models", "test", "openai/mine").stdout.startswith(
            "openai/mine answers: ready ($0.00012, "
        )
        states = {m["model"]: m["health"] for m in models_of(acr)}
        assert (states["openai/mine"], states["anthropic/claude-opus-4-6"]) == ("ready", "no key")
    assert {m["model"]: m["health"] for m in models_of(acr, "mine")} == {"openai/mine": "down"}


def models_of(acr, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in acr("models", "list", *arguments, "--json").stdout.splitlines()]
