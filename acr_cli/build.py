"""Settings -> a wired loop: the only place that joins the folders."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from acr_cli.caf import Loop, Parts
from acr_cli.errors import (
    AcrError,
    AuthenticationFailed,
    ConfigurationError,
    NoEligibleModel,
    PatchConflict,
    UsageError,
)
from acr_cli.events import (
    Emit,
    Event,
    ModelText,
    Notice,
    PatchApplied,
    RunStarted,
    to_json,
)
from acr_cli.parts import load
from acr_cli.progress import NEEDS_MODEL
from acr_cli.protocols import Backend, Limits, Observer, Policy, Sandbox, Store, Verifier
from acr_cli.records import Candidate, Choice, Context, Dimension, Price, RunResult, Status, Step, Task
from acr_cli.settings import Settings
from acr_cli.worktree.delivery import deliver
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.kept import Carried, apply_kept, can_undo, changes_since, is_kept_back, undo
from acr_cli.worktree.repository import Repository, open_repository
from acr_cli.worktree.runs import RunFolder, find_run, list_runs, new_run, newest_run, sweep_runs
from acr_cli.worktree.tree import RunTree

if TYPE_CHECKING:
    from acr_cli.memory.store import Memory
    from acr_cli.models.catalogue import Found

REPAIR = "builtin/repair"


# --- acr fix ----------------------------------------------------------------------------------------------


def run(settings: Settings, *, where: Path, task: Task, emit: Emit) -> RunResult:
    """Carry out one task in the repository around `where`, and apply the patch if it is verified.

    Raises: AcrError before the run exists; afterwards every end is a result."""
    pool = _usable(settings, emit)
    repository = open_repository(where)
    for dead in sweep_runs(settings.home):
        emit(Notice(level="info", text=_obituary(dead)))
    folder, lock = new_run(settings.home, repository=repository.root, task=task.text)
    with lock:
        job = _Job(settings, pool, repository, folder, _logged(emit, folder))
        try:
            result = job.carry_out(task)
        except BaseException as error:
            folder.update(status="interrupted" if isinstance(error, KeyboardInterrupt) else "error")
            raise
        finally:
            folder.drop_copies()
        try:
            folder.finish(result)
        except OSError as error:
            emit(
                Notice(level="warning", text=f"The run could not be kept: {(error.strerror or '').lower()}.")
            )
        return result


def _obituary(dead: RunFolder) -> str:
    said = f"The run {dead.id} had been killed; its working copy was removed."
    return f"{said} Its patch was being applied, and is applied." if dead.describe().get("applied") else said


@dataclass(frozen=True, slots=True)
class _Job:
    """One run, and all that its parts are made from."""

    settings: Settings
    pool: Sequence[Candidate]
    repository: Repository
    folder: RunFolder
    emit: Emit

    def carry_out(self, task: Task) -> RunResult:
        self.emit(RunStarted(run=self.folder.id, repository=str(self.repository.root)))
        _warm(models=any(candidate.model for candidate in self.pool))
        files = (*self.repository.files(), *self.repository.ignored(self.settings.copy_ignored))
        tree = RunTree.copy(self.repository.root, files, self.folder.path)
        start = tree.checkpoint()
        store = memory(self.settings)
        result = Loop(self.folder.id, self._parts(tree, self._sandbox(), store)).fix(task)
        if result.status is Status.FIXED and not self.settings.dry_run:
            return self._deliver(tree, start, result)
        return result

    def _parts(self, tree: RunTree, sandbox: Sandbox, store: Store) -> Parts:
        from acr_cli.agent.budget import RunBudget
        from acr_cli.agent.planning import RepositoryPlanner
        from acr_cli.verifier.explain import explain_failure

        settings = self.settings
        return Parts(
            tree=tree,
            sandbox=sandbox,
            planner=RepositoryPlanner(plan_only=settings.plan_only),
            observer=self._observer(tree, store),
            policy=_policy(settings),
            candidates=self.pool,
            backends=self._backends(),
            verifier=self._verifier(sandbox),
            store=store,
            budget=RunBudget(
                max_cost=settings.max_cost,
                max_steps=settings.max_steps,
                max_time=settings.max_time,
                clock=time.monotonic,
            ),
            explain=explain_failure,
            emit=self.emit,
            rng=Random(settings.seed if settings.seed is not None else secrets.randbits(64)),
            clock=time.time,
            attempts=settings.attempts,
            plan_only=settings.plan_only,
        )

    def _observer(self, tree: RunTree, store: Store) -> Observer:
        from acr_cli.context.embedding import open_embedder
        from acr_cli.context.observer import RepositoryObserver, prompt_tokens

        def size(step: Step) -> int:
            named = {*step.files, *(failure.file for failure in step.failures)}
            return prompt_tokens(step, [p.stat().st_size for f in named if (p := tree.root / f).is_file()])

        return RepositoryObserver(
            embedder=lambda: open_embedder(self.settings.embedder),
            store=store,
            repository=self.repository.identity,
            size=size,
            emit=self.emit,
        )

    def _backends(self) -> dict[str, Backend]:
        from acr_cli.agent.backend import Agent
        from acr_cli.models.gateway import LiteLLM
        from acr_cli.repair.backend import Repair

        gateway = LiteLLM(emit=self.emit, environ=os.environ)
        installed = {name: load("backends", name, {})(emit=self.emit) for name in self.settings.backends}
        return {
            **installed,
            "agent": Agent(gateway=gateway, emit=self.emit, transcripts=self.folder.path / "transcripts"),
            "repair": Repair(emit=self.emit, time_limit=self.settings.repair_time),
        }

    def _verifier(self, sandbox: Sandbox) -> Verifier:
        from acr_cli.toolchains import BUILTIN
        from acr_cli.verifier.verifier import Verifier as TestVerifier

        return TestVerifier(
            toolchains=[
                load("toolchains", name, BUILTIN)() for name in (*self.settings.toolchains, *BUILTIN)
            ],
            sandbox=sandbox,
            emit=self.emit,
            test=self.settings.test,
            setup=self.settings.setup,
            repository=self.repository.identity,
            limits=self._limits(),
            image=self.settings.image,
            dockerfile="Dockerfile" if self.settings.dockerfile else None,
        )

    def _sandbox(self) -> Sandbox:
        from acr_cli.sandbox.choose import open_sandbox

        sandbox = open_sandbox(
            self.settings.sandbox,
            run_id=self.folder.id,
            home=self.settings.home,
            image=self.settings.image,
            limits=self._limits(),
            emit=self.emit,
            environ=os.environ,
            repository=self.repository.root,
            network=self.settings.network == "on",
        )
        sandbox.sweep()
        return sandbox

    def _limits(self) -> Limits:
        return Limits(
            memory_bytes=self.settings.memory_limit,
            pids=self.settings.pids,
            cpus=float(os.cpu_count() or 1),
            seconds=self.settings.test_timeout,
        )

    def _deliver(self, tree: RunTree, start: str, result: RunResult) -> RunResult:
        """The verified patch into the user's tree; one that cannot be applied is kept in the run."""
        self.folder.keep_patch(result.patch)
        try:
            deliver(self.repository.root, changes_since(tree, start), self.folder.path)
        except PatchConflict as error:
            return replace(
                result,
                status=Status.NOT_FIXED,
                exit_code=error.exit_code,
                summary=error.message,
                hint=error.hint,
                error_id=error.id,
            )
        self.folder.update(applied=True, applied_at=time.time())
        commit = ""
        if self.settings.commit:
            try:
                commit = self.repository.commit(result.files, _commit_message(result))
            except GitFailed as error:
                text = f"The fix is applied but not committed: {error.reason}."
                self.emit(Notice(level="warning", text=text))
        self.emit(PatchApplied(files=result.files, commit=commit))
        return replace(result, applied=True)


