"""When tests cannot start, or cannot be helped: the run ends before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from acr_cli.errors import BaselineCannotStart
from acr_cli.protocols import TestPlan
from acr_cli.records import CaseResult, SuiteReport, Task
from acr_cli.verifier import targets
from acr_cli.verifier.judge import names

NO_CANARY = "The tests do not start with the test that must fail; a forged report is not seen by it."

_REACHED = {
    "the tests ran out of memory": "memory_limit SIZE",
    "the tests wrote more to the disk than allowed": "disk_limit SIZE",
    "the tests ran more processes at once than allowed": "pids N",
}
"""The setting behind a report's fault that is a limit."""

_FELT = {
    "disk_limit SIZE": re.compile(
        r"\[Errno 27\]|\bEFBIG\b|File size limit exceeded|\bwrite \S+: file too large"
    ),
    "memory_limit SIZE": re.compile(
        r"^(?:E +)?[\w.]*MemoryError\b|\[Errno 12\]|\bENOMEM\b|\bstd::bad_alloc\b"
        r"|memory allocation of \d+ bytes failed|runtime: (?:out of|cannot allocate) memory",
        re.MULTILINE,
    ),
    "pids N": re.compile(
        r"can't start new thread|fork[\s\S]*?Resource temporarily unavailable|pthread_create failed",
        re.IGNORECASE,
    ),
}
"""The setting behind an error that a process in a sandbox gets for itself, where its limit is reached."""
_LAST_WORDS = 1500  # characters of a failure that say how it ended


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


def felt(report: SuiteReport, known: Collection[str] = ()) -> tuple[str, ...]:
    """A sentence for each limit that failing tests may have reached, but for tests that are `known`. Pure."""
    failing = [case for case in report.cases if case.failed and case.id not in known]
    said = []
    for setting, words in _FELT.items():
        if near := [case.id for case in failing if words.search(_end(case))]:
            verb = "fails" if len(near) == 1 else "fail"
            said.append(
                f"{names(near)} {verb} as code does that reaches a limit of the sandbox; "
                f"if that is why, raise it: `acr config set {setting}`."
            )
    return tuple(said)


def _end(case: CaseResult) -> str:
    return f"{case.exception}: {case.message}\n{case.detail[-_LAST_WORDS:]}"


def partial(report: SuiteReport, seconds: float) -> str:
    """What is said of a baseline that stopped by itself. Pure."""
    ran = f"The tests did not end within {seconds:.0f} s: {len(report.cases)} of them ran."
    return f"{ran} Verdicts are partial; `test_timeout` in the settings, or --max-time, gives them more time."
