"""One attempt's conversation with a model: counted, bounded, kept, and trimmed where it grows too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acr_cli.agent.transcript import Transcript
from acr_cli.protocols import Budget, Gateway, Message, Reply, Tool
from acr_cli.records import Candidate, Usage

_CHARACTERS_PER_TOKEN = 3.0  # so that an estimate is seldom too low
_WINDOW = 128_000  # tokens, of a model that does not say
_KEPT = 6  # of the last messages, never trimmed
_GONE = "(This output was dropped to save room; ask again if you need it.)"


def room_for_files(candidate: Candidate) -> int:
    """Characters of files that may go into the first message."""
    window = candidate.context_window or (8192 if candidate.local else _WINDOW)
    return int(min(60_000, window * _CHARACTERS_PER_TOKEN / 3))


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
        self.usage = Usage()
        self.spoken = 0
        for message in beginning:
            transcript.said(message)

    def hear(self, tools: Sequence[Tool] = ()) -> Reply:
        """The model's next reply, which becomes part of the conversation.

        Raises: ProviderError, BudgetExhausted."""
        self._trim()
        reply = self._gateway.complete(self._candidate, self.messages, tools=tools, budget=self._budget)
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

    def _trim(self) -> None:
        """Drop the oldest outputs of tools once the whole is longer than two thirds of the context.

        Down to one third: each time the beginning changes, the provider must read all of it anew."""
        room = (self._candidate.context_window or _WINDOW) * _CHARACTERS_PER_TOKEN
        size = sum(_size(message) for message in self.messages)
        if size <= room * 2 / 3:
            return
        for number, message in enumerate(self.messages[:-_KEPT]):
            if size <= room / 3:
                return
            if message.role == "tool" and len(message.content) > len(_GONE):
                size -= len(message.content) - len(_GONE)
                self.messages[number] = replace(message, content=_GONE)


def _size(message: Message) -> int:
    return len(message.content) + sum(len(call.arguments) for call in message.tool_calls)
