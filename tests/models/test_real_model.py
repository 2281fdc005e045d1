"""The gateway against a real language model."""

from __future__ import annotations

import pytest

from acr_cli.errors import ContextTooLong
from acr_cli.models.catalogue import candidates
from acr_cli.protocols import Message
from acr_cli.settings import ModelEntry, Settings
from tests.models.conftest import line
from tests.models.real_model import real_model

pytestmark = [
    pytest.mark.realmodel,
    pytest.mark.usefixtures("litellm_is_imported"),
]


def test_a_real_model_on_this_machine_answers_with_true_usage_at_no_cost(tmp_path) -> None:
    with real_model() as served:
        entry = ModelEntry(id=served.id, base_url=served.base_url, context_window=served.context_window)
        (small,) = candidates(Settings(home=tmp_path, models=(entry,)), {})
        asked = line(max_cost=0, stall=120)
        ask = [Message(role="user", content="What is the capital of France? Answer in one word.")]
        reply = asked.ask(small, ask)
    assert asked.text == reply.content
    assert reply.content.strip()
    assert reply.cost_usd == asked.budget.spent_usd == 0.0
    # The chat template adds a system message of its own.
    assert 15 <= reply.usage.input_tokens <= 80
    assert 1 <= reply.usage.output_tokens <= 200
    assert reply.finish == "stop"


def test_a_prompt_too_long_for_a_real_model_is_refused_by_its_server(tmp_path) -> None:
    with real_model() as served:
        entry = ModelEntry(id=served.id, base_url=served.base_url)
        (small,) = candidates(Settings(home=tmp_path, models=(entry,)), {})
        long = [Message(role="user", content=" ".join(str(n) for n in range(6000)))]
        with pytest.raises(ContextTooLong):
            line(stall=120).ask(small, long)