def _commit_message(result: RunResult) -> str:
    fixed = result.evidence.fixed if result.evidence else ()
    subject = f"fix: {fixed[0]} passes" if len(fixed) == 1 else f"fix: {len(fixed)} failing tests pass"
    model = result.steps[-1].model if result.steps else "acr"
    return f"{subject}\n\n{result.summary}\n\nAssisted-by: acr ({model})\nAcr-Run: {result.run}\n"


def _logged(emit: Emit, folder: RunFolder) -> Emit:
    """Events to the run's log as well; a disk that takes no more of them does not end the run."""
    writable = True

    def both(event: Event) -> None:
        nonlocal writable
        if writable and not isinstance(event, ModelText):
            try:
                folder.log(to_json(event))
            except OSError as error:
                writable = False
                text = f"The run's log goes on no further: {(error.strerror or str(error)).lower()}."
                emit(Notice(level="warning", text=text))
        emit(event)

    return both


def _warm(*, models: bool) -> None:
    """Import what is slow and will be needed, in a thread, while the repository is read."""
    if models:
        from acr_cli.models.gateway import warm

        threading.Thread(target=warm, name="acr-warm", daemon=True).start()


# --- acr route --------------------------------------------------------------------------------------------


def route(settings: Settings, *, where: Path, task: str) -> tuple[Context, Choice, tuple[Candidate, ...]]:
    """What would be chosen for a task, and why; no backend is called.

    Inside a repository the task is an edit there (agentic_programming), elsewhere a plain question. Repair
    takes part where the words speak of a failure, or where there is no model.

    Raises: NoEligibleModel, ConfigurationError."""
    from acr_cli.context.dimension import dimension_of, language_of
    from acr_cli.context.embedding import open_embedder

    pool = _pool(settings)
    asked = dimension_of(task)
    models = tuple(c for c in pool if c.model or asked is Dimension.BUG_FIXING)
    pool = models if any(c.model for c in pool) else pool
    repository = _repository(where)
    embedder = open_embedder(settings.embedder)
    store = memory(settings)
    vector = tuple(embedder.embed([task])[0])
    context = Context(
        text=task,
        vector=vector,
        embedder=embedder.key,
        dimension=Dimension.AGENTIC_PROGRAMMING if repository else asked,
        language=language_of(repository.files() if repository else (), task),
        repository=repository.identity if repository else "",
        size_tokens=len(task) // 4,
        neighbours=store.neighbours(vector, embedder.key),
        tallies=store.tallies(),
    )
    choice = _policy(settings).choose(context, pool, None)
    if choice is None:
        raise NoEligibleModel("No model may take this task.", hint=NEEDS_MODEL)
    return context, choice, pool


