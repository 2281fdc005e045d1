"""What providers keep of a prompt: stable beginnings, marks where they are needed, and their price."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.errors import BudgetExhausted
from acr_cli.models.caching import marked, takes_marks, written_price
from acr_cli.models.prices import MILLION, cost_of
from acr_cli.protocols import Message, Tool
from acr_cli.records import Price, Usage
from acr_cli.testing.answers import Say, call
from acr_cli.testing.loopback import LoopbackServer
from tests.models.anthropic_server import AnthropicServer, Turn
from tests.models.conftest import ASK, candidate, line

pytestmark = pytest.mark.usefixtures("litellm_is_imported")

OPEN = Tool(
    name="open",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
FIRST, SECOND = call("open", {"path": "a.py"}), call("open", {"path": "b.py"})


def claude(base_url: str | None, **fields: object):
    price = Price(input=5.0, output=25.0, cached_input=0.5, source="litellm")
    known = {"id": "anthropic/claude-opus-4-6", "model": "anthropic/claude-opus-4-6", "price": price}
    return candidate(base_url, **{**known, **fields})


def answered(messages, reply, text: str):
    """The conversation with a reply and the answer to its tool call."""
    said = Message(role="assistant", content=reply.content, tool_calls=reply.tool_calls)
    return (*messages, said, Message(role="tool", content=text, tool_call_id=reply.tool_calls[0].id))


def converse(asked, who):
    """Three requests of one step."""
    messages = ASK
    for text in ("x = 1", "y = 1"):
        messages = answered(messages, asked.ask(who, messages, tools=(OPEN,)), text)
    return asked.ask(who, messages, tools=(OPEN,))


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def places_of_marks(body: dict[str, Any]) -> list[str]:
    """The texts of the blocks that carry a mark."""
    blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
    return [str(block.get("text") or block.get("content")) for block in blocks if "cache_control" in block]


def test_consecutive_requests_of_a_step_share_their_beginning_byte_for_byte() -> None:
    script = [Say(tool_calls=(FIRST,)), Say(text="Now b.", tool_calls=(SECOND,)), Say(text="Done.")]
    with LoopbackServer({"m": script}) as server:
        converse(line(), candidate(server.base_url))
        bodies = [request.body for request in server.requests]
    for earlier, later in itertools.pairwise(bodies):
        sent = json.dumps(earlier["messages"])
        assert json.dumps(later["messages"]).startswith(sent.removesuffix("]"))
        assert json.dumps(later["tools"]) == json.dumps(earlier["tools"])


def test_requests_to_anthropic_share_their_beginning_but_for_the_marks() -> None:
    turns = [Turn(call=FIRST), Turn(text="Now b.", call=SECOND), Turn(text="Done.")]
    with AnthropicServer(turns) as server:
        assert converse(line(), claude(server.base_url)).content == "Done."
        bodies = server.bodies
    for earlier, later in itertools.pairwise(bodies):
        sent = json.dumps(without_marks(earlier["messages"]))
        assert json.dumps(without_marks(later["messages"])).startswith(sent.removesuffix("]"))
        assert without_marks([later["system"], later["tools"]]) == without_marks(
            [earlier["system"], earlier["tools"]]
        )


def test_a_conversation_with_tools_is_marked_at_its_stable_ends() -> None:
    with AnthropicServer([Turn(call=FIRST), Turn(call=SECOND), Turn(text="Done.")]) as server:
        converse(line(), claude(server.base_url))
        marks = [places_of_marks(body) for body in server.bodies]
    assert marks == [
        ["Be brief.", "Say hello."],
        ["Be brief.", "Say hello.", "x = 1"],
        ["Be brief.", "Say hello.", "y = 1"],
    ]


def test_claude_at_openrouter_is_marked_in_the_way_it_reads() -> None:
    name = "anthropic/claude-sonnet-5-5"
    with LoopbackServer({name: [Say(text="Done.")]}) as server:
        who = claude(server.base_url, id=f"openrouter/{name}", model=f"openrouter/{name}")
        line().ask(who, tools=(OPEN,))
        messages = server.requests[0].messages
    marks = [[block.get("cache_control") for block in message["content"]] for message in messages]
    assert marks == [[{"type": "ephemeral"}], [{"type": "ephemeral"}]]


def test_a_question_that_nothing_follows_is_not_marked() -> None:
    with AnthropicServer([Turn(text="Hello.")]) as server:
        line().ask(claude(server.base_url))
        assert "cache_control" not in json.dumps(server.bodies)


def test_a_server_that_is_not_anthropics_gets_no_marks() -> None:
    with LoopbackServer({"m": [Say(text="Hello.")]}) as server:
        line().ask(candidate(server.base_url), tools=(OPEN,))
        assert "cache_control" not in json.dumps(server.requests[0].body)


def test_what_is_read_from_a_cache_and_written_to_it_is_counted_at_its_price() -> None:
    turn = Turn(text="Hello.", fresh=1000, read=4000, written=2000, output=100)
    asked = line()
    with AnthropicServer([turn]) as server:
        reply = asked.ask(claude(server.base_url), tools=(OPEN,))
    assert reply.usage == Usage(input_tokens=7000, output_tokens=100, cached_tokens=4000, calls=1)
    expected = (1000 * 5 + 4000 * 0.5 + 2000 * 6.25 + 100 * 25) / MILLION
    assert reply.cost_usd == pytest.approx(expected)
    assert asked.budget.spent_usd == pytest.approx(expected)


def test_a_cap_holds_also_when_all_of_a_prompt_is_written_to_the_cache() -> None:
    long = (ASK[0], Message(role="user", content="word " * 60_000))
    # 100,000 tokens at most: 0.50 USD plainly, 0.625 USD written to the cache.
    with AnthropicServer([]) as server:
        with pytest.raises(BudgetExhausted):
            line(max_cost=0.55).ask(claude(server.base_url), long, tools=(OPEN,))
        assert server.bodies == []


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("anthropic/claude-opus-4-6", True),
        ("openrouter/anthropic/claude-sonnet-5-5", True),
        ("bedrock/anthropic.claude-opus-4-6-v1:0", True),
        ("vertex_ai/claude-haiku-5-5", True),
        ("openrouter/openai/gpt-5.6", False),
        ("gemini/gemini-4-argon", False),
        ("openai/claude-by-another-name", False),
        ("", False),
    ],
)
def test_who_reads_marks(model: str, takes: bool) -> None:
    assert takes_marks(claude(None, id=model, model=model)) is takes


def test_the_price_of_writing_is_the_maps_else_a_quarter_more() -> None:
    assert written_price(claude(None)) == 6.25
    own = claude(None, price=Price(input=8.0, output=25.0, source="config"))
    assert written_price(own) == 10.0
    assert written_price(candidate("http://127.0.0.1:1")) is None
    assert written_price(claude(None, price=Price())) is None


def test_a_short_conversation_is_marked_once_a_message() -> None:
    assert marked([{"role": "user", "content": "x"}]) == [
        {"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}}
    ]


COUNTS = st.integers(0, 1_000_000)


@settings(deadline=None)
@given(fresh=COUNTS, read=COUNTS, written=COUNTS, output=COUNTS)
def test_costs_are_those_of_each_kind_of_token(fresh: int, read: int, written: int, output: int) -> None:
    price = Price(input=5.0, output=25.0, cached_input=0.5)
    usage = Usage(input_tokens=fresh + read + written, cached_tokens=read, output_tokens=output)
    usd = cost_of(price, usage, written=written, write=6.25)
    assert usd * MILLION == pytest.approx(fresh * 5 + read * 0.5 + written * 6.25 + output * 25)
    assert cost_of(price, usage) * MILLION == pytest.approx((fresh + written) * 5 + read * 0.5 + output * 25)
