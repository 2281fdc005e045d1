"""What a model is told: a short stable beginning, then the step."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.agent.conventions import conventions
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.sight import Sight, contents, files_at_hand, overview, source_files
from acr_cli.protocols import EditFormat, Message
from acr_cli.records import CaseResult, Lesson, Step, StepKind

_FAILURES = 10  # shown with their details
_DETAIL = 3_000  # characters of one failure
_PATCH = 4_000  # characters of a patch that failed
_TASK = 20_000  # characters of the task's own text

_ROLE = "You are a careful programmer at work in a copy of a git repository."

_DUTIES = {
    StepKind.EDIT: (
        "Change the source so that the task is done. Find the cause before you change anything, and make the "
        "smallest change that removes it. Do not edit existing tests or test configuration: such edits are "
        "undone before the tests are run. Do not make a test pass by special-casing it."
    ),
    StepKind.TEST: (
        "Write a test that fails now, for the reason that the task describes, and will pass once the task is "
        "done. Put it where this repository keeps its tests. Do not change the source or existing tests."
    ),
    StepKind.PLAN: (
        "Plan the task; change nothing. Answer with a JSON list of at most six steps and nothing else, each "
        '{"text": what is to be done, "kind": "edit" or "test" or "review", "files": [paths to look at]}. '
        "Each step is done by somebody who sees only its text and the repository. Use as few steps as "
        "possible; one is often enough."
    ),
    StepKind.REVIEW: (
        "Review the repository's present state against the task; change nothing. Answer with what is wrong "
        "or missing, most important first, or with the one line: nothing to add."
    ),
}

_WITH_TOOLS = (
    "Work with the tools. Read before you edit. Commands run in a sandbox without network, on a copy: what "
    "they change is thrown away. When you are done, call finish with one sentence."
)

_IN_TEXT = (
    "You have no tools. If you cannot do without a file that is not shown, answer only with lines "
    "`OPEN path`. Otherwise answer with the edits. {instructions}"
)


def system(step: Step, edit_format: EditFormat | None, *, tools: bool) -> Message:
    """The beginning: the same for every step of a kind, so that providers can cache it. Pure."""
    parts = [_ROLE, _DUTIES[step.kind]]
    if tools:
        parts.append(_WITH_TOOLS)
    elif edit_format is not None and step.kind in (StepKind.EDIT, StepKind.TEST):
        parts.append(_IN_TEXT.format(instructions=edit_format.instructions))
    return Message(role="system", content="\n\n".join(parts))


def user(step: Step, sight: Sight, repomap: RepoMap, *, room: int, whole_files: bool) -> Message:
    """The step: task, failing tests, what was tried before, and the repository.

    `room` is how many characters may go to files. With `whole_files` they are shown as they are, and all of a
    small repository's, since the model has no tool to ask for more; without, with line numbers."""
    parts = [_task(step)]
    if step.failures:
        parts.append(_failures(step.failures))
    if step.test_command:
        parts.append(f"The tests are run with: {step.test_command}")
    parts += [_lesson(lesson) for lesson in step.lessons[-2:]]
    listed = sight.listed()
    everything = sight.files(listed)
    at_hand = files_at_hand(step, sight, everything)
    if asked := conventions(sight, listed, at_hand[:10], room=room // 8):
        parts.append(f"What the repository asks of those who change it:\n{asked}")
    paths = list(at_hand)
    if whole_files:
        paths += [path for path in source_files(everything) if path not in at_hand]
    shown = contents(sight, paths, room=room, numbers=not whole_files)
    parts.append(
        overview(
            sight, step, repomap, listed, everything, at_hand=at_hand, shown=shown, tools=not whole_files
        )
    )
    if shown:
        what = "Some of them as they are now" + ("" if whole_files else ", with line numbers")
        parts.append(f"{what}:\n\n" + "\n".join(shown.values()))
    return Message(role="user", content="\n\n".join(parts))


def cut(text: str, limit: int) -> str:
    """The head and the tail of a long text, and how much is missing between. Pure."""
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"


def _task(step: Step) -> str:
    if step.text.strip():
        return f"The task:\n{cut(step.text.strip(), _TASK)}"
    return "The task: make the failing tests pass."


def _failures(cases: Sequence[CaseResult]) -> str:
    lines = [f"{len(cases)} failing test{'s' if len(cases) > 1 else ''}:"]
    for case in cases[:_FAILURES]:
        says = ": ".join(part for part in (case.exception, case.message) if part)
        lines.append(f"- {case.id}" + (f"\n  {says}" if says else ""))
        if case.detail.strip():
            lines.append(cut(case.detail.strip(), _DETAIL))
    lines += [f"- {case.id}" for case in cases[_FAILURES : _FAILURES * 5]]
    if len(cases) > _FAILURES * 5:
        lines.append(f"- and {len(cases) - _FAILURES * 5} more")
    return "\n".join(lines)


def _lesson(lesson: Lesson) -> str:
    tried = f"This was tried before and is not the solution; it has been undone:\n{cut(lesson.patch, _PATCH)}"
    return f"{tried}\nWhy it failed:\n{cut(lesson.reason, _PATCH)}"
