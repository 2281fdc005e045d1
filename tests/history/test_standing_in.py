"""What a past task changes of the loop's parts, and what a call has come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.errors import BaselineCannotStart, BudgetExhausted
from acr_cli.events import AttemptFinished, Remembered, VerdictReached
from acr_cli.history.account import PATIENCE, Account, reported
from acr_cli.history.records import Record, TaskReport, WarmResult
from acr_cli.history.standing_in import KnownFailures, KnownTargets, Ledger, outcome_id
from acr_cli.memory.store import Memory
from acr_cli.protocols import Tree
from acr_cli.records import (
    Attempt,
    Baseline,
    CaseResult,
    Context,
    Dimension,
    Evidence,
    Failed,
    Outcome,
    Passed,
    Price,
    Receipt,
    RunResult,
    Status,
    Step,
    StepKind,
    StepReport,
    SuiteReport,
    Task,
    Usage,
    Verdict,
    Void,
)
from acr_cli.worktree.tree import RunTree

STEP = Step(id="s1", kind=StepKind.EDIT, text="", dimension=Dimension.AGENTIC_PROGRAMMING, language="python")


class Suite:
    """A `Verifier` whose tests all fail but those named."""

    def __init__(self, **outcomes: str) -> None:
        self.cases = tuple(CaseResult(id=name, outcome=outcome) for name, outcome in outcomes.items())
        self.tasks: list[Task] = []

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        self.tasks.append(task)
        report = SuiteReport(cases=self.cases)
        return Baseline(report=report, targets=report.failing())

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        return Passed(evidence=Evidence(u=1.0, fixed=baseline.targets))


class Seen:
    """An `Observer` that shows what it was told."""

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        return Context(text="", failed=tuple(failed), unavailable=tuple(unavailable))


@pytest.fixture
def tree(tmp_path: Path) -> RunTree:
    return RunTree(tmp_path)


def test_the_targets_are_those_that_the_commit_made_pass_whatever_the_words_name(tree: RunTree) -> None:
    suite = Suite(test_a="failed", test_b="failed", test_c="passed")
    verifier = KnownTargets(suite, ["test_a"])

    baseline = verifier.baseline(Task(text="test_b fails"), tree)

    assert baseline.targets == ("test_a",)
    assert not suite.tasks[0].is_wish
    assert isinstance(verifier.check(STEP, baseline, Attempt(candidate="x"), tree, ""), Passed)


def test_a_target_that_passes_meanwhile_ends_the_task_before_anybody_is_paid(tree: RunTree) -> None:
    with pytest.raises(
        BaselineCannotStart, match="test_a failed when the commit was examined and does not now"
    ):
        KnownTargets(Suite(test_a="passed", test_b="failed"), ["test_a"]).baseline(Task(), tree)


def test_who_failed_before_and_who_rests_is_known_to_the_choice() -> None:
    observer = KnownFailures(Seen(), failed=["weak"], resting=["down"])

    context = observer.observe(STEP, failed=["middle"], unavailable=["broken"])

    assert (context.failed, context.unavailable) == (("weak", "middle"), ("broken", "down"))


def outcome(candidate: str, run: str = "r1") -> Outcome:
    return Outcome(
        id=f"{run}.s1.1",
        run=run,
        step="s1",
        attempt=1,
        time=1.0,
        text="t",
        vector=(1.0, 0.0),
        embedder="e",
        kind="edit",
        dimension="agentic_programming",
        language="python",
        repository="here",
        candidate=candidate,
        family="",
        price=Price(),
        available=(candidate,),
        failed_before=(),
        policy="escalate",
        propensity=1.0,
        verdict="failed",
        verifier="tests",
        u=0.0,
        signals=(),
        cost_usd=0.5,
        usage=Usage(),
        seconds=1.0,
    )


def test_an_outcome_is_named_after_commit_and_candidate_and_kept_once(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    ledger = Ledger(memory, commit="c" * 40)

    ledger.remember(outcome("weak"))
    ledger.remember(outcome("strong", run="r2"))
    Ledger(memory, commit="c" * 40).remember(outcome("weak", run="r3"))

    names = [outcome_id("here", "c" * 40, candidate) for candidate in ("weak", "strong")]
    assert ledger.names == {"r1.s1.1": names[0], "r2.s1.1": names[1]}
    assert {kept.id: kept.run for kept in memory.list()} == {names[0]: "r1", names[1]: "r2"}
    assert sum(tally.outcomes for tally in ledger.tallies()) == 2
    assert ledger.neighbours((1.0, 0.0), "e")


def test_names_differ_by_repository_commit_and_candidate() -> None:
    names = {outcome_id(r, c * 40, m) for r in ("a", "b") for c in ("0", "1") for m in ("x", "y", "x@high")}

    assert len(names) == 12


# --- the account ----------------------------------------------------------------------------------


def hear(account: Account, candidate: str, verdict: Verdict, *, cost: float = 0.25) -> None:
    void = verdict.reason if isinstance(verdict, Void) else ""
    attempt = Attempt(candidate=candidate, cost_usd=cost, seconds=2.0, void=void)
    account.hear(AttemptFinished(step="s1", attempt=attempt))
    account.hear(VerdictReached(step="s1", candidate=candidate, verdict=verdict))


def test_attempts_are_counted_by_candidate_and_void_ones_only_paid() -> None:
    account = Account()
    hear(account, "weak", Failed(evidence=Evidence(u=0.0)))
    hear(account, "weak", Passed(evidence=Evidence(u=1.0)))
    hear(account, "weak", Void(reason="down"))
    account.hear(Remembered(outcome="x"))

    assert account.candidates == {"weak": Record(attempts=2, passed=1, cost_usd=0.75, seconds=6.0)}
    assert account.outcomes == 1


def test_a_candidate_that_breaks_again_and_again_rests_and_one_success_wipes_that_out() -> None:
    account = Account()
    for _ in range(PATIENCE - 1):
        hear(account, "down", Void(reason="down"))
    hear(account, "down", Passed(evidence=Evidence(u=1.0)))
    for _ in range(PATIENCE - 1):
        hear(account, "down", Void(reason="down"))
    assert account.resting() == frozenset()

    hear(account, "down", Void(reason="down"))
    assert account.resting() == {"down"}


def test_what_is_left_out_is_counted_by_kind() -> None:
    account = Account()
    for reason in ("a merge", "its tests cannot start: no a", "its tests cannot start: no b", "a merge"):
        account.skip(reason)

    result = account.result(repository="r", dry_run=False, seconds=1.0, status="done", error=None)
    assert list(result.skipped.items()) == [("a merge", 2), ("its tests cannot start", 2)]
    assert account.cannot_start == "no a"


def test_an_error_is_part_of_the_result() -> None:
    error = BudgetExhausted("no money", hint="more")
    result = Account().result(repository="r", dry_run=False, seconds=1.0, status="budget", error=error)

    assert (result.exit_code, result.error_id, result.message, result.hint) == (
        6,
        "budget",
        "no money",
        "more",
    )


REPORT = TaskReport(commit="c", subject="s", status="done")
RUN = RunResult(run="r1", status=Status.FIXED, exit_code=0, receipt=Receipt(paid_usd=0.5, seconds=9.0))


@pytest.mark.parametrize(
    ("status", "exit_code", "told"),
    [
        (Status.FIXED, 0, "passed"),
        (Status.NOT_FIXED, 1, "failed"),
        (Status.BUDGET, 6, "stopped"),
        (Status.INTERRUPTED, 130, "stopped"),
        (Status.ERROR, 5, "void"),
        (Status.ERROR, 4, "error"),
    ],
)
def test_a_run_becomes_a_line_of_the_table(status: Status, exit_code: int, told: str) -> None:
    step = StepReport(
        kind=StepKind.EDIT,
        dimension=Dimension.AGENTIC_PROGRAMMING,
        model="weak",
        reason="",
        attempts=2,
        u=0.9,
        cost_usd=0.5,
    )
    line = reported(REPORT, replace(RUN, status=status, exit_code=exit_code, steps=(step,)))

    assert (line.status, line.candidate, line.attempts, line.u) == (told, "weak", 2, 0.9)
    assert (line.cost_usd, line.seconds, line.run) == (0.5, 9.0, "r1")


def test_an_expected_cost_is_unknown_where_that_of_one_task_is() -> None:
    def result(*costs: float | None) -> WarmResult:
        tasks = tuple(replace(REPORT, status="listed", expected_usd=cost) for cost in costs)
        empty = Account().result(repository="r", dry_run=True, seconds=0.0, status="done", error=None)
        return replace(empty, tasks=(*tasks, REPORT))

    assert result(0.5, 0.25).expected_usd == 0.75
    assert result(0.5, None).expected_usd is None
    assert result().expected_usd == 0
