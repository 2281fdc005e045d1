"""The reports of several projects as one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acr_cli.protocols import TestPlan
from acr_cli.records import SuiteReport


def joined(reports: Sequence[tuple[TestPlan, SuiteReport]]) -> SuiteReport:
    """One report; a project that cannot be tested does not hide the others, where there are others."""
    each = [report for _, report in reports]
    faults = [f"{plan.command}: {report.fault}" for plan, report in reports if report.fault]
    return SuiteReport(
        cases=tuple(case for report in each for case in report.cases),
        canaries=tuple(case for report in each for case in report.canaries),
        again=tuple(one for report in each for one in report.again),
        partial=any(report.partial for report in each),
        exit_code=next((report.exit_code for report in each if report.exit_code), 0),
        timed_out=any(report.timed_out for report in each),
        output="\n".join(f"$ {plan.command}\n{report.output}" for plan, report in reports),
        seconds=sum(report.seconds for report in each),
        fault="; ".join(faults) if len(faults) == len(each) else "",
        left_out=tuple(faults) if len(faults) < len(each) else (),
    )


def added(plan: TestPlan, more: TestPlan) -> TestPlan:
    """A plan of both."""
    return replace(
        plan,
        command=f"{plan.command}; {more.command}",
        argv=(),
        reason=f"{plan.reason}; {more.reason}",
        report="",
        files={},
        parts=(*(plan.parts or (plan,)), *(more.parts or (more,))),
    )
