"""Which tests flip: their outcome changes though nothing was changed.

A test has flipped when two runs under the same conditions disagree: on the same tree, and both times alone or
both times among all others (a test may need, or suffer from, those before it). Only few tests are run again,
a few times, as long as there is time. Some runners run tests again at once, within the same process: that is
cheap, and clears a test of suspicion. It does not convict one, for what a test does may depend on what it has
done before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from acr_cli.protocols import TestPlan, Toolchain, Tree
from acr_cli.records import SuiteReport
from acr_cli.verifier.running import SCRATCH, Copy, Runner

TIMES = 2  # that tests are run again on one tree
MANY = 30  # tests that are run again; more than these do not flip together
WHOLE = 60.0  # seconds that all tests may take to be run again
SHORT = 10.0  # the same, where single tests cannot be chosen
_SHARE, _FIXED = 0.3, 0.5  # of the time of all tests, and seconds, that a second look may cost
_CHANCE = re.compile(
    r"rand|shuffle|uuid|sleep|thread|async|await|\btime\b|clock|\bnow\b|\bDate\b|instant|\bgo func|\bchan\b"
    r"|mutex|concurr|parallel|socket|\bhash\(|\bid\(",
    re.IGNORECASE,
)
"""Words of code whose result may be another one the next time."""
_PSEUDO = "BuildFailed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeats:
    """Runs tests again, until `end`."""

    runner: Runner
    toolchain: Toolchain
    plan: TestPlan  # of all tests
    command: str | None  # the user's own
    clock: Callable[[], float]  # seconds, monotonic
    end: float  # on that clock

    def of_targets(self, copy: Copy, report: SuiteReport, ids: Sequence[str]) -> tuple[str, ...]:
        """Of tests that failed among all others in `report`, which ran in this copy, those that flip.

        Raises: SandboxBroken."""
        suspected = suspects(report, ids, passed=False)
        alone = self._alone(copy, report, suspected, enough=lambda passed: not any(passed))
        mixed = [test for test, passed in alone.items() if len(set(passed)) > 1]
        pass_now = [test for test, passed in alone.items() if all(passed)]
        whole = self._whole(copy.tree, report) if pass_now else None
        passing = set(whole.passing()) if whole else set()
        flaky = {*mixed, *(test for test in pass_now if test in passing)}
        return tuple(test for test in ids if test in flaky)

    def of_broken(self, tree: Tree, start: str, report: SuiteReport, ids: Sequence[str]) -> tuple[str, ...]:
        """Of tests that passed at the baseline, and failed in `report` on this tree whenever they were run,
        those that flip on the tree as it was at the checkpoint `start`. Raises: SandboxBroken."""
        if len(ids) > MANY or not self._time():
            return ()
        now = tree.checkpoint()
        tree.restore(start)
        try:
            with self.runner.copy(tree) as copy:
                before = self._alone(copy, report, ids)
        finally:
            tree.restore(now)
        flaky = {test for test, passed in before.items() if len(set(passed)) > 1}
        # Alone it failed before the change, too: that says nothing of what it does among all others.
        unclear = [test for test, passed in before.items() if not any(passed)]
        whole = self._whole(tree, report) if unclear else None
        flaky |= set(unclear) & set(whole.passing() if whole else ())
        return tuple(test for test in ids if test in flaky)

    def of_fixed(self, copy: Copy, report: SuiteReport, ids: Sequence[str], code: str) -> tuple[str, ...]:
        """Of targets that pass in `report`, which ran in this copy, those that pass only sometimes.

        `code` is what was changed: where a second look is dear, it is taken only if that speaks of chance.
        Raises: SandboxBroken."""
        chosen = selectable(report, suspects(report, ids, passed=True))[:MANY]
        if not chosen or not self._worth_it(report, chosen, code):
            return ()
        first = self._alone(copy, report, chosen, enough=all)
        failed = [test for test, passed in first.items() if not all(passed)]
        flips = [test for test in failed if any(first[test])]
        # Alone it fails, among all others it passed: the others decide, or chance.
        rest = [test for test in failed if test not in flips]
        whole = self._whole(copy.tree, report) if rest else None
        passing = set(whole.passing()) if whole else set(rest)
        return tuple(test for test in failed if test in flips or test not in passing)

    def _worth_it(self, report: SuiteReport, ids: Sequence[str], code: str) -> bool:
        """Whether a second look costs little, or is called for."""
        if _seen_to_flip(report, ids):
            return True
        start = report.seconds - sum(case.seconds for case in report.cases)
        return start + seconds_of(report, ids) <= _SHARE * report.seconds + _FIXED or bool(
            _CHANCE.search(code)
        )

    def only(self, tree: Tree, ids: Sequence[str]) -> TestPlan | None:
        """What runs these tests alone; None where that is not possible."""
        if not ids:
            return None
        plan = self.toolchain.plan(tree.root, command=self.command, tests=ids, scratch=SCRATCH)
        return None if plan is None or plan == self.plan else plan

    def _alone(
        self,
        copy: Copy,
        report: SuiteReport,
        ids: Sequence[str],
        enough: Callable[[Sequence[bool]], bool] = lambda _: False,
    ) -> dict[str, list[bool]]:
        """Whether they pass, each time, in this copy; once is enough where `enough` says so."""
        chosen = selectable(report, ids)[:MANY]
        plan = self.only(copy.tree, chosen)
        took = seconds_of(report, chosen) if plan else report.seconds
        if not chosen or not self._time(took) or (plan is None and took > SHORT):
            return {}
        passed: dict[str, list[bool]] = {test: [] for test in chosen}
        for _ in range(TIMES):
            began = self.clock()
            now = self._again(copy, plan, test_ids=chosen)
            for test, ok in now.items():
                passed[test].append(ok)
            sure = enough(list(now.values())) and not _seen_to_flip(report, chosen)
            if sure or not self._time(self.clock() - began):
                break
        return {test: each for test, each in passed.items() if each}

    def _again(self, copy: Copy, plan: TestPlan | None, *, test_ids: Sequence[str]) -> dict[str, bool]:
        """Whether each passes now; nothing of those that were not told of."""
        report = copy.run(self.toolchain, plan or self.plan, seconds=self.end - self.clock())
        if report.timed_out:
            return {}
        now = {case.id: case.passed for case in report.cases}
        return {test: now[test] for test in test_ids if test in now}

    def _whole(self, tree: Tree, report: SuiteReport) -> SuiteReport | None:
        if report.seconds > WHOLE or not self._time(report.seconds):
            return None
        return self.runner.once(self.toolchain, self.plan, tree, guard=False)

    def _time(self, needed: float = 0.0) -> bool:
        return self.clock() + needed < self.end


def suspects(report: SuiteReport, ids: Sequence[str], *, passed: bool) -> list[str]:
    """Those of the ids that the runner has not seen do the same when it ran them again at once. Pure."""
    steady = {test for test, now in report.again if now == passed}
    steady -= {test for test, now in report.again if now != passed}
    return [test for test in ids if test not in steady]


def _seen_to_flip(report: SuiteReport, ids: Sequence[str]) -> bool:
    """Whether the runner saw one of them do something else when it ran it again at once. Pure."""
    first = {case.id: case.passed for case in report.cases if case.id in set(ids)}
    return any(first[test] != passed for test, passed in report.again if test in first)


def selectable(report: SuiteReport, ids: Sequence[str]) -> list[str]:
    """Those of the ids that are tests and not builds. Pure."""
    cases = {case.id: case for case in report.cases}
    return [test for test in ids if test in cases and cases[test].exception != _PSEUDO]


def seconds_of(report: SuiteReport, ids: Collection[str]) -> float:
    """What these tests took together. Pure."""
    wanted = set(ids)
    return sum(case.seconds for case in report.cases if case.id in wanted)


def only_sometimes(report: SuiteReport, ids: Sequence[str]) -> SuiteReport:
    """The report with these tests failed: a test that passes only sometimes is not fixed. Pure."""
    if not ids:
        return report
    message = "it passes only sometimes"
    cases = tuple(
        replace(c, outcome="failed", message=message, detail=message) if c.id in set(ids) else c
        for c in report.cases
    )
    return replace(report, cases=cases)
