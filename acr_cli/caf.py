"""The loop on one page: context, action, feedback, memory; and the next candidate after a verified failure.

A step starts from a checkpoint of the run's tree. A failed attempt is undone and leaves a lesson for the next
candidate; a void one (provider down, sandbox gone) is undone, does not count as an attempt and rests the
candidate for this run; a verified one ends the step. Method: Agent-as-a-Router (arXiv 2606.22902).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from acr_cli import __version__
from acr_cli.errors import AcrError, BudgetExhausted, NoEligibleModel, ProviderError, StoreError
from acr_cli.events import (
    AttemptFinished,
    BaselineMeasured,
    ChoiceMade,
    Emit,
    Notice,
    PlanMade,
    Remembered,
    StepStarted,
    VerdictReached,
)
from acr_cli.protocols import Backend, Budget, Observer, Planner, Policy, Sandbox, Store, Tree, Verifier
from acr_cli.records import (
    EXIT_CODES,
    VERDICT_NAMES,
    Attempt,
    Baseline,
    Candidate,
    Choice,
    Context,
    Evidence,
    Failed,
    Lesson,
    Outcome,
    Passed,
    Receipt,
    RunResult,
    Status,
    Step,
    StepKind,
    StepReport,
    Task,
    Unverified,
    Usage,
    Verdict,
    Void,
)

NEEDS_MODEL = (
    "Run `acr config init`, or add a model with `acr models add`; a local Ollama works without a key."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything the loop is wired from; see `build`."""

    tree: Tree
    sandbox: Sandbox
    planner: Planner
    observer: Observer
    policy: Policy
    candidates: Sequence[Candidate]
    backends: Mapping[str, Backend]
    verifier: Verifier
    store: Store
    budget: Budget
    explain: Callable[[Evidence], str]  # what the next candidate is told of a failure
    emit: Emit
    rng: Random
    clock: Callable[[], float]  # Unix time
    attempts: int = 3  # for each step
    plan_only: bool = False


@dataclass(kw_only=True, slots=True)
class Progress:
    """What a run has come to so far; the receipt is made of it."""

    usage: Usage = field(default_factory=Usage)
    steps: list[StepReport] = field(default_factory=list)
    strongest: str = ""
    strongest_usd: float | None = None
    best: Attempt | None = None  # the failed attempt with the highest u, kept for the user
    evidence: Evidence | None = None
    shared: list[Outcome] = field(default_factory=list)  # plan and review steps, until the run's end is known
    verdicts: list[Verdict] = field(default_factory=list)  # the last of each step
    faults: list[str] = field(default_factory=list)  # reasons of void attempts


