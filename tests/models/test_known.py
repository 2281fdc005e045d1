"""The table of current models, names that are nearly right, and servers of local models."""

from __future__ import annotations

import pytest

from acr_cli.models.catalogue import SERVERS, SHORT_LISTS, candidates, detect, ids, near
from acr_cli.models.known import installed, table
from acr_cli.models.prices import current, facts, whole_map
from acr_cli.settings import ModelEntry, Settings
from tests.models.test_catalogue import HOME, nobody

VLLM = {"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "object": "model", "max_model_len": 32_768}]}
LLAMA = {
    "object": "list",
    "data": [{"id": "qwen.gguf", "object": "model", "meta": {"n_ctx_train": 40_960}}],
    "models": [{"name": "qwen.gguf"}],
}


def test_the_table_is_what_the_installed_litellm_makes_of_it() -> None:
    made = installed(table().date)
    assert made == table(), "run `make models-table`"
    assert current() == made.models


def test_every_model_of_the_short_lists_stands_in_the_table() -> None:
    assert {name for names in SHORT_LISTS.values() for name in names} <= table().models.keys()


def test_a_model_outside_the_table_is_looked_up_in_the_map() -> None:
    name, row = next(
        (name, row)
        for name, row in whole_map().items()
        if row.get("litellm_provider") == "groq"
        and name.startswith("groq/")
        and row.get("input_cost_per_token")
    )
    assert name not in table().models
    assert facts(name).input == pytest.approx(row["input_cost_per_token"] * 1e6)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("anthropic/claude-opus-4.6", "anthropic/claude-opus-4-6"),
        ("claude-sonet-5-5", "anthropic/claude-sonnet-5-5"),
        ("openai/claude-opus-5-5", ""),  # the provider that was named has none like it
        ("xyz", ""),
    ],
)
def test_a_name_that_is_nearly_right_is_told_the_right_one(typed: str, meant: str) -> None:
    assert near(typed) == meant


def served(at, answer):
    return lambda url, _body: answer if url == f"{SERVERS[at]}/models" else None


@pytest.mark.parametrize(
    ("server", "answer", "model", "window"),
    [("vllm", VLLM, "openai/Qwen/Qwen3-8B", 32_768), ("llama_cpp", LLAMA, "openai/qwen.gguf", 40_960)],
)
def test_a_local_server_is_proposed_and_once_accepted_serves_its_models(
    server, answer, model, window
) -> None:
    probe = served(server, answer)
    assert [(found.provider, found.models[0].id) for found in detect({}, probe)] == [(server, model)]
    (candidate,) = candidates(Settings(home=HOME, providers=(server,)), {}, probe=probe)
    assert (candidate.id, candidate.base_url, candidate.context_window) == (model, SERVERS[server], window)
    assert (candidate.local, candidate.api_key_env, candidate.price.input) == (True, None, 0.0)
    assert candidates(Settings(home=HOME, providers=(server,)), {}, probe=nobody) == ()


@pytest.mark.parametrize(
    "answer", [{}, {"data": "x"}, {"data": [{"id": 1}, {"name": "a"}, "b"]}, {"data": None}]
)
def test_another_program_at_the_port_is_no_server_of_models(answer) -> None:
    assert detect({}, served("llama_cpp", answer)) == ()


def test_the_ids_of_candidates_need_no_facts() -> None:
    models = (
        ModelEntry(id="openai/own", base_url="http://127.0.0.1:1/v1", effort=("low", "high")),
        ModelEntry(id="openai/own", base_url="http://127.0.0.1:2/v1"),
        ModelEntry(id="openai/own", base_url="http://127.0.0.1:3/v1"),
    )
    settings = Settings(home=HOME, models=models, providers=("anthropic",))
    environ = {"ANTHROPIC_API_KEY": "k"}
    assert list(ids(settings, environ)) == [c.id for c in candidates(settings, environ, probe=nobody)]
    assert "openai/own+127.0.0.1:3" in ids(settings, environ)
