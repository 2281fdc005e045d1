"""The gateway, behind the real litellm, against a server that answers by script."""

from __future__ import annotations

import math

import pytest

from acr_cli.errors import (
    AuthenticationFailed,
    BadReply,
    BudgetExhausted,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from acr_cli.protocols import Message, Tool
from acr_cli.records import Price, Usage
from acr_cli.testing.answers import Cut, Garbage, Refuse, Say, Stall, call
from acr_cli.testing.loopback import LoopbackServer
from tests.models.conftest import ASK, candidate, line

pytestmark = pytest.mark.usefixtures("litellm_is_imported")

OPEN = Tool(
    name="open",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def test_a_reply_streams_and_is_charged_by_its_true_usage() -> None:
    said = Say(
        text="Hello, this is longer than one piece of a stream.",
        usage=Usage(input_tokens=1000, output_tokens=100, cached_tokens=400),
    )
    asked = line()
    with LoopbackServer({"m": [said]}) as server:
        reply = asked.ask(candidate(server.base_url))
        server.assert_clean()
    assert reply.content == asked.text == said.text
    assert reply.usage == Usage(input_tokens=1000, output_tokens=100, cached_tokens=400, calls=1)
    assert reply.cost_usd == pytest.approx((600 * 1 + 400 * 0.1 + 100 * 10) / 1e6)
    assert asked.budget.spent_usd == pytest.approx(reply.cost_usd)
    assert (reply.finish, reply.tool_calls) == ("stop", ())


def test_tool_calls_are_put_together_from_their_pieces() -> None:
    script = [
        Say(text="Let me look.", tool_calls=(call("open", {"path": "a.py"}), call("foreign", "{broken")))
    ]
    with LoopbackServer({"m": script}) as server:
        reply = line().ask(candidate(server.base_url), tools=(OPEN,))
        sent = server.requests[0].body["tools"]
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [
        ("open", '{"path": "a.py"}'),
        ("foreign", "{broken"),
    ]
    assert len({c.id for c in reply.tool_calls}) == 2
    assert reply.finish == "tool_calls"
    assert sent[0]["function"]["name"] == "open"


def test_two_calls_of_one_id_are_told_apart() -> None:
    same = tuple(call("open", {"path": name}, id="c1") for name in ("a.py", "b.py"))
    with LoopbackServer({"m": [Say(tool_calls=same)]}) as server:
        reply = line().ask(candidate(server.base_url), tools=(OPEN,))
    assert [(c.id, c.arguments) for c in reply.tool_calls] == [
        ("c1", '{"path": "a.py"}'),
        ("c1_1", '{"path": "b.py"}'),
    ]


@pytest.mark.parametrize("delta", ['{"tool_calls": ["x"]}', '{"tool_calls": "open"}', '"x"'])
def test_a_piece_of_no_known_shape_is_a_bad_reply(delta) -> None:
    choice = f'{{"index": 0, "finish_reason": "stop", "delta": {delta}}}'
    head = '"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"'
    script = [Garbage(body=f'{{{head}, "choices": [{choice}]}}')] * 3
    with LoopbackServer({"m": script}) as server, pytest.raises(ProviderError) as caught:
        line().ask(candidate(server.base_url), tools=(OPEN,))
    assert caught.value.exit_code == 5
    assert caught.value.message.startswith("openai/m: ")


def test_a_conversation_with_tools_goes_on_and_thinking_is_handed_back() -> None:
    script = [
        Say(reasoning="I must read a.py.", tool_calls=(call("open", {"path": "a.py"}),)),
        Say(text="Done."),
    ]
    asked = line()
    with LoopbackServer({"m": script}) as server:
        first = asked.ask(candidate(server.base_url), tools=(OPEN,))
        answered = (
            *ASK,
            Message(role="assistant", content="", tool_calls=first.tool_calls),
            Message(role="tool", content="1: x = 1", tool_call_id=first.tool_calls[0].id),
        )
        assert asked.ask(candidate(server.base_url), answered, tools=(OPEN,)).content == "Done."
        server.assert_clean()
        assert server.requests[1].messages[2]["reasoning_content"] == "I must read a.py."


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (ASK[0],),
        (*ASK, Message(role="assistant", content="Hello.")),
        (*ASK, Message(role="assistant", content="", tool_calls=(call("open"),))),
        (*ASK, Message(role="assistant", content="", tool_calls=(call("open"),)), ASK[1]),
        (*ASK, Message(role="tool", content="x", tool_call_id="nobody")),
        (ASK[1], ASK[0], ASK[1]),
        (ASK[0], Message(role="assistant", content="Hello."), ASK[1]),
    ],
)
def test_a_conversation_out_of_order_is_never_sent(messages) -> None:
    with LoopbackServer({"m": []}) as server:
        with pytest.raises(RequestRefused, match="out of order"):
            line().ask(candidate(server.base_url), messages)
        assert not server.requests


