"""The public fakes find the faults that they are there to find."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.errors import BudgetExhausted, ProviderUnavailable
from acr_cli.protocols import Message
from acr_cli.records import Candidate, Price
from acr_cli.testing.answers import Garbage, Refuse, Say, call
from acr_cli.testing.conversation import faults
from acr_cli.testing.loopback import LoopbackServer
from acr_cli.testing.scripted import ScriptedModel, Sleep

USER = {"role": "user", "content": "Hello."}
ASKS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}, {"id": "c2"}]}


def answers(*ids: str) -> list[dict[str, str]]:
    return [{"role": "tool", "tool_call_id": each, "content": "x"} for each in ids]


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": "Be brief."}, USER],
        [USER, ASKS, *answers("c1", "c2")],
        [USER, ASKS, *answers("c2", "c1"), {"role": "assistant", "content": "Done."}, USER],
    ],
)
def test_a_sound_conversation_has_no_faults(messages) -> None:
    assert faults(messages) == ()


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "no messages"),
        ([USER, {"role": "system", "content": "x"}, USER], "behind the start"),
        ([USER, ASKS, *answers("c1")], "without an answer: c2"),
        ([USER, ASKS, *answers("c1"), USER], "without an answer: c2"),
        ([USER, ASKS, *answers("c1", "c1", "c2")], "'c1', which nobody asked"),
        ([{"role": "assistant", "content": "Hi."}, USER], "speaks before the user"),
        ([USER, {"role": "assistant", "content": ""}, USER], "neither text nor tool calls"),
        ([USER, {"role": "assistant", "content": "Hi."}], "last word is the assistant's"),
        ([{"role": "developer", "content": "x"}, USER], "unknown role"),
    ],
)
def test_a_fault_is_named(messages, says) -> None:
    assert says in "; ".join(faults(messages))


def post(server: LoopbackServer, body: dict[str, object], *, key: str = "") -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", urlsplit(server.base_url).port, timeout=5)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    try:
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_request_out_of_order_is_a_violation() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        post(server, {"model": "m", "messages": [USER, ASKS]})
    with pytest.raises(AssertionError, match="without an answer: c1, c2"):
        server.assert_clean()


def test_a_request_beyond_the_script_is_a_violation() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        statuses = [post(server, {"model": "m", "messages": [USER]})[0] for _ in range(2)]
    assert statuses == [200, 400]
    with pytest.raises(AssertionError, match="one more to m than is scripted"):
        server.assert_clean()


def test_a_server_answers_whole_or_in_a_stream() -> None:
    said = Say(text="Hello, world. This is long.", tool_calls=(call("open", {"path": "a"}),))
    with LoopbackServer({"m": [said, said, Garbage()]}) as server:
        _, whole = post(server, {"model": "m", "messages": [USER]})
        _, stream = post(server, {"model": "m", "messages": [USER], "stream": True})
        _, garbage = post(server, {"model": "m", "messages": [USER]})
    message = json.loads(whole)["choices"][0]["message"]
    assert message["content"] == said.text
    assert message["tool_calls"][0]["function"]["name"] == "open"
    assert stream.endswith("data: [DONE]\n\n")
    assert '"usage"' not in stream
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(garbage)


def test_keys_models_and_functions_of_the_request() -> None:
    def echo(request):
        return Say(text=request.messages[-1]["content"])

    with LoopbackServer({"m": echo, "n": [Refuse(status=429, retry_after=2)]}, key="k") as server:
        assert post(server, {"model": "m", "messages": [USER]})[0] == 401
        assert "Hello." in post(server, {"model": "m", "messages": [USER]}, key="k")[1]
        assert post(server, {"model": "n", "messages": [USER]}, key="k")[0] == 429
        assert post(server, {"model": "x", "messages": [USER]}, key="k")[0] == 404
        assert len(server.requests_for("m")) == 2
        server.assert_clean()


# --- the scripted model -----------------------------------------------------------------------------------

ASK = [Message(role="user", content="Hello.")]
WHO = Candidate(id="m", backend="agent", price=Price(input=1, output=1))


def ask(model: ScriptedModel, budget: RunBudget):
    return model.complete(WHO, ASK, tools=(), budget=budget)


def caps(cost: float = 1.0) -> RunBudget:
    return RunBudget(max_cost=cost, max_steps=1, max_time=10, clock=lambda: 0.0)


def test_a_scripted_model_says_its_lines_and_charges_for_them() -> None:
    slept: list[float] = []
    lines = ["One.", Sleep(seconds=3), call("open"), (call("open"), call("open"))]
    model, budget = ScriptedModel(lines, cost=0.25, sleep=slept.append), caps()
    assert ask(model, budget).content == "One."
    assert ask(model, budget).finish == "tool_calls"
    assert len({c.id for c in ask(model, budget).tool_calls}) == 2
    assert (slept, budget.spent_usd, len(model.calls)) == ([3], 0.75, 3)
    with pytest.raises(AssertionError, match="call 4 to m is not in the script"):
        ask(model, budget)


def test_a_scripted_error_is_raised_and_paid_and_the_budget_is_asked_first() -> None:
    model, budget = ScriptedModel([ProviderUnavailable("down")], cost=0.6), caps()
    with pytest.raises(ProviderUnavailable):
        ask(model, budget)
    with pytest.raises(BudgetExhausted):
        ask(model, budget)
    assert (budget.spent_usd, len(model.calls)) == (0.6, 1)


def test_a_scripted_model_refuses_a_conversation_out_of_order() -> None:
    ends = [*ASK, Message(role="assistant", content="Hi.")]
    with pytest.raises(AssertionError, match="last word"):
        ScriptedModel(["x"]).complete(WHO, ends, tools=(), budget=caps())
