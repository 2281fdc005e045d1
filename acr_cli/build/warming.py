"""`acr warm`: past commits of a repository as tasks for the pool, the cheapest candidate first.

Each task is one run of the same loop as `acr fix`, in a copy that holds the state before the commit and the
commit's own tests, and nothing of its fix or of what came later. Every verified outcome is on disk before the
next attempt; its name says commit and candidate, so that a later call goes on where this one ended. Nothing
of the user's is written.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli import __version__
from acr_cli.build.fixing import kept, logged, obituary
from acr_cli.build.job import Job
from acr_cli.build.keeping import memory
from acr_cli.build.pooling import policy_of, run_budget, usable
from acr_cli.caf import Loop
from acr_cli.errors import (
    AcrError,
    BaselineCannotStart,
    BudgetExhausted,
    Interrupted,
    NoEligibleModel,
    ProviderError,
    SandboxUnavailable,
)
from acr_cli.events import (
    Emit,
    Event,
    Notice,
    Progress,
    Remembered,
    RunStarted,
)
from acr_cli.history.account import Account, reported
from acr_cli.history.cache import Examinations, alone, folder_of
from acr_cli.history.commits import Walk, walk
from acr_cli.history.examining import examine
from acr_cli.history.installed import environments, installed_copy
from acr_cli.history.laying import lay_task
from acr_cli.history.prospects import prospects
from acr_cli.history.records import (
    Commit,
    CommitSkipped,
    Examined,
    PastTask,
    Prospect,
    TaskEnded,
    TaskFound,
    TaskReport,
    WarmResult,
)
from acr_cli.history.standing_in import KnownFailures, KnownTargets, Ledger, outcome_id
from acr_cli.progress import NEEDS_MODEL
from acr_cli.protocols import Budget, Sandbox
from acr_cli.records import Baseline, Candidate, RunResult, Status, Step, SuiteReport, Task
from acr_cli.settings import Settings
from acr_cli.worktree.hardened_git import git
from acr_cli.worktree.repository import Repository, open_repository
from acr_cli.worktree.runs import RunFolder, new_run, sweep_runs
from acr_cli.worktree.tree import RunTree

if TYPE_CHECKING:
    from acr_cli.memory.store import Memory


def warm(settings: Settings, *, where: Path, commits: int, emit: Emit) -> WarmResult:
    """Take the tasks that the newest `commits` commits offer; with `settings.dry_run` only list them.

    `settings.max_cost` binds all of them together. Raises: AcrError before anything is looked at; afterwards
    every end is a result."""
    repository = open_repository(where)
    allow = (settings.model,) if settings.model else settings.allow
    settings = replace(settings, model=None, allow=allow, policy="escalate", commit=False, plan_only=False)
    pool = usable(settings, emit)
    settings = replace(settings, attempts=len(pool))
    for dead in sweep_runs(settings.home):
        emit(Notice(level="info", text=obituary(dead)))
    with alone(settings.home, repository.identity):
        folder, lock = new_run(settings.home, repository=repository.root, task="acr warm: past commits")
        try:
            return _Warming(settings, pool, repository, folder, emit).carry_out(commits)
        finally:
            folder.drop_copies()
            shutil.rmtree(folder.path, ignore_errors=True)
            lock.release()


class _Warming:
    """One call of `acr warm`."""

    def __init__(
        self,
        settings: Settings,
        pool: Sequence[Candidate],
        repository: Repository,
        folder: RunFolder,
        emit: Emit,
    ) -> None:
        self.settings = settings
        self.pool = pool
        self.repository = repository
        self.folder = folder
        self.emit = emit
        self.store: Memory = memory(settings)
        self.account = Account()
        self.job = Job(settings, pool, repository, folder, emit)
        self.backends = self.job.backends()
        self.observer = self.job.observer(folder.path, self.store)
        self.toolchains = self.job.toolchains()
        self.examinations = Examinations(folder_of(settings.home, repository.identity), _key(settings))
        self._sandbox: Sandbox | None = None
        self._warned = False

    def carry_out(self, commits: int) -> WarmResult:
        started = time.monotonic()
        status = "done"
        error: AcrError | None = None
        try:
            self._take_all(commits)
        except (KeyboardInterrupt, Interrupted):
            status, error = "interrupted", Interrupted("Interrupted; what was learnt until then is kept.")
        except BudgetExhausted as reached:
            status, error = "budget", reached
        except AcrError as failed:
            status, error = "error", failed
        return self.account.result(
            repository=self.repository.identity,
            dry_run=self.settings.dry_run,
            seconds=time.monotonic() - started,
            status=status,
            error=error,
        )

    def _take_all(self, commits: int) -> None:
        account = self.account
        walked = walk(self._git, commits)
        account.commits = len(walked.commits)
        if self.settings.sandbox == "none":
            text = "Without a sandbox nothing keeps a model from finding this repository, and each fix in it."
            self.emit(Notice(level="warning", text=text))
        if not self.settings.dry_run:
            self.job.warm_up()
        for past in self._tasks(walked):
            self._take(past)
        if not account.tasks and account.cannot_start:
            raise BaselineCannotStart(
                f"No past commit's tests can be run here: {account.cannot_start}.",
                hint="`acr fix` says what is missing today; --setup, --test, --image or --sandbox may help.",
            )
        if (
            not self.settings.dry_run
            and account.tasks
            and all(task.status == "no_candidate" for task in account.tasks)
        ):
            raise NoEligibleModel(
                "These tasks need a language model, and none may be used.", hint=NEEDS_MODEL
            )

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        root, directory = self.repository.root, self.repository.directory
        return git(*arguments, directory=directory, work_tree=root, stdin=stdin)

    # --- which commits are tasks ---

    def _tasks(self, walked: Walk) -> Iterator[PastTask]:
        from acr_cli.verifier.tampering import of_command

        test = self.settings.test
        found = prospects(
            self._git,
            walked,
            protected=lambda path: any(each.protected(path) for each in self.toolchains),
            command=of_command(test) if test else frozenset(),
            skip=self._skip,
        )
        for prospect in found:
            examined = self.examinations.get(prospect.commit.id)
            if examined is None:
                self.emit(Progress(text=f"examining {prospect.commit.short}: {prospect.commit.subject}"))
                examined = self._examine(prospect)
                self.examinations.keep(examined)
            if examined.reason:
                self._skip(prospect.commit, examined.reason)
            else:
                yield PastTask(prospect=prospect, examined=examined)

    def _skip(self, commit: Commit, reason: str) -> None:
        self.account.skip(reason)
        self.emit(CommitSkipped(commit=commit.id, subject=commit.subject, reason=reason))

    def _examine(self, prospect: Prospect) -> Examined:
        """Run the tests of a commit without it and with it, in a copy that is gone afterwards."""
        if self._sandbox is None:
            self._sandbox = self.job.sandbox()
        tests = frozenset(change.path for change in prospect.division.tests)
        try:
            tree = RunTree.copy(self.repository.root, (), self.folder.path)
            if reason := lay_task(self._git, prospect, tree):
                return Examined(commit=prospect.commit.id, reason=reason)
            return examine(prospect, tree, replace(self.job, tests=tests).verifier(self._sandbox))
        except OSError as error:
            raise _unwritable(self.folder.path, error) from error
        finally:
            self.folder.drop_copies()

    # --- one task ---

    def _take(self, past: PastTask) -> None:
        commit, account = past.prospect.commit, self.account
        step = _step(past)
        able = [each for each in self.pool if self.backends[each.backend].eligible(step)]
        known = self._known(commit)
        self.emit(
            TaskFound(
                number=len(account.tasks) + 1,
                commit=commit.id,
                subject=commit.subject,
                text=past.prospect.text,
                tests=past.examined.targets,
                tried=tuple(known),
            )
        )
        passed = next((name for name, verdict in known.items() if verdict == "passed"), "")
        left = [each for each in able if each.id not in known]
        report = TaskReport(
            commit=commit.id, subject=commit.subject, status="done", tests=past.examined.targets
        )
        if passed or (able and not left):
            reason = f"{passed} had passed" if passed else "all had failed"
            self._ended(replace(report, candidate=passed, reason=reason))
        elif not left:
            reason = "builtin/repair takes no such task, and there is no language model"
            self._ended(replace(report, status="no_candidate", reason=reason))
        elif self.settings.dry_run:
            self._ended(self._expect(report, past, step, able, tuple(known)))
        else:
            self._run(report, past, able, tuple(known))

    def _known(self, commit: Commit) -> dict[str, str]:
        """The verdicts on this commit that memory holds of candidates of the pool, the oldest first."""
        names = {outcome_id(self.repository.identity, commit.id, each.id): each.id for each in self.pool}
        outcomes = self.store.list(limit=len(names), ids=tuple(names))
        return {each.candidate: each.verdict for each in reversed(outcomes) if each.teaches}

    def _expect(
        self,
        report: TaskReport,
        past: PastTask,
        step: Step,
        able: Sequence[Candidate],
        failed: tuple[str, ...],
    ) -> TaskReport:
        """Who would be first, and what all attempts until one passes are expected to cost."""
        context = self.observer.observe(step, failed=failed, unavailable=())
        context = replace(context, size_tokens=context.size_tokens + past.examined.bytes // 4)
        choice = policy_of(self.settings).choose(context, able, None)
        if choice is None or not choice.ladder:
            return replace(report, status="no_candidate")
        known = all(each.cost_usd is not None for each in choice.forecasts)
        expected = choice.ladder[-1].cost_cumulative_usd if known else None
        return replace(report, status="listed", candidate=choice.candidate, expected_usd=expected)

    def _run(
        self, report: TaskReport, past: PastTask, able: Sequence[Candidate], failed: tuple[str, ...]
    ) -> None:
        commit, settings = past.prospect.commit, self.settings
        # A cap that is reached ends the call, and not only the task: see `_conclude`.
        budget = run_budget(settings, max_cost=max(0.0, settings.max_cost - self.account.spent))
        ledger = Ledger(self.store, commit=commit.id)
        what = f"acr warm: {commit.short} {commit.subject}"
        folder, lock = new_run(settings.home, repository=self.repository.root, task=what)
        emit = logged(self._hearing(ledger), folder)
        tests = frozenset(change.path for change in past.prospect.division.tests)
        job = Job(settings, able, self.repository, folder, emit, tests=tests)
        try:
            result = kept(folder, lock, emit, lambda: self._loop(job, past, failed, budget, ledger))
        except OSError as error:
            raise _unwritable(folder.path, error) from error
        finally:
            self.account.spent += budget.spent_usd
        self._conclude(reported(report, result), result, budget)

    def _loop(
        self, job: Job, past: PastTask, failed: tuple[str, ...], budget: Budget, ledger: Ledger
    ) -> RunResult:
        """The loop on the commit's parent with the commit's tests. What it wrote is for nobody's files."""
        job.emit(RunStarted(run=job.folder.id, repository=str(job.repository.root)))
        tree = RunTree.copy(job.repository.root, (), job.folder.path)
        if reason := lay_task(self._git, past.prospect, tree):
            raise BaselineCannotStart(f"The state before the commit cannot be laid out: it {reason}.")
        sandbox = job.sandbox()
        if sandbox.name != "docker":
            self._warn_of_copies(past)
        parts = job.parts(tree, sandbox, ledger)
        resting = self.account.resting()
        parts = replace(
            parts,
            verifier=KnownTargets(parts.verifier, past.examined.targets),
            observer=KnownFailures(parts.observer, failed=failed, resting=resting),
            budget=budget,
        )
        result = Loop(job.folder.id, parts).fix(Task(text=past.prospect.text))
        # Without a patch, neither `acr apply` nor `acr undo` takes the run for one of the present files.
        return replace(result, patch="", files=(), hint=result.hint if result.error_id else "")

    def _warn_of_copies(self, past: PastTask) -> None:
        sources = [change.path for change in past.prospect.division.sources]
        copy = installed_copy(environments(os.environ, self.repository.root), sources)
        if copy is not None and not self._warned:
            self._warned = True
            text = (
                f"{copy} is a copy of this repository's code, in which a model may find the fix of a commit."
            )
            self.emit(Notice(level="warning", text=f"{text} Installed as editable there is none."))

    def _hearing(self, ledger: Ledger) -> Emit:
        """The events of a run, counted; an outcome under the name that memory knows it by."""

        def hear(event: Event) -> None:
            self.account.hear(event)
            if isinstance(event, Remembered):
                event = replace(event, outcome=ledger.names.get(event.outcome, event.outcome))
            self.emit(event)

        return hear

    def _conclude(self, report: TaskReport, result: RunResult, budget: Budget) -> None:
        """Note how a task ended. Raises: what ends the whole call."""
        self._ended(report)
        if result.status is Status.INTERRUPTED:
            raise Interrupted(result.summary)
        if result.status is Status.BUDGET and budget.remaining_seconds > 0:
            hint = "What is done stays done: call it again with a further --max-cost."
            raise BudgetExhausted(result.summary, hint=hint)
        if result.exit_code == ProviderError.exit_code:
            raise ProviderError(
                result.summary, hint="`acr models test` tries each model; then call it again."
            )
        if result.error_id in {"no-sandbox", "sandbox-broken"}:
            raise SandboxUnavailable(result.summary, hint=result.hint)

    def _ended(self, report: TaskReport) -> None:
        self.account.tasks.append(report)
        self.emit(TaskEnded(task=report))


def _step(past: PastTask) -> Step:
    """The step that a run of this task will begin with. Pure."""
    from acr_cli.agent.planning import RepositoryPlanner

    examined = past.examined
    baseline = Baseline(
        report=SuiteReport(cases=examined.failures),
        targets=examined.targets,
        test_command=examined.test_command,
        language=examined.language,
    )
    return RepositoryPlanner().outline(Task(text=past.prospect.text), baseline)[0]


def _key(settings: Settings) -> str:
    """All that decides how the tests run, beside the commit. Pure."""
    names = ("test", "setup", "sandbox", "image", "dockerfile", "network", "memory_limit", "pids")
    values = [getattr(settings, name) for name in (*names, "disk_limit", "test_timeout", "toolchains")]
    return json.dumps([__version__, *values])


def _unwritable(folder: Path, error: OSError) -> SandboxUnavailable:
    why = (error.strerror or str(error)).lower()
    return SandboxUnavailable(
        f"The state of a past commit cannot be written to {folder}: {why}.",
        hint="Free space, or move ~/.acr with ACR_HOME.",
    )