class Loop:
    """One run."""

    def __init__(self, run: str, parts: Parts) -> None:
        self.run = run
        self.parts = parts
        self.progress = Progress()
        self.started = parts.clock()

    def fix(self, task: Task) -> RunResult:
        """Carry the task out in the run's tree. Every end is a result; nothing of the user's is touched here."""
        start = self.parts.tree.checkpoint()
        try:
            baseline = self.parts.verifier.baseline(task, self.parts.tree)
            self.parts.emit(BaselineMeasured(baseline=baseline))
            if not task.is_wish and not baseline.targets:
                return self._result(Status.NOTHING_TO_FIX, "All tests pass: there is nothing to fix.")
            self._take_all(self.parts.planner.outline(task, baseline), baseline)
            result = self._conclude(start)
        except BudgetExhausted as error:
            result = self._stopped(Status.BUDGET, error)
        except KeyboardInterrupt:
            result = self._result(Status.INTERRUPTED, "Interrupted; your files are as they were.")
        except AcrError as error:
            result = self._stopped(Status.ERROR, error)
        self._share_credit(result.status)
        return result

    def _take_all(self, outline: Sequence[Step], baseline: Baseline) -> None:
        self.parts.emit(PlanMade(steps=tuple(outline)))
        queue = deque(outline)
        while queue:
            step = queue.popleft()
            self.parts.budget.count_step()
            proposed = self._take(step, baseline)
            if proposed:
                self.parts.emit(PlanMade(steps=proposed))
            if not self.parts.plan_only:
                queue.extendleft(reversed(proposed))
            if isinstance(self.progress.verdicts[-1], Failed | Void):
                return

    def _take(self, step: Step, baseline: Baseline) -> tuple[Step, ...]:
        """One step, from candidate to candidate; the steps that it proposes, if it is a plan."""
        parts = self.parts
        parts.emit(StepStarted(step=step))
        eligible = [c for c in parts.candidates if parts.backends[c.backend].eligible(step)]
        if not eligible:
            raise NoEligibleModel("This task needs a language model, and none may be used.", hint=NEEDS_MODEL)
        failed: list[str] = []
        void: list[str] = []
        start = parts.tree.checkpoint()
        verdict: Verdict = Void(reason="no candidate was left to try")
        choice: Choice | None = None
        spent = parts.budget.spent_usd
        while len(failed) < parts.attempts:
            parts.budget.check()
            context = parts.observer.observe(step, failed=failed, unavailable=void)
            following = parts.policy.choose(context, eligible, parts.rng)
            if following is None:
                break
            choice = following
            self._estimate_strongest(choice, eligible, first=not failed and not void)
            parts.emit(ChoiceMade(step=step.id, attempt=len(failed) + 1, choice=choice))
            candidate = next(c for c in eligible if c.id == choice.candidate)
            attempt, verdict = self._attempt(step, candidate, baseline, start)
            self._remember(context, choice, candidate, eligible, step, attempt, verdict, len(failed) + 1)
            match verdict:
                case Passed() | Unverified():
                    self._report(step, choice, len(failed) + 1, verdict, spent)
                    return attempt.steps
                case Failed(evidence=evidence):
                    failed.append(candidate.id)
                    self._keep_best(attempt, evidence)
                    lesson = Lesson(
                        candidate=candidate.id, patch=attempt.patch, reason=parts.explain(evidence)
                    )
                    step = replace(step, lessons=(*step.lessons, lesson))
                case Void(reason=reason):
                    void.append(candidate.id)
                    self.progress.faults.append(f"{candidate.id}: {reason}")
            parts.tree.restore(start)
        # Failures are evidence, a void that came after them is not.
        last: Verdict = (
            Failed(evidence=self.progress.evidence) if failed and self.progress.evidence else verdict
        )
        self._report(step, choice, len(failed), last, spent)
        return ()

    def _attempt(
        self, step: Step, candidate: Candidate, baseline: Baseline, start: str
    ) -> tuple[Attempt, Verdict]:
        parts = self.parts
        backend = parts.backends[candidate.backend]
        attempt = backend.attempt(step, candidate, parts.tree, parts.sandbox, parts.budget)
        self.progress.usage += attempt.usage
        parts.emit(AttemptFinished(step=step.id, attempt=attempt))
        verdict: Verdict
        if attempt.void:
            verdict = Void(reason=attempt.void)
        elif step.kind is StepKind.PLAN:
            verdict = Unverified(evidence=Evidence(u=0.0, reason="a plan has no executable evidence"))
        else:
            verdict = parts.verifier.check(step, baseline, attempt, parts.tree, start)
            # The verifier undoes edits to tests: the patch that counts is what is left.
            attempt = replace(attempt, patch=parts.tree.diff(start), files=parts.tree.changed(start))
        parts.emit(VerdictReached(step=step.id, candidate=candidate.id, verdict=verdict))
        return attempt, verdict

    def _remember(
        self,
        context: Context,
        choice: Choice,
        candidate: Candidate,
        eligible: Sequence[Candidate],
        step: Step,
        attempt: Attempt,
        verdict: Verdict,
        number: int,
    ) -> None:
        if isinstance(verdict, Void):
            return
        evidence = verdict.evidence
        outcome = Outcome(
            id=f"{self.run}.{step.id}.{number}",
            run=self.run,
            step=step.id,
            attempt=number,
            time=self.parts.clock(),
            text=context.text,
            vector=context.vector,
            embedder=context.embedder,
            kind=step.kind.value,
            dimension=step.dimension.value,
            language=step.language,
            repository=context.repository,
            candidate=candidate.id,
            family=candidate.family,
            price=candidate.price,
            available=tuple(c.id for c in eligible if c.id not in context.unavailable),
            failed_before=context.failed,
            policy=choice.policy,
            propensity=choice.propensity,
            verdict=VERDICT_NAMES[type(verdict)],
            verifier=evidence.verifier,
            u=evidence.u,
            signals=evidence.signals,
            cost_usd=attempt.cost_usd,
            usage=attempt.usage,
            seconds=attempt.seconds,
            shared_credit=step.kind in (StepKind.PLAN, StepKind.REVIEW),
            acr_version=__version__,
        )
        if outcome.shared_credit:
            self.progress.shared.append(outcome)
        else:
            self._keep(outcome)

    def _keep(self, outcome: Outcome) -> None:
        try:
            self.parts.store.remember(outcome)
        except StoreError as error:
            self.parts.emit(Notice(level="warning", text=f"This outcome was not remembered: {error.message}"))
        else:
            self.parts.emit(Remembered(outcome=outcome.id))

    def _share_credit(self, status: Status) -> None:
        verdict = {Status.FIXED: "passed", Status.NOT_FIXED: "failed"}.get(status, "unverified")
        for outcome in self.progress.shared:
            self._keep(replace(outcome, verdict=verdict))
        self.progress.shared.clear()

    def _keep_best(self, attempt: Attempt, evidence: Evidence) -> None:
        if attempt.patch and (self.progress.evidence is None or evidence.u > self.progress.evidence.u):
            self.progress.best = attempt
            self.progress.evidence = evidence
        elif self.progress.evidence is None:
            self.progress.evidence = evidence

    def _report(
        self, step: Step, choice: Choice | None, attempts: int, verdict: Verdict, spent_before: float
    ) -> None:
        evidence = None if isinstance(verdict, Void) else verdict.evidence
        self.progress.verdicts.append(verdict)
        if isinstance(verdict, Passed | Unverified):
            self.progress.evidence = evidence
        self.progress.steps.append(
            StepReport(
                kind=step.kind,
                dimension=step.dimension,
                model=choice.candidate if choice else "",
                reason=choice.reason if choice else "",
                attempts=attempts,
                u=evidence.u if evidence and step.kind is not StepKind.PLAN else None,
                cost_usd=self.parts.budget.spent_usd - spent_before,
            )
        )

    def _estimate_strongest(self, choice: Choice, eligible: Sequence[Candidate], *, first: bool) -> None:
        """Before a step's first attempt: what the most able candidate alone is expected to cost for it."""
        models = {c.id for c in eligible if c.model}
        priced = [f for f in choice.forecasts if f.candidate in models and f.cost_usd is not None]
        if not first or not priced:
            return
        strongest = max(priced, key=lambda f: (f.p_success, f.cost_usd or 0.0))
        self.progress.strongest = strongest.candidate
        self.progress.strongest_usd = (self.progress.strongest_usd or 0.0) + (strongest.cost_usd or 0.0)

    def _conclude(self, start: str) -> RunResult:
        last = self.progress.verdicts[-1]
        patch, files = self.parts.tree.diff(start), self.parts.tree.changed(start)
        match last:
            case Passed():
                return self._result(Status.FIXED, last.evidence.reason, patch, files)
            case Unverified() if self.parts.plan_only:
                return self._result(Status.NOTHING_TO_FIX, "This is the plan; nothing was changed.")
            case Unverified():
                return self._result(
                    Status.CHANGED_UNVERIFIED,
                    f"A patch was made but not verified: {last.evidence.reason}",
                    patch,
                    files,
                    hint=f"Look at it and take it with `acr apply {self.run}`.",
                )
            case Failed():
                return self._not_fixed(last)
            case Void():
                raise ProviderError(
                    f"No candidate could finish: {'; '.join(self.progress.faults) or last.reason}.",
                    hint="See `acr models test`; the run is kept.",
                )

    def _not_fixed(self, verdict: Failed) -> RunResult:
        best = self.progress.best
        if not any(c.model for c in self.parts.candidates):
            hint = f"A language model can do more. {NEEDS_MODEL}"
        elif best:
            hint = f"The best attempt is kept: `acr apply {self.run}` shows it."
        else:
            hint = "Raise --attempts or --max-cost, or add a stronger model."
        return self._result(
            Status.NOT_FIXED,
            f"Not fixed: {verdict.evidence.reason}",
            best.patch if best else "",
            best.files if best else (),
            hint=hint,
        )

    def _stopped(self, status: Status, error: AcrError) -> RunResult:
        best = self.progress.best
        result = self._result(
            status, error.message, best.patch if best else "", best.files if best else (), hint=error.hint
        )
        return replace(result, exit_code=error.exit_code, error_id=error.id)

    def _result(
        self, status: Status, summary: str, patch: str = "", files: tuple[str, ...] = (), hint: str = ""
    ) -> RunResult:
        progress = self.progress
        return RunResult(
            run=self.run,
            status=status,
            exit_code=EXIT_CODES.get(status, 1),
            receipt=Receipt(
                paid_usd=self.parts.budget.spent_usd,
                strongest=progress.strongest,
                strongest_usd=progress.strongest_usd,
                usage=progress.usage,
                seconds=self.parts.clock() - self.started,
            ),
            patch=patch,
            files=files,
            evidence=progress.evidence,
            steps=tuple(progress.steps),
            summary=summary,
            hint=hint,
        )
