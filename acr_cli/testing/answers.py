"""What a scripted server says: one record a kind of answer, sound or broken."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acr_cli.protocols import ToolCall
from acr_cli.records import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Say:
    """A sound answer. Without `usage`, tokens are counted as a quarter of the characters."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    reasoning: str = ""
    finish: str = ""  # "": "tool_calls" with tool calls, else "stop"
    report_usage: bool = True  # False: a server that never says what it counted

    @property
    def finish_reason(self) -> str:
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True, kw_only=True, slots=True)
class Refuse:
    """An HTTP error. `retry_after`, seconds or a date, becomes the header of that name.

    With `after` it comes in the middle of a stream, behind that text, with status 200."""

    status: int
    message: str = "refused by the script"
    code: str = ""
    kind: str = ""  # the provider's own name of it, where its shape has one
    retry_after: float | str | None = None
    after: str = ""
    details: tuple[Mapping[str, Any], ...] = ()  # beside the message, in Gemini's shape


@dataclass(frozen=True, kw_only=True, slots=True)
class Stall:
    """Some text, then nothing more on an open connection until the server closes or `seconds` pass."""

    text: str = ""
    seconds: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """Half a stream. Abrupt: the connection breaks in mid-chunk; else it ends as if all had been said."""

    text: str = "half of"
    abrupt: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Garbage:
    """A body that is no JSON, with status 200."""

    body: str = '{"choices": [{"delta": {"content": '


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page for people where an answer should be, as proxies and portals give it."""

    status: int = 200
    body: str = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reset:
    """The connection is reset before anything is answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drip:
    """A stream that never stands still and never comes to anything: a byte of a comment at a time."""

    pause: float = 0.05  # seconds between two bytes
    seconds: float = 30.0


Answer = Say | Refuse | Stall | Cut | Garbage | Page | Reset | Drip


def call(name: str, arguments: Mapping[str, Any] | str = "{}", *, id: str = "") -> ToolCall:  # noqa: A002
    """A tool call; arguments as a mapping, or as the (possibly broken) text that the model wrote."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id=id or f"call_{name}_{zlib.crc32(text.encode())}", name=name, arguments=text)


def counted(said: Say, body: Mapping[str, Any]) -> Usage:
    """The usage that a server reports for this answer to a request. Pure."""
    if said.usage is not None:
        return said.usage
    spoken = (
        len(said.text) + len(said.reasoning) + sum(len(c.name) + len(c.arguments) for c in said.tool_calls)
    )
    return Usage(
        input_tokens=max(
            1, _characters(body.get("messages") or body.get("contents"), body.get("tools")) // 4
        ),
        output_tokens=max(1, spoken // 4),
        calls=1,
    )


def _characters(messages: Any, tools: Any) -> int:
    contents = (message.get("content") or message.get("parts") or "" for message in messages or ())
    spoken = sum(len(each if isinstance(each, str) else json.dumps(each)) for each in contents)
    return spoken + (len(json.dumps(tools)) if tools else 0)
