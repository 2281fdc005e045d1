"""A streamed reply put together from its pieces: text, tool calls, thinking, usage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from acr_cli.protocols import ToolCall
from acr_cli.records import Usage

MOST_TOKENS = 100_000_000
"""More than any context holds: a greater count is a fault, and would only make sums overflow."""

_FINISHES = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Hearing:
    """What has been heard of one reply so far."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)  # thinking blocks with their signatures
    reported: Usage | None = None
    written: int = 0  # tokens of the prompt that the provider has put into its cache
    finish: str = ""
    begun: bool = False  # the provider has started to answer, and to count
    size: int = 0  # characters of all that was said
    _calls: dict[int, _Call] = field(default_factory=dict)

    def hear(self, chunk: Any) -> str:
        """Take in one chunk of litellm's; the text in it.

        Raises: AttributeError, TypeError, ValueError for one of another shape: litellm checks few of them."""
        self.begun = True
        if usage := getattr(chunk, "usage", None):
            self.reported = _usage(usage)
            self.written = _written(usage)
        if not getattr(chunk, "choices", None):
            return ""
        choice = chunk.choices[0]
        self.finish = _said(choice.finish_reason) or self.finish
        delta = choice.delta
        for piece in getattr(delta, "tool_calls", None) or ():
            self._hear_call(piece)
        if reasoning := getattr(delta, "reasoning_content", None):
            self.reasoning.append(str(reasoning))
            self.size += len(str(reasoning))
        for block in getattr(delta, "thinking_blocks", None) or ():
            self._hear_block(dict(block))
        text = _said(delta.content)
        if text:
            self.text.append(text)
            self.size += len(text)
        return text

    def _hear_call(self, piece: Any) -> None:
        # Some servers leave the index out, or give every call the index 0: a new id is a new call.
        index = piece.index if isinstance(piece.index, int) else len(self._calls)
        known, named = self._calls.get(index), _said(piece.id)
        if known is not None and named and known.id and named != known.id:
            index = max(self._calls) + 1
        if not named and known is None and self._calls:
            index = max(self._calls)
        call = self._calls.setdefault(index, _Call())
        call.id = call.id or named
        call.name = call.name or _said(piece.function.name)
        call.arguments.append(_said(piece.function.arguments))
        self.size += len(call.arguments[-1])

    def _hear_block(self, block: dict[str, Any]) -> None:
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.get("type") != block.get("type") or last.get("signature") or "data" in block:
            self.blocks.append(block)
            return
        last["thinking"] = str(last.get("thinking") or "") + str(block.get("thinking") or "")
        if block.get("signature"):
            last["signature"] = block["signature"]

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """In their order, each with an id of its own, as every provider wants to see them again."""
        found: dict[str, ToolCall] = {}
        for index, call in sorted(self._calls.items()):
            own = call.id if call.id and call.id not in found else f"{call.id or 'call'}_{index}"
            found[own] = ToolCall(id=own, name=call.name, arguments="".join(call.arguments) or "{}")
        return tuple(found.values())

    @property
    def content(self) -> str:
        return "".join(self.text)

    @property
    def finish_reason(self) -> str:
        if self._calls and self.finish != "length":
            return "tool_calls"
        return _FINISHES.get(self.finish, "stop")

    @property
    def extras(self) -> dict[str, Any]:
        """What some providers want to see again beside the tool calls of this reply."""
        found: dict[str, Any] = {}
        if self.reasoning:
            found["reasoning_content"] = "".join(self.reasoning)
        if any(block.get("signature") or "data" in block for block in self.blocks):
            found["thinking_blocks"] = self.blocks
        return found

    @property
    def said(self) -> tuple[str, ...]:
        """All that the model has written, thinking included."""
        return (self.content, "".join(self.reasoning), *(c.name + c.arguments for c in self.tool_calls))

    def usage(self, prompt_tokens: int) -> Usage:
        """As the provider reports it; else, and of a reply that broke off, the estimated prompt and what was
        heard. Zeros are no report."""
        if self.reported is not None and (self.reported.input_tokens or self.reported.output_tokens):
            return self.reported
        if not self.begun:
            return Usage(calls=1)
        heard = "".join(self.said).encode()
        return Usage(input_tokens=prompt_tokens, output_tokens=-(-len(heard) // 3), calls=1)


def _written(usage: Any) -> int:
    return _tokens(getattr(getattr(usage, "prompt_tokens_details", None), "cache_creation_tokens", None))


def _usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        input_tokens=_tokens(getattr(usage, "prompt_tokens", None)),
        output_tokens=_tokens(getattr(usage, "completion_tokens", None)),
        cached_tokens=_tokens(getattr(details, "cached_tokens", None)),
        calls=1,
    )


def _said(value: Any) -> str:
    """A text; of what some servers say instead of one, its JSON. Raises: TypeError, ValueError."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _tokens(reported: Any) -> int:
    """A count as a provider reports it; 0 for what is none, and no more than any call can have. Pure."""
    if not isinstance(reported, int | float) or not reported > 0:
        return 0
    return int(min(reported, MOST_TOKENS))
