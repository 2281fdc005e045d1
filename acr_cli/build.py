"""Settings -> a wired loop: the only place that joins the folders."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from acr_cli.caf import Loop, Parts
from acr_cli.errors import AcrError, NoEligibleModel, PatchConflict
from acr_cli.events import (
    Emit,
    Event,
    ModelText,
    Notice,
    PatchApplied,
    RunFinished,
    RunStarted,
    SandboxReady,
    to_json,
)
from acr_cli.parts import load
from acr_cli.progress import NEEDS_MODEL
from acr_cli.protocols import Limits, Policy, Sandbox, Toolchain
from acr_cli.records import Candidate, Choice, Context, Dimension, Price, RunResult, Status, Step, Task
from acr_cli.settings import Settings
from acr_cli.worktree.repository import Repository, open_repository
from acr_cli.worktree.runs import RunFolder, find_run, list_runs, new_run, sweep_runs
from acr_cli.worktree.tree import RunTree

if TYPE_CHECKING:
    from acr_cli.memory.store import Memory
    from acr_cli.models.catalogue import Found

REPAIR = "builtin/repair"


# --- acr fix ----------------------------------------------------------------------------------------------


def run(settings: Settings, *, where: Path, task: Task, emit: Emit) -> RunResult:
    """Carry out one task in the repository around `where`, and apply the patch if it is verified.

    Raises: AcrError before the run exists; afterwards every end is a result."""
    pool = _pool(settings)
    repository = open_repository(where)
    for dead in sweep_runs(settings.home):
        emit(Notice(level="info", text=f"The run {dead.id} had been killed; its working copy was removed."))
    folder, lock = new_run(settings.home, repository=repository.root, task=task.text)
    with lock:
        emit = _logged(emit, folder)
        emit(RunStarted(run=folder.id, repository=str(repository.root)))
        try:
            result = _run(settings, pool, repository, folder, task, emit)
        except BaseException:
            folder.drop_copies()
            folder.update(status="error")
            raise
        folder.keep_patch(result.patch)
        folder.drop_copies()
        folder.update(
            status=result.status.value,
            applied=result.applied,
            files=result.files,
            summary=result.summary,
            cost_usd=result.receipt.paid_usd,
        )
        folder.log(to_json(RunFinished(result=result)))
        return result


def _run(
    settings: Settings,
    pool: Sequence[Candidate],
    repository: Repository,
    folder: RunFolder,
    task: Task,
    emit: Emit,
) -> RunResult:
    warm(models=any(candidate.model for candidate in pool))
    files = (*repository.files(), *repository.ignored(settings.copy_ignored))
    tree = RunTree.copy(repository.root, files, folder.path)
    start = tree.checkpoint()
    sandbox = _sandbox(settings, folder, emit)
    store = memory(settings)
    loop = Loop(folder.id, _parts(settings, pool, repository, tree, sandbox, store, folder, emit))
    result = loop.fix(task)
    if result.status is Status.FIXED and not settings.dry_run:
        result = _deliver(settings, repository, tree, start, folder, result, emit)
    store.settle()
    return result


def _parts(
    settings: Settings,
    pool: Sequence[Candidate],
    repository: Repository,
    tree: RunTree,
    sandbox: Sandbox,
    store: Memory,
    folder: RunFolder,
    emit: Emit,
) -> Parts:
    from acr_cli.agent.backend import Agent
    from acr_cli.agent.budget import RunBudget
    from acr_cli.agent.planning import RepositoryPlanner
    from acr_cli.context.embedding import open_embedder
    from acr_cli.context.observer import RepositoryObserver, prompt_tokens
    from acr_cli.models.gateway import LiteLLM
    from acr_cli.repair.backend import Repair
    from acr_cli.verifier.explain import explain_failure
    from acr_cli.verifier.verifier import TestVerifier

    def size(step: Step) -> int:
        named = {*step.files, *(failure.file for failure in step.failures)}
        return prompt_tokens(step, [p.stat().st_size for f in named if (p := tree.root / f).is_file()])

    limits = _limits(settings)
    return Parts(
        tree=tree,
        sandbox=sandbox,
        planner=RepositoryPlanner(plan_only=settings.plan_only),
        observer=RepositoryObserver(
            embedder=lambda: open_embedder(settings.embedder),
            store=store,
            repository=repository.identity,
            size=size,
        ),
        policy=_policy(settings),
        candidates=pool,
        backends={
            "agent": Agent(
                gateway=LiteLLM(emit=emit, environ=os.environ), emit=emit, transcripts=folder.path
            ),
            "repair": Repair(emit=emit),
        },
        verifier=TestVerifier(
            toolchains=_toolchains(),
            sandbox=sandbox,
            emit=emit,
            test=settings.test,
            setup=settings.setup,
            repository=repository.identity,
            limits=limits,
        ),
        store=store,
        budget=RunBudget(
            max_cost=settings.max_cost,
            max_steps=settings.max_steps,
            max_time=settings.max_time,
            clock=time.monotonic,
        ),
        explain=explain_failure,
        emit=emit,
        rng=Random(settings.seed if settings.seed is not None else secrets.randbits(64)),
        clock=time.time,
        attempts=settings.attempts,
        plan_only=settings.plan_only,
    )


def _deliver(
    settings: Settings,
    repository: Repository,
    tree: RunTree,
    start: str,
    folder: RunFolder,
    result: RunResult,
    emit: Emit,
) -> RunResult:
    from acr_cli.worktree.delivery import deliver
    from acr_cli.worktree.hardened_git import GitFailed
    from acr_cli.worktree.kept import changes_since

    folder.keep_patch(result.patch)
    try:
        deliver(repository.root, changes_since(tree, start), folder.path)
    except PatchConflict as error:
        return replace(
            result,
            status=Status.NOT_FIXED,
            exit_code=error.exit_code,
            summary=error.message,
            hint=error.hint,
            error_id=error.id,
        )
    folder.update(applied=True)
    commit = ""
    if settings.commit:
        try:
            commit = repository.commit(result.files, _commit_message(result))
        except GitFailed as error:
            emit(Notice(level="warning", text=f"The fix is applied but not committed: {error.reason}."))
    emit(PatchApplied(files=result.files, commit=commit))
    return replace(result, applied=True)


def _commit_message(result: RunResult) -> str:
    fixed = result.evidence.fixed if result.evidence else ()
    subject = f"fix: {fixed[0]} passes" if len(fixed) == 1 else f"fix: {len(fixed)} failing tests pass"
    model = result.steps[-1].model if result.steps else "acr"
    return f"{subject}\n\n{result.summary}\n\nAssisted-by: acr ({model})\nAcr-Run: {result.run}\n"


def _sandbox(settings: Settings, folder: RunFolder, emit: Emit) -> Sandbox:
    from acr_cli.sandbox.choose import open_sandbox

    sandbox = open_sandbox(
        settings.sandbox,
        run_id=folder.id,
        home=settings.home,
        image=settings.image,
        limits=_limits(settings),
        emit=emit,
        environ=os.environ,
    )
    sandbox.sweep()
    emit(SandboxReady(sandbox=sandbox.name, reason=sandbox.describe()))
    return sandbox


def _limits(settings: Settings) -> Limits:
    return Limits(
        memory_bytes=settings.memory_limit,
        pids=settings.pids,
        cpus=float(os.cpu_count() or 1),
        seconds=settings.test_timeout,
    )


def _toolchains() -> tuple[Toolchain, ...]:
    from acr_cli.toolchains import BUILTIN

    return tuple(load("toolchains", name, BUILTIN)() for name in BUILTIN)


def _logged(emit: Emit, folder: RunFolder) -> Emit:
    def both(event: Event) -> None:
        if not isinstance(event, ModelText):
            folder.log(to_json(event))
        emit(event)

    return both


def warm(*, models: bool) -> None:
    """Import what is slow and will be needed, in a thread, while the repository is read."""

    def imports() -> None:
        if models:
            from acr_cli.models.gateway import warm as warm_models

            warm_models()
        from acr_cli.memory.collection import warm as warm_collection

        warm_collection()

    threading.Thread(target=imports, name="acr-warm", daemon=True).start()


# --- acr route --------------------------------------------------------------------------------------------


def route(settings: Settings, *, where: Path, task: str) -> tuple[Context, Choice, tuple[Candidate, ...]]:
    """What would be chosen for a task, and why; no backend is called.

    Inside a repository the task is an edit there (agentic_programming), elsewhere a plain question. Repair takes
    part where the words speak of a failure, or where there is no model.

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
    return open_policy(name, exploration=settings.exploration, attempts=settings.attempts)


