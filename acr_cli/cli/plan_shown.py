"""A plan as lines that a person may edit, and back. Pure.

    1 edit: read the table (load.py)
    2 test: a row without a name

A line that is gone is a step that is dropped, one without a number is a step that is added; the words behind
the colon may be changed, and lines may change places. Lines that begin with # say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acr_cli.cli.words import listed
from acr_cli.errors import UsageError
from acr_cli.records import Dimension, Step, StepKind

HELP = (
    "# One line a step: number, kind (edit, test, review), and what is to be done.",
    "# Remove a line to drop its step, change its words or its place; a line without a number adds a step.",
)
_LINE = re.compile(r"(?:(\d+)[.)]?\s+)?(edit|test|review)\s*:\s*(\S.*)")
_DIMENSIONS = {StepKind.TEST: Dimension.TEST_GENERATION, StepKind.REVIEW: Dimension.CODE_UNDERSTANDING}


def as_lines(steps: Sequence[Step]) -> list[str]:
    """Each step on a line, numbered from 1."""
    return [f"{number} {step.kind.value}: {_words(step)}" for number, step in enumerate(steps, start=1)]


def about(step: Step) -> str:
    """What else is known of a step: its dimension, where it begins to look, how it will be verified."""
    dimension = step.dimension.value.replace("_", " ")
    files = listed(step.files or [failure.id for failure in step.failures])
    return "; ".join(filter(None, (dimension, files, f"done when {step.check}" if step.check else "")))


def from_lines(text: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps that edited lines mean.

    Raises: UsageError for a line that is none, or that has the number of no step or of one above it."""
    kept: list[Step] = []
    seen: set[int] = set()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        number = int(found[1]) if found and found[1] else 0
        if not found or number > len(steps) or number in seen:
            raise UsageError(f"No step of the plan: {line.strip()[:80]}", hint=HELP[0].removeprefix("# "))
        kind, words = StepKind(found[2]), found[3].strip()
        if number:
            seen.add(number)
            kept.append(_changed(steps[number - 1], kind, words))
        else:
            kept.append(_added(steps[0], len(steps) + len(kept) + 1, kind, words))
    return tuple(kept)


def without(steps: Sequence[Step], numbers: Sequence[int]) -> tuple[Step, ...]:
    """The steps but those with these numbers, from 1."""
    return tuple(step for number, step in enumerate(steps, start=1) if number not in numbers)


def _words(step: Step) -> str:
    """What a step itself is to do: its first paragraph; the task that it is a part of comes behind."""
    return " ".join(step.text.partition("\n\n")[0].split())


def _changed(step: Step, kind: StepKind, words: str) -> Step:
    if kind is step.kind and words == _words(step):
        return step
    _, gap, rest = step.text.partition("\n\n")
    return replace(step, kind=kind, text=f"{words}{gap}{rest}", dimension=_dimension(kind))


def _added(beside: Step, number: int, kind: StepKind, words: str) -> Step:
    _, gap, rest = beside.text.partition("\n\n")
    name = f"{beside.id.rpartition('.')[0] or beside.id}.{number}"
    return replace(
        beside, id=name, kind=kind, text=f"{words}{gap}{rest}", dimension=_dimension(kind), files=()
    )


def _dimension(kind: StepKind) -> Dimension:
    return _DIMENSIONS.get(kind, Dimension.AGENTIC_PROGRAMMING)
