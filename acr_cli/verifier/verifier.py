"""Runs the repository's tests before and after a change, each time in a fresh copy inside the sandbox.

How the tests are run is settled once, at the baseline: a change can alter neither the command nor what was
installed. What an attempt did to tests or their configuration is undone in the tree before anything runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from pathlib import PurePosixPath

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.events import Emit, Notice, Progress
from acr_cli.protocols import (
    Limits,
    ReachesFurther,
    Recipe,
    Sandbox,
    TestPlan,
    Toolchain,
    Tree,
)
from acr_cli.records import (
    Attempt,
    Baseline,
    CaseResult,
    Evidence,
    Failed,
    Step,
    StepKind,
    SuiteReport,
    Task,
    Unverified,
    Verdict,
    Void,
)
from acr_cli.verifier import joining, judge, own_tests, rehearsing, starting, syntax, tampering, targets
from acr_cli.verifier.judge import NAMED
from acr_cli.verifier.measuring import Measuring
from acr_cli.verifier.rehearsing import Rehearsal
from acr_cli.verifier.repeating import Repeats
from acr_cli.verifier.running import SCRATCH, Copy, Runner, random_token


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settled:
    """What the baseline settled for the rest of the run."""

    toolchain: Toolchain | None
    plan: TestPlan | None
    own: frozenset[str]  # files that the test command consists of, and those named as tests
    start: str  # checkpoint of the tree before any edit
    command: str | None  # the user's own
    task: str  # its text
    log: str  # its log


class Verifier:
    """F, first form: tests in a sandbox, JUnit reports, one score u. Implements `protocols.Verifier`."""

    def __init__(
        self,
        *,
        toolchains: Sequence[Toolchain],
        sandbox: Sandbox,
        emit: Emit,
        test: str | None = None,
        setup: str | None = None,
        limits: Limits | None = None,
        repository: str = "",
        image: str | None = None,
        dockerfile: str | None = None,
        tests: Collection[str] = (),
        seconds: float = inf,
        token: Callable[[], str] = random_token,
        clock: Callable[[], float] = time.monotonic,
        ask: Callable[[], str] | None = None,
    ) -> None:
        """`test`: the user's test command; `setup`: the user's install command; `repository`: its identity;
        `image`, `dockerfile`: what the user chose instead of the default image;
        `tests`: files that no attempt may change, besides those that the toolchain names;
        `seconds`: for all runs of one verification together;
        `token`: random letters and digits, for names that no code under test can know;
        `ask`: asks a person for the test command, "" for none, where no tests are found."""
        self._toolchains = tuple(toolchains)
        self._sandbox = sandbox
        self._emit = emit
        self._test = test
        self._setup = setup
        self._limits = limits or Limits()
        self._repository = repository
        self._image = image
        self._dockerfile = dockerfile
        self._tests = frozenset(tests)
        self._seconds = seconds
        self._clock = clock
        self._runner = Runner(sandbox=sandbox, limits=self._limits, token=token)
        self._ask = ask
        self._settled: _Settled | None = None
        self._before_all: Baseline | None = None  # as measured, or taken up
        self._rehearsal: Rehearsal | None = None  # of the attempt that is being made
        self._further: tuple[CaseResult, ...] = ()  # before any change, of projects that a change has reached

    def beside(self, sandbox: Sandbox, emit: Emit) -> Verifier:
        """The same, as far as it is settled, for an attempt beside others."""
        twin = copy(self)
        runner = replace(self._runner, sandbox=sandbox)
        twin._sandbox, twin._emit, twin._runner = sandbox, emit, runner  # noqa: SLF001  its own kind
        return twin

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        """All tests on the tree as it is, and which of the failing ones are to be fixed.

        Raises: BaselineCannotStart, SandboxUnavailable, UsageError (no tests and nothing else to go by)."""
        toolchain, plan = self._settle(task, tree)
        if toolchain is None or plan is None:
            language = toolchain.language if toolchain else ""
            return Baseline(report=SuiteReport(), language=language, reason="no tests were found")
        self._emit(Progress(text=f"running the tests: {plan.command} ({plan.reason})"))
        with self._runner.copy(tree) as copy:
            report = self._first_run(copy, toolchain, plan)
            starting.refuse_unstarted(plan, report, self._limits.seconds)
            chosen = targets.choose(task, report.cases)
            starting.refuse_impossible(task, report, chosen.ids)
            flaky = self._repeats(toolchain, plan).of_targets(copy, report, chosen.ids)
        for why in report.left_out:
            self._emit(Notice(level="warning", text=f"Left out, for its tests cannot start: {why}."))
        for text in starting.felt(report) if self._sandbox.name != "none" else ():
            self._emit(Notice(level="warning", text=text))
        if chosen.note:
            self._emit(Notice(level="info", text=chosen.note))
        if flaky:
            self._tell_flaky(flaky)
        self._before_all = Baseline(
            report=report,
            targets=tuple(test for test in chosen.ids if test not in flaky),
            flaky=flaky,
            test_command=plan.command,
            reason=plan.reason,
            language=toolchain.language,
        )
        return self._before_all

    def take_up(self, task: Task, tree: Tree, baseline: Baseline) -> bool:
        """See `protocols.Verifier.take_up`."""
        _, plan = self._settle(task, tree)
        self._before_all = baseline
        if not baseline.report.canaries:
            self._runner = replace(self._runner, guards=False)
        return (plan.command if plan else "") == baseline.test_command

    def _settle(self, task: Task, tree: Tree) -> tuple[Toolchain | None, TestPlan | None]:
        """How the tests are run from now on, in a sandbox that is prepared for them.

        Raises: SandboxUnavailable, UsageError (no tests and nothing else to go by)."""
        command = task.test_command or self._test
        toolchain, recipe, plan = self._select(tree, command)
        if plan is None and not command and self._ask is not None:
            self._emit(Notice(level="info", text="No tests were found."))
            command = self._test = self._ask() or None
            toolchain, recipe, plan = self._select(tree, command) if command else (toolchain, recipe, None)
        own = self._tests | (tampering.of_command(command) if command else frozenset())
        self._settled = _Settled(
            toolchain=toolchain,
            plan=plan,
            own=own,
            start=tree.checkpoint(),
            command=command,
            task=task.text,
            log=task.log,
        )
        if plan is None and not task.is_wish:
            raise UsageError(
                "No tests were found, and no TASK says what to change.",
                hint="Name the test command with --test CMD, or say what you want as TASK.",
            )
        if recipe is not None:
            self._prepare(recipe, tree, needed=plan is not None)
        return toolchain, plan

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        """The verdict on the tree as the attempt left it, compared with the checkpoint `since`.

        `baseline` of this object has been called before. Raises: SandboxUnavailable."""
        if self._settled is None:
            raise RuntimeError("baseline() settles how the tests are run; it comes before check()")
        rehearsal, self._rehearsal = self._rehearsal, None
        if attempt.void:
            return Void(reason=attempt.void)
        toolchain, plan = self._settled.toolchain, self._settled.plan
        if step.kind is StepKind.TEST:
            return self._check_tests(self._settled, step, baseline, tree, since)
        wanted = self._asked_for(baseline, tree, since)
        undone = tampering.undo(
            tree, since, lambda p: p not in wanted and self._protected(p), new_tests=False
        )
        undone += tampering.undo_inline(tree, since, toolchain)
        touched = tree.changed(since)
        if not touched:
            return _nothing_changed(step, baseline, undone)
        parses, first = syntax.check(tree, self._toolchains, touched)
        if first:
            return judge.rejected(first, baseline, undone, syntax=parses)
        patch = tree.diff(since)
        if toolchain is None or plan is None:
            return judge.without_tests(patch, undone)
        plan, baseline = self._reach(plan, baseline, touched, tree)
        self._emit(Progress(text=f"verifying: {plan.command}"))
        measuring = Measuring(
            repeats=self._repeats(toolchain, plan),
            baseline=baseline,
            tree=tree,
            start=self._settled.start,
            touched=touched,
            patch=patch,
            words=f"{step.text}\n{self._settled.task}\n{self._settled.log}",
            protected=self._protected,
            rehearsed=rehearsal.of(plan, baseline, tree.checkpoint()) if rehearsal else None,
        )
        found = measuring.measure()
        if found.beside.flaky:
            self._tell_flaky(found.beside.flaky)
        notes = (*found.beside.notes, *(f"{path} was changed, as the task asks for it." for path in wanted))
        return judge.judge(
            found.baseline,
            found.report,
            patch=patch,
            alternatives=attempt.alternatives,
            undone=undone,
            beside=replace(found.beside, notes=notes),
        )

    def rehearse(self, step: Step, tree: Tree, seconds: float) -> str | None:
        """The first run of the verdict now, within these seconds: what the step's failing tests say, "" where
        they pass. None where the first one of this attempt was asked for already, where all tests would take
        much longer than these, and where it cannot be told.

        Raises: SandboxBroken."""
        settled, before = self._settled, self._before_all
        toolchain, plan = (settled.toolchain, settled.plan) if settled else (None, None)
        ids = [case.id for case in step.failures]
        if toolchain is None or plan is None or before is None or self._rehearsal is not None:
            return None
        if not rehearsing.worth_it(before, ids):
            return None
        now, limit = tree.checkpoint(), min(seconds, self._seconds)
        with self._runner.copy(tree) as copy:
            report = copy.run(toolchain, plan, guard=True, seconds=limit, again=before.targets)
        self._rehearsal = Rehearsal(plan=plan, targets=before.targets, tree=now, report=report)
        return rehearsing.said(report, ids)

    def _reach(
        self, plan: TestPlan, baseline: Baseline, touched: Sequence[str], tree: Tree
    ) -> tuple[TestPlan, Baseline]:
        """Both with the projects that the change reaches and the baseline has not: these are measured now, on
        the tree before any edit."""
        settled = self._settled
        toolchain: object = settled.toolchain if settled else None
        if not isinstance(toolchain, ReachesFurther) or settled is None or settled.toolchain is None:
            return plan, baseline
        reached = toolchain.reached(tree.root, touched, scratch=SCRATCH)
        if reached is not None:
            recipe, more = reached
            report = self._before(settled.toolchain, recipe, more, tree, settled.start)
            if report is not None:
                self._further += report.cases
                plan = joining.added(plan, more)
                self._settled = replace(settled, plan=plan)
        cases = (*baseline.report.cases, *self._further)
        return plan, replace(baseline, report=replace(baseline.report, cases=cases))

    def _before(
        self, toolchain: Toolchain, recipe: Recipe, plan: TestPlan, tree: Tree, start: str
    ) -> SuiteReport | None:
        """How these tests were before any edit; None, and a word to the user, where they cannot be run."""
        self._emit(Progress(text=f"the change reaches further tests: {plan.command} ({plan.reason})"))
        now = tree.checkpoint()
        tree.restore(start)
        try:
            self._sandbox.prepare(self._with_choices(recipe), tree.root)
            report = self._run(toolchain, plan, tree)
            why = "they did not end in time" if report.timed_out else report.fault
        except SandboxUnavailable as error:
            report, why = SuiteReport(), error.message
        finally:
            tree.restore(now)
        if why:
            text = f"The change reaches tests that cannot be run, and is not judged by them: {why}"
            self._emit(Notice(level="warning", text=text))
        return None if why else report

    def _check_tests(
        self, settled: _Settled, step: Step, baseline: Baseline, tree: Tree, since: str
    ) -> Verdict:
        """The verdict on what a test step wrote: it must fail on the tree before any edit."""
        toolchain, plan = settled.toolchain, settled.plan
        if toolchain is None or plan is None:
            return own_tests.no_test("Nothing here can run a test.", ())
        tests, undone = own_tests.keep_new_tests(tree, since, self._protected, toolchain.extensions)
        if not tests:
            return own_tests.none_written(undone)
        _, wrong = syntax.check(tree, self._toolchains, tests)
        if wrong:
            return own_tests.no_test(wrong, undone)
        self._emit(Progress(text=f"running the new test on the code before the change: {plan.command}"))
        parts = {part for path in tree.files() for part in PurePosixPath(path).with_suffix("").parts}
        now = own_tests.started_tree(tree, settled.start, (*tests, *_files(baseline, baseline.own)))
        try:
            before = self._run(toolchain, plan, tree)
        finally:
            if now is not None:
                tree.restore(now)
        after = self._run(toolchain, plan, tree) if now is not None else None
        return own_tests.judge_tests(
            baseline,
            before,
            after,
            tests=tests,
            undone=undone,
            known=lambda name: name in parts or name in step.text,
        )

    def _select(
        self, tree: Tree, command: str | None
    ) -> tuple[Toolchain | None, Recipe | None, TestPlan | None]:
        """The first toolchain with tests at the root, else with some below, else the one of most files."""
        known: tuple[Toolchain, Recipe] | None = None
        below: tuple[Toolchain, Recipe, TestPlan] | None = None
        files, largest = tree.files(), -1
        for toolchain in self._toolchains:
            recipe = toolchain.recipe(tree.root, setup=self._setup)
            if recipe is None:
                continue
            recipe = self._with_choices(recipe)
            plan = toolchain.plan(tree.root, command=command, tests=(), scratch=SCRATCH)
            if plan is not None and not plan.below_root:
                # `command` knows every tree, and gives way to whoever has found something.
                return (toolchain, recipe, plan) if below is None or toolchain.language else below
            if plan is not None and below is None:
                below = (toolchain, recipe, plan)
            size = sum(path.endswith(toolchain.extensions or ("\0",)) for path in files)
            if size > largest and toolchain.language:
                known, largest = (toolchain, recipe), size
        if below is not None:
            return below
        return (*known, None) if known else (None, None, None)

    def _with_choices(self, recipe: Recipe) -> Recipe:
        return replace(recipe, repository=self._repository, image=self._image, dockerfile=self._dockerfile)

    def _prepare(self, recipe: Recipe, tree: Tree, *, needed: bool) -> None:
        """Without tests nothing has to be run, so that a sandbox that cannot be made is only said.

        Raises: SandboxUnavailable where there are tests."""
        self._emit(Progress(text="preparing the sandbox"))
        try:
            self._sandbox.prepare(recipe, tree.root)
        except SandboxUnavailable as error:
            if needed:
                raise
            self._emit(Notice(level="warning", text=f"Nothing can be run here: {error.message}"))

    def _run(self, toolchain: Toolchain, plan: TestPlan, tree: Tree) -> SuiteReport:
        """Raises: SandboxBroken."""
        return self._runner.once(toolchain, plan, tree)

    def _first_run(self, copy: Copy, toolchain: Toolchain, plan: TestPlan) -> SuiteReport:
        """All tests before any change; without a canary from now on, where they cannot start with one."""
        report = copy.run(toolchain, plan, guard=True)
        if report.fault and not report.timed_out and not any(case.failed for case in report.canaries):
            plain = self._runner.once(toolchain, plan, copy.tree, guard=False)
            if not plain.fault:
                self._runner = replace(self._runner, guards=False)
                self._emit(Notice(level="info", text=starting.NO_CANARY))
                return plain
        if report.partial:
            self._emit(Notice(level="warning", text=starting.partial(report, self._limits.seconds)))
        return report

    def _repeats(self, toolchain: Toolchain, plan: TestPlan) -> Repeats:
        return Repeats(
            runner=self._runner,
            toolchain=toolchain,
            plan=plan,
            command=self._settled.command if self._settled else None,
            clock=self._clock,
            end=self._clock() + self._seconds,
        )

    def _tell_flaky(self, flaky: Sequence[str]) -> None:
        names = ", ".join(flaky[:NAMED]) + (f" and {len(flaky) - NAMED} more" if len(flaky) > NAMED else "")
        verb = "passes and fails" if len(flaky) == 1 else "pass and fail"
        text = f"{names} {verb} without any change: flaky, so that this counts neither way."
        self._emit(Notice(level="warning", text=text))

    def _protected(self, path: str) -> bool:
        settled = self._settled
        if settled is None:
            return False
        by_language = settled.toolchain.protected(path) if settled.toolchain else False
        return by_language or path in settled.own

    def _asked_for(self, baseline: Baseline, tree: Tree, since: str) -> tuple[str, ...]:
        """The changed protected files that the user's task is about; none that holds a target."""
        settled = self._settled
        if settled is None or not settled.task:
            return ()
        held = {case.file for case in baseline.failures()} | settled.own
        return tuple(
            path
            for path in tree.changed(since)
            if path not in held and self._protected(path) and tampering.asked_for(settled.task, path)
        )


def _files(baseline: Baseline, ids: Collection[str]) -> tuple[str, ...]:
    return tuple({case.file: None for case in baseline.report.cases if case.id in set(ids) and case.file})


def _nothing_changed(step: Step, baseline: Baseline, undone: tuple[str, ...]) -> Failed | Unverified:
    if step.kind in (StepKind.PLAN, StepKind.REVIEW):
        reason = f"A {step.kind.value} step has nothing that could be executed."
        return Unverified(evidence=Evidence(u=0.0, undone=undone, reason=reason, verifier="none"))
    reason = "No change was made."
    if undone:
        reason = (
            f"No change was made but to tests or their configuration, which was undone: {', '.join(undone)}."
        )
    return judge.rejected(reason, baseline, undone)
