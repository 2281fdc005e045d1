"""From a task to steps: most tasks are one edit; a long wish is first planned by a model.

Failing tests say themselves what is to be done, so no model is paid to plan for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from acr_cli.records import Baseline, Dimension, Step, StepKind, Task
from acr_cli.redaction import redact

LONG = 800  # characters of a wish that is worth a plan
_PARTS = 3  # list items that make a wish one of several parts
_MOST_STEPS = 6
_ITEM = re.compile(r"^\s*([-*+•]|\d+[.)])\s+\S", re.MULTILINE)
_PATH = re.compile(r"(?<![\w/:.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]\w{0,7}(?![\w/])")

_DIMENSIONS = {
    StepKind.TEST: Dimension.TEST_GENERATION,
    StepKind.REVIEW: Dimension.CODE_UNDERSTANDING,
}
"""What a step asks of a model; every other kind is work in a repository."""


class RepositoryPlanner:
    """A `Planner`. With `plan_only` every wish is planned."""

    def __init__(self, *, plan_only: bool = False) -> None:
        self._plan_only = plan_only

    def outline(self, task: Task, baseline: Baseline) -> tuple[Step, ...]:
        """One edit step; or one plan step, for a long wish without failing tests."""
        planned = not baseline.targets and task.is_wish and (self._plan_only or _has_parts(task.text))
        kind = StepKind.PLAN if planned else StepKind.EDIT
        step = Step(
            id="s1",
            kind=kind,
            text=_text(task),
            dimension=Dimension.AGENTIC_PROGRAMMING,
            language=baseline.language,
            files=tuple(dict.fromkeys(_PATH.findall(redact(f"{task.text}\n{task.log}"))))[:20],
            failures=baseline.failures(),
            test_command=baseline.test_command,
        )
        return (step,)


def read_plan(reply: str, step: Step) -> tuple[Step, ...]:
    """The steps that a model proposes for a plan step; one edit of all where none can be read. Pure."""
    proposed = list(_steps(reply, step))[:_MOST_STEPS]
    if not any(each.kind in (StepKind.EDIT, StepKind.TEST) for each in proposed):
        return (_derived(step, 1, StepKind.EDIT, step.text, step.files),)
    return tuple(proposed)


def _has_parts(text: str) -> bool:
    return len(text) > LONG or len(_ITEM.findall(text)) >= _PARTS


def _text(task: Task) -> str:
    log = f"The log of a failure:\n{task.log.strip()}" if task.log.strip() else ""
    return "\n\n".join(part for part in (task.text.strip(), log) if part)


def _steps(reply: str, step: Step) -> Iterator[Step]:
    number = 0
    for item in _items(reply):
        text = item.get("text") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            continue
        about: dict[str, Any] = item if isinstance(item, dict) else {}
        kind = about.get("kind")
        files = about.get("files")
        number += 1
        yield _derived(
            step,
            number,
            StepKind(kind) if kind in ("edit", "test", "review") else StepKind.EDIT,
            f"{text.strip()}\n\nThis is one part of a larger task:\n{step.text}",
            tuple(str(path) for path in files)[:20] if isinstance(files, list) else (),
        )


def _items(reply: str) -> list[Any]:
    """The first JSON list of objects or texts in a reply, also inside a fence or an object; else []."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"[\[{]", reply):
        try:
            value, _ = decoder.raw_decode(reply, match.start())
        except ValueError:
            continue
        if isinstance(value, dict):
            value = value.get("steps")
        if isinstance(value, list) and any(isinstance(item, dict | str) for item in value):
            return value
    return []


def _derived(step: Step, number: int, kind: StepKind, text: str, files: tuple[str, ...]) -> Step:
    return Step(
        id=f"{step.id}.{number}",
        kind=kind,
        text=text,
        dimension=_DIMENSIONS.get(kind, Dimension.AGENTIC_PROGRAMMING),
        language=step.language,
        files=files,
        failures=step.failures,
        test_command=step.test_command,
    )
