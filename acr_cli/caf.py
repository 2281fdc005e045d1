"""The loop on one page: context, action, feedback, memory; and the next candidate after a verified failure.

A step starts from a checkpoint of the run's tree. A failed attempt is undone and leaves a lesson for the next
candidate; a void one (provider down) is undone, does not count as an attempt and rests the candidate for this
run; a verified one ends the step. A sandbox that is gone ends the run: nobody else would get any further.
Method: Agent-as-a-Router (arXiv 2606.22902).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from acr_cli.abreast import Beside, Place, side_by_side
from acr_cli.course import Bid, Course, advice, aimed, attempts_at, findings, informed, outcome_of, replanned
from acr_cli.errors import (
    AcrError,
    BudgetExhausted,
    Interrupted,
    NoEligibleModel,
    SandboxUnavailable,
    StoreError,
)
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
from acr_cli.progress import NEEDS_MODEL, Checkpoint, Progress, Trial
from acr_cli.protocols import (
    Backend,
    Budget,
    Judge,
    Observer,
    Planner,
    Policy,
    Sandbox,
    ServesLanguages,
    Store,
    Tree,
    Verifier,
)
from acr_cli.records import (
    Attempt,
    Baseline,
    Candidate,
    Choice,
    Evidence,
    Failed,
    Lesson,
    Outcome,
    Passed,
    RunResult,
    Status,
    Step,
    StepKind,
    Task,
    Unverified,
    Verdict,
    Void,
)

NOT_WORTH_IT = "No other candidate is worth its price here; value_of_success says what a fix is worth."

CACHED_SECONDS = 300.0
"""For so long a provider keeps the beginning of a prompt at hand, at least."""


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
    judge: Judge | None = None  # None: nobody is asked for an opinion
    parallel: int = 1  # attempts at a step that are made side by side
    beside: Beside | None = None  # where each of them is made
    approve: Callable[[tuple[Step, ...]], tuple[Step, ...]] = lambda steps: steps  # what is left of a plan
    keep: Callable[[Checkpoint], None] = lambda _: None  # durably, so that a killed run can go on
    resumed: Checkpoint | None = None  # where to go on


class Loop:
    """One run."""

    def __init__(self, run: str, parts: Parts) -> None:
        self.run = run
        self.parts = parts
        self.progress = Progress(
            run=run,
            budget=parts.budget,
            clock=parts.clock,
            started=parts.clock(),
            has_models=any(c.model for c in parts.candidates),
        )
        self.start = ""  # checkpoint of the tree
        self.place = Place(
            tree=parts.tree,
            sandbox=parts.sandbox,
            verifier=parts.verifier,
            backends=parts.backends,
            budget=parts.budget,
            emit=parts.emit,
        )
        self.choice: Choice | None = None  # the last one
        self.answered: dict[str, float] = {}  # when a candidate's model was last called
        self.shared: list[Outcome] = []  # steps whose worth is not known before the run's end
        self.plan: Step | None = None  # what a new plan may be made from, once

    def fix(self, task: Task) -> RunResult:
        """Carry the task out in the run's tree. Every end is a result; nothing of the user's is touched."""
        try:
            result = self._carry_out(task)
        except (KeyboardInterrupt, Interrupted):
            result = self.progress.result(Status.INTERRUPTED, "Interrupted; your files are as they were.")
        except BudgetExhausted as error:
            result = self.progress.stopped(Status.BUDGET, error)
        except AcrError as error:
            result = self.progress.stopped(Status.ERROR, error)
        self._share_credit(result.status)
        return result

    def _carry_out(self, task: Task) -> RunResult:
        parts = self.parts
        self.start = parts.tree.checkpoint()
        if parts.resumed is not None:
            self.progress.take_up(parts.resumed)
            self.shared, self.plan = list(parts.resumed.shared), parts.resumed.plan
        baseline = self._baseline(task)
        if not task.is_wish and not baseline.targets:
            summary = "All tests pass: there is nothing to fix."
            return self.progress.result(Status.NOTHING_TO_FIX, summary)
        self._take_all(self._outline(task, baseline), baseline)
        patch, files = parts.tree.diff(self.start), parts.tree.changed(self.start)
        self._consult(task, patch)
        return self.progress.conclusion(patch, files)

    def _consult(self, task: Task, patch: str) -> None:
        """A judge's opinion, only where nothing executed speaks for or against the patch."""
        parts, progress = self.parts, self.progress
        edited = patch and any(map(_edits, progress.done))
        if parts.judge is None or not edited or not isinstance(progress.last, Unverified):
            return
        authors = [report.model for report in progress.steps if report.kind in (StepKind.EDIT, StepKind.TEST)]
        heard = parts.judge.review(
            task,
            patch,
            progress.last.evidence,
            authors=authors,
            choice=self.choice,
            budget=parts.budget,
        )
        if heard is not None:
            evidence, usage = heard
            progress.usage += usage
            progress.evidence, progress.last = evidence, Unverified(evidence=evidence)
            parts.emit(
                VerdictReached(step=progress.done[-1].id, candidate=authors[-1], verdict=progress.last)
            )

    def _baseline(self, task: Task) -> Baseline:
        """Measured, unless it is known from before and the tests would be run as they were."""
        parts, kept = self.parts, self.parts.resumed
        known = kept.baseline if kept else None
        if known is not None and parts.verifier.take_up(task, parts.tree, known):
            return known
        baseline = parts.verifier.baseline(task, parts.tree)
        parts.emit(BaselineMeasured(baseline=baseline))
        return baseline

    def _outline(self, task: Task, baseline: Baseline) -> Sequence[Step]:
        """The steps to take; of a run that goes on those that are left, on the tree as the others left it."""
        kept = self.parts.resumed
        if kept is None:
            return self.parts.planner.outline(task, baseline)
        self.parts.tree.apply(kept.patch)
        return kept.queue

    def _mark(self, queue: Sequence[Step], baseline: Baseline) -> None:
        """Keep how far the run has come."""
        self.parts.keep(
            Checkpoint(
                tree=self.start,
                patch=self.parts.tree.diff(self.start),
                baseline=baseline,
                queue=tuple(queue),
                plan=self.plan,
                spent_usd=self.parts.budget.spent_usd,
                seconds=self.parts.clock() - self.progress.started,
                progress=self.progress.kept(),
                shared=tuple(self.shared),
            )
        )

    def _take_all(self, outline: Sequence[Step], baseline: Baseline) -> None:
        self.parts.emit(PlanMade(steps=tuple(outline)))
        queue = deque(outline)
        self._mark(tuple(queue), baseline)
        while queue:
            self.progress.left = [*queue]
            step = queue.popleft()
            if self.parts.plan_only and step.kind is not StepKind.PLAN:
                self.progress.planned.append(step)
                continue
            self.parts.budget.count_step()
            trial = self._take(*aimed(step, baseline, queue), edits_follow=any(map(_edits, queue)))
            baseline = informed(baseline, trial)
            proposed = trial.proposed if trial else ()
            if proposed:
                self.parts.emit(PlanMade(steps=proposed))
                queue.extendleft(reversed(self.parts.approve(proposed)))
            if again := self._plan_again(step, trial, queue):
                queue = deque([again])
            elif isinstance(self.progress.last, Failed | Void):
                self.progress.left = [*queue]
                return
            self._mark(tuple(queue), baseline)
        self.progress.left = []

    def _plan_again(self, step: Step, trial: Trial | None, left: Collection[Step]) -> Step | None:
        """A new plan, once in a run, where a step of the first one failed for good or a review found more."""
        plan, last = self.plan, self.progress.last
        if step.kind is StepKind.PLAN:
            self.plan = step if not self.progress.replanned else None
        if plan is None or step.kind is StepKind.PLAN or trial is None:
            return None
        known, lesson = findings(trial) if not any(map(_edits, left)) else "", None
        if step.kind is StepKind.EDIT and isinstance(last, Failed):
            known = f"this step failed: {' '.join(step.text.split())[:200]}"
            reason = self.parts.explain(last.evidence)
            lesson = Lesson(candidate=trial.candidate.id, patch=trial.attempt.patch, reason=reason)
        if not known:
            return None
        self.plan, self.progress.replanned = None, True
        self.parts.emit(Notice(level="info", text=f"A new plan is made, once: {known}"))
        return replanned(plan, self.progress.done, known, lesson)

    def _take(self, step: Step, baseline: Baseline, *, edits_follow: bool) -> Trial | None:
        """One step, from candidate to candidate; the last trial of it."""
        parts, progress = self.parts, self.progress
        parts.emit(StepStarted(step=step))
        eligible = [c for c in parts.candidates if parts.backends[c.backend].eligible(step)]
        if not eligible:
            raise NoEligibleModel("This task needs a language model, and none may be used.", hint=NEEDS_MODEL)
        course = Course(
            step=step,
            baseline=baseline,
            eligible=eligible,
            start=parts.tree.checkpoint(),
            attempts=attempts_at(step, parts.attempts),
        )
        progress.begun(step, edits_follow=edits_follow)
        spent, trial = parts.budget.spent_usd, None
        try:
            while len(course.failed) < course.attempts and (trials := self._round(course)):
                for tried in trials:
                    trial = replace(tried, number=course.taken + 1)
                    course.taken += not isinstance(trial.verdict, Void)
                    self._remember(trial, eligible)
                    progress.tried(step, trial.whole, trial.verdict)
                    if tried is trials[-1] or isinstance(trial.verdict, Failed | Void):
                        ended = self._settle(course, trial)
                if ended:
                    break
                parts.tree.restore(course.start)
            else:
                progress.advice = advice(course)
        finally:
            progress.finished(course.step, trial, cost_usd=parts.budget.spent_usd - spent)
        return trial

    def _settle(self, course: Course, trial: Trial) -> bool:
        """What a trial means for its step; whether that ends it."""
        progress = self.progress
        match trial.verdict:
            case Passed() | Unverified():
                progress.succeeded(course.step, trial.whole)
                return True
            case Failed(evidence=evidence):
                course.failed.append(trial.candidate.id)
                progress.failed(trial.whole, evidence)
                reason = self.parts.explain(evidence)
                lesson = Lesson(candidate=trial.candidate.id, patch=trial.attempt.patch, reason=reason)
                course.step = replace(course.step, lessons=(*course.step.lessons, lesson))
            case Void(reason=reason):
                course.void.append(trial.candidate.id)
                progress.broke_off(trial.whole, reason)
        return False

    def _round(self, course: Course) -> list[Trial]:
        """The next candidate's attempt and its verdict, or those of several side by side; [] when nobody is
        left or going on does not pay. What succeeded is in the tree, and is the last of them."""
        parts = self.parts
        bids: list[Bid] = []
        width = 1
        if parts.beside is not None and _edits(course.step):
            width = max(1, min(parts.parallel, course.attempts - len(course.failed)))
        while len(bids) < width and (bid := self._choose(course, [bid.candidate.id for bid in bids])):
            bids.append(bid)
        if len(bids) < 2 or parts.beside is None:
            trials = [self._alone(course, bid) for bid in bids]
        else:
            trials = side_by_side(bids, parts.beside, lambda bid, place: self._try(course, bid, place))
            if not isinstance(trials[-1].verdict, Failed | Void):
                parts.tree.apply(trials[-1].attempt.patch)
        for trial in trials:
            self.progress.usage += trial.attempt.usage
            if trial.attempt.usage.calls:
                self.answered[trial.candidate.id] = parts.clock()
        return trials

    def _choose(self, course: Course, busy: Sequence[str]) -> Bid | None:
        """Who is next, beside those who are at work already."""
        parts, step = self.parts, course.step
        parts.budget.check()
        seen = parts.observer.observe(step, failed=course.failed, unavailable=(*course.void, *busy))
        warm = tuple(c for c, at in self.answered.items() if parts.clock() - at < CACHED_SECONDS)
        context = replace(
            seen,
            attempts=course.attempts - len(course.failed),
            warm=warm,
            verifier=course.verifier or seen.verifier,
        )
        choice = parts.policy.choose(context, course.eligible, parts.rng)
        if choice is None:
            if not busy and any(c.id not in {*course.failed, *course.void} for c in course.eligible):
                parts.emit(Notice(level="info", text=NOT_WORTH_IT))
            return None
        number = len(course.failed) + len(busy) + 1
        if number == 1 and not course.void:
            self.progress.foresee(choice, course.eligible)
        if busy:
            choice = replace(choice, reason=f"side by side with {', '.join(busy)}")
        self.choice = choice
        parts.emit(ChoiceMade(step=step.id, attempt=number, choice=choice))
        candidate = next(c for c in course.eligible if c.id == choice.candidate)
        return Bid(context=context, choice=choice, candidate=candidate)

    def _alone(self, course: Course, bid: Bid) -> Trial:
        """An attempt in the run's own tree. What it has made is kept where the sandbox breaks."""
        tree, candidate = self.parts.tree, bid.candidate.id
        try:
            return self._try(course, bid, self.place)
        except SandboxUnavailable as error:
            made = Attempt(candidate=candidate, patch=tree.diff(self.start), files=tree.changed(self.start))
            self.progress.broke_off(made, error.message)
            raise

    def _try(self, course: Course, bid: Bid, place: Place) -> Trial:
        """An attempt and its verdict. Runs beside others in a thread: it changes nothing but its place."""
        step, candidate, tree, since = course.step, bid.candidate, place.tree, course.start
        backend = place.backends[candidate.backend]
        sandbox = place.sandbox
        if isinstance(sandbox, ServesLanguages):
            sandbox = sandbox.of(step.language)
        try:
            attempt = backend.attempt(step, candidate, tree, sandbox, place.budget)
        except OSError:
            tree.diff(since)  # which says so where the tree itself has gone
            raise
        place.emit(AttemptFinished(step=step.id, attempt=attempt))
        verdict = self._check(course, attempt, place)
        place.emit(VerdictReached(step=step.id, candidate=candidate.id, verdict=verdict))
        # The verifier undoes edits to tests: the patch that counts is what is left.
        attempt = replace(attempt, patch=tree.diff(since), files=tree.changed(since))
        whole = attempt
        if attempt.patch and since != self.start:
            whole = replace(attempt, patch=tree.diff(self.start), files=tree.changed(self.start))
        return Trial(
            number=1,
            step=step,
            context=bid.context,
            choice=bid.choice,
            candidate=candidate,
            attempt=attempt,
            whole=whole,
            verdict=verdict,
        )

    def _check(self, course: Course, attempt: Attempt, place: Place) -> Verdict:
        if attempt.void:
            return Void(reason=attempt.void)
        if course.step.kind is StepKind.PLAN:
            return Unverified(evidence=Evidence(u=0.0, reason="a plan has no executable evidence"))
        return place.verifier.check(course.step, course.baseline, attempt, place.tree, course.start)

    def _remember(self, trial: Trial, eligible: Sequence[Candidate]) -> None:
        if isinstance(trial.verdict, Void):
            return
        step, evidence = trial.step, trial.verdict.evidence
        outcome = outcome_of(self.run, trial, eligible, time=self.parts.clock())
        written = step.kind is StepKind.TEST and isinstance(trial.verdict, Unverified)
        if outcome.shared_credit or (written and evidence.unfixed):
            self.shared.append(outcome)
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
        """A plan and a review are worth what the run came to; a test, once a change made it pass."""
        verdict = {Status.FIXED: "passed", Status.NOT_FIXED: "failed"}.get(status, "unverified")
        for outcome in self.shared:
            if outcome.shared_credit:
                self._keep(replace(outcome, verdict=verdict))
            elif verdict == "passed":
                u = self.progress.evidence.u if self.progress.evidence else outcome.u
                self._keep(replace(outcome, verdict=verdict, u=u))
            else:
                self._keep(outcome)


def _edits(step: Step) -> bool:
    return step.kind is StepKind.EDIT