# --- the pool ---------------------------------------------------------------------------------------------


def candidates(settings: Settings) -> tuple[Candidate, ...]:
    """Everybody who could take a step: the accepted models, and the built-in repair."""
    from acr_cli.models.catalogue import candidates as models

    repair = Candidate(
        id=REPAIR,
        backend="repair",
        family="repair",
        price=Price(input=0.0, output=0.0, per_second=settings.time_price, source="builtin"),
        local=True,
    )
    return (*models(settings, os.environ), repair)


def detect(settings: Settings) -> tuple[Found, ...]:
    """Providers found by their keys, and an Ollama that answers; none of them is used unasked."""
    from acr_cli.models.catalogue import detect as found

    return found(os.environ)


def probe(settings: Settings, candidate: str) -> str:
    """One tiny real call; what the model answered.

    Raises: ProviderError, ConfigurationError."""
    from acr_cli.models.gateway import LiteLLM

    chosen = _pool(replace(settings, model=candidate))[0]
    return LiteLLM(emit=lambda _: None, environ=os.environ).probe(chosen)


def _pool(settings: Settings) -> tuple[Candidate, ...]:
    from acr_cli.orchestrator.pool import pool

    return pool(candidates(settings), model=settings.model, allow=settings.allow, exclude=settings.exclude)


# --- memory and runs --------------------------------------------------------------------------------------


def memory(settings: Settings) -> Memory:
    """The store of outcomes."""
    from acr_cli.memory.store import Memory

    return Memory(settings.home, bound=settings.memory_bound, store_text=settings.store_text, clock=time.time)


def runs(settings: Settings) -> tuple[RunFolder, ...]:
    """All runs, newest first."""
    return list_runs(settings.home)


def apply_run(settings: Settings, *, where: Path, run_id: str | None) -> tuple[RunFolder, tuple[str, ...]]:
    """Apply the patch of a run that kept it back; the run and the files changed.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    from acr_cli.worktree.kept import apply_kept

    repository = open_repository(where)
    found = find_run(settings.home, run_id, repository=repository.root)
    return found, apply_kept(repository, found)


def undo(settings: Settings, *, where: Path, run_id: str | None) -> tuple[RunFolder, tuple[str, ...]]:
    """Reverse exactly the patch of a run; the run and the files changed.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    from acr_cli.worktree.kept import undo as reverse

    repository = open_repository(where)
    found = find_run(settings.home, run_id, repository=repository.root)
    return found, reverse(repository, found)
