"""A finite state machine with guarded transitions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Guard = Callable[[dict[str, Any]], bool]


class NotAllowed(Exception):
    """The event has no transition here, or its guard refused."""


@dataclass(frozen=True)
class Transition:
    event: str
    source: str
    target: str
    guard: Guard | None = None


@dataclass
class Machine:
    state: str
    transitions: list[Transition]
    history: list[str] = field(default_factory=list)

    def _find(self, event: str) -> list[Transition]:
        return [step for step in self.transitions if step.event == event and step.source in (self.state, "*")]

    def events(self) -> list[str]:
        """Events that have a transition here, whatever their guards say."""
        return sorted({step.event for step in self.transitions if step.source in (self.state, "*")})

    def fire(self, event: str, **context: Any) -> str:
        """Take the first transition that is open; the new state."""
        found = self._find(event)
        if not found:
            raise NotAllowed(f"{event} in {self.state}")
        for step in found:
            if step.guard is not None and step.guard(context):
                continue
            self.history.append(self.state)
            self.state = step.target
            return self.state
        raise NotAllowed(f"{event} was refused in {self.state}")
