"""The agent, the gateway and the real litellm together, against a server that checks every request."""

from __future__ import annotations

import pytest

from acr_cli.agent.backend import Agent
from acr_cli.testing.answers import Cut, Refuse, Say, call
from acr_cli.testing.loopback import LoopbackServer
from tests.agent.conftest import PlainSandbox, step
from tests.models.conftest import candidate, line

pytestmark = pytest.mark.usefixtures("litellm_is_imported")

FIX = call("edit", {"path": "calc.py", "search": "a - b", "replace": "a + b"})


def test_a_fix_over_http_survives_errors_and_foreign_tools(tree) -> None:
    script = [
        Refuse(status=429, retry_after=1),
        Say(text="Let me see.", tool_calls=(call("open", {"path": "calc.py"}), call("foreign", "{bad"))),
        Cut(text="I will"),
        Say(tool_calls=(FIX,)),
        Refuse(status=500),
        Say(tool_calls=(call("finish", {"summary": "Fixed."}),)),
    ]
    asked = line()
    with LoopbackServer({"m": script}) as server:
        agent = Agent(gateway=asked.gateway, emit=asked.events.append)
        who = candidate(server.base_url, tools=True)
        attempt = agent.attempt(step(), who, tree, PlainSandbox(), asked.budget)
        server.assert_clean()
        assert len(server.requests) == 6
    assert (attempt.summary, attempt.files, attempt.void) == ("Fixed.", ("calc.py",), "")
    assert attempt.cost_usd == pytest.approx(asked.budget.spent_usd)
    assert attempt.cost_usd > 0


def test_a_provider_that_stays_down_makes_a_void_attempt(tree) -> None:
    asked = line()
    with LoopbackServer({"m": [Refuse(status=503)] * 3}) as server:
        agent = Agent(gateway=asked.gateway, emit=asked.events.append)
        who = candidate(server.base_url, tools=True)
        attempt = agent.attempt(step(), who, tree, PlainSandbox(), asked.budget)
        assert len(server.requests) == 3
    assert "503" in attempt.void
    assert (attempt.patch, attempt.cost_usd) == ("", 0.0)