def test_what_is_no_character_is_sent_as_an_escape() -> None:
    """A byte of a file's name that is not UTF-8, or half a pair that a model has written."""
    calls = (call("open", '{"path": "\udce9.py"}', id="1"),)
    told = (
        Message(role="user", content="There is caf\udce9.py."),
        Message(role="assistant", content="\ud83d", tool_calls=calls),
        Message(role="tool", content="no such file", tool_call_id=calls[0].id),
    )
    with LoopbackServer({"m": [Say(text="Done.")]}) as server:
        assert line().ask(candidate(server.base_url), told, tools=(OPEN,)).content == "Done."
        sent = server.requests[0].messages
    assert [message["content"] for message in sent[:2]] == ["There is caf\\udce9.py.", "\\ud83d"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"path": "\\udce9.py"}'


def test_429_waits_as_long_as_the_provider_asks() -> None:
    asked = line()
    with LoopbackServer({"m": [Refuse(status=429, retry_after=7), Say(text="ok")]}) as server:
        assert asked.ask(candidate(server.base_url)).content == "ok"
        assert len(server.requests) == 2
    assert asked.clock.slept == [7.0]
    assert "Trying again in 7.0 s" in asked.notices[0]


def test_a_wait_that_outlasts_the_run_is_not_begun() -> None:
    asked = line(max_time=20)
    with LoopbackServer({"m": [Refuse(status=429, retry_after=30)]}) as server:
        with pytest.raises(RateLimited) as caught:
            asked.ask(candidate(server.base_url))
        assert len(server.requests) == 1
    assert asked.clock.slept == []
    assert caught.value.retry_after == 30.0
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_failing_provider_is_asked_three_times_with_growing_pauses(status) -> None:
    asked = line()
    with LoopbackServer({"m": [Refuse(status=status)] * 3}) as server:
        with pytest.raises(ProviderUnavailable):
            asked.ask(candidate(server.base_url))
        assert len(server.requests) == 3
        server.assert_clean()
    first, second = asked.clock.slept
    assert 0.5 <= first <= 1.5
    assert 1.0 <= second <= 3.0
    assert asked.budget.spent_usd == 0.0


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (Refuse(status=401), AuthenticationFailed, "the key was refused"),
        (Refuse(status=403), AuthenticationFailed, "the key was refused"),
        (Refuse(status=402), AuthenticationFailed, "no credit left"),
        (Refuse(status=429, code="insufficient_quota", message="You exceeded your current quota"),
         AuthenticationFailed, "no credit left"),
        (Refuse(status=404), ModelNotFound, "does not know this model"),
        (Refuse(status=400), RequestRefused, "refused the request"),
        (Refuse(status=413), ContextTooLong, "does not fit"),
        (Refuse(status=400, code="context_length_exceeded",
                message="maximum context length is 8192 tokens"), ContextTooLong, "does not fit"),
        (Refuse(status=400, message="the request exceeds the available context size, try increasing it"),
         ContextTooLong, "does not fit"),
    ],
)  # fmt: skip
def test_an_error_that_another_try_cannot_mend_is_raised_at_once(answer, error, says) -> None:
    asked = line()
    with LoopbackServer({"m": [answer]}) as server:
        with pytest.raises(error, match=says) as caught:
            asked.ask(candidate(server.base_url))
        assert len(server.requests) == 1
    assert type(caught.value) is error
    assert caught.value.exit_code == 5
    assert asked.clock.slept == []


