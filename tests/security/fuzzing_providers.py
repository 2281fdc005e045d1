"""What providers answer, through the real gateway and litellm: streams of four shapes, and what carries them.

A reply comes, or one of the gateway's errors; what it counts is a number of tokens, what it costs is money.
"""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

from acr_cli.errors import AcrError
from acr_cli.models import catalogue
from acr_cli.models.gateway import warm
from acr_cli.models.hearing import MOST_TOKENS
from acr_cli.protocols import Reply
from acr_cli.records import Usage
from acr_cli.sandbox import gate
from acr_cli.testing.answers import Say, call
from acr_cli.testing.shapes import Anthropic, Gemini, Ollama, OpenAI, Shape
from tests.models.conftest import candidate, line
from tests.security.fuzzing import Parser, encoded

_SAID = Say(
    text="Here it is: \u00e4.",
    reasoning="Hm.",
    tool_calls=(call("open", {"path": "a.py", "line": 3}, id="c1"), call("open", "{}", id="c2")),
    usage=Usage(input_tokens=100, output_tokens=20, cached_tokens=10),
)
_WAYS: tuple[tuple[str, Shape, str], ...] = (
    ("openai/m", OpenAI(), "/v1"),
    ("anthropic/m", Anthropic(), ""),
    ("gemini/m", Gemini(), "/v1beta/models/m"),
    ("ollama_chat/m", Ollama(), ""),
)
_SILENT = Reply(content="", tool_calls=(), usage=Usage(), cost_usd=0.0, seconds=0.0, finish="stop")


@cache
def _ready() -> None:
    warm()
    for model, shape, path in _WAYS:  # each imports its own
        with suppress(AcrError):
            _reply(model, shape, path, _stream(shape))


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """A server on this machine that says this to whoever asks for anything; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                caller = listener.accept()[0]
                with caller, suppress(OSError, ValueError):
                    caller.settimeout(5)
                    _read_request(caller)
                    caller.sendall(answer)
                    caller.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def _read_request(caller: socket.socket) -> None:
    read = b""
    while b"\r\n\r\n" not in read and (part := caller.recv(1 << 16)):
        read += part
    head, _, body = read.partition(b"\r\n\r\n")
    told = [each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:")]
    left = (int(told[0].partition(b":")[2]) if told else 0) - len(body)
    while left > 0 and (part := caller.recv(1 << 16)):
        left -= len(part)


def _stream(shape: Shape) -> str:
    return b"".join(shape.stream("m", _SAID, _SAID.usage or Usage())).decode()


def _head(kind: str, *more: str) -> bytes:
    fields = (f"Content-Type: {kind}", "Connection: close", *more)
    return ("HTTP/1.1 200 OK\r\n" + "".join(f"{field}\r\n" for field in fields) + "\r\n").encode()


def _reply(model: str, shape: Shape, path: str, text: str) -> object:
    """As the body of a stream, and as a stream in chunks that it makes up itself."""
    return _ask(model, path, _head(shape.kind) + encoded(text))


def _events(shape: Shape) -> str:
    """The events of a stream, as a list."""
    lines = [line.removeprefix("data: ") for line in _stream(shape).splitlines()]
    return json.dumps([json.loads(line) for line in lines if line.startswith("{")])


def _with_events(model: str, shape: Shape, path: str, text: str) -> object:
    """A stream whose every event is sound JSON."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return _SILENT
    said = ""
    for event in given if isinstance(given, list) else [given]:
        told = json.dumps(event)
        named = f"event: {event.get('type')}\n" if isinstance(event, dict) and "type" in event else ""
        said += f"{told}\n" if shape.kind == Ollama.kind else f"{named}data: {told}\n\n"
    return _reply(model, shape, path, said)


def _chunks(text: str) -> object:
    return _ask("openai/m", "/v1", _head(OpenAI.kind, "Transfer-Encoding: chunked") + encoded(text))


def _headers(text: str) -> object:
    return _ask("openai/m", "/v1", encoded(text.replace("\n", "\r\n")))


