"""Runs plans in a fresh copy of the tree, with a canary in each run whose report will be believed.

The canary is a test with a random name that must fail. It is taken out of the report again; what it did is
kept beside the cases. Which canaries there are is settled by the baseline: not every runner takes one.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from acr_cli.protocols import (
    STOPPED,
    CommandResult,
    Guards,
    Limits,
    Sandbox,
    ServesLanguages,
    Session,
    TestPlan,
    Toolchain,
    Tree,
)
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.verifier.joining import joined

SCRATCH = "/acr-scratch"  # stands in a plan for the session's scratch folder until there is a session
CANARY = "canary"  # what stands for a canary's random name in the ids of `SuiteReport.canaries`
_MARGIN = 0.1  # of a time limit, for what a runner does after its last test: 5 s at least


def random_token() -> str:
    """Twelve random letters and digits, which code under test cannot know."""
    return secrets.token_hex(6)


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """What runs tests: where, within which limits, and how a canary gets its name."""

    sandbox: Sandbox
    limits: Limits
    token: Callable[[], str]  # random letters and digits
    guards: bool = True  # whether there are canaries at all

    @contextmanager
    def copy(self, tree: Tree) -> Iterator[Copy]:
        """A fresh copy of the tree in the sandbox; all of it is gone afterwards. Raises: SandboxBroken."""
        with ExitStack() as stack:
            yield Copy(runner=self, tree=tree, stack=stack)

    def once(self, toolchain: Toolchain, plan: TestPlan, tree: Tree, *, guard: bool = True) -> SuiteReport:
        """One run in a copy of its own. Raises: SandboxBroken."""
        with self.copy(tree) as copy:
            return copy.run(toolchain, plan, guard=guard)


@dataclass(kw_only=True, slots=True)
class Copy:
    """A copy of a tree in the sandbox. A second run finds there what the first has left in the tree."""

    runner: Runner
    tree: Tree
    stack: ExitStack  # closes the sessions
    _sessions: dict[str, Session] = field(default_factory=dict)  # by language, each a copy of its own
    _reports: list[str] = field(default_factory=list)  # where runs before left theirs

    def run(
        self,
        toolchain: Toolchain,
        plan: TestPlan,
        *,
        guard: bool = False,
        seconds: float | None = None,
        again: Sequence[str] = (),
    ) -> SuiteReport:
        """`guard`: with a canary; `seconds`: within this time if the limit allows more; `again`: tests that
        the runner may run again at once. Raises: SandboxBroken."""
        if plan.parts:
            each = [
                (p, self.run(toolchain, p, guard=guard, seconds=seconds, again=again)) for p in plan.parts
            ]
            return joined(each)
        session = self._session(plan.language)
        limit = self.runner.limits.seconds
        limit = limit if seconds is None else min(limit, max(1.0, seconds))
        name = f"acrcanary{self.runner.token()}"
        placed = place(plan, session.scratch)
        if guard and self.runner.guards and isinstance(toolchain, Guards):
            box = limit - min(0.5 * limit, max(5.0, _MARGIN * limit))
            guarded = toolchain.guarded(self.tree.root, placed, name=name, seconds=max(0.0, box), again=again)
            placed = guarded or placed
        argv = placed.argv
        if self._reports:
            old = shlex.join((f"{session.scratch}/reports", *dict.fromkeys(self._reports)))
            argv = ("sh", "-c", f'rm -rf {old}; exec "$@"', "sh", *argv)
        if placed.files:
            session.put(placed.files)
        limits = replace(self.runner.limits, seconds=limit)
        result = session.run(argv, environment=placed.environment, limits=limits)
        report = session.get(placed.report) if placed.report else None
        self._reports += [placed.report] if placed.report else []
        return without_canary(toolchain.read(placed, report, result), name, plan.folder)

    def command(self, line: str, seconds: float) -> CommandResult:
        """A line for sh, in the copy as the runs before have left it. Raises: SandboxBroken."""
        return self._session("").run(line, limits=replace(self.runner.limits, seconds=seconds))

    def _session(self, language: str) -> Session:
        """In the environment of this language; "" is the recipe's own."""
        if language not in self._sessions:
            sandbox = self.runner.sandbox
            prepared = sandbox.of(language) if isinstance(sandbox, ServesLanguages) else sandbox
            self._sessions[language] = self.stack.enter_context(prepared.open(self.tree.root))
        return self._sessions[language]


def without_canary(report: SuiteReport, name: str, folder: str = "") -> SuiteReport:
    """The report with its canaries beside the cases, and no word of them elsewhere. Pure."""
    if name not in report.output and not any(name in case.id for case in report.cases):
        return report
    canaries = tuple(_nameless(case, name) for case in report.cases if name in case.id)
    cases = tuple(case for case in report.cases if name not in case.id)
    lines = report.output.splitlines(keepends=True)
    failed = any(case.failed for case in cases)
    fault = report.fault or ("" if cases else "no tests were found")
    return replace(
        report,
        cases=cases,
        canaries=canaries,
        partial=any(name in line and STOPPED in line for line in lines),
        again=_again(report, name, folder),
        output="".join(line for line in lines if name not in line),
        exit_code=report.exit_code if failed or fault else 0,
        fault=fault,
    )


def _again(report: SuiteReport, name: str, folder: str) -> tuple[tuple[str, bool], ...]:
    ids = {case.id for case in report.cases}
    said = re.findall(rf"^{name} (passed|failed) again: (.*)$", report.output, re.MULTILINE)
    return tuple((test if test in ids else f"{folder}/{test}", outcome == "passed") for outcome, test in said)


def _nameless(case: CaseResult, name: str) -> CaseResult:
    return CaseResult(id=case.id.replace(name, CANARY), outcome=case.outcome)


def place(plan: TestPlan, scratch: str) -> TestPlan:
    """A plan with the session's own scratch folder in it. Pure."""

    def put(text: str) -> str:
        return text.replace(SCRATCH, scratch)

    def put_all(table: Mapping[str, str]) -> dict[str, str]:
        return {name: put(value) for name, value in table.items()}

    return replace(
        plan,
        argv=tuple(put(word) for word in plan.argv),
        report=put(plan.report),
        environment=put_all(plan.environment),
        files={put(path): data for path, data in plan.files.items()},
    )
