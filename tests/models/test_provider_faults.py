"""What providers do wrong, each kind in the recorded shapes of OpenAI, Anthropic, Gemini and Ollama.

Each has a bounded answer: so many requests and no more, one clear sentence, and a kind of error that makes
the attempt void, so that the next candidate is asked and nobody's quality suffers.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from acr_cli.agent.backend import Agent
from acr_cli.errors import (
    AuthenticationFailed,
    BadReply,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    ProviderTooSlow,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from acr_cli.models.gateway import Patience
from acr_cli.models.listening import heard
from acr_cli.protocols import Tool
from acr_cli.records import Candidate, Price, Usage
from acr_cli.testing.answers import Answer, Cut, Drip, Garbage, Page, Refuse, Reset, Say, call
from acr_cli.testing.loopback import LoopbackServer
from tests.agent.conftest import PlainSandbox, step
from tests.models.conftest import Line, candidate, line

pytestmark = pytest.mark.usefixtures("litellm_is_imported")

SHAPES = ("openai", "anthropic", "gemini", "ollama_chat")
PATHS = {"openai": "/v1", "gemini": "/v1beta/models/m"}
OPEN = Tool(name="open", description="Read.", parameters={"type": "object", "properties": {}, "required": []})
TOO_LONG = {
    "openai": Refuse(
        status=400,
        code="context_length_exceeded",
        message="This model's maximum context length is 128000 tokens.",
    ),
    "anthropic": Refuse(status=400, message="prompt is too long: 208310 tokens > 200000 maximum"),
    "gemini": Refuse(
        status=400,
        message="The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
    ),
    "ollama_chat": Refuse(status=400, message="the input length exceeds the context length"),
}


def who(server: LoopbackServer, shape: str, **fields: object) -> Candidate:
    known = {"id": f"{shape}/m", "model": f"{shape}/m", "api_key_env": "KEY", **fields}
    return candidate(server.root_url + PATHS.get(shape, ""), **known)


def asking(**patience: float) -> Line:
    asked = line({"KEY": "sk-secret"}, max_cost=10)
    if patience:
        asked.gateway._patience = Patience(connect=2.0, **patience)
    return asked


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A fault: what the server does every time, the error of it, how often it is asked, what is said."""

    answer: Answer
    error: type[ProviderError]
    requests: int = 3
    says: str = ""


