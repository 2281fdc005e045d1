"""The tools that a model may use on a step: look, edit, run, finish."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from types import MappingProxyType
from typing import Any

from acr_cli.agent.applying import apply_edits, keep_files
from acr_cli.agent.outputs import Outputs
from acr_cli.agent.searching import search
from acr_cli.agent.sight import Sight
from acr_cli.agent.text import cut, numbered
from acr_cli.agent.unseen import HEAD, is_generated_text
from acr_cli.errors import BadReply, PathRefused
from acr_cli.protocols import Budget, CommandResult, Edit, Limits, Sandbox, Session, Tool, ToolCall, Tree
from acr_cli.records import Step, StepKind

_LINES = 400  # of a file at once
_OPENED = 40_000  # characters of a file at once
_HITS = 60  # of a search
_OUTPUT = 8_000  # characters of a command's output
_FAILING = 4_000  # characters of what tests say that still fail
_TESTS = 30  # that are run before the work is taken for done
_KEPT = 20  # files of one command
_SECONDS = 120.0  # for one command
_CANNOT_TELL = frozenset({4, 5, 126, 127})
"""Exit codes of a test command that ran no test: pytest's, for ids that it does not know, and the shell's."""

TestRunner = Callable[[Session, Step, Sequence[str], Limits], CommandResult]
"""Runs a step's tests, all or those with these ids, in a session."""
Rehearse = Callable[[Step, Tree, float], str | None]
"""Runs the tests on a tree as a verdict will, within these seconds: what the step's failing ones say, ""
where they pass, None where that is not to be had. Raises: SandboxUnavailable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a tool call gave: `text` goes to the model."""

    text: str
    ok: bool = True
    finished: bool = False
    understood: bool = True  # False: no such tool, or arguments that cannot be read
    edit: bool = False  # whether it was to change a file


def _tool(name: str, description: str, required: Sequence[str], **optional: str) -> Tool:
    """`optional`: what each further argument means, "" where its name says it."""
    types: dict[str, Any] = {
        **{name: {"type": "integer"} for name in ("start", "end")},
        "keep": {"type": "array", "items": {"type": "string"}},
    }
    properties = {each: dict(types.get(each, {"type": "string"})) for each in (*required, *optional)}
    for given, meaning in optional.items():
        properties[given] |= {"description": meaning} if meaning else {}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, description=description, parameters=MappingProxyType(schema))


_KEEP = "files whose changes are kept"
_SEARCH = _tool("search", "Lines of files that match a regular expression.", ["pattern"], glob="of paths")
_OPEN = _tool("open", "A file with line numbers.", ["path"], start="", end="")
EDIT = _tool(
    "edit",
    "Replace text that stands in a file exactly once; with an empty search, make a new file.",
    ["path", "search", "replace"],
)
_MOVE = _tool("move", "Rename a file; with an empty target, delete it.", ["path", "target"])
_RUN = _tool("run", "Run a shell command.", ["command"], keep=_KEEP)
_RUN_TESTS = _tool("run", "Run a shell command; without one, the tests.", [], command="", keep=_KEEP)
_FINISH = _tool("finish", "The work is done.", ["summary"])


