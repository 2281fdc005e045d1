"""A server on 127.0.0.1 in the shape of Anthropic's: answers by script, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from acr_cli.protocols import ToolCall


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer: a text, a tool call if there is one, and the tokens counted."""

    text: str = ""
    call: ToolCall | None = None
    fresh: int = 100  # tokens of the prompt that were neither read from the cache nor written to it
    read: int = 0
    written: int = 0
    output: int = 10


@dataclass
class AnthropicServer:
    """A context manager; `bodies` are the requests as they came."""

    turns: Sequence[Turn]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self
        left = iter(self.turns)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nothing on stderr."""

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                owner.bodies.append(json.loads(self.rfile.read(size)))
                owner.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for event in _events(next(left)):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


def _events(turn: Turn) -> Iterator[dict[str, Any]]:
    usage = {
        "input_tokens": turn.fresh,
        "cache_read_input_tokens": turn.read,
        "cache_creation_input_tokens": turn.written,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if turn.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}))
    if turn.call:
        begun = {"type": "tool_use", "id": turn.call.id, "name": turn.call.name, "input": {}}
        blocks.append((begun, {"type": "input_json_delta", "partial_json": turn.call.arguments}))
    for index, (begun, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if turn.call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": turn.output}}
    yield {"type": "message_stop"}
