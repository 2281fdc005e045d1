"""A real HTTP server on 127.0.0.1 in the shape of OpenAI's and Ollama's, with scripted answers.

It checks every request and keeps it: the order of roles, each tool call answered, the key, and no request
more than its script has answers for.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from acr_cli.records import Usage
from acr_cli.testing.answers import Answer, Cut, Garbage, Refuse, Say, Stall, counted
from acr_cli.testing.conversation import faults


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request as it came over the wire."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return list(self.body.get("messages") or ())

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


_OLLAMA_SHOW = {
    "capabilities": ["completion", "tools"],
    "model_info": {"scripted.context_length": 32_768},
    "template": "",
}

Script = Iterable[Answer] | Callable[[Request], Answer]


class LoopbackServer:
    """Serves `scripts`, by the name of the model: answers in order, or a function of the request.

    A context manager. `base_url` ends in /v1 for OpenAI's shape; `ollama_url` is the root, for Ollama's. With
    `key`, a request without it gets 401. One that the script has no answer for is a violation and gets 400.
    """

    def __init__(self, scripts: Mapping[str, Script], *, key: str | None = None) -> None:
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.key = key
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._scripts = scripts
        self._left = {name: iter(()) if callable(s) else iter(s) for name, s in scripts.items()}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering, let go of stalled connections, free the port."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def ollama_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"{self.ollama_url}/v1"

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self._scripts)

    def requests_for(self, model: str) -> list[Request]:
        """The chat requests for one model, in order."""
        return [request for request in self.requests if request.model == model]

    def assert_clean(self) -> None:
        """Raises: AssertionError that names every violation."""
        assert not self.violations, "; ".join(self.violations)

    def answer(self, request: Request) -> Answer:
        """The next answer of the script, once the request has been checked and kept."""
        with self._lock:
            self.requests.append(request)
            if self.key is not None and request.key != self.key:
                return Refuse(status=401, message="Incorrect API key provided.", code="invalid_api_key")
            number = len(self.requests)
            self.violations += [f"request {number}: {fault}" for fault in faults(request.messages)]
            script = self._scripts.get(request.model)
            if script is None:
                return Refuse(status=404, message=f"The model {request.model!r} does not exist.")
            if callable(script):
                return script(request)
            answer = next(self._left[request.model], None)
            if answer is None:
                self.violations.append(f"request {number}: one more to {request.model} than is scripted")
                return Refuse(status=400, message="the script has ended")
            return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: LoopbackServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up on a stalled answer is what a test wants, not news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on stderr."""

    def do_GET(self) -> None:
        names = self.server.owner.models
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        elif self.path == "/api/tags":
            self._json(200, {"models": [{"name": name, "model": name} for name in names]})
        else:
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=self.path, headers=headers, body=json.loads(raw or b"{}"))
        if self.path == "/api/show":
            self._json(200, _OLLAMA_SHOW)
        elif self.path in ("/v1/chat/completions", "/api/chat"):
            self._answer(request, self.server.owner.answer(request))
        else:
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})

    def _answer(self, request: Request, answer: Answer) -> None:
        ollama = request.path == "/api/chat"
        streaming = bool(request.body.get("stream", ollama))
        match answer:
            case Refuse():
                self._refuse(answer)
            case Garbage():
                self._garbage(answer, streaming=streaming)
            case Stall() | Cut():
                self._break_off(request, answer)
            case Say():
                usage = counted(answer, request.messages)
                if not streaming:
                    self._json(
                        200, _ollama_whole(answer, usage) if ollama else _whole(request, answer, usage)
                    )
                    return
                pieces = _ollama_stream(answer, usage) if ollama else _stream(request, answer, usage)
                self._begin("application/x-ndjson" if ollama else "text/event-stream")
                for piece in pieces:
                    self._chunk(piece)
                self._chunk(b"")

    def _refuse(self, answer: Refuse) -> None:
        extra = {} if answer.retry_after is None else {"Retry-After": f"{answer.retry_after:g}"}
        error = {"message": answer.message, "type": "scripted", "code": answer.code or None}
        self._json(answer.status, {"error": error}, extra)

    def _garbage(self, answer: Garbage, *, streaming: bool) -> None:
        if streaming:
            self._begin("text/event-stream")
            self._chunk(f"data: {answer.body}\n\n".encode())
            self._chunk(b"")
        else:
            self._raw(200, answer.body.encode(), "application/json")

    def _break_off(self, request: Request, answer: Stall | Cut) -> None:
        self._begin("application/x-ndjson" if request.path == "/api/chat" else "text/event-stream")
        if answer.text:
            ollama = request.path == "/api/chat"
            said = {"role": "assistant", "content": answer.text}
            self._chunk(_ollama_piece(said) if ollama else _event(request, {"delta": said}))
        if isinstance(answer, Stall):
            self.server.owner.closing.wait(answer.seconds)
        elif not answer.abrupt:
            self._chunk(b"")
        self.close_connection = True
        if not isinstance(answer, Cut) or answer.abrupt:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, value: object, extra: Mapping[str, str] | None = None) -> None:
        self._raw(status, json.dumps(value).encode(), "application/json", extra)

    def _raw(self, status: int, data: bytes, kind: str, extra: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _calls(said: Say) -> list[dict[str, Any]]:
    return [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in said.tool_calls
    ]


def _whole(request: Request, said: Say, usage: Usage) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.tool_calls:
        message["tool_calls"] = _calls(said)
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    whole = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": request.model}
    return {**whole, "choices": [choice], **({"usage": _usage(usage)} if said.report_usage else {})}


def _event(request: Request, choice: Mapping[str, Any] | None, **extra: object) -> bytes:
    choices = [] if choice is None else [{"index": 0, "finish_reason": None, **choice}]
    chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": request.model}
    return f"data: {json.dumps({**chunk, 'choices': choices, **extra})}\n\n".encode()


def _stream(request: Request, said: Say, usage: Usage) -> Iterator[bytes]:
    if said.reasoning:
        yield _event(request, {"delta": {"role": "assistant", "reasoning_content": said.reasoning}})
    for start in range(0, len(said.text), 20):
        yield _event(request, {"delta": {"role": "assistant", "content": said.text[start : start + 20]}})
    for index, whole in enumerate(_calls(said)):
        arguments = whole["function"]["arguments"]
        half = len(arguments) // 2
        opening = {**whole, "index": index, "function": {**whole["function"], "arguments": arguments[:half]}}
        yield _event(request, {"delta": {"role": "assistant", "tool_calls": [opening]}})
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        yield _event(request, {"delta": {"tool_calls": [rest]}})
    yield _event(request, {"delta": {}, "finish_reason": said.finish_reason})
    if said.report_usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield _event(request, None, usage=_usage(usage))
    yield b"data: [DONE]\n\n"


def _ollama_whole(said: Say, usage: Usage) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.tool_calls:
        message["tool_calls"] = [
            {"function": {"name": c.name, "arguments": json.loads(c.arguments)}} for c in said.tool_calls
        ]
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {"model": "", "message": message, "done": True, "done_reason": said.finish_reason, **counts}


def _ollama_piece(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"model": "", "message": message, "done": False}).encode() + b"\n"


def _ollama_stream(said: Say, usage: Usage) -> Iterator[bytes]:
    for start in range(0, len(said.text), 20):
        yield _ollama_piece({"role": "assistant", "content": said.text[start : start + 20]})
    last = _ollama_whole(said, usage)
    last["message"] = {**last["message"], "content": ""}
    yield json.dumps(last).encode() + b"\n"