def _ask(model: str, path: str, answer: bytes) -> object:
    with _answering(answer) as url:
        asked = line({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}, stall=2.0, tries=1)
        return asked.ask(candidate(url + path, id=model, model=model, api_key_env=None))


def _sound(reply: Reply) -> bool:
    counts = (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens)
    arguments = [each.arguments for each in reply.tool_calls]
    return (
        all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in counts)
        and math.isfinite(reply.cost_usd)
        and reply.cost_usd >= 0
        and all(isinstance(text, str) for text in (reply.content, reply.finish, *arguments))
        and len({each.id for each in reply.tool_calls}) == len(reply.tool_calls)
    )


def _chunked(text: str) -> str:
    return f"{len(text.encode()):x}\r\n{text}\r\n0\r\n\r\n"


def _detected(asked: str) -> Callable[[str], object]:
    """What is proposed after a server on this machine has answered so."""

    def feed(text: str) -> object:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            return None
        said = answer if isinstance(answer, dict) else None
        return catalogue.detect(
            {}, lambda url, _: said if url.endswith(asked) else {"models": [{"name": "m"}]}
        )

    return feed


def _asked_of_the_gate(text: str) -> object:
    """What a command that installs says to the proxy."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(encoded(text)[:100_000])
        theirs.shutdown(socket.SHUT_WR)
        asked = gate._read_request(ours)
    return asked is None or (asked.host, asked.head + asked.absolute)


def _one_request(asked: Any) -> bool:
    """Whether one host is asked, and by one head."""
    if asked is True:
        return True
    host, head = asked
    return bool(host) and not set(host) & set("\r\n /@") and head.count(b"\r\n\r\n") in (0, 2)


PARSERS = (
    Parser(
        name="request to the proxy",
        feed=_asked_of_the_gate,
        samples=(
            "GET http://pypi.example/simple/?a=b HTTP/1.1\r\nHost: pypi.example\r\nConnection: x\r\n\r\nrest",
            "CONNECT [::1]:443 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n",
        ),
        repeats=("A: b\r\n", "http://", "[::", "@"),
        errors=(ValueError, OSError),
        sound=_one_request,
    ),
    *(
        Parser(
            name=f"stream of {model.partition('/')[0]}",
            feed=partial(_reply, model, shape, path),
            samples=(_stream(shape),),
            repeats=("data: ", "data: {}\n\n", "data: [DONE]\n\n", '{"x":'),
            sound=_sound,
            ready=_ready,
            dear=True,
        )
        for model, shape, path in _WAYS
    ),
    *(
        Parser(
            name=f"events of {model.partition('/')[0]}",
            feed=partial(_with_events, model, shape, path),
            samples=(_events(shape),),
            shape="json",
            sound=_sound,
            ready=_ready,
            dear=True,
        )
        for model, shape, path in _WAYS
    ),
    Parser(
        name="chunks of a stream",
        feed=_chunks,
        samples=(_chunked(_stream(OpenAI())),),
        repeats=("0\r\n", "1\r\n", "f" * 20),
        sound=_sound,
        ready=_ready,
        dear=True,
    ),
    Parser(
        name="headers of a reply",
        feed=_headers,
        samples=(
            _head(OpenAI.kind, "X-A: b", "Set-Cookie: a=b").decode().replace("\r", "") + _stream(OpenAI()),
        ),
        repeats=("X: y\n", " ", "HTTP/1.1 100 Continue\n\n"),
        sound=_sound,
        ready=_ready,
        dear=True,
    ),
    *(
        Parser(name=f"server of models, {asked}", feed=_detected(asked), samples=(said,), shape="json")
        for asked, said in (
            ("/api/tags", '{"models": [{"name": "qwen:7b"}, {"name": "x-cloud"}]}'),
            (
                "/api/show",
                '{"capabilities": ["completion", "tools"], "model_info": {"q.context_length": 32768}}',
            ),
            (
                "/models",
                '{"data": [{"id": "m", "object": "model", "max_model_len": 8, "meta": {"n_ctx_train": 1}}]}',
            ),
        )
    ),
)
