"""A conversation on its way to a model: checked, measured, and put into the wire's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acr_cli.errors import RequestRefused
from acr_cli.protocols import Message, Tool

Extras = Mapping[str, Mapping[str, Any]]
"""By the id of a message's first tool call: what a provider wants back with it, such as signed thinking."""


def check_order(messages: Sequence[Message]) -> None:
    """A tool call without an answer, or roles out of order, must never reach a provider.

    Raises: RequestRefused that names the message."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                raise _disorder(number, f"answers the tool call {message.tool_call_id!r}, which is not open")
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            raise _disorder(number, f"comes before the tool call {waiting[0]!r} is answered")
        if message.role == "system" and number:
            raise _disorder(number, "is a system message that is not the first")
        if message.role == "assistant":
            if number == 0 or messages[number - 1].role in ("system", "assistant"):
                raise _disorder(number, "is the assistant's, and nothing was asked")
            waiting = [call.id for call in message.tool_calls]
    if waiting:
        raise _disorder(len(messages) - 1, f"leaves the tool call {waiting[0]!r} unanswered")
    if not messages or messages[-1].role not in ("user", "tool"):
        raise _disorder(len(messages) - 1, "is the last one and asks nothing")


def _disorder(number: int, what: str) -> RequestRefused:
    return RequestRefused(f"The conversation is out of order and was not sent: message {number} {what}.")


def speakable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as they can be sent: what is no character, such as a byte of a file's name that is not
    UTF-8, stands there as an escape. Pure."""
    return tuple(
        replace(
            message,
            content=_encodable(message.content),
            tool_calls=tuple(
                replace(call, name=_encodable(call.name), arguments=_encodable(call.arguments))
                for call in message.tool_calls
            ),
        )
        for message in messages
    )


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def texts(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[str, ...]:
    """All that the model reads. Pure."""
    found = [json.dumps(wire_tool(tool)) for tool in tools]
    for message in messages:
        found += (message.content, *(call.name + call.arguments for call in message.tool_calls))
    return tuple(found)


def size_in_bytes(messages: Sequence[Message], tools: Sequence[Tool]) -> int:
    """Bytes of all that the model reads. Pure."""
    return sum(len(text.encode()) for text in texts(messages, tools))


def wire_message(message: Message, extras: Extras) -> dict[str, Any]:
    """One message in OpenAI's shape, with what its provider wants back. Pure."""
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.tool_calls
        ]
        wire.update(extras.get(message.tool_calls[0].id, {}))
    return wire


def wire_tool(tool: Tool) -> dict[str, Any]:
    """One tool in OpenAI's shape. Pure."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
