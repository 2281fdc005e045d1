"""What all past tasks of one call have come to: money, outcomes, who did what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from acr_cli.errors import AcrError, ProviderError
from acr_cli.events import AttemptFinished, Event, Remembered, VerdictReached
from acr_cli.history.records import Record, TaskReport, WarmResult
from acr_cli.records import Passed, RunResult, Status, Void

PATIENCE = 3  # void attempts in a row after which a candidate rests until the end
_NOT_STARTED = ("its tests cannot start", "its dependencies cannot be installed")


@dataclass(kw_only=True, slots=True)
class Account:
    """The one mutable record of a call."""

    commits: int = 0  # looked at
    tasks: list[TaskReport] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    candidates: dict[str, Record] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)  # void attempts in a row, by candidate
    outcomes: int = 0
    spent: float = 0.0
    cannot_start: str = ""  # why the tests of the first commit of that kind cannot

    def skip(self, reason: str) -> None:
        """A commit is no task; after a colon its reason says something of this commit alone."""
        kind, _, detail = reason.partition(": ")
        self.skipped[kind] += 1
        if kind in _NOT_STARTED:
            self.cannot_start = self.cannot_start or detail

    def resting(self) -> frozenset[str]:
        """Candidates whose machinery broke too often."""
        return frozenset(name for name, faults in self.faults.items() if faults >= PATIENCE)

    def hear(self, event: Event) -> None:
        """Count what an attempt cost and came to."""
        if isinstance(event, AttemptFinished):
            attempt = event.attempt
            before = self.candidates.get(attempt.candidate, Record())
            self.candidates[attempt.candidate] = replace(
                before,
                attempts=before.attempts + (not attempt.void),
                cost_usd=before.cost_usd + attempt.cost_usd,
                seconds=before.seconds + attempt.seconds,
            )
        elif isinstance(event, VerdictReached):
            void, passed = isinstance(event.verdict, Void), isinstance(event.verdict, Passed)
            self.faults[event.candidate] = self.faults[event.candidate] + 1 if void else 0
            record = self.candidates.get(event.candidate, Record())
            self.candidates[event.candidate] = replace(record, passed=record.passed + passed)
        elif isinstance(event, Remembered):
            self.outcomes += 1

    def result(
        self, *, repository: str, dry_run: bool, seconds: float, status: str, error: AcrError | None
    ) -> WarmResult:
        return WarmResult(
            status=status,
            exit_code=error.exit_code if error else 0,
            repository=repository,
            dry_run=dry_run,
            commits=self.commits,
            tasks=tuple(self.tasks),
            skipped=dict(self.skipped.most_common()),
            candidates=self.candidates,
            outcomes=self.outcomes,
            cost_usd=self.spent,
            seconds=seconds,
            error_id=error.id if error else "",
            message=error.message if error else "",
            hint=error.hint if error else "",
        )


_STATUS = {
    Status.FIXED: "passed",
    Status.NOT_FIXED: "failed",
    Status.BUDGET: "stopped",
    Status.INTERRUPTED: "stopped",
}


def reported(report: TaskReport, result: RunResult) -> TaskReport:
    """A task's line of the table, from its run. Pure."""
    step = result.steps[-1] if result.steps else None
    void = result.exit_code == ProviderError.exit_code
    return replace(
        report,
        status="void" if void else _STATUS.get(result.status, "error"),
        candidate=step.model if step else "",
        attempts=step.attempts if step else 0,
        u=step.u if step else None,
        cost_usd=result.receipt.paid_usd,
        seconds=result.receipt.seconds,
        run=result.run,
        reason=result.summary,
    )
