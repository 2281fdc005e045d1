"""Places for attempts side by side: a tree, a sandbox, a verifier and a budget of its own for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from acr_cli.abreast import Place
from acr_cli.errors import Cancelled
from acr_cli.events import Emit, Event, ModelText, Progress, ToolCalled
from acr_cli.protocols import Backend, CommandResult, Limits, Recipe, Sandbox, ServesLanguages, Session
from acr_cli.worktree.tree import RunTree

if TYPE_CHECKING:
    from acr_cli.agent.budget import RunBudget, Shared
    from acr_cli.verifier.verifier import Verifier

_FREE = 0.9  # of the machine's memory, for all commands that run at the same time


def fitting(wanted: int, limits: Limits, *, cpus: int, memory_bytes: int) -> int:
    """How many attempts the machine has room for: each needs a processor and the memory limit. Pure."""
    room = int(_FREE * memory_bytes // max(1, limits.memory_bytes)) if memory_bytes else wanted
    return max(1, min(wanted, cpus, room))


def machine_memory() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Branches:
    """Makes places beside a run's own tree. `backends` are made anew for each, since they tell what they do
    themselves."""

    tree: RunTree
    sandbox: Sandbox
    verifier: Verifier
    budget: RunBudget
    backends: Callable[[Emit], Mapping[str, Backend]]
    folder: Path  # of the run
    limits: Limits
    emit: Emit
    lock: Lock = field(default_factory=Lock)  # for whom events are shown to and folders are made by
    taken: list[tuple[ExitStack, Shared]] = field(default_factory=list)  # what each place holds

    @contextmanager
    def place(self, name: str, number: int, stopped: Callable[[], bool]) -> Iterator[Place]:
        """See `abreast.Beside`. The processors are shared out evenly."""
        from acr_cli.agent.budget import Shared

        stack, budget = ExitStack(), Shared(self.budget, stopped)
        with self.lock:
            self.taken.append((stack, budget))
            folder = self.folder / f"beside-{len(self.taken)}"
            folder.mkdir(mode=0o700)
        emit = self._telling(name, stopped)
        cpus = max(0.5, self.limits.cpus / number)
        with stack:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.callback(budget.let_go)
            sandbox = Portion(self.sandbox, replace(self.limits, cpus=cpus), stopped, stack)
            yield Place(
                tree=self.tree.fork(folder),
                sandbox=sandbox,
                verifier=self.verifier.beside(sandbox, emit),
                backends=self.backends(emit),
                budget=budget,
                emit=emit,
            )

    def leave(self) -> None:
        """See `abreast.Beside`."""
        for stack, budget in self.taken:
            budget.leave()
            stack.close()  # of those that were left already nothing is there

    def _telling(self, name: str, stopped: Callable[[], bool]) -> Emit:
        """Events of this attempt, told apart and one at a time; no words of models that speak at once."""

        def emit(event: Event) -> None:
            if isinstance(event, ModelText) or stopped():
                return
            if isinstance(event, ToolCalled | Progress):
                event = replace(event, beside=name)
            with self.lock:
                self.emit(event)

        return emit


class Portion:
    """A `Sandbox` with a share of the processors, in which nothing is begun once it is stopped."""

    def __init__(
        self, sandbox: Sandbox, limits: Limits, stopped: Callable[[], bool], stack: ExitStack
    ) -> None:
        """Sessions that are open go with `stack` as well."""
        self.name = sandbox.name
        self._sandbox = sandbox
        self._limits = limits
        self._stopped = stopped
        self._stack = stack

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self._sandbox.prepare(recipe, tree)

    def of(self, language: str) -> Portion:
        inner = self._sandbox
        found = inner.of(language) if isinstance(inner, ServesLanguages) else inner
        return Portion(found, self._limits, self._stopped, self._stack)

    @contextmanager
    def open(self, tree: Path) -> Iterator[Session]:
        if self._stopped():
            raise Cancelled("The attempt is not needed any more.")
        with ExitStack() as own:
            session = own.enter_context(self._sandbox.open(tree))
            self._stack.callback(own.close)
            yield PortionSession(session, self._limits, self._stopped)

    def sweep(self) -> tuple[str, ...]:
        return self._sandbox.sweep()

    def describe(self) -> str:
        return self._sandbox.describe()


class PortionSession:
    """A session of it."""

    def __init__(self, session: Session, limits: Limits, stopped: Callable[[], bool]) -> None:
        self.workdir, self.scratch = session.workdir, session.scratch
        self._session = session
        self._limits = limits
        self._stopped = stopped

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        """As `Session.run`. Raises: SandboxBroken, Cancelled."""
        if self._stopped():
            raise Cancelled("The attempt is not needed any more.")
        wanted = limits or self._limits
        bound = replace(wanted, cpus=min(wanted.cpus, self._limits.cpus))
        return self._session.run(command, environment=environment, limits=bound)

    def put(self, files: Mapping[str, bytes]) -> None:
        self._session.put(files)

    def get(self, path: str) -> bytes | None:
        return self._session.get(path)
