"""Is a past commit a task? Its tests are executed without it and with it, twice each.

The second time is for the flaky: a test whose result changes though nothing was changed would prove anything.
With the commit the tests run as after any attempt, by the same verifier: what does not pass there could be
passed by nobody.
"""

from __future__ import annotations

from dataclasses import replace

from acr_cli.errors import BaselineCannotStart, PathRefused, SandboxBroken, SandboxUnavailable, UsageError
from acr_cli.history.laying import change
from acr_cli.history.records import Examined, Prospect
from acr_cli.protocols import Tree, Verifier
from acr_cli.records import (
    Attempt,
    Baseline,
    Dimension,
    Passed,
    Step,
    StepKind,
    SuiteReport,
    Task,
    Unverified,
    Void,
)

DETAIL = 3_000  # characters of a failure that are kept
_FIX = Attempt(candidate="history")


def examine(prospect: Prospect, tree: Tree, verifier: Verifier) -> Examined:
    """What the commit's tests show; `tree` holds its parent's files with these tests, and afterwards again.

    Raises: SandboxBroken, SandboxUnavailable when there is no sandbox at all; OSError."""
    start, commit = tree.checkpoint(), prospect.commit
    try:
        return _examine(prospect, tree, verifier, start)
    except (BaselineCannotStart, UsageError) as error:
        # What is missing today may be installed tomorrow.
        return Examined(commit=commit.id, reason=_cannot_start(error.message), kept=False)
    except SandboxBroken:
        raise
    except SandboxUnavailable as error:
        reason = f"its dependencies cannot be installed: {error.message.rstrip('.')}"
        return Examined(commit=commit.id, reason=reason, kept=False)
    except PathRefused as error:
        return Examined(commit=commit.id, reason=f"a path is refused: {error.message.rstrip('.')}")
    finally:
        tree.restore(start)


def _examine(prospect: Prospect, tree: Tree, verifier: Verifier, start: str) -> Examined:
    commit, division = prospect.commit, prospect.division

    def nothing(reason: str) -> Examined:
        return Examined(commit=commit.id, reason=reason)

    without = verifier.baseline(Task(), tree)
    if not without.targets:
        return nothing("its tests pass without it")
    change(tree, (*division.sources, *division.others), prospect.blobs)
    with_it = tree.checkpoint()
    report, fixed, broken = _with(verifier, without, tree, start)
    if not fixed:
        return nothing("its tests fail with it, too")
    if broken:
        return nothing("other tests fail with it")
    tree.restore(start)
    again = verifier.baseline(Task(), tree)
    if _outcomes(again.report) != _outcomes(without.report):
        return nothing("its tests are flaky")
    again = replace(again, targets=fixed)
    tree.restore(with_it)
    report_again, fixed_again, broken = _with(verifier, again, tree, start)
    if broken or fixed_again != fixed or _outcomes(report_again) != _outcomes(report):
        return nothing("its tests are flaky")
    failures = tuple(replace(case, detail=case.detail[-DETAIL:]) for case in again.failures())
    tree.restore(start)
    sizes = [p.stat().st_size for name in {c.file for c in failures} if (p := tree.root / name).is_file()]
    return Examined(
        commit=commit.id,
        failures=failures,
        test_command=again.test_command,
        language=again.language,
        bytes=sum(sizes),
    )


def _with(
    verifier: Verifier, baseline: Baseline, tree: Tree, start: str
) -> tuple[SuiteReport, tuple[str, ...], tuple[str, ...]]:
    """The report of the tests with the commit, what it fixed and what it broke."""
    step = Step(
        id="history",
        kind=StepKind.EDIT,
        text="",
        dimension=Dimension.AGENTIC_PROGRAMMING,
        language=baseline.language,
    )
    try:
        verdict = verifier.check(step, baseline, _FIX, tree, start)
    except SandboxUnavailable as error:
        raise SandboxBroken(error.message, hint=error.hint) from error
    if isinstance(verdict, Void):
        raise SandboxBroken(verdict.reason)
    evidence = verdict.evidence
    report = evidence.report or SuiteReport()
    if isinstance(verdict, Passed | Unverified) or not (report.fault or report.timed_out):
        return report, evidence.fixed, evidence.broken
    return report, (), ()


def _outcomes(report: SuiteReport) -> dict[str, str]:
    return {case.id: case.outcome for case in report.cases}


def _cannot_start(message: str) -> str:
    said = message.rstrip(".")
    return f"its tests cannot start: {said.removeprefix('The tests cannot start: ')}"