def _repository(where: Path) -> Repository | None:
    try:
        return open_repository(where)
    except AcrError:
        return None


def _policy(settings: Settings) -> Policy:
    from acr_cli.orchestrator.policies import open_policy

    name = "fixed" if settings.model else settings.policy
    return open_policy(
        name, exploration=settings.exploration, attempts=settings.attempts, voters=settings.voters
    )


# --- the pool ---------------------------------------------------------------------------------------------


def candidates(settings: Settings) -> tuple[Candidate, ...]:
    """Everybody who could take a step: the accepted models, the built-in repair, installed backends."""
    from acr_cli.models.catalogue import candidates as models

    repair = Candidate(
        id=REPAIR,
        backend="repair",
        family="repair",
        price=Price(input=0.0, output=0.0, per_second=settings.time_price, source="builtin"),
        local=True,
    )
    installed = (replace(repair, id=name, backend=name, family=name) for name in settings.backends)
    return (*models(settings, os.environ), repair, *installed)


def detect(settings: Settings) -> tuple[Found, ...]:
    """Providers found by their keys, and an Ollama that answers; none of them is used unasked."""
    from acr_cli.models.catalogue import detect as found

    return found(os.environ, time_price=settings.time_price)


def probe(settings: Settings, candidate: str) -> str:
    """One tiny real call; what the model answered.

    Raises: ProviderError, ConfigurationError."""
    from acr_cli.models.gateway import LiteLLM

    chosen = _pool(replace(settings, model=candidate))[0]
    return LiteLLM(emit=lambda _: None, environ=os.environ).probe(chosen)


