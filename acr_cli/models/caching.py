"""Marks for providers that keep a prompt's beginning only where they are told to.

Anthropic's models do, at whoever serves them. A marked beginning costs a quarter more when it is first sent
and a tenth when it is sent again, so only conversations with tools, which go on, are marked: the end of the
instructions, the end of the first question, and the end of all there is. Other providers keep beginnings
unasked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acr_cli.models.prices import facts, provider_of
from acr_cli.records import Candidate

_MARK = {"type": "ephemeral"}
_SERVES_CLAUDE = ("bedrock", "vertex_ai", "openrouter", "databricks", "azure_ai")
_SURCHARGE = 1.25  # of the price of input, where litellm's map does not say


def takes_marks(candidate: Candidate) -> bool:
    """Whether a candidate's provider reads marks. Pure."""
    provider = provider_of(candidate.model)
    return provider == "anthropic" or (provider in _SERVES_CLAUDE and "claude" in candidate.model.lower())


def marked(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The wire's messages with marks: on the system message, the first question, and the last one. Pure."""
    first = next((at for at, message in enumerate(messages) if message["role"] == "user"), 0)
    ends = {0, first, len(messages) - 1} if messages[0]["role"] == "system" else {first, len(messages) - 1}
    return [
        {**message, "cache_control": _MARK} if at in ends else message for at, message in enumerate(messages)
    ]


def written_price(candidate: Candidate) -> float | None:
    """USD per million tokens that are written into a cache; None where that costs nothing extra."""
    if candidate.price.input is None:
        return None
    if candidate.price.source == "litellm" and (known := facts(candidate.model).cache_write) is not None:
        return known
    return candidate.price.input * _SURCHARGE if takes_marks(candidate) else None
