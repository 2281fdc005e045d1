"""What a run has come to so far, and the result that is made of it: status, receipt, evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from acr_cli.errors import AcrError, ProviderError
from acr_cli.protocols import Budget
from acr_cli.records import (
    EXIT_CODES,
    VERDICT_NAMES,
    Attempt,
    Baseline,
    Candidate,
    CaseResult,
    Choice,
    Context,
    Evidence,
    Failed,
    Outcome,
    Passed,
    Receipt,
    RunResult,
    Status,
    Step,
    StepKind,
    StepReport,
    Try,
    Unverified,
    Usage,
    Verdict,
    Void,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One candidate's try at a step: what was known, who was chosen, what came of it."""

    number: int  # of the attempt within its step, from 1
    step: Step
    context: Context
    choice: Choice
    candidate: Candidate
    attempt: Attempt
    whole: Attempt  # with the patch of the whole run up to it, not of its step alone
    verdict: Verdict

    @property
    def proposed(self) -> tuple[Step, ...]:
        """Further steps, of a plan."""
        return self.attempt.steps if isinstance(self.verdict, Unverified) else ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """All that a run needs to go on after the step that ended last."""

    tree: str  # the run's first checkpoint of its tree
    patch: str  # what the steps so far have left in it, against `tree`
    baseline: Baseline | None  # None: it has to be measured again
    queue: tuple[Step, ...]  # steps that are still to be taken
    plan: Step | None  # what a new plan may be made from
    spent_usd: float
    seconds: float  # since the run began
    progress: Mapping[str, Any]  # what `Progress` knew: its fields, by name
    shared: tuple[Outcome, ...]  # outcomes that are remembered at the end of the run


NEEDS_MODEL = (
    "Run `acr config init`, or add a model with `acr models add`; a local Ollama works without a key."
)


