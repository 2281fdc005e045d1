"""One step on its way from candidate to candidate, and what is found out on the way of a run. Pure but for
`Course`, which collects."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from acr_cli import __version__
from acr_cli.progress import Trial
from acr_cli.records import (
    OWN_TEST,
    VERDICT_NAMES,
    Baseline,
    Candidate,
    Choice,
    Context,
    Lesson,
    Outcome,
    Step,
    StepKind,
    Unverified,
    Void,
)

TEST_ATTEMPTS = 2
"""At writing a test: it is a means to an end, and without it the run goes on."""

NOTHING_TO_ADD = "nothing to add"


@dataclass(kw_only=True, slots=True)
class Course:
    """One step on its way from candidate to candidate."""

    step: Step
    baseline: Baseline
    eligible: Sequence[Candidate]
    start: str  # checkpoint of the tree
    attempts: int  # how many may fail
    failed: list[str] = field(default_factory=list)  # ids of candidates
    void: list[str] = field(default_factory=list)
    taken: int = 0  # attempts that were not void

    @property
    def verifier(self) -> str | None:
        """The kind of verifier, where it is known to be another than tests."""
        own = set(self.baseline.own)
        return OWN_TEST if self.baseline.targets and own.issuperset(self.baseline.targets) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Bid:
    """Who takes a step, and what was known when he was chosen."""

    context: Context
    choice: Choice
    candidate: Candidate


def advice(course: Course) -> str:
    """What may help where a step has failed. Pure."""
    over = {*course.failed, *course.void}
    left = [candidate.id for candidate in course.eligible if candidate.id not in over]
    if not left:
        return "All that may be used have tried; `acr models add` adds a stronger model."
    if len(course.failed) >= course.attempts:
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        return f"`--attempts {course.attempts + len(left)}` lets {names} try too."
    return "`acr config set value_of_success USD` says that a fix is worth more, so that others may try."


def outcome_of(run: str, trial: Trial, eligible: Sequence[Candidate], *, time: float) -> Outcome:
    """What memory keeps of a trial that is not void."""
    step, context, attempt = trial.step, trial.context, trial.attempt
    if isinstance(trial.verdict, Void):
        raise TypeError("a void attempt is no outcome")
    evidence = trial.verdict.evidence
    forecast = trial.choice.forecast(trial.candidate.id)
    return Outcome(
        id=f"{run}.{step.id}.{trial.number}",
        run=run,
        step=step.id,
        attempt=trial.number,
        time=time,
        text=context.text,
        vector=context.vector,
        embedder=context.embedder,
        kind=step.kind.value,
        dimension=step.dimension.value,
        language=step.language,
        repository=context.repository,
        candidate=trial.candidate.id,
        family=trial.candidate.family,
        price=trial.candidate.price,
        available=tuple(c.id for c in eligible if c.id not in context.unavailable),
        failed_before=context.failed,
        policy=trial.choice.policy,
        propensity=trial.choice.propensity,
        verdict=VERDICT_NAMES[type(trial.verdict)],
        verifier=evidence.verifier,
        u=evidence.u,
        signals=evidence.signals,
        cost_usd=attempt.cost_usd,
        usage=attempt.usage,
        seconds=attempt.seconds,
        votes=tuple((vote.voter, vote.value) for vote in forecast.votes) if forecast else (),
        p_success=forecast.p_success if forecast else None,
        shared_credit=step.kind in (StepKind.PLAN, StepKind.REVIEW),
        acr_version=__version__,
    )


def attempts_at(step: Step, usual: int) -> int:
    return min(usual, TEST_ATTEMPTS) if step.kind is StepKind.TEST else usual


def informed(baseline: Baseline, trial: Trial | None) -> Baseline:
    """The baseline after a step: tests that it wrote, and that fail as they should, are targets then."""
    verdict = trial.verdict if trial else None
    if trial is None or trial.step.kind is not StepKind.TEST or not isinstance(verdict, Unverified):
        return baseline
    evidence = verdict.evidence
    if evidence.verifier != OWN_TEST or not evidence.unfixed or evidence.report is None:
        return baseline
    ids = {case.id for case in baseline.report.cases}
    fresh = tuple(case for case in evidence.report.cases if case.id not in ids)
    return replace(
        baseline,
        report=replace(baseline.report, cases=(*baseline.report.cases, *fresh)),
        targets=(*baseline.targets, *evidence.unfixed),
        own=(*baseline.own, *evidence.unfixed),
    )


def aimed(step: Step, baseline: Baseline, left: Collection[Step]) -> tuple[Step, Baseline]:
    """A step and what it is measured by. Tests that acr wrote are the aim of the last edit; the edits before
    it only need to break nothing, and are not shown tests that they cannot make pass alone."""
    if not baseline.own or step.kind is not StepKind.EDIT:
        return step, baseline
    if any(each.kind is StepKind.EDIT for each in left):
        targets = tuple(test for test in baseline.targets if test not in baseline.own)
        return step, replace(baseline, targets=targets)
    known = {case.id for case in step.failures}
    own = [case for case in baseline.report.cases if case.id in baseline.own and case.id not in known]
    check = "the tests that acr wrote for it pass, and nothing that passed breaks"
    return replace(step, failures=(*step.failures, *own), check=check), baseline


def findings(trial: Trial | None) -> str:
    """What a review has found to be wrong or missing; "" where it found nothing."""
    if trial is None or trial.step.kind is not StepKind.REVIEW or not isinstance(trial.verdict, Unverified):
        return ""
    said = trial.attempt.summary.strip()
    return "" if NOTHING_TO_ADD in said.lower() else said


def replanned(plan: Step, done: Sequence[Step], known: str, lesson: Lesson | None) -> Step:
    """The plan step again, after `known` came to light: it plans what is left."""
    steps = "\n".join(f"- {step.kind.value}: {' '.join(step.text.split())[:200]}" for step in done)
    what = f"These steps were done and are kept:\n{steps}\n" if steps else ""
    found = f"A plan was made for this before. {what}Now it is known: {known}\nPlan what is left."
    return replace(
        plan,
        id=f"{plan.id}r",
        known=found,
        lessons=(*plan.lessons, lesson) if lesson else plan.lessons,
    )
