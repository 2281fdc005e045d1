"""One run and all that its parts are made from: sandbox, verifier, backends, policy, budget."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from acr_cli.build.asking import AskedBackend, Asks, NotedAnswers, RecordedAnswers, refused
from acr_cli.build.branching import Branches, fitting, machine_memory
from acr_cli.build.checkpoints import (
    Keeper,
    as_it_began,
    going_on,
    may_go_on,
    note_beginning,
    noted_test,
    reached,
)
from acr_cli.build.delivering import AskUnasked, delivered, held_back, told
from acr_cli.build.keeping import memory
from acr_cli.build.pooling import policy_of, run_budget
from acr_cli.build.recording import RECORDING, Recorded, Recording, RecordingGateway, RecordingPolicy
from acr_cli.build.sharing import embedder
from acr_cli.caf import Loop, Parts
from acr_cli.events import Emit, Event, ModelText, Notice, Progress, RunStarted
from acr_cli.parts import load
from acr_cli.progress import Checkpoint
from acr_cli.protocols import (
    Backend,
    Budget,
    Gateway,
    Judge,
    Limits,
    Policy,
    Sandbox,
    Store,
    Toolchain,
)
from acr_cli.records import Candidate, RunResult, Status, Step, Task
from acr_cli.settings import Settings
from acr_cli.worktree.beginning import keep_beginning
from acr_cli.worktree.contents import keep_changes
from acr_cli.worktree.kept import changes_since
from acr_cli.worktree.repository import Repository
from acr_cli.worktree.runs import RunFolder
from acr_cli.worktree.tree import RunTree
from acr_cli.worktree.unasked import unasked

if TYPE_CHECKING:
    from acr_cli.agent.toolbox import Rehearse
    from acr_cli.context.observer import RepositoryObserver
    from acr_cli.verifier.verifier import Verifier as TestVerifier


_UNDER_WAY = 2.0  # seconds after which a first request has been made, once one can be


@dataclass(frozen=True, slots=True)
class Job:
    """One run, and all that its parts are made from."""

    settings: Settings
    pool: Sequence[Candidate]
    repository: Repository
    folder: RunFolder
    emit: Emit
    tests: frozenset[str] = frozenset()  # files that no attempt may change, beside what toolchains protect
    where: str = ""  # the folder of the repository that the user stands in; "" is the root
    text: str = ""  # of the task and its log: the files that it names count for what is tested
    asks: Asks | None = None
    ask_tests: Callable[[], str] | None = None
    ask_unasked: AskUnasked | None = None
    recording: Recording | None = None  # where choices and replies are noted
    recorded: Recorded | None = None  # in the place of models, in a replay
    goes_on: bool = False  # whether the run had begun before, in another process

    def carry_out(self, task: Task) -> RunResult:
        self.emit(RunStarted(run=self.folder.id, repository=str(self.repository.root)))
        self.warm_up()
        tree = self.copy()
        sandbox = self.sandbox()
        keeper, checkpoint = self._beginning(task, tree, sandbox)
        start = tree.checkpoint()
        store = memory(self.settings, lambda text: self.emit(Notice(level="warning", text=text)))
        parts = self.parts(tree, sandbox, store, copied_from=None if self.goes_on else self.repository.root)
        parts = replace(parts, keep=keeper.keep, resumed=checkpoint)
        try:
            result = Loop(self.folder.id, parts).fix(task)
        finally:
            keeper.close()
        if result.status is Status.FIXED and not self.settings.dry_run:
            return self._approved(tree, start, result)
        return may_go_on(self.folder, result)

    def copy(self) -> RunTree:
        """The run's own copy of the user's files as they are now."""
        files = (*self.repository.files(), *self.repository.ignored(self.settings.copy_ignored))
        return RunTree.copy(self.repository.root, files, self.folder.path)

    def _beginning(self, task: Task, tree: RunTree, sandbox: Sandbox) -> tuple[Keeper, Checkpoint | None]:
        """What keeps checkpoints; and, of a run that goes on, the last one, with the tree as it began.

        Raises: PatchConflict where the files that it began with are not to be had."""
        recording = self.recording or Recording(self.folder.path / RECORDING)
        settings = self.settings
        surroundings = f"{sandbox.describe()} {settings.test} {settings.setup} {settings.image}"
        keeper = Keeper(self.folder, recording, surroundings)
        if self.goes_on:
            as_it_began(self.folder, self.repository, tree)
            checkpoint = reached(self.folder, surroundings)
            self.emit(Notice(level="info", text=going_on(checkpoint)))
            return keeper, checkpoint
        start = tree.checkpoint()
        note_beginning(
            self.folder, task=task, settings=settings, pool=self.pool, where=self.where, tree=start
        )
        keeper.meanwhile(lambda: keep_beginning(self.folder.path, self.repository, tree, start))
        return keeper, None

    def warm_up(self) -> None:
        """Import what is slow and will be needed, in a thread, while the repository is read."""
        if any(candidate.model for candidate in self.pool):
            from acr_cli.models.gateway import warm

            threading.Thread(target=warm, name="acr-warm", daemon=True).start()

    def parts(
        self, tree: RunTree, sandbox: Sandbox, store: Store, *, copied_from: Path | None = None
    ) -> Parts:
        """All that a loop on this tree is wired from; `copied_from` is where its files are as well."""
        from acr_cli.agent.planning import RepositoryPlanner
        from acr_cli.context.observer import Completing
        from acr_cli.verifier.explain import explain_failure

        settings = self.settings
        budget = run_budget(settings)
        lock, start, verifier = threading.Lock(), tree.checkpoint(), self.verifier(sandbox)

        def changed() -> Sequence[str]:
            with lock:
                return tree.changed(start)

        observer = self.observer(tree.root, store, first=self._asked)
        width = self._width()
        branches = Branches(
            tree=tree,
            sandbox=sandbox,
            verifier=verifier,
            budget=budget,
            backends=lambda emit: replace(self, emit=emit).backends(copied_from, changed),
            folder=self.folder.path,
            limits=self._limits(),
            emit=self.emit,
        )
        return Parts(
            tree=tree,
            sandbox=sandbox,
            planner=RepositoryPlanner(plan_only=settings.plan_only, own_tests=settings.own_tests),
            observer=observer,
            policy=self.policy(budget),
            candidates=self.pool,
            backends=self.backends(copied_from, changed, verifier.rehearse),
            verifier=verifier,
            store=Completing(store, observer, self.emit),
            budget=budget,
            explain=explain_failure,
            emit=self.emit,
            rng=Random(settings.seed if settings.seed is not None else secrets.randbits(64)),
            clock=time.time,
            attempts=settings.attempts,
            plan_only=settings.plan_only,
            judge=self.judge() if settings.judge else None,
            parallel=width,
            beside=branches if width > 1 else None,
            approve=self._plan_approved,
        )

    def _width(self) -> int:
        """How many attempts are made side by side; one where each command is to be asked about, and in a
        replay, where none needs to wait."""
        if self.recorded is not None:
            return 1
        wanted = self.settings.parallel if self.settings.approve != "all" else 1
        room = fitting(wanted, self._limits(), cpus=os.cpu_count() or 1, memory_bytes=machine_memory())
        if room < wanted:
            text = f"This machine has room for {room} of {wanted} attempts side by side."
            self.emit(Notice(level="info", text=text))
        return room

    def policy(self, budget: Budget) -> Policy:
        """Who chooses; each choice is noted where the run is recorded. What asking costs goes to `budget`."""
        if self.recorded is not None:
            return self.recorded
        chosen = policy_of(self.settings, budget=budget, emit=self.emit)
        return RecordingPolicy(chosen, self.recording) if self.recording else chosen

    def gateway(self) -> Gateway:
        """The way to the models; each reply is noted where the run is recorded."""
        from acr_cli.models.gateway import LiteLLM
        from acr_cli.models.rests import Rests, rests_file

        if self.recorded is not None:
            return self.recorded
        # One model alone is asked in any case: nobody is there to take its place.
        several = sum(bool(candidate.model) for candidate in self.pool) > 1
        rests = Rests(rests_file(self.settings.home), heeded=several)
        gateway = LiteLLM(emit=self.emit, environ=os.environ, rests=rests)
        return RecordingGateway(gateway, self.recording) if self.recording else gateway

    def answers(self) -> Asks | None:
        """Who answers questions, if any are asked; each answer is noted where the run is recorded."""
        if self.recorded is not None:
            return RecordedAnswers(self.recorded)
        if self.asks is None or self.settings.approve == "auto":
            return None
        return NotedAnswers(self.asks, self.recording) if self.recording else self.asks

    def _plan_approved(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        asked = self.settings.approve != "auto" and not (self.settings.plan_only or self.settings.yes)
        answers = self.answers() if asked else None
        return answers.plan(steps) if answers else steps

    def _asked(self) -> None:
        """Wait until a model has been asked: what is loaded before would only delay that."""
        if any(candidate.model for candidate in self.pool):
            from acr_cli.models.gateway import warm

            warm()
            time.sleep(_UNDER_WAY)

    def observer(
        self, root: Path, store: Store, *, first: Callable[[], None] | None = None
    ) -> RepositoryObserver:
        """What looks at the steps of a run on the files below `root`; with `first`, for `Completing`."""
        from acr_cli.context.observer import RepositoryObserver, prompt_tokens

        def size(step: Step) -> int:
            named = {*step.files, *(failure.file for failure in step.failures)}
            return prompt_tokens(step, [p.stat().st_size for f in named if (p := root / f).is_file()])

        return RepositoryObserver(
            embedder=lambda: embedder(self.settings),
            store=store,
            repository=self.repository.identity,
            size=size,
            emit=self.emit,
            first=first,
            lone=len(self.pool) == 1,
        )

    def backends(
        self,
        copied_from: Path | None = None,
        changed: Callable[[], Sequence[str]] = tuple,
        rehearse: Rehearse | None = None,
    ) -> dict[str, Backend]:
        """Who can take a step, by name. `changed`: which files of a tree are not as in `copied_from` now;
        `rehearse`: what runs the tests as the verdict on that tree will."""
        from acr_cli.agent.backend import Agent
        from acr_cli.agent.repomap.drawing import RepoMap
        from acr_cli.agent.scores import KeptScores
        from acr_cli.repair.backend import Repair

        toolchains = self.toolchains()
        repomap = RepoMap(
            self.settings.home / "cache" / "maps",
            source=copied_from,
            changed=changed,
            reading=lambda files: self.emit(Progress(text=f"reading {files:,} files for the map")),
        )
        installed = {name: load("backends", name, {})(emit=self.emit) for name in self.settings.backends}
        agent = Agent(
            gateway=self.gateway(),
            emit=self.emit,
            transcripts=self.folder.path / "transcripts",
            limits=self._limits(),
            repomap=repomap,
            scores=KeptScores(self.settings.home / "formats.json"),
            rehearse=rehearse,
        )
        asked = self.settings.approve == "all" and not self.settings.yes
        answers = self.answers()
        return {
            **installed,
            "agent": AskedBackend(agent, answers.command if answers else refused) if asked else agent,
            "repair": Repair(
                emit=self.emit,
                time_limit=self.settings.repair_time,
                limits=self._limits(),
                protected=lambda path: path in self.tests or any(each.protected(path) for each in toolchains),
            ),
        }

    def judge(self) -> Judge:
        """Who is asked for an opinion; only models of this run's pool ever see code."""
        from acr_cli.verifier.opinion import Opinion

        def quietly(event: Event) -> None:
            if not isinstance(event, ModelText):
                self.emit(event)

        gateway = replace(self, emit=quietly).gateway()
        return Opinion(gateway=gateway, candidates=self.pool, emit=self.emit)

    def verifier(self, sandbox: Sandbox) -> TestVerifier:
        """What runs the tests in this sandbox."""
        from acr_cli.verifier.verifier import Verifier as TestVerifier

        return TestVerifier(
            toolchains=self.toolchains(),
            sandbox=sandbox,
            emit=self.emit,
            test=self.settings.test,
            setup=self.settings.setup,
            repository=self.repository.identity,
            limits=self._limits(),
            image=self.settings.image,
            tests=self.tests,
            seconds=self.settings.verify_time,
            dockerfile="Dockerfile" if self.settings.dockerfile else None,
            ask=partial(noted_test, self.folder, self.ask_tests) if self.ask_tests else None,
        )

    def toolchains(self) -> list[Toolchain]:
        """In the order in which a tree is shown to them."""
        from acr_cli.toolchains import BUILTIN
        from acr_cli.toolchains.several import Several

        every = [load("toolchains", name, BUILTIN)() for name in (*self.settings.toolchains, *BUILTIN)]
        typed = self.settings.origins.get("test", "").startswith("--")
        command = (self.settings.test or "") if typed else ""
        return [Several(every, where=self.where, text=self.text, command=command), *every]

    def sandbox(self) -> Sandbox:
        """Where the code of this run's tree is executed.

        Raises: SandboxUnavailable."""
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
            disk_bytes=self.settings.disk_limit,
            cpus=float(os.cpu_count() or 1),
            seconds=min(self.settings.test_timeout, self.settings.max_time),
        )

    def _approved(self, tree: RunTree, start: str, result: RunResult) -> RunResult:
        """The verified patch applied, if nothing is to be asked or the user wants it; else it is kept."""
        changes = changes_since(tree, start)
        with suppress(OSError):  # a disk that takes nothing is heard of when the patch is applied
            self.folder.keep_patch(result.patch)
        run_unasked = unasked(changes, allowed=self.settings.allow_path)
        if run_unasked:
            self.emit(Notice(level="warning", text=told(run_unasked)))
        if self.asks is not None and self.settings.approve != "auto":
            if not self.asks.patch(result.patch):
                keep_changes(self.folder.path, changes)
                return replace(result, hint=f"Not applied; `acr apply {result.run}` applies it.")
        elif run_unasked and not (self.ask_unasked and self.ask_unasked(run_unasked, result.patch)):
            with suppress(OSError):
                keep_changes(self.folder.path, changes)
            return held_back(result, run_unasked)
        return delivered(
            result,
            changes,
            folder=self.folder,
            repository=self.repository,
            emit=self.emit,
            commit=self.settings.commit,
            again=self.goes_on,
        )
