"""From a task to steps: most tasks are one edit; a long wish is first planned by a model.

Failing tests say themselves what is to be done, so no model is paid to plan for them. Where none fails, a
test is written first that does, unless no test could show that the wish is fulfilled: prose, a new form for
what does the same, tests themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from acr_cli.records import Baseline, Dimension, Step, StepKind, Task
from acr_cli.redaction import redact

LONG = 800  # characters of a wish that is worth a plan
_PARTS = 3  # list items that make a wish one of several parts
_MOST_STEPS = 6
_BRACKETS = 500  # of a reply, behind which a list is looked for
_ITEM = re.compile(r"^[ \t]*([-*+•]|\d+[.)])\s+\S", re.MULTILINE)
_PATH = re.compile(r"(?<![\w/:.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]\w{0,7}(?![\w/])")
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".tex")
_UNSEEN = re.compile(
    r"\W*(please\s+)?(re-?(word|phrase|format|factor|name|organi[sz]e)|clean|tidy|document|comment|translate"
    r"|(fix|correct|remove)\s+(a|the|some|all)?\s*(typos?|spelling|comments?)"
    r"|(add|write|extend|improve)\s[^.\n]*\b(tests?|docs?|docstrings?|comments?|documentation|readme)\b)",
    re.IGNORECASE,
)
"""Wishes that change nothing which a test could see."""

_CHECKS = {
    StepKind.TEST: "it fails before the change",
    StepKind.EDIT: "nothing that passed breaks",
    StepKind.PLAN: "",
    StepKind.REVIEW: "",
}
_FAILING = "the failing tests pass, and nothing that passed breaks"
_OWN = "the test that was written for it passes, and nothing that passed breaks"

_DIMENSIONS = {
    StepKind.TEST: Dimension.TEST_GENERATION,
    StepKind.REVIEW: Dimension.CODE_UNDERSTANDING,
}
"""What a step asks of a model; every other kind is work in a repository."""


class RepositoryPlanner:
    """A `Planner`. With `plan_only` every wish is planned; without `own_tests` no test is written first."""

    def __init__(self, *, plan_only: bool = False, own_tests: bool = True) -> None:
        self._plan_only = plan_only
        self._own_tests = own_tests

    def outline(self, task: Task, baseline: Baseline) -> tuple[Step, ...]:
        """One edit step, for a wish without a failing test after a test step; a plan step for a long one."""
        wish = not baseline.targets and task.is_wish
        files = tuple(dict.fromkeys(_PATH.findall(redact(f"{task.text}\n{task.log}"))))[:20]
        edit = Step(
            id="s1",
            kind=StepKind.EDIT,
            text=_text(task),
            dimension=Dimension.AGENTIC_PROGRAMMING,
            language=baseline.language,
            files=files,
            failures=baseline.failures(),
            test_command=baseline.test_command,
            check=_FAILING if baseline.targets else _CHECKS[StepKind.EDIT],
        )
        if wish and (self._plan_only or _has_parts(task.text)):
            return (replace(edit, kind=StepKind.PLAN, check=""),)
        if wish and self._own_tests and baseline.test_command and _is_seen_by_tests(task.text, files):
            kind = StepKind.TEST
            test = replace(edit, kind=kind, dimension=_DIMENSIONS[kind], check=_CHECKS[kind])
            return (test, replace(edit, id="s2", check=_OWN))
        return (edit,)


def read_plan(reply: str, step: Step) -> tuple[Step, ...]:
    """The steps that a model proposes for a plan step; one edit of all where none can be read. Pure."""
    proposed = list(_steps(reply, step))[:_MOST_STEPS]
    if not any(each.kind in (StepKind.EDIT, StepKind.TEST) for each in proposed):
        return (_derived(step, 1, StepKind.EDIT, step.text, step.files),)
    return tuple(proposed)


def _has_parts(text: str) -> bool:
    return len(text) > LONG or len(_ITEM.findall(text)) >= _PARTS


def _is_seen_by_tests(text: str, files: Sequence[str]) -> bool:
    """Whether a test could show that a wish is fulfilled."""
    prose = bool(files) and all(path.lower().endswith(_DOCUMENTS) for path in files)
    return not prose and not _UNSEEN.match(text)


def _text(task: Task) -> str:
    log = f"The log of a failure:\n{task.log.strip()}" if task.log.strip() else ""
    before = f"What was said and done before, oldest first:\n{task.context}" if task.context else ""
    return "\n\n".join(part for part in (task.text.strip(), log, before) if part)


def _steps(reply: str, step: Step) -> Iterator[Step]:
    number = 0
    for item in _items(reply):
        text = item.get("text") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            continue
        about: dict[str, Any] = item if isinstance(item, dict) else {}
        kind = about.get("kind")
        files = about.get("files")
        check = about.get("check")
        number += 1
        yield _derived(
            step,
            number,
            StepKind(kind) if kind in ("edit", "test", "review") else StepKind.EDIT,
            f"{text.strip()}\n\nThis is one part of a larger task:\n{step.text}",
            tuple(str(path) for path in files)[:20] if isinstance(files, list) else (),
            check=" ".join(check.split())[:200] if isinstance(check, str) else "",
        )


def _items(reply: str) -> list[Any]:
    """The first JSON list of objects or texts in a reply, also inside a fence or an object; else []."""
    decoder = json.JSONDecoder()
    for match in islice(re.finditer(r"[\[{]", reply), _BRACKETS):
        try:
            value, _ = decoder.raw_decode(reply, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            value = value.get("steps")
        if isinstance(value, list) and any(isinstance(item, dict | str) for item in value):
            return value
    return []


def _derived(
    step: Step, number: int, kind: StepKind, text: str, files: tuple[str, ...], *, check: str = ""
) -> Step:
    return Step(
        id=f"{step.id}.{number}",
        kind=kind,
        text=text,
        dimension=_DIMENSIONS.get(kind, Dimension.AGENTIC_PROGRAMMING),
        language=step.language,
        files=files,
        failures=step.failures,
        test_command=step.test_command,
        check=check or _CHECKS[kind],
    )
