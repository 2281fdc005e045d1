"""All runs behind one verdict: the targets first, then everything, then again what may flip.

The targets are run first, with the tests of the touched files, only where all tests take long: otherwise the
run of everything tells the same. What has no time left is not run, and the verdict says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from acr_cli.protocols import Tree
from acr_cli.records import Baseline, Finding, SuiteReport
from acr_cli.verifier import added, integrity, judge, lint, special, starting
from acr_cli.verifier.repeating import Repeats, only_sometimes
from acr_cli.verifier.running import Copy
from acr_cli.verifier.sources import Sources

SLOW = 20.0  # seconds of all tests from which on the targets are run first
_NEAR = 40  # tests of the touched files that are run with the targets
_CHEAP = 0.5  # share of the time of all tests that the first ones may take


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What the judge needs. `baseline` holds those tests alone that `report` is to be compared with."""

    baseline: Baseline
    report: SuiteReport
    beside: judge.Beside


@dataclass(frozen=True, kw_only=True, slots=True)
class Measuring:
    """One change to be measured, in `tree`; `start` is a checkpoint of the tree before any edit."""

    repeats: Repeats
    baseline: Baseline
    tree: Tree
    start: str
    touched: Sequence[str]
    patch: str
    words: str  # of the task
    protected: Callable[[str], bool]
    rehearsed: SuiteReport | None = None  # all tests, as they were just run on this tree

    def measure(self) -> Measured:
        """Raises: SandboxBroken."""
        first = self._first()
        if first is not None and self._still_failing(first):
            return self._early(first)
        repeats = self.repeats
        sources = self._sources()
        with repeats.runner.copy(self.tree) as copy:
            report = self._everything(copy, first)
            found = judge.compare(self.baseline, report)
            sound = not (report.fault or report.timed_out or found.unfixed)
            again = sound and first is None and not found.broken
            flip = repeats.of_fixed(copy, report, found.fixed, self.patch) if again else ()
            chance = repeats.of_targets(copy, report, found.broken) if sound else ()
            value, note = self._lint(copy, sources) if sound and not found.broken else (1.0, "")
        report = only_sometimes(report, flip)
        left = [test for test in found.broken if test not in chance]
        before = repeats.of_broken(self.tree, self.start, report, left) if sound and left else ()
        flaky = tuple(test for test in found.broken if test in chance or test in before)
        findings = self._findings(report, sources)
        notes = _notes(self.baseline, report)
        if repeats.runner.sandbox.name != "none":
            notes += starting.felt(report, self.baseline.report.failing())
        beside = judge.Beside(findings=findings, flaky=flaky, lint=value, lint_note=note, notes=notes)
        return Measured(baseline=self.baseline, report=report, beside=beside)

    # --- the targets first --------------------------------------------------------------------------------

    def _first(self) -> SuiteReport | None:
        """The targets and the tests of the touched files, where that saves time; None where it does not."""
        baseline, repeats = self.baseline, self.repeats
        before = baseline.report
        if not baseline.targets or (before.seconds < SLOW and not before.partial):
            return None
        ids = (*baseline.targets, *near(baseline, self.touched)[:_NEAR])
        took = sum(case.seconds for case in before.cases if case.id in set(ids))
        plan = repeats.only(self.tree, ids)
        if plan is None or (took > _CHEAP * before.seconds and not before.partial):
            return None
        with repeats.runner.copy(self.tree) as copy:
            report = copy.run(repeats.toolchain, plan, seconds=repeats.end - repeats.clock())
        told = {case.id for case in report.cases}
        lost = {case.file for case in report.cases if case.failed and case.id == case.file}
        whole = all(case.id in told or case.file in lost for case in baseline.failures())
        return report if whole and not (report.fault or report.timed_out) else None

    def _still_failing(self, first: SuiteReport) -> bool:
        passing = set(first.passing())
        return any(test not in passing for test in self.baseline.targets)

    def _early(self, first: SuiteReport) -> Measured:
        told = {case.id for case in first.cases}
        kept = tuple(c for c in self.baseline.report.cases if c.id in told or c.id in self.baseline.targets)
        note = "Only the targets and the tests of the touched files were run, as a target still fails."
        findings = self._findings(first, self._sources(), whole=False)
        return Measured(
            baseline=replace(self.baseline, report=replace(self.baseline.report, cases=kept)),
            report=first,
            beside=judge.Beside(notes=(note,), findings=findings),
        )

    def _everything(self, copy: Copy, first: SuiteReport | None) -> SuiteReport:
        """All tests; of a run that stopped by itself, the targets as they were when they were run first."""
        repeats = self.repeats
        left = repeats.end - repeats.clock()
        targets = self.baseline.targets
        if self.rehearsed is not None:
            return self.rehearsed
        report = copy.run(repeats.toolchain, repeats.plan, guard=True, seconds=left, again=targets)
        if first is None or not report.partial:
            return report
        told = {case.id for case in report.cases}
        return replace(report, cases=(*report.cases, *(c for c in first.cases if c.id not in told)))

    # --- beside the tests ---------------------------------------------------------------------------------

    def _sources(self) -> Sources:
        lines = [line for line in added.lines(self.patch) if not self.protected(line.path)]
        return Sources(tree=self.tree, added=lines, protected=self.protected)

    def _findings(self, report: SuiteReport, sources: Sources, *, whole: bool = True) -> tuple[Finding, ...]:
        lines = sources.added
        found = [*integrity.of_report(self.baseline, report, lines, sources.text)] if whole else []
        found += integrity.of_code(lines, sources.knew)
        failures = self.baseline.failures()

        def known(text: str) -> bool:
            return text in self.words or sources.knew("", re.compile(re.escape(text)))

        tests = sources.texts([case.file for case in failures])
        if any(not case.file for case in failures):
            tests[""] = sources.tests()
        now = sources.texts([line.path for line in lines])
        found += special.find(lines, failures, tests, now, known)
        return integrity.weighed(found, self.baseline)

    def _lint(self, copy: Copy, sources: Sources) -> tuple[float, str]:
        names = [each.name for each in self.tree.root.iterdir() if each.is_file()]
        linters = lint.chosen(names, self.touched, sources.text)
        return lint.complaints(linters, sources.added, lambda command: copy.command(command, lint.SECONDS))


def near(baseline: Baseline, touched: Sequence[str]) -> list[str]:
    """Tests that passed, in files named after a touched file: test_x, x_test, x.test, XTest. Pure."""
    stems = {re.sub(r"[\W_]", "", PurePosixPath(path).stem.lower()) for path in touched}
    names = {f"test{s}" for s in stems} | {f"{s}{end}" for s in stems for end in ("test", "tests", "spec")}
    return [
        case.id
        for case in baseline.report.cases
        if case.passed and case.file
        and re.sub(r"[\W_]", "", PurePosixPath(case.file).name.partition(".")[0].lower()) in names | stems
    ]  # fmt: skip


def _notes(baseline: Baseline, report: SuiteReport) -> tuple[str, ...]:
    notes = []
    if report.partial:
        notes.append(f"Partial: {len(report.cases)} tests ran until their time was up.")
    elif baseline.report.partial:
        notes.append("Partial: the tests before the change were stopped, as their time was up.")
    if not any(case.failed for case in baseline.report.canaries):
        notes.append("This way of running tests takes no canary: a forged report would not be seen by one.")
    return tuple(notes)
