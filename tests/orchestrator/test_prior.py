"""The published prior: what each name of a model is taken for, and that the note says so."""

from __future__ import annotations

from importlib.resources import files

import pytest

from acr_cli.orchestrator.prior import _table, plain_name, published
from acr_cli.records import Dimension

PUBLISHED = "published"
NEUTRAL = "no published figure: starts neutral"

NAMES = [
    ("claude-opus-4-6", "", 0.5714, PUBLISHED),
    ("anthropic/claude-opus-4-6", "", 0.5714, PUBLISHED),
    ("anthropic/claude-opus-4-6-20260205", "", 0.5714, PUBLISHED),
    ("vertex_ai/claude-opus-4-6@20260205", "", 0.5714, PUBLISHED),
    ("vertex_ai/claude-opus-4-6@default", "", 0.5714, PUBLISHED),
    ("bedrock/us.anthropic.claude-opus-4-6-v1:0", "", 0.5714, PUBLISHED),
    ("bedrock/anthropic.claude-opus-4-6-20260205-v1:0", "", 0.5714, PUBLISHED),
    ("openai/gpt-5.4-2026-03-05", "", 0.75, PUBLISHED),
    ("openai/gpt-5.4-latest", "", 0.75, PUBLISHED),
    ("OpenAI/GPT-5.4", "", 0.75, PUBLISHED),
    ("openrouter/z-ai/glm-5:free", "", 0.2857, PUBLISHED),
    ("ollama_chat/minimax-m2.7:cloud", "", 0.1429, PUBLISHED),
    ("dashscope/Qwen3-Max", "", 0.0893, PUBLISHED),
    ("dashscope/qwen3.5-plus", "", 0.0268, PUBLISHED),
    ("openrouter/anthropic/claude-opus-4.6", "", 0.5714, "published for claude-opus-4-6"),
    ("azure/gpt-5-4", "", 0.75, "published for gpt-5.4"),
    ("moonshot/kimi-k2-5", "", 0.1875, "published for kimi-k2.5"),
    ("anthropic/claude-opus-5-5", "", 0.5714, "inherited from claude-opus-4-6"),
    ("openai/gpt-6.1-sol", "", 0.75, "inherited from gpt-5.4"),
    ("dashscope/qwen3.8-max", "", 0.0893, "inherited from qwen3-max"),
    ("azure/my-deployment", "claude-sonnet", 0.4911, "inherited from claude-sonnet-4-6"),
    ("azure/my-deployment", "GLM", 0.2857, "inherited from glm-5"),
    ("ollama_chat/qwen3:8b", "", None, NEUTRAL),
    ("mistral/devstral-latest", "", None, NEUTRAL),
    ("openai/gpt-5.4-mini", "", None, NEUTRAL),
    ("openai/gpt-5-nano-2025-08-07", "gpt-5", None, NEUTRAL),
    ("ollama_chat/glm-4:9b", "", None, NEUTRAL),
    ("zai/glm-5-air", "", None, NEUTRAL),
    ("", "", None, NEUTRAL),
]


@pytest.mark.parametrize(("model", "family", "value", "note"), NAMES)
def test_a_name_finds_its_figure_and_the_note_says_how(
    model: str, family: str, value: float | None, note: str
) -> None:
    prior = published(model, family, Dimension.AGENTIC_PROGRAMMING)
    assert prior.note == note
    mean = sum(row[-1] for row in _table().models.values()) / 8
    assert prior.value == pytest.approx(mean if value is None else value)


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        ("a/b/c-D", "c-d"),
        ("gpt-5.4", "gpt-5.4"),
        ("qwen3.5-plus", "qwen3.5-plus"),
        ("gpt-4-0613", "gpt-4"),
        ("kimi-k2-0905-preview", "kimi-k2-0905-preview"),
        ("o3", "o3"),
    ],
)
def test_a_plain_name_is_without_provider_and_date(model: str, plain: str) -> None:
    assert plain_name(model) == plain


@pytest.mark.parametrize("dimension", Dimension)
def test_every_dimension_has_a_figure_of_every_model(dimension: Dimension) -> None:
    for model in _table().models:
        assert 0.0 < published(model, "", dimension).value < 1.0


@pytest.mark.parametrize(
    ("model", "dimension", "value"),
    [
        ("claude-opus-4-6", Dimension.CODE_COMPLETION, 0.860),
        ("gpt-5.4", Dimension.CODE_REFACTORING, 0.644),
        ("claude-sonnet-4-6", Dimension.MULTI_LANGUAGE, 0.407),
        ("glm-5", Dimension.ALGORITHM, 0.472),
        ("qwen3-max", Dimension.TEST_GENERATION, 0.827),
        ("qwen3.5-plus", Dimension.DATA_SCIENCE, 0.114),
        ("kimi-k2.5", Dimension.CODE_UNDERSTANDING, 0.195),
        ("minimax-m2.7", Dimension.CODE_GENERATION, 0.239),
        ("minimax-m2.7", Dimension.BUG_FIXING, 0.528),
    ],
)
def test_a_figure_is_read_from_its_own_column(model: str, dimension: Dimension, value: float) -> None:
    assert published(model, "", dimension).value == value


def test_repair_has_a_figure_of_its_own_kind_in_every_dimension() -> None:
    found = {published("builtin/repair", "repair", dimension) for dimension in Dimension}
    assert len(found) == 1
    assert "Defects4J" in files("acr_cli.orchestrator").joinpath("priors.toml").read_text("utf-8")


def test_aliases_and_families_name_models_that_have_figures() -> None:
    table = _table()
    assert {*table.aliases.values(), *table.families.values()} <= set(table.models)
    assert set(table.columns) == {dimension.value for dimension in Dimension}
    assert {len(row) for row in table.models.values()} == {len(table.columns)}
