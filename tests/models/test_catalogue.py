"""Prices, and the catalogue of candidates."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from acr_cli.models.catalogue import SHORT_LISTS, ask_loopback, candidates, canonical, detect, family
from acr_cli.models.keys import missing_key
from acr_cli.models.prices import cost_of, facts, is_loopback, price_of
from acr_cli.records import Price, Usage
from acr_cli.settings import ModelEntry, Settings
from acr_cli.testing.loopback import LoopbackServer

HOME = Path("/nowhere")


def nobody(url, body):
    return None


def ollama(url, body):
    """An Ollama with a chat model, one that only embeds, and one that runs elsewhere."""
    if body is None:
        return {"models": [{"name": "qwen3:4b"}, {"name": "nomic-embed"}, {"name": "big:480b-cloud"}]}
    abilities = ["embedding"] if body["model"] == "nomic-embed" else ["completion", "tools"]
    return {"capabilities": abilities, "model_info": {"qwen3.context_length": 40_960}}


def names(settings, environ=None, probe=nobody):
    return [c.id for c in candidates(settings, environ or {}, probe=probe)]


@pytest.mark.parametrize("model", [name for models in SHORT_LISTS.values() for name in models])
def test_every_model_of_the_short_lists_has_a_known_price_and_calls_tools(model) -> None:
    price = price_of(ModelEntry(id=model), time_price=1.0)
    assert price.known
    assert price.source == "litellm"
    assert price.per_second == 0
    assert facts(model).tools
    assert facts(model).context_window > 100_000


def test_prices_are_in_usd_per_million_tokens() -> None:
    price = price_of(ModelEntry(id="anthropic/claude-opus-4-6"), time_price=1.0)
    assert (price.input, price.output, price.cached_input) == (5.0, 25.0, 0.5)


def test_tiered_prices_are_taken_at_the_first_tier() -> None:
    price = price_of(ModelEntry(id="dashscope/qwen3-max"), time_price=1.0)
    assert (price.input, price.output) == (1.2, 6.0)


@pytest.mark.parametrize(
    ("entry", "source"),
    [
        (ModelEntry(id="openai/gpt-5.4", price=Price(input=1, output=2, source="config")), "config"),
        (ModelEntry(id="openai/own", base_url="http://127.0.0.1:8080/v1"), "loopback"),
        (ModelEntry(id="openai/own", base_url="http://[::1]:8080/v1"), "loopback"),
        (ModelEntry(id="ollama_chat/qwen3"), "loopback"),
        (ModelEntry(id="ollama_chat/qwen3-coder:480b-cloud"), "unpriced"),
        (ModelEntry(id="openai/gpt-5.4", base_url="https://example.org/v1"), "unpriced"),
        (ModelEntry(id="openai/never-heard-of"), "unpriced"),
        (ModelEntry(id="mistral/claude-opus-4-6"), "unpriced"),
    ],
)
def test_a_price_says_where_it_comes_from(entry, source) -> None:
    price = price_of(entry, time_price=0.0005)
    assert price.source == source
    assert price.known == (source != "unpriced")
    assert price.per_second == (0.0005 if source == "loopback" else 0.0)


def test_what_comes_from_the_cache_costs_less() -> None:
    usage = Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=100_000)
    assert cost_of(Price(input=2, output=10, cached_input=0.2), usage) == pytest.approx(1.0 + 0.1 + 1.0)
    assert cost_of(Price(input=2, output=10), usage) == pytest.approx(2.0 + 1.0)
    assert cost_of(Price(), usage) == 0.0


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.9.9.9", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080", True),
        ("http://127.0.0.1.example.org", False),
        ("http://192.168.0.2:8080", False),
        ("https://localhost.example.org", False),
    ],
)
def test_loopback_is_an_address_and_not_a_likeness(url, near) -> None:
    assert is_loopback(url) is near


@pytest.mark.parametrize(
    ("model", "plain", "kin"),
    [
        ("anthropic/claude-opus-4-6-20260205", "claude-opus-4-6", "claude-opus"),
        ("openai/gpt-5.4-mini-2026-03-17", "gpt-5.4-mini", "gpt-mini"),
        ("gemini/gemini-3.8-flash", "gemini-3.8-flash", "gemini-flash"),
        ("moonshot/kimi-k2.7-code", "kimi-k2.7-code", "kimi-code"),
        ("minimax/MiniMax-M3", "minimax-m3", "minimax"),
        ("deepseek/deepseek-v4-pro", "deepseek-v4-pro", "deepseek-pro"),
        ("mistral/devstral-latest", "devstral", "devstral"),
        ("ollama_chat/qwen3-coder:30b", "qwen3-coder:30b", "qwen-coder"),
    ],
)
def test_names_lose_provider_date_and_version(model, plain, kin) -> None:
    assert canonical(model) == plain
    assert family(model) == kin


def test_a_candidate_is_model_times_effort() -> None:
    entry = ModelEntry(id="anthropic/claude-opus-4-6", effort=("low", "high"), family="own")
    low, high = candidates(Settings(home=HOME, models=(entry,)), {}, probe=nobody)
    assert (low.id, high.id) == ("anthropic/claude-opus-4-6@low", "anthropic/claude-opus-4-6@high")
    assert (high.effort, high.family, high.backend) == ("high", "own", "agent")
    assert high.api_key_env == "ANTHROPIC_API_KEY"
    assert missing_key(high, {}) == "ANTHROPIC_API_KEY"
    assert not missing_key(high, {"ANTHROPIC_API_KEY": "k"})


def test_the_same_model_at_two_endpoints_is_two_candidates() -> None:
    here, there = (ModelEntry(id="openai/m", base_url=f"http://127.0.0.1:{port}/v1") for port in (1, 2))
    assert names(Settings(home=HOME, models=(here, there))) == ["openai/m", "openai/m+127.0.0.1:2"]


def test_a_local_model_is_free_and_asks_for_no_key() -> None:
    entry = ModelEntry(id="openai/own", base_url="http://localhost:8080/v1/", context_window=4096)
    (local,) = candidates(Settings(home=HOME, models=(entry,)), {}, probe=nobody)
    assert (local.local, local.api_key_env, local.tools) == (True, None, None)
    assert (local.base_url, local.context_window) == ("http://localhost:8080/v1", 4096)
    assert (local.price.input, local.price.source) == (0.0, "loopback")


def test_an_accepted_provider_adds_its_short_list_once_its_key_is_there() -> None:
    accepted = Settings(home=HOME, providers=("anthropic", "gemini"))
    assert names(accepted) == []
    assert names(accepted, {"ANTHROPIC_API_KEY": "k"}) == list(SHORT_LISTS["anthropic"])
    (first, _) = candidates(accepted, {"GOOGLE_API_KEY": "k"}, probe=nobody)
    assert first.api_key_env == "GOOGLE_API_KEY"


def test_a_key_alone_adds_nothing() -> None:
    assert names(Settings(home=HOME), {"OPENAI_API_KEY": "k"}, ollama) == []


def test_an_accepted_ollama_adds_the_chat_models_that_run_here() -> None:
    (model,) = candidates(Settings(home=HOME, providers=("ollama",)), {}, probe=ollama)
    assert (model.id, model.base_url) == ("ollama_chat/qwen3:4b", "http://127.0.0.1:11434")
    assert (model.tools, model.context_window, model.local) == (True, 40_960, True)


def test_a_model_that_a_flag_names_is_accepted_for_the_run_and_one_of_a_project_is_not() -> None:
    flag = Settings(home=HOME, model="anthropic/claude-opus-4-6@high", origins={"model": "--model"})
    assert names(flag) == ["anthropic/claude-opus-4-6@high"]
    allow = ("openai/gpt-6-luna", "builtin/repair")
    assert names(Settings(home=HOME, allow=allow, origins={"allow": "--allow"})) == ["openai/gpt-6-luna"]
    assert names(Settings(home=HOME, allow=allow, origins={"allow": "/repo/.acr.toml"})) == []


def test_detect_finds_keys_and_an_ollama_with_models_and_prices() -> None:
    found = detect({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": ""}, ollama)
    assert [(f.provider, f.evidence) for f in found] == [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("ollama", "http://127.0.0.1:11434"),
    ]
    assert [entry.id for entry in found[1].models] == ["ollama_chat/qwen3:4b"]
    assert all(price.known for f in found for price in f.prices)


def test_only_this_machine_is_asked() -> None:
    assert ask_loopback("http://192.0.2.1:11434/api/tags") is None
    with LoopbackServer({"m": []}) as server:
        assert ask_loopback(f"{server.ollama_url}/api/tags") == {"models": [{"name": "m", "model": "m"}]}
        assert ask_loopback(f"{server.ollama_url}/api/show", {"model": "m"})["capabilities"]
        assert ask_loopback(f"{server.ollama_url}/nothing") is None
    assert ask_loopback(f"{server.ollama_url}/api/tags") is None


OK = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "endless"),
    [
        (b"\x00\xff\x13garbage", False),
        (OK + b"<html>", False),
        (OK + b'{"a": "\xff"}', False),
        (OK + b"[" * 100_000, False),
        (OK + b'{"a": ', False),
        (OK + b" " * 65_536, True),
    ],
    ids=["bytes", "html", "latin-1", "nested", "cut", "endless"],
)
def test_whatever_holds_the_port_is_no_answer(said: bytes, endless: bool) -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(said)
            while endless:
                connection.sendall(said[len(OK) :])

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        pool.submit(answer, listener)
        assert ask_loopback(f"http://127.0.0.1:{listener.getsockname()[1]}/api/tags") is None


@pytest.mark.parametrize(
    "listing",
    [
        {"models": [1, None, {"name": 5}, {"name": " "}, {"name": "a\nb"}], "data": [{"id": 7}, None]},
        {"models": {"name": "a"}, "data": "text"},
        {"models": [{"name": "a"}], "capabilities": ["embedding"], "model_info": [1]},
    ],
)
def test_a_listing_of_another_shape_proposes_nothing(listing) -> None:
    def odd(_url, _body):
        return listing

    assert detect({}, odd) == ()


def test_facts_of_another_shape_leave_the_model() -> None:
    def odd(url, _body):
        if "11434" not in url:
            return None
        return {"models": [{"name": "a"}], "capabilities": "all", "model_info": [1]}

    (found,) = detect({}, odd)
    assert [entry.id for entry in found.models] == ["ollama_chat/a"]