@dataclass(kw_only=True, slots=True)
class Progress:
    """The one mutable record of a run."""

    run: str
    budget: Budget
    clock: Callable[[], float]
    started: float
    has_models: bool  # whether any candidate is a language model
    usage: Usage = field(default_factory=Usage)
    steps: list[StepReport] = field(default_factory=list)
    last: Verdict | None = None  # of the last step
    best: Attempt | None = None  # what is kept for the user if the run ends now; its patch is the whole run's
    evidence: Evidence | None = None  # for the last step, or for the best attempt at it
    rank: tuple[bool, float] = (False, -1.0)  # of the best failed attempt at this step: has a patch, u
    planned: list[Step] = field(default_factory=list)  # steps that --plan-only does not take
    faults: list[str] = field(default_factory=list)  # reasons of void attempts
    strongest: str = ""
    strongest_usd: float | None = None
    done: list[Step] = field(default_factory=list)  # edit and test steps that came to something
    replanned: bool = False  # whether a second plan was made
    wrong: list[str] = field(default_factory=list)  # the first failures that a step had, a line each
    tries: list[Try] = field(default_factory=list)
    left: list[Step] = field(default_factory=list)  # steps that are not finished
    advice: str = ""  # what may help where the last step failed
    aside: tuple[Verdict | None, Evidence | None] | None = None
    """What counts still, while a step is on its way that proves nothing by itself."""

    def kept(self) -> dict[str, Any]:
        """What a run that goes on needs to know, by the names of the fields."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), list) else value
            for name in kept_fields()
        }

    def take_up(self, kept: Checkpoint) -> None:
        """Go on where a run was: its money, steps and time count on.

        Raises: BudgetExhausted where it has taken as many steps as it may."""
        for name, value in kept.progress.items():
            setattr(self, name, value)
        self.started = self.clock() - kept.seconds
        self.budget.charge(kept.spent_usd)
        for _ in self.steps:
            self.budget.count_step()

    def foresee(self, choice: Choice, eligible: Sequence[Candidate]) -> None:
        """Before a step's first attempt: what the most able model alone is expected to cost for it."""
        models = {c.id for c in eligible if c.model}
        priced = [f for f in choice.forecasts if f.candidate in models and f.cost_usd is not None]
        if priced:
            strongest = max(priced, key=lambda f: (f.p_success, f.cost_usd))
            self.strongest = strongest.candidate
            self.strongest_usd = (self.strongest_usd or 0.0) + (strongest.cost_usd or 0.0)

    def begun(self, step: Step, *, edits_follow: bool = False) -> None:
        """A step begins; what the steps before it left stays the best until it has something.

        A review beside edits, and a test that proves nothing yet, do not decide how the run ends."""
        edits = edits_follow or any(report.kind is StepKind.EDIT for report in self.steps)
        helps = step.kind in (StepKind.TEST, StepKind.REVIEW) and edits
        self.aside = (self.last, self.evidence) if helps else None
        self.evidence, self.rank = None, (False, -1.0)
        if not self.wrong:
            self.wrong = [_failure(case) for case in step.failures]

    def tried(self, step: Step, attempt: Attempt, verdict: Verdict) -> None:
        """An attempt has ended."""
        reason = verdict.reason if isinstance(verdict, Void) else verdict.evidence.reason
        if isinstance(verdict, Failed) and not attempt.patch:
            reason = attempt.summary or reason
        self.tries.append(
            Try(
                candidate=attempt.candidate,
                kind=step.kind,
                verdict=VERDICT_NAMES[type(verdict)],
                reason=reason,
                cost_usd=attempt.cost_usd,
                seconds=attempt.seconds,
            )
        )

    def succeeded(self, step: Step, attempt: Attempt) -> None:
        """Nothing speaks against an attempt: it stays in the tree."""
        if attempt.patch or self.best is None:
            self.best = attempt
        if step.kind in (StepKind.EDIT, StepKind.TEST) and attempt.patch:
            self.done.append(step)

    def failed(self, attempt: Attempt, evidence: Evidence) -> None:
        """A verified failure: the best of them is kept."""
        rank = (bool(attempt.patch), evidence.u)
        if rank > self.rank:
            self.evidence, self.rank = evidence, rank
            self.best = attempt if attempt.patch and self.aside is None else self.best

    def broke_off(self, attempt: Attempt, reason: str) -> None:
        """An attempt that the machinery ended: what it had done by then is better kept than nothing."""
        self.faults.append(f"{attempt.candidate}: {reason.removeprefix(f'{attempt.candidate}: ')}")
        if attempt.patch and self.best is None and self.aside is None:
            self.best = attempt

    def finished(self, step: Step, trial: Trial | None, *, cost_usd: float) -> None:
        """A step is over; `trial` is its last one."""
        verdict = trial.verdict if trial else Void(reason="no candidate was left to try")
        failures = len(step.lessons)
        if isinstance(verdict, Passed | Unverified):
            self.evidence = verdict.evidence
        elif failures and self.evidence:
            # Failures are evidence; a void that came after them is not.
            verdict = Failed(evidence=self.evidence)
        self.last = verdict
        executable = step.kind in (StepKind.EDIT, StepKind.TEST) and not isinstance(verdict, Void)
        self.steps.append(
            StepReport(
                kind=step.kind,
                dimension=step.dimension,
                model=trial.candidate.id if trial else "",
                reason=trial.choice.reason if trial else "",
                attempts=failures + isinstance(verdict, Passed | Unverified),
                u=self.evidence.u if executable and self.evidence else None,
                cost_usd=cost_usd,
            )
        )
        if self.aside is not None and not isinstance(verdict, Passed):
            self.last, self.evidence = self.aside
        self.aside = None

    def conclusion(self, patch: str, files: tuple[str, ...]) -> RunResult:
        """The result of a run whose steps are over; `patch` is what they left in the tree.

        Raises: ProviderError when no candidate could finish the last step."""
        match self.last:
            case Unverified() | None if self.planned:
                return self.result(Status.PLANNED, "\n".join(["The plan:", *map(_line, self.planned)]))
            case Passed(evidence=evidence):
                return self.result(Status.FIXED, evidence.reason, patch, files)
            case Unverified(evidence=evidence):
                return self.result(
                    Status.CHANGED_UNVERIFIED,
                    f"A patch was made but not verified: {evidence.reason}",
                    patch,
                    files,
                    hint=f"Look at it and take it with `acr apply {self.run}`.",
                )
            case None:
                return self.result(Status.NOTHING_TO_FIX, "There is nothing to do.")
            case Failed(evidence=evidence):
                return self._not_fixed(evidence)
            case Void(reason=reason):
                raise ProviderError(
                    f"No candidate could finish: {'; '.join(self.faults or [reason]).rstrip('.')}.",
                    hint="`acr models test` tries each model; the run is kept.",
                )

    def stopped(self, status: Status, error: AcrError) -> RunResult:
        """The result of a run that an error ended; the best attempt until then is kept."""
        patch, files = self._kept()
        result = self.result(status, error.message, patch, files, hint=error.hint)
        return replace(result, exit_code=error.exit_code, error_id=error.id)

    def result(
        self,
        status: Status,
        summary: str,
        patch: str = "",
        files: tuple[str, ...] = (),
        *,
        hint: str = "",
    ) -> RunResult:
        return RunResult(
            run=self.run,
            status=status,
            exit_code=EXIT_CODES.get(status, 1),
            receipt=Receipt(
                paid_usd=self.budget.spent_usd,
                strongest=self.strongest,
                strongest_usd=self.strongest_usd,
                usage=self.usage,
                seconds=self.clock() - self.started,
            ),
            patch=patch,
            files=files,
            evidence=self.evidence,
            steps=tuple(self.steps),
            summary=summary,
            hint=hint,
            wrong=tuple(self.wrong),
            tries=tuple(self.tries),
            left=tuple(map(_line, self.left)),
        )

    def _not_fixed(self, evidence: Evidence) -> RunResult:
        patch, files = self._kept()
        if not self.has_models:
            hint = f"A language model can do more. {NEEDS_MODEL}"
        elif patch:
            kept = f"The best attempt is kept: `acr apply {self.run}` shows it and asks."
            hint = f"{kept} {self.advice}".rstrip()
        else:
            hint = self.advice or "`acr models add` adds a stronger model."
        # Of attempts that changed nothing, what they say of themselves tells more.
        said = [each.reason for each in self.tries if each.verdict == "failed"]
        reason = evidence.reason if patch or not said else said[-1]
        return self.result(Status.NOT_FIXED, f"Not fixed: {reason}", patch, files, hint=hint)

    def _kept(self) -> tuple[str, tuple[str, ...]]:
        return (self.best.patch, self.best.files) if self.best else ("", ())


def kept_fields() -> tuple[str, ...]:
    """The fields of `Progress` that a run takes with it when it goes on in another process."""
    its_own = ("run", "budget", "clock", "started", "has_models")
    return tuple(each.name for each in fields(Progress) if each.name not in its_own)


def _failure(case: CaseResult) -> str:
    """A failing test, for people. Pure."""
    what = " ".join(f"{case.exception} {case.message}".split())
    return f"{case.id}: {what}" if what else case.id


def _line(step: Step) -> str:
    """A step of a plan, for people. Pure."""
    tests = len(step.failures)
    what = (
        step.text.partition("\n\n")[0].strip() or f"make {tests} failing test{'s' if tests != 1 else ''} pass"
    )
    named = ", ".join(step.files or [failure.id for failure in step.failures[:3]])
    check = f"; done when {step.check}" if step.check else ""
    dimension = step.dimension.value.replace("_", " ")
    where = f" ({named})" if named else ""
    return f"- {step.kind.value}: {' '.join(what.split())[:200].rstrip('.')}{where}; {dimension}{check}"
