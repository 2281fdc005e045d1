"""One attempt's conversation with a model: counted, bounded, kept, and trimmed where it grows too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acr_cli.agent.transcript import Transcript
from acr_cli.errors import ContextTooLong
from acr_cli.protocols import Budget, Gateway, Message, Reply, Tool
from acr_cli.records import Candidate, Usage

_CHARACTERS_PER_TOKEN = 3.0  # so that an estimate is seldom too low
_WINDOW = 128_000  # tokens, of a model that does not say
_LOCAL_WINDOW = 8_192  # the same of one on this machine
_KEPT = 6  # of the last messages, never trimmed
_KEPT_AT_LEAST = 2  # where the provider has said that all of it is too much
_GONE = "(This was dropped to save room; ask again if you need it.)"


def room_for_files(candidate: Candidate) -> int:
    """Characters of files that may go into the first message."""
    return int(min(60_000, _characters(candidate) / 3))


def _characters(candidate: Candidate) -> float:
    """About how many characters a candidate's context holds."""
    window = candidate.context_window or (_LOCAL_WINDOW if candidate.local else _WINDOW)
    return window * _CHARACTERS_PER_TOKEN


class Conversation:
    """Messages between a model and whoever answers it. `spoken` counts the model's replies."""

    def __init__(
        self,
        gateway: Gateway,
        candidate: Candidate,
        budget: Budget,
        transcript: Transcript,
        beginning: Sequence[Message],
    ) -> None:
        self._gateway = gateway
        self._candidate = candidate
        self._budget = budget
        self._transcript = transcript
        self.messages = list(beginning)
        self._beginning = len(self.messages)
        self.usage = Usage()
        self.spoken = 0
        for message in beginning:
            transcript.said(message)

    def hear(self, tools: Sequence[Tool] = ()) -> Reply:
        """The model's next reply, which becomes part of the conversation.

        Raises: ProviderError, BudgetExhausted."""
        self._trim(_characters(self._candidate))
        try:
            reply = self._complete(tools)
        except ContextTooLong:
            # The window is smaller than was known; what can be dropped is dropped once.
            if not self._trim(sum(map(_size, self.messages)) * 1.2, kept=_KEPT_AT_LEAST):
                raise
            reply = self._complete(tools)
        self.spoken += 1
        self.usage += reply.usage
        if not tools:
            # Calls of tools that nobody offered cannot be answered, and must not stand in the conversation.
            reply = replace(reply, tool_calls=())
        message = Message(role="assistant", content=reply.content, tool_calls=reply.tool_calls)
        if not message.content and not message.tool_calls:
            message = replace(message, content="(no answer)")
        self.messages.append(message)
        self._transcript.said(message, reply)
        return reply

    def say(self, text: str) -> None:
        """A message to the model."""
        self._add(Message(role="user", content=text))

    def answer(self, call_id: str, text: str) -> None:
        """The result of a tool call."""
        self._add(Message(role="tool", content=text, tool_call_id=call_id))

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self._transcript.said(message)

    def _complete(self, tools: Sequence[Tool]) -> Reply:
        return self._gateway.complete(self._candidate, self.messages, tools=tools, budget=self._budget)

    def _trim(self, room: float, *, kept: int = _KEPT) -> bool:
        """Drop the oldest of what the model was told once the whole is longer than two thirds of `room`
        characters; whether anything was dropped. Calls stay with their answers, and the question stays.

        Down to one third: each time the beginning changes, the provider must read all of it anew."""
        size = sum(_size(message) for message in self.messages)
        if size <= room * 2 / 3:
            return False
        dropped = False
        for number in range(self._beginning, len(self.messages) - kept):
            message = self.messages[number]
            if size <= room / 3:
                break
            if message.role in ("tool", "user") and len(message.content) > len(_GONE):
                size -= len(message.content) - len(_GONE)
                self.messages[number] = replace(message, content=_GONE)
                dropped = True
        return dropped


def _size(message: Message) -> int:
    return len(message.content) + sum(len(call.arguments) for call in message.tool_calls)
