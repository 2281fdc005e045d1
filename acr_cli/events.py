"""What happened, as data: screens, logs and JSON lines all render these.

Every event is one frozen record; `type` names it in JSON. `to_json` gives the one JSON shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar

from acr_cli.records import (
    SCHEMA,
    VERDICT_NAMES,
    Attempt,
    Baseline,
    Choice,
    Failed,
    Passed,
    RunResult,
    Step,
    Unverified,
    Verdict,
    Void,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened in a run."""

    type: ClassVar[str] = "event"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted(Event):
    type: ClassVar[str] = "run_started"
    run: str
    repository: str  # its path, for people


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress(Event):
    """A slow thing begins or moves on: preparing the sandbox, running the tests, searching."""

    type: ClassVar[str] = "progress"
    text: str
    beside: str = ""  # the candidate that it belongs to, where several are at work side by side


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice(Event):
    """Something the user should know. `level` is "info" or "warning"."""

    type: ClassVar[str] = "notice"
    level: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxReady(Event):
    type: ClassVar[str] = "sandbox_ready"
    sandbox: str  # "docker" | "bubblewrap" | "none"
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineMeasured(Event):
    type: ClassVar[str] = "baseline"
    baseline: Baseline


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanMade(Event):
    type: ClassVar[str] = "plan"
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepStarted(Event):
    type: ClassVar[str] = "step_started"
    step: Step


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceMade(Event):
    type: ClassVar[str] = "choice"
    step: str
    attempt: int
    choice: Choice


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelText(Event):
    """A piece of a streamed reply."""

    type: ClassVar[str] = "model_text"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCalled(Event):
    """The model used a tool, or repair did a round of its search."""

    type: ClassVar[str] = "tool"
    name: str
    argument: str  # one short line
    ok: bool
    result: str  # one short line
    beside: str = ""  # as in `Progress`


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptFinished(Event):
    type: ClassVar[str] = "attempt"
    step: str
    attempt: Attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictReached(Event):
    type: ClassVar[str] = "verdict"
    step: str
    candidate: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered(Event):
    type: ClassVar[str] = "remembered"
    outcome: str  # id


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchApplied(Event):
    type: ClassVar[str] = "applied"
    files: tuple[str, ...]
    commit: str  # "" when left uncommitted


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFinished(Event):
    type: ClassVar[str] = "result"
    result: RunResult


Emit = Callable[[Event], None]
"""Where events go. It must not raise and must be quick."""


def to_json(event: Event) -> dict[str, Any]:
    """The JSON shape of an event: `type`, `schema`, and its fields. Pure."""
    return {"type": event.type, "schema": SCHEMA, **plain(event)}


def plain(value: Any) -> Any:
    """A record as a JSON value; a verdict has its name as `kind`. Pure."""
    match value:
        case Passed() | Failed() | Unverified():
            return {"kind": VERDICT_NAMES[type(value)], **plain(value.evidence)}
        case Void():
            return {"kind": "void", "reason": value.reason}
        case Enum():
            return value.value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        case dict():
            return {str(k): plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case _:
            return value