class Toolbox:
    """The tools of one attempt. A context manager: a session that was opened is closed at the end.

    Raises from `use`: SandboxUnavailable and its kinds; all else is an answer to the model."""

    def __init__(
        self,
        step: Step,
        sight: Sight,
        sandbox: Sandbox,
        budget: Budget,
        *,
        test_runner: TestRunner,
        limits: Limits,
        rehearse: Rehearse | None = None,
    ) -> None:
        self._step = step
        self._usual = limits
        self.sight = sight
        self.tree = sight.tree
        self._sandbox = sandbox
        self._budget = budget
        self._test_runner = test_runner
        self._rehearse = rehearse
        self._stack = ExitStack()
        self._session: Session | None = None
        self._used = False  # a command has run in the session since it was opened
        self._outputs = Outputs()
        self._tested = 0  # edits that the tests were last run on
        self.edits = 0

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model is offered, the same all the while, since providers keep what stays. In a small
        repository it is not told that it may search."""
        return tuple(tool for tool in self._tools if not (tool is _SEARCH and self.sight.is_small))

    @property
    def _tools(self) -> tuple[Tool, ...]:
        """What this kind of step may use."""
        if self._step.kind in (StepKind.PLAN, StepKind.REVIEW):
            return (_SEARCH, _OPEN, _FINISH)
        run = _RUN_TESTS if self._step.test_command else _RUN
        return (_SEARCH, _OPEN, EDIT, _MOVE, run, _FINISH)

    def use(self, call: ToolCall) -> Result:
        """Carry out one call. Raises: SandboxUnavailable."""
        tool = next((tool for tool in self._tools if tool.name == call.name), None)
        if tool is None:
            names = ", ".join(tool.name for tool in self._tools)
            return Result(
                text=f"There is no tool {call.name!r}. The tools are: {names}.", ok=False, understood=False
            )
        try:
            arguments = arguments_of(call, tool)
        except BadReply as error:
            return Result(text=error.message, ok=False, understood=False)
        acts: Mapping[str, Callable[..., Result]] = {
            "search": self._search,
            "open": self._open,
            "edit": self._edit,
            "move": self._move,
            "run": self._run,
            "finish": lambda summary: Result(text=summary, finished=True),
        }
        try:
            return acts[call.name](**arguments)
        except (BadReply, PathRefused) as error:
            return Result(text=error.message, ok=False, edit=tool in (EDIT, _MOVE))

    def apply(self, edits: Sequence[Edit], *, inline: bool = False) -> tuple[tuple[str, ...], str]:
        """Put edits into the tree, all or none: the paths, and what is to be said of how they were matched.

        Raises: BadReply, PathRefused."""
        done = apply_edits(self.tree, edits, check=self.sight.check_edit, inline=inline)
        self._changed(done.paths)
        return done.paths, " ".join(done.remarks)

    def still_failing(self) -> str:
        """What the step's failing tests say of the tree as it is now; "" where they pass, where it cannot be
        told, and where they have run on it already. Raises: SandboxUnavailable."""
        step = self._step
        if step.kind is not StepKind.EDIT or not step.failures or not step.test_command:
            return ""
        if self._tested == self.edits:
            return ""
        seconds = self._limits().seconds
        said = self._rehearse(step, self.tree, seconds) if self._rehearse is not None else None
        if said is not None:
            self._tested = self.edits
            return self._outputs.shown(said, _FAILING)
        ids = [case.id for case in step.failures[:_TESTS]]
        result = self._test(ids)
        if result.exit_code == 0 or result.timed_out or result.exit_code in _CANNOT_TELL:
            return ""
        return self._outputs.shown(result.output.strip(), _FAILING)

    # --- looking ------------------------------------------------------------------------------------------

    def _search(self, pattern: str, glob: str = "") -> Result:
        paths = [
            path
            for path in self.sight.files()
            if (not glob or fnmatch(path, glob) or fnmatch(path, f"*/{glob}"))
            # A link has the lines of its target, which may not be for the model.
            and not (self.tree.root / path).is_symlink()
        ]
        hits = search(self.tree.root, paths, pattern, most=_HITS * 2)
        generated = self._generated({hit.path for hit in hits})
        found = [str(hit) for hit in hits if hit.path not in generated]
        if not found:
            return Result(text="Nothing matches.")
        more = "\n... and more; name a narrower pattern or glob" if len(found) > _HITS else ""
        return Result(text="\n".join(found[:_HITS]) + more)

    def _generated(self, paths: Collection[str]) -> set[str]:
        """Those of the files that no person writes."""
        found = set()
        for path in paths:
            with (self.tree.root / path).open("rb") as file:
                if is_generated_text(file.read(HEAD)):
                    found.add(path)
        return found

    def _open(self, path: str, start: int = 1, end: int = 0) -> Result:
        output = self._outputs.named(path)
        lines = (self.sight.read(path) if output is None else output).splitlines()
        if output is None:
            self.sight.showed(path)
        first = max(1, start)
        last = min(len(lines), end if end > 0 else len(lines), first + _LINES - 1)
        if not lines:
            return Result(text=f"{path} is empty.")
        if first > len(lines):
            return Result(text=f"{path} has {len(lines)} lines.", ok=False)
        rest = f"\n({path} has {len(lines)} lines.)" if last < len(lines) else ""
        return Result(text=cut(numbered(lines[first - 1 : last], first), _OPENED) + rest)

    # --- editing ------------------------------------------------------------------------------------------

    def _edit(self, path: str, search: str, replace: str) -> Result:
        done = "edited" if search else "created"
        return self._change(Edit(path=path, search=search, replace=replace), done)

    def _move(self, path: str, target: str) -> Result:
        done = f"moved to {target}" if target else "deleted"
        return self._change(Edit(path=path, replace=None, target=target), done)

    def _change(self, edit: Edit, done: str) -> Result:
        _, remarks = self.apply([edit], inline=True)
        return Result(text=f"{edit.path} {done}. {remarks}".rstrip(), edit=True)

    def _changed(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.sight.showed(path)
        self.edits += 1
        self._close()

    # --- running ------------------------------------------------------------------------------------------

    def _run(self, command: str = "", keep: Sequence[str] = ()) -> Result:
        if not command.strip():
            return self._result(self._test(()))
        session = self._open_session()
        result = session.run(command, limits=self._limits())
        self._used = True
        shown = self._result(result)
        if not keep or not shown.ok:
            return shown
        if len(keep) > _KEPT:
            raise BadReply(f"A command can keep {_KEPT} files; nothing was kept.")
        for path in keep:
            self.sight.check(path)
        kept = keep_files(self.tree, {path: session.get(path) for path in keep})
        if kept:
            # The model has not seen what the command made of them.
            self.edits += 1
            self._close()
        return Result(text=f"{shown.text}\n(kept: {', '.join(kept) or 'nothing has changed'})")

    def _test(self, ids: Sequence[str]) -> CommandResult:
        if self._used:
            # Commands may have changed the copy; the tests run on what the attempt really made.
            self._close()
        self._tested = self.edits
        result = self._test_runner(self._open_session(), self._step, ids, self._limits())
        self._used = True
        return result

    def _result(self, result: CommandResult) -> Result:
        ends = f"exit code {result.exit_code}"
        if result.timed_out:
            ends = f"stopped after {result.seconds:.0f} s"
        elif result.out_of_memory:
            ends = "out of memory"
        elif result.out_of_disk:
            ends = "it wrote more to the disk than allowed"
        elif result.out_of_processes:
            ends = "it ran more processes at once than allowed"
        output = self._outputs.shown(result.output.strip(), _OUTPUT)
        return Result(text=f"{output}\n({ends})".lstrip(), ok=result.exit_code == 0)

    def _limits(self) -> Limits:
        seconds = min(_SECONDS, self._usual.seconds, self._budget.remaining_seconds)
        return replace(self._usual, seconds=max(1.0, seconds))

    def _open_session(self) -> Session:
        if self._session is None:
            self._session = self._stack.enter_context(self._sandbox.open(self.tree.root))
        return self._session

    def _close(self) -> None:
        """The next command gets a fresh copy of the tree."""
        self._stack.close()
        self._session, self._used = None, False


def run_command(session: Session, step: Step, ids: Sequence[str], limits: Limits) -> CommandResult:
    """The step's own test command, narrowed to test ids where it is pytest's."""
    command = step.test_command
    if ids and re.search(r"\bpytest\b", command):
        command += " " + " ".join(shlex.quote(test) for test in ids)
    return session.run(command, limits=limits)


def arguments_of(call: ToolCall, tool: Tool) -> dict[str, Any]:
    """What a model has written for a tool's parameters, of their types. Pure.

    Raises: BadReply, for the model to read."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise BadReply(f"The arguments of {call.name} are no valid JSON: {error}.") from None
    if not isinstance(given, dict):
        raise BadReply(f"The arguments of {call.name} must be a JSON object.")
    schema: Any = tool.parameters
    missing = [name for name in schema["required"] if given.get(name) is None]
    if missing:
        raise BadReply(f"{call.name} needs {', '.join(missing)}.")
    known = {
        name: value for name, value in given.items() if name in schema["properties"] and value is not None
    }
    for name, value in known.items():
        known[name] = _typed(call.name, name, value, schema["properties"][name]["type"])
    return known


def _typed(tool: str, name: str, value: object, kind: str) -> object:
    match kind:
        case "string":
            good = isinstance(value, str)
        case "integer":
            if isinstance(value, str) and value.strip().isdigit():
                return int(value)
            good = isinstance(value, int) and not isinstance(value, bool)
        case _:
            value = [value] if isinstance(value, str) else value
            good = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if not good:
        raise BadReply(f"{name} of {tool} must be {'an' if kind[0] in 'ai' else 'a'} {kind}.")
    return value
