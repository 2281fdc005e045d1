"""No language at all: the user's own test command, decided by its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains.junit import DETAIL_CHARS, MESSAGE_CHARS, cut
from acr_cli.toolchains.suite import stopped


class Command:
    """Knows every tree and finds no tests by itself; implements `protocols.Toolchain`. Stateless."""

    language = ""
    extensions: tuple[str, ...] = ()

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        return Recipe(language=self.language, setup=(setup,) if setup else ())

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        if not command:
            return None
        return TestPlan(
            command=command, argv=("sh", "-c", command), reason="given by --test; its exit code decides"
        )

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        lines = [line.strip() for line in result.output.splitlines() if line.strip()]
        last = lines[-1][:MESSAGE_CHARS] if lines else f"exit code {result.exit_code}"
        fault = stopped(result)
        if not fault and result.exit_code in (126, 127):
            fault = f"the test command cannot be run: {last}"
        passed = result.exit_code == 0
        case = CaseResult(
            id=plan.command,
            outcome="passed" if passed else "failed",
            message="" if passed else last,
            detail="" if passed else cut(result.output, DETAIL_CHARS),
            seconds=result.seconds,
        )
        return SuiteReport(
            cases=() if fault else (case,),
            exit_code=result.exit_code,
            timed_out=result.timed_out,
            output=result.output,
            seconds=result.seconds,
            fault=fault,
        )

    def protected(self, path: str) -> bool:
        return any(part in ("tests", "test", "__snapshots__", ".github") for part in path.split("/"))

    def syntax_error(self, path: str, source: bytes) -> str | None:
        return None
