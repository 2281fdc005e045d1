"""When tests cannot start, or cannot be helped: the run ends before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence

from acr_cli.errors import BaselineCannotStart
from acr_cli.protocols import TestPlan
from acr_cli.records import SuiteReport, Task
from acr_cli.verifier import targets

NO_CANARY = "The tests do not start with the test that must fail; a forged report is not seen by it."

_REACHED = {
    "the tests ran out of memory": "memory_limit SIZE",
    "the tests wrote more to the disk than allowed": "disk_limit SIZE",
    "the tests ran more processes at once than allowed": "pids N",
}
"""The setting behind a report's fault that is a limit."""


def refuse_unstarted(plan: TestPlan, report: SuiteReport, seconds: float) -> None:
    """`seconds`: their time limit. Raises: BaselineCannotStart."""
    if report.timed_out:
        raise BaselineCannotStart(
            f"The tests did not end within {seconds:.0f} s: {plan.command}.",
            hint="Name a faster test command with --test CMD, or raise `test_timeout` or --max-time.",
        )
    if limit := _REACHED.get(report.fault):
        raise BaselineCannotStart(
            f"{report.fault[:1].upper()}{report.fault[1:]}: {plan.command}.",
            hint=f"Raise it with `acr config set {limit}`, or name other tests with --test CMD.",
        )
    if report.fault:
        raise BaselineCannotStart(
            f"The tests cannot start: {report.fault}.",
            hint="Name what installs the missing parts with --setup CMD, or the tests with --test CMD.",
        )


def refuse_impossible(task: Task, report: SuiteReport, chosen: Sequence[str]) -> None:
    """Nothing fails but what the sandbox lacks something for: no change of the code would help.

    Raises: BaselineCannotStart."""
    wanted = set(chosen)
    needs = [targets.lacking(case) for case in report.cases if case.id in wanted]
    if needs and all(needs) and not task.is_wish and not task.log:
        many = f"The {len(needs)} failing tests need" if len(needs) > 1 else "The failing test needs"
        raise BaselineCannotStart(
            f"{many} {' or '.join(sorted(set(needs)))}, which the sandbox has not.",
            hint="Use --network on, or --test CMD to leave them out.",
        )


def partial(report: SuiteReport, seconds: float) -> str:
    """What is said of a baseline that stopped by itself. Pure."""
    ran = f"The tests did not end within {seconds:.0f} s: {len(report.cases)} of them ran."
    return f"{ran} Verdicts are partial; `test_timeout` in the settings, or --max-time, gives them more time."
