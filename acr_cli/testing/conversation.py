"""What is wrong with a conversation on the wire: roles out of order, tool calls left unanswered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def faults(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every violation of the OpenAI order of roles, in words; () for a sound conversation. Pure.

    Sound means: at most one system message, at the start; then a user message; each tool call of an
    assistant message answered by exactly one tool message right behind it; the last word is not the
    assistant's.
    """
    if not messages:
        return ("no messages",)
    found: list[str] = []
    waiting: list[str] = []  # ids of tool calls without an answer
    previous = ""
    for number, message in enumerate(messages):
        role = str(message.get("role"))
        found += [f"message {number} ({role}): {fault}" for fault in _faults(message, previous, waiting)]
        previous = role
    if waiting:
        found.append(f"the end: tool calls without an answer: {', '.join(waiting)}")
    if previous not in ("user", "tool"):
        found.append(f"the end: the last word is the {previous}'s")
    return tuple(found)


def _faults(message: Mapping[str, Any], previous: str, waiting: list[str]) -> Iterator[str]:
    """What is wrong with one message behind another; `waiting` is brought up to date."""
    role = str(message.get("role"))
    if role == "tool":
        answered = str(message.get("tool_call_id"))
        if answered in waiting:
            waiting.remove(answered)
        else:
            yield f"answers {answered!r}, which nobody asked"
        return
    if waiting:
        yield f"tool calls without an answer: {', '.join(waiting)}"
        waiting.clear()
    match role:
        case "system":
            if previous:
                yield "a system message behind the start"
        case "assistant":
            if previous in ("", "system", "assistant"):
                yield "speaks before the user does"
            waiting += [str(call.get("id")) for call in message.get("tool_calls") or ()]
            if not waiting and not message.get("content"):
                yield "neither text nor tool calls"
        case "user":
            pass
        case _:
            yield "unknown role"
