"""A real HTTP server on 127.0.0.1 with scripted answers, shaped as OpenAI, Ollama, Anthropic and Gemini do.

It checks every request and keeps it: the order of roles, each tool call answered, the key, and no request
more than its script has answers for.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

from acr_cli.testing.answers import Answer, Cut, Drip, Garbage, Page, Refuse, Reset, Say, Stall, counted
from acr_cli.testing.conversation import faults
from acr_cli.testing.shapes import Shape, shape_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request as it came over the wire."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        """Its name, without the provider's part; Gemini's stands in the path."""
        named = re.search(r"/models/([^/:?]+):", self.path)
        return named[1] if named else str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return list(self.body.get("messages") or ())

    @property
    def key(self) -> str:
        own = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return own or self.headers.get("authorization", "").removeprefix("Bearer ")


_OLLAMA_SHOW = {
    "capabilities": ["completion", "tools"],
    "model_info": {"scripted.context_length": 32_768},
    "template": "",
}

Script = Iterable[Answer] | Callable[[Request], Answer]


class LoopbackServer:
    """Serves `scripts`, by the name of the model: answers in order, or a function of the request.

    A context manager. `base_url` ends in /v1 for OpenAI's shape; `root_url` is for Ollama's and Anthropic's,
    `gemini_url(model)` for Gemini's. The order of roles is checked in the first two. With `key`, a request
    without it gets 401. One that the script has no answer for is a violation and gets 400.
    """

    witnesses: ClassVar[list[Callable[[Request], None]]] = []
    """Called with every request that any server of this process gets, in the thread that answers it."""

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
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def ollama_url(self) -> str:
        return self.root_url

    @property
    def base_url(self) -> str:
        return f"{self.root_url}/v1"

    def gemini_url(self, model: str) -> str:
        """Where litellm reaches a model in Gemini's shape: it puts the verb behind what it is given."""
        return f"{self.root_url}/v1beta/models/{model}"

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
            if request.path in ("/v1/chat/completions", "/api/chat"):
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
        self._taken(b"")
        names = self.server.owner.models
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        elif self.path == "/api/tags":
            self._json(200, {"models": [{"name": name, "model": name} for name in names]})
        else:
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = self._taken(raw)
        if self.path == "/api/show":
            self._json(200, _OLLAMA_SHOW)
        elif shape := shape_of(self.path):
            self._answer(request, shape, self.server.owner.answer(request))
        else:
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})

    def _taken(self, raw: bytes) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=self.path, headers=headers, body=json.loads(raw or b"{}"))
        for witness in self.server.owner.witnesses:
            witness(request)
        return request

    def _answer(self, request: Request, shape: Shape, answer: Answer) -> None:
        match answer:
            case Refuse(after=""):
                extra = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
                self._json(answer.status, shape.error(answer), extra)
            case Refuse():
                said = shape.piece(request.model, answer.after)
                self._stream(shape, (said, shape.failing(answer)))
            case Garbage():
                self._garbage(answer, shape, streaming=_streams(request))
            case Page():
                self._raw(answer.status, answer.body.encode(), "text/html; charset=utf-8")
            case Reset():
                self._reset()
            case Drip():
                self._drip(answer, shape)
            case Stall() | Cut():
                self._break_off(request, shape, answer)
            case Say():
                self._say(request, shape, answer)

    def _say(self, request: Request, shape: Shape, said: Say) -> None:
        usage = counted(said, request.body)
        if not _streams(request):
            self._json(200, shape.whole(request.model, said, usage))
            return
        asked = (request.body.get("stream_options") or {}).get("include_usage")
        if request.path == "/v1/chat/completions" and not asked:
            said = replace(said, report_usage=False)
        self._stream(shape, shape.stream(request.model, said, usage))

    def _stream(self, shape: Shape, pieces: Iterable[bytes]) -> None:
        self._begin(shape.kind)
        for piece in pieces:
            self._chunk(piece)
        self._chunk(b"")

    def _garbage(self, answer: Garbage, shape: Shape, *, streaming: bool) -> None:
        if streaming:
            self._stream(shape, (f"data: {answer.body}\n\n".encode(),))
        else:
            self._raw(200, answer.body.encode(), "application/json")

    def _reset(self) -> None:
        """Close without a word, so that the other side gets ECONNRESET."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _drip(self, answer: Drip, shape: Shape) -> None:
        self._begin(shape.kind)
        for _ in range(int(answer.seconds / answer.pause)):
            if self.server.owner.closing.wait(answer.pause):
                break
            self._chunk(b":")
        self.close_connection = True

    def _break_off(self, request: Request, shape: Shape, answer: Stall | Cut) -> None:
        self._begin(shape.kind)
        if answer.text:
            self._chunk(shape.piece(request.model, answer.text))
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


def _streams(request: Request) -> bool:
    if request.path == "/api/chat":
        return bool(request.body.get("stream", True))
    return "streamGenerateContent" in request.path or bool(request.body.get("stream"))