@pytest.mark.parametrize("text", ["", "half a word"])
def test_a_stalled_stream_is_a_timeout_and_is_tried_again(text) -> None:
    asked = line(stall=1.0)
    with LoopbackServer({"m": [Stall(text=text), Say(text="ok")]}) as server:
        assert asked.ask(candidate(server.base_url)).content == "ok"
        assert len(server.requests) == 2
    assert "no answer in time" in asked.notices[0]


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with LoopbackServer({}) as server:
        nowhere = server.base_url
    with pytest.raises(ProviderUnavailable, match="openai/m"):
        line().ask(candidate(nowhere))


@pytest.mark.parametrize("abrupt", [True, False])
def test_a_stream_that_is_cut_is_tried_again_and_what_was_heard_is_paid(abrupt) -> None:
    asked = line()
    with LoopbackServer({"m": [Cut(text="x" * 300, abrupt=abrupt), Say(text="ok")]}) as server:
        reply = asked.ask(candidate(server.base_url))
        assert len(server.requests) == 2
    assert reply.content == "ok"
    assert reply.usage.calls == 2
    assert reply.usage.output_tokens >= 100
    assert reply.cost_usd > 100 * 10 / 1e6
    assert asked.budget.spent_usd == pytest.approx(reply.cost_usd)


def test_json_that_cannot_be_read_is_a_bad_reply_after_three_tries() -> None:
    with LoopbackServer({"m": [Garbage()] * 3}) as server:
        with pytest.raises(BadReply):
            line().ask(candidate(server.base_url))
        assert len(server.requests) == 3


def test_an_empty_reply_is_asked_for_again() -> None:
    with LoopbackServer({"m": [Say(text=""), Say(text="ok")]}) as server:
        assert line().ask(candidate(server.base_url)).content == "ok"


def test_an_interrupt_in_mid_stream_is_charged() -> None:
    asked = line()

    def interrupt(event) -> None:
        raise KeyboardInterrupt

    asked.gateway._emit = interrupt
    with LoopbackServer({"m": [Say(text="a word " * 50)]}) as server, pytest.raises(KeyboardInterrupt):
        asked.ask(candidate(server.base_url))
    assert asked.budget.spent_usd > 0


# --- money ------------------------------------------------------------------------------------------------


def test_the_reply_is_no_longer_than_the_budget_pays_for() -> None:
    asked = line(max_cost=0.01)
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        asked.ask(candidate(server.base_url))
        allowed = server.requests[0].body["max_tokens"]
    assert 900 < allowed <= 1000  # 0.01 USD at 10 USD a million, less the prompt


def test_a_call_that_the_budget_does_not_pay_for_is_not_made() -> None:
    with LoopbackServer({"m": []}) as server:
        with pytest.raises(BudgetExhausted) as caught:
            line(max_cost=0.001).ask(candidate(server.base_url))
        assert not server.requests
    assert caught.value.exit_code == 6
    assert "--max-cost" in caught.value.hint


def test_a_retry_is_checked_against_the_budget_too() -> None:
    asked = line(max_cost=0.005)
    with LoopbackServer({"m": [Cut(text="x" * 900)]}) as server:
        with pytest.raises(BudgetExhausted):
            asked.ask(candidate(server.base_url))
        assert len(server.requests) == 1
    assert 0.003 <= asked.budget.spent_usd <= 0.005


