"""The verdict on a change from the tests before and after it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acr_cli.records import (
    OWN_TEST,
    Baseline,
    CaseResult,
    Evidence,
    Failed,
    Finding,
    Passed,
    SuiteReport,
    Unverified,
)
from acr_cli.verifier import score

NAMED = 3  # how many tests a sentence names
BUILD_FAILED = "BuildFailed"  # the exception of a build, told as a test


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """What was seen beside the report of the tests."""

    findings: tuple[Finding, ...] = ()
    flaky: tuple[str, ...] = ()  # these tests count neither way
    lint: float = 1.0
    lint_note: str = ""
    notes: tuple[str, ...] = ()

    @property
    def integrity(self) -> float:
        """1 without findings; each halves it. Pure."""
        return float(0.5 ** len(self.findings))


_NOTHING = Beside()


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Targets and formerly passing tests, sorted by how they do now."""

    fixed: tuple[str, ...]
    unfixed: tuple[str, ...]
    broken: tuple[str, ...]
    kept: int  # tests that passed before and still do
    builds: int = 0  # those of `kept` that are no tests, but their build
    not_run: int = 0  # tests that passed before, and that a run that stopped by itself did not come to


def compare(baseline: Baseline, report: SuiteReport, flaky: Collection[str] = ()) -> Comparison:
    """A test that is missing or skipped does not pass; a target that is a file passes when its tests do.

    Where the run stopped by itself since its time was up, a test that passed before and is missing is not
    broken: nobody knows. Flaky tests are left out."""
    left_out = {*flaky, *baseline.flaky}
    now = {case.id: case for case in report.cases}
    before = [test for test in baseline.report.passing() if test not in left_out]
    known = [test for test in before if test in now or not report.partial]
    wanted = [test for test in baseline.targets if test not in left_out]
    fixed = tuple(t for t in wanted if _passes(t, now, report.cases))
    broken = tuple(t for t in known if t not in now or not now[t].passed)
    return Comparison(
        fixed=fixed,
        unfixed=tuple(t for t in wanted if t not in set(fixed)),
        broken=broken,
        kept=len(known) - len(broken),
        builds=sum(t in now and now[t].passed and now[t].is_build for t in known),
        not_run=len(before) - len(known),
    )


def _passes(target: str, now: dict[str, CaseResult], cases: Sequence[CaseResult]) -> bool:
    if target in now:
        return now[target].passed
    inside = [case for case in cases if case.file == target]
    return any(case.passed for case in inside) and not any(case.failed for case in inside)


def judge(
    baseline: Baseline,
    report: SuiteReport,
    *,
    patch: str,
    alternatives: int,
    undone: tuple[str, ...],
    beside: Beside = _NOTHING,
) -> Passed | Failed | Unverified:
    """The verdict on a change that parses, after all tests were run once in a fresh sandbox."""
    found = compare(baseline, report, beside.flaky)
    forged = any(finding.decides for finding in beside.findings)
    verified = not (report.fault or report.timed_out or found.unfixed or found.broken or forged)
    if verified and not found.fixed:
        return _wish(report, patch, undone, beside)
    values = {
        "syntax": 1.0,
        "build": float(not (report.fault or any(c.exception == BUILD_FAILED for c in report.cases))),
        "targets": score.share(len(found.fixed), len(found.fixed) + len(found.unfixed)),
        "regressions": score.share(found.kept, found.kept + len(found.broken) + found.not_run),
        "lint": beside.lint,
        "verified": float(verified),
        "integrity": beside.integrity if verified else 0.0,
        "uniqueness": score.uniqueness(alternatives) if verified else 0.0,
        "given": 0.0,
    }
    notes = {"lint": beside.lint_note or "not run"}
    if alternatives:
        notes["uniqueness"] = f"{alternatives} other patches pass too"
    if found.not_run:
        notes["regressions"] = f"{found.not_run} tests were not run, as their time was up"
    kind = OWN_TEST if baseline.targets and set(baseline.targets) <= set(baseline.own) else "tests"
    parts = score.signals(kind, values, notes)
    evidence = Evidence(
        u=score.u(parts),
        signals=parts,
        fixed=found.fixed,
        unfixed=found.unfixed,
        broken=found.broken,
        undone=undone,
        report=report,
        reason=_passed(found, kind) if verified else _failed(found, report, beside.findings),
        verifier=kind,
        findings=beside.findings,
        flaky=tuple(dict.fromkeys((*baseline.flaky, *beside.flaky))),
        notes=beside.notes,
    )
    return Passed(evidence=evidence) if verified else Failed(evidence=evidence)


