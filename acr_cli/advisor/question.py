"""What an advisor is asked: one layout, in training and when a step is routed.

The task, who may take it, the success rates that are known of them and what became of similar tasks
(arXiv 2606.22902, the Orchestrator's inputs). The answer is JSON with a model's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHARACTERS = 1600
"""Of a task's text that are shown, head and tail."""

_HEAD = 0.75  # share of them that the head gets
ASKED = 'Answer with JSON alone: {"model": "NAME"}'
ANSWER = '{"model": "'
"""What an answer begins with; the name and `ENDED` follow."""
ENDED = '"}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """What is known of a candidate in the task's dimension."""

    candidate: str
    rate: float | None = None  # of success, in [0, 1]
    cost_usd: float | None = None  # mean, of a task


@dataclass(frozen=True, kw_only=True, slots=True)
class Near:
    """What became of similar past tasks by one candidate."""

    candidate: str
    passed: int
    tried: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A past task, and who was best at it."""

    text: str
    candidate: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """All that an advisor is told of a task."""

    text: str
    dimension: str
    language: str
    candidates: tuple[Rate, ...]
    near: tuple[Near, ...] = ()
    failed: tuple[str, ...] = ()  # who has been tried on it and failed
    examples: tuple[Example, ...] = ()


def written(question: Question, *, characters: int = CHARACTERS) -> str:
    """The question as the text of one message. Pure."""
    lines = [
        "Which model should take this coding task? The likeliest to solve it; of equals the cheapest.",
        "Models: " + ", ".join(rate.candidate for rate in question.candidates),
        f"Kind: {question.dimension or 'not known'}, {question.language or 'language not known'}",
    ]
    if known := [_known(rate) for rate in question.candidates if rate.rate is not None]:
        lines.append("Solved of this kind: " + ", ".join(known))
    if question.near:
        told = (f"{each.candidate} {each.passed} of {each.tried}" for each in question.near)
        lines.append("Solved of similar tasks: " + ", ".join(told))
    if question.failed:
        lines.append("Have failed on it already: " + ", ".join(question.failed))
    lines += [f"Best at {cut(one.text, characters // 4)!r}: {one.candidate}" for one in question.examples]
    lines += ["Task:", cut(question.text, characters) or "not known", ASKED]
    return "\n".join(lines)


def cut(text: str, characters: int) -> str:
    """Head and tail of a text that is longer than `characters`. Pure."""
    text = text.strip()
    if len(text) <= characters:
        return text
    head = int(_HEAD * characters)
    return f"{text[:head].rstrip()}\n...\n{text[len(text) - (characters - head) :].lstrip()}"


def gathered(found: Sequence[tuple[str, bool]]) -> tuple[Near, ...]:
    """Outcomes (candidate, passed) of similar tasks, by candidate and in the order of their names. Pure."""
    sums: dict[str, list[int]] = {}
    for candidate, passed in found:
        one = sums.setdefault(candidate, [0, 0])
        one[0] += passed
        one[1] += 1
    return tuple(
        Near(candidate=name, passed=passed, tried=tried) for name, (passed, tried) in sorted(sums.items())
    )


def _known(rate: Rate) -> str:
    cost = "" if rate.cost_usd is None else f" for ${rate.cost_usd:.2g}"
    return f"{rate.candidate} {100 * (rate.rate or 0.0):.0f} %{cost}"
