"""What a person is asked for during a run: commands of a model, steps of a plan, the patch at the end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from acr_cli.build.recording import Recorded, Recording
from acr_cli.protocols import Backend, Budget, CommandResult, Limits, Recipe, Sandbox, Session, Tree
from acr_cli.records import Attempt, Candidate, Step

REFUSED = "The user does not allow this command. Go on without it."
_CANNOT_EXECUTE = 126  # a shell's exit code for a command that may not be run


class Asks(Protocol):
    """Somebody who answers. Each may raise Interrupted, which ends the run."""

    def command(self, command: str) -> bool:
        """Whether a model may run this command in the sandbox."""
        ...

    def plan(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps that are to be taken of those that were planned."""
        ...

    def patch(self, patch: str) -> bool:
        """Whether the patch is to be applied."""
        ...


class NotedAnswers:
    """Somebody who answers, and whose answers are noted for a replay."""

    def __init__(self, asks: Asks, recording: Recording) -> None:
        self._asks = asks
        self._recording = recording

    def command(self, command: str) -> bool:
        given = self._asks.command(command)
        self._recording.note("answer", given=given)
        return given

    def plan(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        kept = self._asks.plan(steps)
        self._recording.note("answer", given=kept)
        return kept

    def patch(self, patch: str) -> bool:
        return self._asks.patch(patch)


class RecordedAnswers:
    """What somebody answered in the run that is replayed."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def command(self, command: str) -> bool:
        return bool(self._recorded.answer())

    def plan(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return self._recorded.steps()

    def patch(self, patch: str) -> bool:
        return False


def refused(_command: str) -> bool:
    """The answer where nobody is there to give one."""
    return False


class AskedBackend:
    """A `Backend` whose commands in the sandbox are each asked about; its step's own tests are not."""

    def __init__(self, backend: Backend, allowed: Callable[[str], bool]) -> None:
        self.name = backend.name
        self._backend = backend
        self._allowed = allowed

    def eligible(self, step: Step) -> bool:
        return self._backend.eligible(step)

    def attempt(
        self, step: Step, candidate: Candidate, tree: Tree, sandbox: Sandbox, budget: Budget
    ) -> Attempt:
        asked = _AskedSandbox(sandbox, self._allowed, step.test_command)
        return self._backend.attempt(step, candidate, tree, asked, budget)


class _AskedSandbox:
    """A `Sandbox` that asks before a shell command is run in it."""

    def __init__(self, sandbox: Sandbox, allowed: Callable[[str], bool], tests: str) -> None:
        self.name = sandbox.name
        self._sandbox = sandbox
        self._allowed = allowed
        self._tests = tests

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self._sandbox.prepare(recipe, tree)

    def open(self, tree: Path) -> AbstractContextManager[Session]:
        return self._opened(tree)

    @contextmanager
    def _opened(self, tree: Path) -> Iterator[Session]:
        with self._sandbox.open(tree) as session:
            yield _AskedSession(session, self._allowed, self._tests)

    def sweep(self) -> tuple[str, ...]:
        return self._sandbox.sweep()

    def describe(self) -> str:
        return self._sandbox.describe()


class _AskedSession:
    """A `Session` of `_AskedSandbox`."""

    def __init__(self, session: Session, allowed: Callable[[str], bool], tests: str) -> None:
        self.workdir = session.workdir
        self.scratch = session.scratch
        self._session = session
        self._allowed = allowed
        self._tests = tests

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        if isinstance(command, str) and not only_tests(command, self._tests) and not self._allowed(command):
            return CommandResult(exit_code=_CANNOT_EXECUTE, output=REFUSED, seconds=0.0)
        return self._session.run(command, environment=environment, limits=limits)

    def put(self, files: Mapping[str, bytes]) -> None:
        self._session.put(files)

    def get(self, path: str) -> bytes | None:
        return self._session.get(path)


def only_tests(command: str, tests: str) -> bool:
    """Whether a command is the step's test command, or that with plain words behind it. Pure."""
    if not tests or not command.startswith(tests):
        return False
    rest = command.removeprefix(tests)
    try:
        words = shlex.split(rest)
    except ValueError:
        return False
    return rest == "".join(f" {shlex.quote(word)}" for word in words)