def test_an_unpriced_model_is_refused_under_a_cap_and_answers_without_one() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        unpriced = candidate(server.base_url, price=Price())
        with pytest.raises(BudgetExhausted, match="no known price"):
            line().ask(unpriced)
        assert not server.requests
        assert line(max_cost=math.inf).ask(unpriced).cost_usd == 0.0


def test_a_free_local_model_answers_under_a_cap_of_zero() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        local = candidate(server.base_url, price=Price(input=0, output=0, per_second=1.0), local=True)
        assert line(max_cost=0).ask(local).cost_usd == 0.0


def test_no_call_is_made_when_the_time_is_up() -> None:
    asked = line(max_time=10)
    asked.clock.now = 11
    with LoopbackServer({"m": []}) as server:
        with pytest.raises(BudgetExhausted, match="used up"):
            asked.ask(candidate(server.base_url))
        assert not server.requests


def test_a_stream_ends_when_the_time_is_up_and_is_paid() -> None:
    asked = line(max_time=10)
    asked.gateway._emit = lambda _: asked.clock.sleep(11)
    with LoopbackServer({"m": [Say(text="word " * 100)]}) as server, pytest.raises(BudgetExhausted):
        asked.ask(candidate(server.base_url))
    assert asked.budget.spent_usd > 0


def test_a_reasoning_effort_reaches_the_server() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        line().ask(candidate(server.base_url, effort="high"))
        assert server.requests[0].body["reasoning_effort"] == "high"


def test_probe_asks_once_and_gives_the_answer_on_one_line() -> None:
    with LoopbackServer({"m": [Say(text="ready\n"), Refuse(status=500)]}) as server:
        asked = line()
        assert asked.gateway.probe(candidate(server.base_url), asked.budget).content == "ready"
        with pytest.raises(ProviderUnavailable):
            asked.gateway.probe(candidate(server.base_url), asked.budget)
        assert len(server.requests) == 2
    assert asked.events == []


def test_a_server_that_is_down_is_named_by_its_address() -> None:
    with LoopbackServer({"m": []}) as server:
        url = server.base_url
    dead = candidate(url)
    asked = line(tries=1)
    for ask in (lambda: asked.gateway.probe(dead, asked.budget), lambda: asked.ask(dead)):
        with pytest.raises(ProviderUnavailable) as caught:
            ask()
        assert caught.value.message == f"{dead.id} cannot be reached at {url}."
        assert "Start the server" in caught.value.hint
    assert asked.events == []


def test_a_name_that_no_server_has_cannot_be_reached() -> None:
    asked = line(tries=1)
    with pytest.raises(ProviderUnavailable, match=r"cannot be reached at http://nowhere\.invalid/v1"):
        asked.gateway.probe(candidate("http://nowhere.invalid/v1"), asked.budget)


# --- local servers ----------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_not_sent() -> None:
    long = (Message(role="user", content="word " * 2000),)
    with LoopbackServer({"m": []}) as server:
        with pytest.raises(ContextTooLong, match="context of 2048"):
            line().ask(candidate(server.base_url, context_window=2048), long)
        assert not server.requests


def test_an_ollama_that_silently_cuts_the_prompt_is_found_out() -> None:
    long = (Message(role="user", content="word " * 4000),)
    cut = Say(text="ok", usage=Usage(input_tokens=2048, output_tokens=1))
    with (
        LoopbackServer({"m": [cut]}) as server,
        pytest.raises(ContextTooLong, match="read 2048 tokens of about"),
    ):
        line().ask(candidate(server.ollama_url, model="ollama_chat/m", local=True), long)


def test_a_model_on_this_machine_is_not_left_to_ramble() -> None:
    with LoopbackServer({"m": [Say(text="ok")] * 2}) as server:
        for window in (8192, 65_536):
            line().ask(
                candidate(server.base_url, local=True, context_window=window, price=Price(input=0, output=0))
            )
        assert [request.body["max_tokens"] for request in server.requests] == [1024, 8192]