def _wish(report: SuiteReport, patch: str, undone: tuple[str, ...], beside: Beside) -> Unverified:
    ran = sum(case.passed and not case.is_build for case in report.cases)
    orderly = score.heuristic(patch) * beside.integrity
    values = {"syntax": 1.0, "visible_tests": float(ran > 0), "heuristic": orderly}
    parts = score.signals("wish", values, {"visible_tests": f"{ran} passed before and pass now"})
    passes = "1 test passes" if ran == 1 else f"{ran} tests pass"
    reason = f"{passes} as before, but none failed before the change, so none shows that it works."
    return Unverified(
        evidence=Evidence(
            u=score.u(parts),
            signals=parts,
            undone=undone,
            report=report,
            reason=reason,
            findings=beside.findings,
            flaky=beside.flaky,
            notes=beside.notes,
        )
    )


def without_tests(patch: str, undone: tuple[str, ...]) -> Unverified:
    """The verdict on a change in a repository that has no tests."""
    values = {"syntax": 1.0, "visible_tests": 0.0, "heuristic": score.heuristic(patch)}
    parts = score.signals("wish", values, {"visible_tests": "there are none"})
    return Unverified(
        evidence=Evidence(
            u=score.u(parts),
            signals=parts,
            undone=undone,
            reason="The repository has no tests, so nothing shows that the change works.",
            verifier="syntax",
        )
    )


def rejected(reason: str, baseline: Baseline, undone: tuple[str, ...], *, syntax: float = 1.0) -> Failed:
    """The verdict before any test is run: nothing was changed, or it does not parse."""
    values = {**dict.fromkeys(score.WEIGHTS["tests"], 0.0), "syntax": syntax}
    parts = score.signals("tests", values, {"targets": "not run", "regressions": "not run"})
    return Failed(
        evidence=Evidence(
            u=score.u(parts),
            signals=parts,
            unfixed=baseline.targets,
            undone=undone,
            reason=reason,
            verifier="syntax",
        )
    )


def _passed(found: Comparison, kind: str) -> str:
    if kind == OWN_TEST:
        return _passed_own(found)
    were = "test that failed passes" if len(found.fixed) == 1 else "tests that failed pass"
    said = f"{len(found.fixed)} {were} now{_held(found)}"
    if found.not_run:
        said = f"{said}, as far as they were run: {found.not_run} others were not, as their time was up"
    return f"{said}."


def _passed_own(found: Comparison) -> str:
    one = len(found.fixed) == 1
    tests = "1 test" if one else f"{len(found.fixed)} tests"
    how_now = "fails without the change and passes" if one else "fail without the change and pass"
    return f"{tests} that acr wrote ({names(found.fixed)}) {how_now} with it{_held(found)}."


def _held(found: Comparison) -> str:
    kept = found.kept - found.builds
    if kept == 1:
        return ", and the one that passed still does"
    return f", and all {kept} that passed still do" if kept else ""


def names(ids: Sequence[str]) -> str:
    """The first of some names, and how many more there are. Pure."""
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def _failed(found: Comparison, report: SuiteReport, findings: Sequence[Finding] = ()) -> str:
    decisive = [finding.text for finding in findings if finding.decides]
    if decisive and not (found.unfixed or found.broken):
        return decisive[0]
    if report.fault:
        return f"{report.fault[0].upper()}{report.fault[1:]}."
    if report.timed_out:
        return "The tests did not end in time."
    now = {case.id: case for case in report.cases}
    said = []
    if found.unfixed:
        said.append(_sentence(found.unfixed, now, "still fails", "still fail"))
    if found.broken:
        said.append(_sentence(found.broken, now, "passed before and fails now", "passed before and fail now"))
    return "; ".join(said) + "."


def _sentence(ids: Sequence[str], now: dict[str, CaseResult], one: str, many: str) -> str:
    return f"{names(ids)} {one if len(ids) == 1 else many} ({how(ids[0], now)})"


def how(test: str, now: dict[str, CaseResult]) -> str:
    """How a test does now, in a few words. Pure."""
    case = now.get(test)
    if case is None:
        return "it no longer runs"
    if case.outcome == "skipped":
        return "it is skipped" + (f": {case.message}" if case.message else "")
    return ": ".join(part for part in (case.exception, case.message) if part) or case.outcome
