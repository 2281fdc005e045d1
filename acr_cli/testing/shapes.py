"""The shapes that providers answer in, as they were recorded: OpenAI, Ollama, Anthropic, Gemini.

One class a provider: a whole answer, a streamed one, a piece of a stream, and an error, as it is sent instead
of an answer and as it is sent in the middle of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

from acr_cli.records import Usage
from acr_cli.testing.answers import Refuse, Say

_PIECE = 20  # characters


class Shape(Protocol):
    """What the server needs to know of a provider."""

    kind: str
    """The content type of a stream."""

    def whole(self, model: str, said: Say, usage: Usage) -> dict[str, Any]: ...

    def stream(self, model: str, said: Say, usage: Usage) -> Iterator[bytes]: ...

    def piece(self, model: str, text: str) -> bytes:
        """Some text in the middle of a stream."""
        ...

    def error(self, refused: Refuse) -> dict[str, Any]:
        """The body of an error."""
        ...

    def failing(self, refused: Refuse) -> bytes:
        """An error in the middle of a stream."""
        ...


def shape_of(path: str) -> Shape | None:
    """The shape of what is asked for at a path; None where nobody answers. Pure."""
    if path == "/v1/chat/completions":
        return OpenAI()
    if path == "/api/chat":
        return Ollama()
    if path == "/v1/messages":
        return Anthropic()
    return Gemini() if ":generateContent" in path or ":streamGenerateContent" in path else None


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _event(value: Mapping[str, Any], name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


class OpenAI:
    """Chat completions."""

    kind = "text/event-stream"

    def whole(self, model: str, said: Say, usage: Usage) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
        if said.tool_calls:
            message["tool_calls"] = self._calls(said)
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
        whole = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": model}
        return {**whole, "choices": [choice], **({"usage": self._usage(usage)} if said.report_usage else {})}

    def stream(self, model: str, said: Say, usage: Usage) -> Iterator[bytes]:
        if said.reasoning:
            yield self._chunk(model, {"delta": {"role": "assistant", "reasoning_content": said.reasoning}})
        for text in _pieces(said.text):
            yield self.piece(model, text)
        for index, whole in enumerate(self._calls(said)):
            arguments = whole["function"]["arguments"]
            half = len(arguments) // 2
            function = {**whole["function"], "arguments": arguments[:half]}
            opening = {**whole, "index": index, "function": function}
            yield self._chunk(model, {"delta": {"role": "assistant", "tool_calls": [opening]}})
            rest = {"index": index, "function": {"arguments": arguments[half:]}}
            yield self._chunk(model, {"delta": {"tool_calls": [rest]}})
        yield self._chunk(model, {"delta": {}, "finish_reason": said.finish_reason})
        if said.report_usage:
            yield self._chunk(model, None, usage=self._usage(usage))
        yield b"data: [DONE]\n\n"

    def piece(self, model: str, text: str) -> bytes:
        return self._chunk(model, {"delta": {"role": "assistant", "content": text}})

    def error(self, refused: Refuse) -> dict[str, Any]:
        kind = refused.kind or "scripted"
        return {
            "error": {"message": refused.message, "type": kind, "param": None, "code": refused.code or None}
        }

    def failing(self, refused: Refuse) -> bytes:
        return _event(self.error(refused))

    def _chunk(self, model: str, choice: Mapping[str, Any] | None, **extra: object) -> bytes:
        choices = [] if choice is None else [{"index": 0, "finish_reason": None, **choice}]
        chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": model}
        return _event({**chunk, "choices": choices, **extra})

    def _calls(self, said: Say) -> list[dict[str, Any]]:
        return [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in said.tool_calls
        ]

    def _usage(self, usage: Usage) -> dict[str, Any]:
        return {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        }


class Ollama:
    """Its own chat, a JSON object a line."""

    kind = "application/x-ndjson"

    def whole(self, model: str, said: Say, usage: Usage) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.tool_calls:
            message["tool_calls"] = [
                {"function": {"name": c.name, "arguments": _decoded(c.arguments)}} for c in said.tool_calls
            ]
        counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
        done = {"done": True, "done_reason": said.finish or "stop"}
        return {"model": model, "message": message, **done, **(counts if said.report_usage else {})}

    def stream(self, model: str, said: Say, usage: Usage) -> Iterator[bytes]:
        for text in _pieces(said.text):
            yield self.piece(model, text)
        last = self.whole(model, said, usage)
        last["message"] = {**last["message"], "content": ""}
        yield json.dumps(last).encode() + b"\n"

    def piece(self, model: str, text: str) -> bytes:
        message = {"role": "assistant", "content": text}
        return json.dumps({"model": model, "message": message, "done": False}).encode() + b"\n"

    def error(self, refused: Refuse) -> dict[str, Any]:
        return {"error": refused.message}

    def failing(self, refused: Refuse) -> bytes:
        return json.dumps(self.error(refused)).encode() + b"\n"


class Anthropic:
    """Messages."""

    kind = "text/event-stream"
    _STOPS: ClassVar = {
        "tool_calls": "tool_use",
        "stop": "end_turn",
        "length": "max_tokens",
        "content_filter": "refusal",
    }
    _KINDS: ClassVar = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }

    def whole(self, model: str, said: Say, usage: Usage) -> dict[str, Any]:
        text = [{"type": "text", "text": said.text}] if said.text else []
        calls = [
            {"type": "tool_use", "id": c.id, "name": c.name, "input": _decoded(c.arguments)}
            for c in said.tool_calls
        ]
        counts = self._usage(usage, usage.output_tokens) if said.report_usage else {}
        begun = self._message(model, counts)
        return {**begun, "content": [*text, *calls], "stop_reason": self._STOPS[said.finish_reason]}

    def stream(self, model: str, said: Say, usage: Usage) -> Iterator[bytes]:
        yield self._begin(model, self._usage(usage, 1) if said.report_usage else {})
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if said.text:
            deltas = [{"type": "text_delta", "text": text} for text in _pieces(said.text)]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for each in said.tool_calls:
            begun = {"type": "tool_use", "id": each.id, "name": each.name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": text} for text in _pieces(each.arguments)]
            blocks.append((begun, deltas))
        for index, (begun, deltas) in enumerate(blocks):
            yield self._say("content_block_start", index=index, content_block=begun)
            for delta in deltas:
                yield self._say("content_block_delta", index=index, delta=delta)
            yield self._say("content_block_stop", index=index)
        counts = {"output_tokens": usage.output_tokens} if said.report_usage else {}
        yield self._say("message_delta", delta={"stop_reason": self._STOPS[said.finish_reason]}, usage=counts)
        yield self._say("message_stop")

    def piece(self, model: str, text: str) -> bytes:
        begun = self._begin(model, {"input_tokens": 10, "output_tokens": 1})
        block = self._say("content_block_start", index=0, content_block={"type": "text", "text": ""})
        said = self._say("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        return begun + block + said

    def error(self, refused: Refuse) -> dict[str, Any]:
        kind = refused.kind or self._KINDS.get(refused.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refused.message}}

    def failing(self, refused: Refuse) -> bytes:
        return _event(self.error(refused), "error")

    def _begin(self, model: str, usage: Mapping[str, Any]) -> bytes:
        return self._say("message_start", message=self._message(model, usage))

    def _message(self, model: str, usage: Mapping[str, Any]) -> dict[str, Any]:
        head = {"id": "msg_0", "type": "message", "role": "assistant", "model": model}
        return {**head, "content": [], "stop_reason": None, "usage": dict(usage)}

    def _say(self, name: str, **fields: object) -> bytes:
        return _event({"type": name, **fields}, name)

    def _usage(self, usage: Usage, output: int) -> dict[str, Any]:
        fresh = usage.input_tokens - usage.cached_tokens
        read = {"cache_read_input_tokens": usage.cached_tokens, "cache_creation_input_tokens": 0}
        return {"input_tokens": fresh, **read, "output_tokens": output}


class Gemini:
    """generateContent; a blocked prompt has no candidates at all."""

    kind = "text/event-stream"
    _STOPS: ClassVar = {
        "tool_calls": "STOP",
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }
    _KINDS: ClassVar = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
    }

    def whole(self, model: str, said: Say, usage: Usage) -> dict[str, Any]:
        if said.finish == "content_filter" and not said.text:
            return {"promptFeedback": {"blockReason": "SAFETY"}, **self._usage(said, usage)}
        text = [{"text": said.text}] if said.text else []
        calls = [{"functionCall": {"name": c.name, "args": _decoded(c.arguments)}} for c in said.tool_calls]
        content = {"role": "model", "parts": [*text, *calls]}
        candidate = {"content": content, "finishReason": self._STOPS[said.finish_reason], "index": 0}
        return {"candidates": [candidate], "modelVersion": model, **self._usage(said, usage)}

    def stream(self, model: str, said: Say, usage: Usage) -> Iterator[bytes]:
        pieces = list(_pieces(said.text))
        for text in pieces[:-1]:
            yield self.piece(model, text)
        last = Say(
            text="".join(pieces[-1:]),
            tool_calls=said.tool_calls,
            finish=said.finish,
            report_usage=said.report_usage,
        )
        yield _event(self.whole(model, last, usage))

    def piece(self, model: str, text: str) -> bytes:
        content = {"role": "model", "parts": [{"text": text}]}
        return _event({"candidates": [{"content": content, "index": 0}], "modelVersion": model})

    def error(self, refused: Refuse) -> dict[str, Any]:
        kind = refused.kind or self._KINDS.get(refused.status, "INTERNAL")
        error = {"code": refused.status, "message": refused.message, "status": kind}
        return {"error": {**error, **({"details": refused.details} if refused.details else {})}}

    def failing(self, refused: Refuse) -> bytes:
        return _event(self.error(refused))

    def _usage(self, said: Say, usage: Usage) -> dict[str, Any]:
        counts = {
            "promptTokenCount": usage.input_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.input_tokens + usage.output_tokens,
            "cachedContentTokenCount": usage.cached_tokens,
        }
        return {"usageMetadata": counts} if said.report_usage else {}


def _decoded(arguments: str) -> Any:
    """Arguments where the wire has an object; broken ones can only stand there as a text."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
