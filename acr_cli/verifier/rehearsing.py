"""The first run of a verdict, made before it for whoever works on the tree and asks what still fails.

It is that run in all respects: the same plan, a fresh copy, its own canary, the targets again at once. It
serves as such only if the tree is still the same when the verdict is asked for, and only one in an attempt
does: nobody tries again until chance is kind.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from acr_cli.protocols import TestPlan
from acr_cli.records import Baseline, SuiteReport
from acr_cli.verifier.measuring import SLOW
from acr_cli.verifier.repeating import seconds_of

_SHARE = 0.5  # of the time of all tests that the targets must take, for the others to be run beside them


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What ran, on which tree (a checkpoint of it)."""

    plan: TestPlan
    targets: tuple[str, ...]
    tree: str
    report: SuiteReport

    def of(self, plan: TestPlan, baseline: Baseline, tree: str) -> SuiteReport | None:
        """The report, where a run for this verdict would be the same. Pure."""
        same = (self.plan, self.targets, self.tree) == (plan, baseline.targets, tree)
        ended = not (self.report.timed_out or self.report.partial or self.report.fault)
        return self.report if same and ended else None


def worth_it(baseline: Baseline, ids: Collection[str]) -> bool:
    """Whether all tests take little longer than these, which are run in any case. Pure."""
    report, targets = baseline.report, set(baseline.targets)
    if not ids or not targets.issuperset(ids) or report.partial or report.seconds >= SLOW:
        return False
    start = report.seconds - sum(case.seconds for case in report.cases)
    return start + seconds_of(report, ids) >= _SHARE * report.seconds


def said(report: SuiteReport, ids: Collection[str]) -> str | None:
    """What these tests say that fail; "" where they pass, None where it cannot be told. Pure."""
    passing, wanted = set(report.passing()), set(ids)
    if report.timed_out or report.partial or report.fault or not wanted <= {c.id for c in report.cases}:
        return None
    failing = [case for case in report.cases if case.id in wanted - passing]
    return "\n\n".join(f"{case.id}\n{case.detail or case.message or case.outcome}" for case in failing)