def _pool(settings: Settings) -> tuple[Candidate, ...]:
    from acr_cli.orchestrator.pool import pool

    return pool(candidates(settings), model=settings.model, allow=settings.allow, exclude=settings.exclude)


def _usable(settings: Settings, emit: Emit) -> tuple[Candidate, ...]:
    """The pool without those whose key is missing or whose cost no cap can bind, which is said.

    Raises: ConfigurationError when nobody is left."""
    from acr_cli.models.keys import key_for
    from acr_cli.orchestrator.pool import priced

    with_key: list[Candidate] = []
    keyless: list[AuthenticationFailed] = []
    for candidate in _pool(settings):
        try:
            if candidate.model:
                key_for(candidate, os.environ)
        except AuthenticationFailed as error:
            keyless.append(error)
        else:
            with_key.append(candidate)
    if not with_key:
        raise ConfigurationError(keyless[0].message, hint=keyless[0].hint)
    for missing in keyless:
        emit(Notice(level="warning", text=f"Left out: {missing.message}"))
    left = priced(with_key, settings.max_cost)
    if unpriced := [c.id for c in with_key if c not in left]:
        text = f"Left out, since no price is known and a run has a cap on cost: {', '.join(unpriced)}."
        emit(Notice(level="warning", text=text))
    return left


# --- memory and runs --------------------------------------------------------------------------------------


def memory(settings: Settings) -> Memory:
    """The store of outcomes."""
    from acr_cli.memory.store import Memory

    return Memory(settings.home, bound=settings.memory_bound, store_text=settings.store_text, clock=time.time)


def settle(settings: Settings) -> None:
    """After a run: bring the Chroma collection up to date with the journal."""
    memory(settings).settle()


def identity(where: Path) -> str:
    """How memory names the repository around `where`. Raises: RepositoryRefused."""
    return open_repository(where).identity


def runs(settings: Settings) -> tuple[RunFolder, ...]:
    """All runs, newest first."""
    return list_runs(settings.home)


def run_to_apply(settings: Settings, *, where: Path, run_id: str | None) -> RunFolder:
    """The run that `acr apply` means: the named one, or the newest here whose patch was kept back.

    Raises: UsageError, RepositoryRefused."""
    none = "No run here has kept a patch back."
    return _run_here(settings, where, run_id, is_kept_back, none, by="time")


def run_to_undo(settings: Settings, *, where: Path, run_id: str | None) -> RunFolder:
    """The run that `acr undo` means: the named one, or the one here whose patch was applied last.

    Raises: UsageError, RepositoryRefused."""
    return _run_here(settings, where, run_id, can_undo, "There is nothing here to undo.", by="applied_at")


def apply_run(folder: RunFolder, *, where: Path) -> Carried:
    """Apply the patch of a run that kept it back.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    return apply_kept(open_repository(where), folder)


def undo_run(folder: RunFolder, *, where: Path) -> Carried:
    """Reverse exactly the patch of a run.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    return undo(open_repository(where), folder)


def _run_here(
    settings: Settings,
    where: Path,
    run_id: str | None,
    fits: Callable[[RunFolder], bool],
    none: str,
    *,
    by: str,
) -> RunFolder:
    if run_id:
        return find_run(settings.home, run_id)
    found = newest_run(settings.home, open_repository(where).root, fits, by=by)
    if found is None:
        raise UsageError(none, hint="`acr runs list` shows all runs.")
    return found