def test_a_server_that_does_not_heed_how_long_a_reply_may_be_is_cut_short() -> None:
    with LoopbackServer({"m": [Say(text="on and on " * 4_000)]}) as server:
        free = Price(input=0, output=0)
        asked = candidate(server.base_url, local=True, context_window=8192, price=free)
        reply = line().ask(asked)
        limit = server.requests[0].body["max_tokens"]
    assert reply.finish == "length"
    assert limit <= len(reply.content) / 16 < limit + 10


def test_ollama_is_given_a_context_and_its_usage_is_read() -> None:
    long = (Message(role="user", content="word " * 8000),)
    said = Say(text="ok", usage=Usage(input_tokens=9000, output_tokens=3))
    with LoopbackServer({"m": [said, Say(text="short")]}) as server:
        ollama = candidate(
            server.ollama_url, model="ollama_chat/m", price=Price(input=0, output=0), local=True
        )
        reply = line().ask(ollama, long)
        line().ask(ollama)
        sizes = [request.body["options"]["num_ctx"] for request in server.requests]
        assert server.requests[0].path == "/api/chat"
        server.assert_clean()
    assert sizes == [16_384, 8192]
    assert (reply.content, reply.usage.input_tokens, reply.cost_usd) == ("ok", 9000, 0.0)


def test_ollama_calls_tools() -> None:
    with LoopbackServer({"m": [Say(tool_calls=(call("open", {"path": "a.py"}),))]}) as server:
        ollama = candidate(server.ollama_url, model="ollama_chat/m", local=True)
        reply = line().ask(ollama, tools=(OPEN,))
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("open", '{"path": "a.py"}')]


# --- keys -------------------------------------------------------------------------------------------------


def test_a_key_goes_to_the_base_url_of_the_config() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}, key="secret") as server:
        asked = line({"MY_KEY": "secret", "OPENAI_API_KEY": "other"})
        assert asked.ask(candidate(server.base_url, api_key_env="MY_KEY")).content == "ok"


def test_a_providers_usual_key_does_not_go_to_a_base_url_that_names_none() -> None:
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        line({"OPENAI_API_KEY": "secret"}).ask(candidate(server.base_url))
        assert server.requests[0].key == "none"


def test_base_urls_of_the_environment_have_no_effect(monkeypatch) -> None:
    with LoopbackServer({"m": []}) as trap, LoopbackServer({"m": [Say(text="ok")]}) as server:
        names = ("OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "DEEPSEEK_API_BASE")
        for name in (*names, "MISTRAL_API_BASE"):
            monkeypatch.setenv(name, trap.base_url)
        # Nothing leaves this machine: the proxy that the library is to use does not exist.
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        line().ask(candidate(server.base_url))
        for model in ("openai/gpt-6-luna", "anthropic/claude-haiku-5-5", "deepseek/deepseek-v4-flash"):
            key = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
            remote = candidate(None, model=model)
            with pytest.raises(ProviderUnavailable):
                line(key, tries=1, stall=2.0).ask(remote)
        assert not trap.requests
        assert len(server.requests) == 1


def test_a_missing_key_names_its_variable_and_sends_nothing() -> None:
    with pytest.raises(AuthenticationFailed, match="needs ANTHROPIC_API_KEY, which is not set") as caught:
        line().ask(candidate(None, model="anthropic/claude-opus-5-5"))
    assert caught.value.exit_code == 5
    assert "ANTHROPIC_API_KEY" in caught.value.hint


def test_a_refused_key_is_named_by_its_variable_and_never_shown() -> None:
    def refuse(request):
        return Refuse(status=401, message=f"Incorrect API key provided: {request.key}.")

    with LoopbackServer({"m": refuse}) as server, pytest.raises(AuthenticationFailed) as caught:
        line({"MY_KEY": "sk-very-secret"}).ask(candidate(server.base_url, api_key_env="MY_KEY"))
    assert "sk-very-secret" not in str(caught.value)
    assert "***" in str(caught.value)
    assert "MY_KEY" in caught.value.hint
