"""What a model is told: a short stable beginning, then the step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from acr_cli.agent.conventions import conventions
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.sight import IN_PARTS, Sight, contents, files_at_hand, overview, source_files
from acr_cli.agent.text import cut
from acr_cli.protocols import EditFormat, Message
from acr_cli.records import CaseResult, Lesson, Step, StepKind

_FAILURES = 10  # shown with their details
_DETAIL = 3_000  # characters of one failure
_FULL = 3  # failures shown with so much
_SHORT = 600  # characters of a further one
_PATCH = 4_000  # characters of a patch that failed
_TASK = 20_000  # characters of the task's own text
_ROOM = 24_000  # characters of files for a model that can open more
_SMALL = 20  # files of a repository that need not be searched
_OTHERS = 12_000  # characters of files that nothing points to, for one that cannot

_TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*(_test|\.test|\.spec|_spec|Tests?))\.\w+$")
_NO_TESTS = (".md", ".txt", ".json", ".toml", ".snap")

_INNER_VALUES = re.compile(r"^E +\+ (?: {3,}where| +and) .*\n", re.MULTILINE)
"""What pytest says of the values of the values in an assertion."""

_IDLE = re.compile(r"^(?: +[\^~][\^~ ]*|E +(?:Use -v to get more diff)?)\n", re.MULTILINE)
"""Underlines below an expression, empty lines, advice to somebody at a terminal."""

_CAPTURED_NOTHING = re.compile(r"^-{3,} Captured \w+(?: \w+)* -{3,}\n\s*(?=^-{3,} Captured|\Z)", re.MULTILINE)

_ROLE = "You are a careful programmer at work in a copy of a git repository."

_DUTIES = {
    StepKind.EDIT: (
        "Find the cause, then make the smallest change to the source that does what the task asks. Edits to "
        "existing tests or test configuration are undone. Do not make a test pass by special-casing it."
    ),
    StepKind.TEST: (
        "Write one small test that fails now, for the reason that the task describes, and will pass once the "
        "task is done; a few where one cannot show it. It goes into a new file where this repository keeps "
        "its tests, in their style: framework, names, helpers. Test what the task asks for, not how it might "
        "be done. Do not change the source or existing tests: such edits are undone. If no test can show "
        "that the task is done, change nothing and answer with one line: NO TEST, and why."
    ),
    StepKind.PLAN: (
        "Plan the task; change nothing. Answer with a JSON list of at most six steps and nothing else, each "
        '{"text": what is to be done, "kind": "edit" or "test" or "review", "files": [paths to look at], '
        '"check": how it shows that the step is done}. Each step is done by somebody who sees only its text '
        "and the repository. Use as few steps as possible; one is often enough. Where a test can show that "
        "the task is done and none does yet, begin with a test step: its new test must fail before the edits."
    ),
    StepKind.REVIEW: (
        "Review the repository's present state against the task; change nothing. Answer with what is wrong "
        "or missing, most important first, or with the one line: nothing to add."
    ),
}

_WITH_TOOLS = (
    "Use the tools, several calls in one reply where you can; what is shown below need not be opened again. "
    "Commands run on a copy, in a sandbox without network; what they change is dropped unless you keep it. "
    "Call finish in the same reply as the last edit"
)

_TESTED = ": the failing tests are run then, and if they still fail you see why and go on."

_IN_TEXT = (
    "You have no tools. If you cannot do without a file that is not shown, answer only with lines "
    "`OPEN path`. Otherwise answer with the edits. {instructions}"
)


def system(step: Step, edit_format: EditFormat | None, *, tools: bool) -> Message:
    """The beginning: the same for every step of a kind, so that providers can cache it. Pure."""
    parts = [_ROLE, _DUTIES[step.kind]]
    if tools:
        parts.append(_WITH_TOOLS + (_TESTED if step.kind is StepKind.EDIT else "."))
    elif edit_format is not None and step.kind in (StepKind.EDIT, StepKind.TEST):
        parts.append(_IN_TEXT.format(instructions=edit_format.instructions))
    return Message(role="system", content="\n\n".join(parts))


def user(step: Step, sight: Sight, repomap: RepoMap, *, room: int, whole_files: bool) -> Message:
    """The step: task, failing tests, what was tried before, and the repository.

    `room` is how many characters may go to files. With `whole_files` they are shown as they are, and all of a
    small repository's, since the model has no tool to ask for more."""
    parts = [_task(step), *([step.known] if step.known else [])]
    if step.failures:
        parts.append(_failures(step.failures))
    if step.test_command:
        parts.append(f"The tests are run with: {step.test_command}")
    parts += [_lesson(lesson) for lesson in step.lessons[-2:]]
    listed = sight.listed()
    everything = sight.files(listed)
    found = files_at_hand(step, sight, everything)
    at_hand = found.paths
    if asked := conventions(sight, listed, at_hand[:10], room=room // 8):
        parts.append(f"What the repository asks of those who change it:\n{asked}")
    style = neighbouring_test(step, at_hand, everything) if step.kind is StepKind.TEST else ""
    paths = [style, *(path for path in at_hand if path != style)] if style else list(at_hand)
    room = room if whole_files else min(room, _ROOM)
    shown = contents(sight, paths, step, room=room, whole=whole_files, aside=found.aside)
    found_all = bool(found.led_to) and found.led_to <= shown.keys() and len(everything) > _SMALL
    if whole_files and not found_all:
        others = [path for path in source_files(everything) if path not in paths]
        left = room - sum(map(len, shown.values()))
        shown |= contents(sight, others, step, room=min(left, _OTHERS), whole=True)
    sight.is_small = len(everything) <= _SMALL
    if not shown.keys() >= set(listed):
        tests = {case.file for case in step.failures}
        entire = [path for path in shown if path in tests or not shown[path].startswith(path + IN_PARTS)]
        parts.append(
            overview(
                sight,
                step,
                repomap,
                listed,
                everything,
                at_hand=at_hand,
                shown=entire,
                tools=not whole_files,
                found=found_all,
            )
        )
    if style in shown:
        parts.append(f"{style} shows how tests are written here.")
    if shown:
        parts.append("Files as they are now:\n\n" + "\n".join(shown.values()))
    return Message(role="user", content="\n\n".join(parts))


def declines(step: Step, reply: str) -> bool:
    """Whether a reply says that no test can show what a test step is about. Pure."""
    return step.kind is StepKind.TEST and re.match(r"\W*NO TEST\b", reply) is not None


def neighbouring_test(step: Step, at_hand: Sequence[str], everything: Sequence[str]) -> str:
    """The test file that is nearest to what a step is about: of the same name, of the same folder, the first
    one; "" where there is none. Pure."""
    about = [path for path in (*step.files, *at_hand) if not _TEST.search(path)]
    stems = {PurePosixPath(path).stem.lower() for path in about}
    folders = {part for path in about for part in PurePosixPath(path).parts[:-1]}

    def nearness(path: str) -> tuple[int, int, str]:
        place = PurePosixPath(path)
        named = any(stem in place.stem.lower() for stem in stems)
        return (-named, -len(folders.intersection(place.parts)), path)

    tests = [path for path in everything if _TEST.search(path) and not path.endswith(_NO_TESTS)]
    return min(tests, key=nearness, default="")


def _task(step: Step) -> str:
    if step.text.strip():
        return f"The task:\n{cut(step.text.strip(), _TASK)}"
    return "The task: make the failing tests pass."


def _failures(cases: Sequence[CaseResult]) -> str:
    """What failed and how; what an earlier test has said of the same failure is not said again."""
    lines = [f"{len(cases)} failing test{'s' if len(cases) > 1 else ''}:"]
    said: dict[tuple[str, str], set[str]] = {}
    for number, case in enumerate(cases[:_FAILURES]):
        lines.append(f"- {case.id}")
        same = said.setdefault((case.exception, case.message), set())
        own = _detail(case).splitlines()
        new = [line for line in own if line not in same]
        if same and not new:
            lines.append("  fails in the same way")
            continue
        detail = cut("\n".join(new), _DETAIL if number < _FULL else _SHORT)
        says = ": ".join(part for part in (case.exception, case.message) if part)
        if says and not same and not _tells(detail, case):
            lines.append(f"  {says}")
        lines += [detail] if detail else []
        same.update(own)
    lines += [f"- {case.id}" for case in cases[_FAILURES : _FAILURES * 5]]
    if len(cases) > _FAILURES * 5:
        lines.append(f"- and {len(cases) - _FAILURES * 5} more")
    return "\n".join(lines)


def _detail(case: CaseResult) -> str:
    """A traceback without what says nothing: empty captures, inner values, underlines, the own name."""
    detail = _CAPTURED_NOTHING.sub("", f"{case.detail.strip()}\n")
    for idle in (_INNER_VALUES, _IDLE):
        detail = idle.sub("", detail)
    name = re.escape(case.id.rpartition("::")[2].partition("[")[0])
    return re.sub(rf"^(\S+:\d+): in {name}$", r"\1", detail, flags=re.MULTILINE).strip() if name else detail


def _tells(detail: str, case: CaseResult) -> bool:
    """Whether a traceback says itself what was raised; an assertion's own words need no name before them."""
    named = case.exception in detail or (case.exception == "AssertionError" and case.message != "")
    return detail != "" and case.message in detail and named


def _lesson(lesson: Lesson) -> str:
    tried = f"This was tried before and is not the solution; it has been undone:\n{cut(lesson.patch, _PATCH)}"
    return f"{tried}\nWhy it failed:\n{cut(lesson.reason, _PATCH)}"