KINDS = {
    "rate_limit": Kind(
        answer=Refuse(status=429, message="Rate limit reached"),
        error=RateLimited,
        says="too many requests: Rate limit reached",
    ),
    "overload": Kind(
        answer=Refuse(status=529, message="Overloaded"), error=ProviderUnavailable, says="Overloaded"
    ),
    "overload_in_mid_stream": Kind(
        answer=Refuse(status=529, message="Overloaded", after="I will"),
        error=ProviderUnavailable,
        says="Overloaded",
    ),
    "unavailable": Kind(
        answer=Refuse(status=503, message="The model is loading"),
        error=ProviderUnavailable,
        says="status 503: The model is loading",
    ),
    "content_filter_on_the_prompt": Kind(
        answer=Refuse(status=400, code="content_filter", message="The prompt was filtered"),
        error=RequestRefused,
        requests=1,
        says="The prompt was filtered",
    ),
    "content_filter_on_the_reply": Kind(
        answer=Say(text="Half a sen", finish="content_filter"),
        error=RequestRefused,
        requests=1,
        says="content filter ended the reply",
    ),
    "content_filter_without_a_word": Kind(
        answer=Say(finish="content_filter"), error=RequestRefused, requests=1, says="content filter"
    ),
    "expired_key": Kind(
        answer=Refuse(status=401, message="API key expired."),
        error=AuthenticationFailed,
        requests=1,
        says="the key was refused: API key expired.",
    ),
    "model_gone": Kind(
        answer=Refuse(status=404, message="The model m has been retired."),
        error=ModelNotFound,
        requests=1,
        says="does not know this model: The model m has been retired.",
    ),
    "truncated_stream": Kind(
        answer=Cut(text="I will"), error=ProviderUnavailable, says="the connection to the provider failed"
    ),
    "empty_reply": Kind(answer=Say(), error=BadReply, says="the reply is empty"),
    "connection_reset": Kind(
        answer=Reset(), error=ProviderUnavailable, says="the connection to the provider failed"
    ),
    "page_of_a_proxy": Kind(answer=Page(), error=BadReply, says="the reply is empty"),
    "error_page_of_a_proxy": Kind(answer=Page(status=502), error=ProviderUnavailable),
    "broken_json": Kind(answer=Garbage(), error=BadReply),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_s_fault_is_bounded_and_said(kind: str, shape: str) -> None:
    fault, asked = KINDS[kind], asking()
    with LoopbackServer({"m": [fault.answer] * 4}) as server:
        with pytest.raises(fault.error) as caught:
            asked.ask(who(server, shape))
        assert len(server.requests) == fault.requests
    error = caught.value
    assert type(error) is fault.error
    assert error.exit_code == 5
    assert fault.says in error.message
    assert error.message.startswith(f"{shape}/m: ")
    for foreign in ("sk-secret", "{", "b'", "litellm", "<html"):
        assert foreign not in error.message
    assert asked.budget.spent_usd < 0.001


@pytest.mark.parametrize("shape", SHAPES)
def test_a_context_too_long_is_not_sent_again(shape: str) -> None:
    with LoopbackServer({"m": [TOO_LONG[shape]] * 2}) as server:
        with pytest.raises(ContextTooLong, match="does not fit into the model's context"):
            asking().ask(who(server, shape))
        assert len(server.requests) == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_rate_limit_waits_as_long_as_retry_after_says(form: str, shape: str) -> None:
    asked = asking()
    after = "30" if form == "seconds" else formatdate(time.time() + 31, usegmt=True)
    with LoopbackServer({"m": [Refuse(status=429, retry_after=after), Say(text="ok")]}) as server:
        assert asked.ask(who(server, shape)).content == "ok"
    assert len(asked.clock.slept) == 1
    assert 25 < asked.clock.slept[0] <= 31


def test_a_rate_limit_waits_as_long_as_gemini_s_details_say() -> None:
    asked = asking()
    details = ({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"},)
    limited = Refuse(status=429, message="You exceeded your rate.", details=details)
    with LoopbackServer({"m": [limited, Say(text="ok")]}) as server:
        assert asked.ask(who(server, "gemini")).content == "ok"
    assert asked.clock.slept == [12.5]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_slow_drip_stream_ends_although_bytes_keep_coming(shape: str) -> None:
    asked = asking(stall=5.0, piece=0.4, reply=5.0)
    with LoopbackServer({"m": [Drip(), Say(text="never asked")]}) as server:
        with pytest.raises(ProviderTooSlow, match="only trickles in") as caught:
            asked.ask(who(server, shape))
        assert len(server.requests) == 1
    assert caught.value.exit_code == 5


def test_a_reply_that_goes_on_for_ever_ends_with_its_time() -> None:
    pieces = heard(itertools.count, piece=30.0, whole=0.2)
    assert [next(pieces) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TimeoutError):
        list(pieces)


def test_a_stream_s_own_error_comes_behind_its_pieces() -> None:
    def stream():
        yield "half"
        raise OSError("gone")

    pieces = heard(stream, piece=30.0, whole=30.0)
    assert next(pieces) == "half"
    with pytest.raises(OSError, match="gone"):
        next(pieces)


@pytest.mark.parametrize("shape", SHAPES)
def test_usage_that_is_missing_is_estimated(shape: str) -> None:
    said = Say(text="A hundred words and more. " * 40, report_usage=False)
    with LoopbackServer({"m": [said]}) as server:
        reply = asking().ask(who(server, shape))
    assert 150 <= reply.usage.output_tokens <= 400
    assert reply.usage.input_tokens > 0
    assert reply.cost_usd > 0.001


@pytest.mark.parametrize("shape", SHAPES)
def test_usage_that_is_misreported_is_charged_by_the_text_and_said_once(shape: str) -> None:
    asked = asking()
    said = Say(
        text="".join(f"value_{n} = {n}\n" for n in range(150)), usage=Usage(input_tokens=1, output_tokens=1)
    )
    with LoopbackServer({"m": [said, said]}) as server:
        replies = [asked.ask(who(server, shape)) for _ in range(2)]
    assert [900 < reply.usage.output_tokens < 1300 for reply in replies] == [True, True], replies[0].usage
    assert asked.budget.spent_usd == pytest.approx(sum(reply.cost_usd for reply in replies))
    assert asked.budget.spent_usd > 0.015
    assert len(asked.notices) == 1
    assert "reports 1 tokens for a reply of about" in asked.notices[0]


def test_honest_repetition_in_a_stream_is_no_loop() -> None:
    zeros = Say(text="0,0,0,0,0,0,0,0,0,0," * 200)
    with LoopbackServer({"m": [zeros]}) as server:
        assert asking().ask(who(server, "openai")).content == zeros.text
        assert len(server.requests) == 1


def test_usage_of_another_tokenizer_is_believed() -> None:
    asked = asking()
    said = Say(text="word " * 1000, usage=Usage(input_tokens=20, output_tokens=640))
    with LoopbackServer({"m": [said]}) as server:
        assert asked.ask(who(server, "openai")).usage.output_tokens == 640
    assert asked.notices == []


def test_a_free_model_s_counts_are_nobody_s_concern() -> None:
    asked = asking()
    said = Say(text="value = 1\n" * 300, usage=Usage(input_tokens=1, output_tokens=1))
    with LoopbackServer({"m": [said]}) as server:
        free = who(server, "openai", price=Price(input=0.0, output=0.0), local=True)
        assert asked.ask(free).usage.output_tokens == 1
    assert asked.notices == []


@pytest.mark.parametrize("shape", SHAPES)
def test_bad_json_arguments_reach_the_agent_as_they_are(shape: str) -> None:
    with LoopbackServer({"m": [Say(tool_calls=(call("open", '{"path": '),))]}) as server:
        reply = asking().ask(who(server, shape), tools=(OPEN,))
    assert [each.name for each in reply.tool_calls] == ["open"]
    assert '{"path' in reply.tool_calls[0].arguments.replace("\\", "")


# --- what the agent makes of it ---------------------------------------------------------------------------

NUMBERS = range(40)
LOOPS = {
    "bad_json_arguments": (
        [Say(tool_calls=(call("open", '{"path": ' + " " * n),)) for n in NUMBERS],
        "could not be understood",
    ),
    "a_tool_that_does_not_exist": (
        [Say(tool_calls=(call("browse", {"page": n}),)) for n in NUMBERS],
        "could not be understood",
    ),
    "the_same_call_in_a_loop": (
        [Say(tool_calls=(call("search", {"pattern": "add"}),)) for _ in NUMBERS],
        "again and again",
    ),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_model_that_goes_round_in_circles_is_stopped(kind: str, tree) -> None:
    answers, says = LOOPS[kind]
    asked = line()
    with LoopbackServer({"m": answers}) as server:
        agent = Agent(gateway=asked.gateway, emit=asked.events.append)
        attempt = agent.attempt(
            step(), candidate(server.base_url, tools=True), tree, PlainSandbox(), asked.budget
        )
        server.assert_clean()
        assert 2 < len(server.requests) <= 10
    assert says in attempt.summary
    assert (attempt.patch, attempt.void) == ("", "")


def test_an_attempt_that_breaks_off_keeps_what_it_has_done(tree) -> None:
    edit = call("edit", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
    asked = line()
    with LoopbackServer({"m": [Say(tool_calls=(edit,)), Refuse(status=401, message="expired")]}) as server:
        agent = Agent(gateway=asked.gateway, emit=asked.events.append)
        attempt = agent.attempt(
            step(), candidate(server.base_url, tools=True), tree, PlainSandbox(), asked.budget
        )
    assert "the key was refused" in attempt.void
    assert "+    return a + b" in attempt.patch
