"""A scripted model: replies, costs, raised errors and sleeps, in the place of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from acr_cli.errors import ProviderError
from acr_cli.protocols import Budget, Message, Reply, Tool, ToolCall
from acr_cli.records import Candidate, Usage
from acr_cli.testing.conversation import faults


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call as the scripted model saw it."""

    candidate: Candidate
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1].content


@dataclass(frozen=True, kw_only=True, slots=True)
class Sleep:
    """Seconds that pass before the next answer of the script, on the clock that the model was given."""

    seconds: float


Line = str | ToolCall | Sequence[ToolCall] | Reply | Exception | Sleep
"""A text, one tool call or several, a whole reply, an error to raise, or a sleep before the next line."""


class ScriptedModel:
    """A `Gateway` that says its script's lines in order, or what a function makes of each call.

    Every call is recorded in `calls` and checked as a provider would check it. `cost` in USD and `usage` are
    those of a line that does not bring its own. A call beyond the script is an AssertionError.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[Call], Line],
        *,
        cost: float = 0.0,
        usage: Usage | None = None,
        sleep: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.calls: list[Call] = []
        self._answer = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self._cost = cost
        self._usage = usage or Usage(input_tokens=100, output_tokens=10, calls=1)
        self._sleep = sleep

    def complete(
        self, candidate: Candidate, messages: Sequence[Message], *, tools: Sequence[Tool], budget: Budget
    ) -> Reply:
        """The next line. Raises: the error that the script holds, BudgetExhausted."""
        budget.check()
        budget.affords(self._cost if candidate.price.known else None)
        call = Call(candidate=candidate, messages=tuple(messages), tools=tuple(tools))
        self.calls.append(call)
        broken = faults([_wire(message) for message in messages])
        assert not broken, "; ".join(broken)
        line = self._next(call)
        while isinstance(line, Sleep):
            self._sleep(line.seconds)
            line = self._next(call)
        if isinstance(line, Exception):
            if isinstance(line, ProviderError):
                budget.charge(self._cost)
            raise line
        reply = self._reply(line)
        budget.charge(reply.cost_usd)
        return reply

    def _next(self, call: Call) -> Line:
        if self._answer is not None:
            return self._answer(call)
        line = next(self._lines, None)
        assert line is not None, f"call {len(self.calls)} to {call.candidate.id} is not in the script"
        return line

    def _reply(self, line: str | ToolCall | Sequence[ToolCall] | Reply) -> Reply:
        if isinstance(line, Reply):
            return line
        calls: Sequence[ToolCall] = ()
        if isinstance(line, ToolCall):
            calls = (line,)
        elif not isinstance(line, str):
            calls = line
        # Two lines may hold the same call; on the wire each has an id of its own.
        number = len(self.calls)
        named = tuple(replace(call, id=f"{call.id}.{number}.{index}") for index, call in enumerate(calls))
        return Reply(
            content=line if isinstance(line, str) else "",
            tool_calls=named,
            usage=self._usage,
            cost_usd=self._cost,
            finish="tool_calls" if named else "stop",
        )


def _wire(message: Message) -> dict[str, object]:
    calls = [{"id": call.id} for call in message.tool_calls]
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": calls,
        "tool_call_id": message.tool_call_id,
    }
