"""The pool: `--model`, `--allow`, `--exclude`, and a cap on cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from acr_cli.errors import ConfigurationError
from acr_cli.orchestrator.pool import matches, pool, priced
from acr_cli.records import Candidate, Price

PRICE = Price(input=1.0, output=1.0)
OPUS = Candidate(
    id="anthropic/claude-opus-4-6",
    backend="agent",
    model="anthropic/claude-opus-4-6",
    family="claude-opus",
    price=PRICE,
)
HIGH = Candidate(
    id="anthropic/claude-opus-4-6@high",
    backend="agent",
    model="anthropic/claude-opus-4-6",
    family="claude-opus",
    effort="high",
    price=PRICE,
)
LOCAL = Candidate(id="ollama_chat/qwen3:8b", backend="agent", model="ollama_chat/qwen3:8b")
REPAIR = Candidate(id="builtin/repair", backend="repair", family="repair", price=Price(input=0.0, output=0.0))
ALL = (OPUS, HIGH, LOCAL, REPAIR)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ALL),
        ({"model": "anthropic/claude-opus-4-6"}, (OPUS, HIGH)),
        ({"model": "anthropic/claude-opus-4-6@high"}, (HIGH,)),
        ({"model": "claude-opus-4-6"}, (OPUS, HIGH)),
        ({"model": "claude-opus"}, (OPUS, HIGH)),
        ({"model": "qwen3:8b"}, (LOCAL,)),
        ({"model": "builtin/repair"}, (REPAIR,)),
        ({"model": "qwen3:8b", "allow": ["claude-opus"]}, (LOCAL,)),
        ({"allow": ["qwen3:8b", "repair"]}, (LOCAL, REPAIR)),
        ({"exclude": ["claude-opus"]}, (LOCAL, REPAIR)),
        ({"exclude": ["anthropic/claude-opus-4-6@high", "never heard of"]}, (OPUS, LOCAL, REPAIR)),
        ({"allow": ["claude-opus"], "exclude": ["anthropic/claude-opus-4-6@high"]}, (OPUS,)),
    ],
)
def test_filters_leave(filters: Mapping[str, Any], expected: tuple[Candidate, ...]) -> None:
    assert pool(ALL, **filters) == expected


@pytest.mark.parametrize("filters", [{"model": "gpt"}, {"allow": ["repair", "gpt"]}])
def test_a_name_that_nobody_has_is_one_sentence(filters: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        pool(ALL, **filters)
    assert (caught.value.exit_code, caught.value.message) == (3, "No model 'gpt' is in the pool.")
    assert "builtin/repair" in caught.value.hint
    assert "acr models add" in caught.value.hint


@pytest.mark.parametrize(
    "filters", [{"allow": ["repair"], "exclude": ["repair"]}, {"model": "repair", "exclude": ["repair"]}]
)
def test_nobody_left_is_one_sentence(filters: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="leave no model") as caught:
        pool(ALL, **filters)
    assert caught.value.exit_code == 3
    assert caught.value.hint


def test_an_empty_name_means_nobody() -> None:
    assert not any(matches(candidate, "") for candidate in ALL)


def test_a_cap_on_cost_leaves_out_what_has_no_price() -> None:
    assert priced(ALL, 1.0) == (OPUS, HIGH, REPAIR)
    assert priced(ALL, math.inf) == ALL
    with pytest.raises(ConfigurationError) as caught:
        priced([LOCAL], 1.0)
    assert caught.value.message == "ollama_chat/qwen3:8b has no known price, and a run may cost at most $1."
    assert "--max-cost inf" in caught.value.hint
