"""Tests that a test step wrote: evidence where they fail before the change, and pass after it.

A test step may add tests and nothing else. The new tests run on the tree as it was before any edit: one that
passes there is no evidence, and one that fails for a reason of its own (a name that it never defined, a
fixture that does not exist) says nothing of the task. What is missing in the code under test is a good reason
to fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from acr_cli.protocols import Tree
from acr_cli.records import (
    OWN_TEST,
    Baseline,
    CaseResult,
    Evidence,
    Failed,
    Passed,
    SuiteReport,
    Unverified,
)
from acr_cli.verifier.judge import judge, names
from acr_cli.verifier.tampering import added_by, is_test

_FOLDERS = frozenset(("test", "tests", "spec", "specs", "__tests__", "t"))
_NO_TESTS = frozenset(("conftest", "__init__", "setup", "sitecustomize", "usercustomize"))
_PLACE = re.compile(r"^(\S+?):(\d+): (?:in \S+|(\w+))$", re.MULTILINE)
_FIXTURE = re.compile(r"fixture '[^']*' not found")
_MODULE = re.compile(r"No module named '?(\w+)")
_UNDEFINED = ("NameError", "UnboundLocalError")

PASSES = "The new test passes before any change, so that it is no evidence."


def keep_new_tests(
    tree: Tree, since: str, protected: Callable[[str], bool], extensions: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Undo all that is no new test file; the paths of those that stay, and of what was undone."""
    added = added_by(tree.diff(since))
    changed = tree.changed(since)
    kept = tuple(
        path for path in changed if path in added and protected(path) and _is_test_file(path, extensions)
    )
    undone = tuple(path for path in changed if path not in kept)
    if undone:
        tree.restore(since, undone)
    return kept, undone


def _is_test_file(path: str, extensions: Sequence[str]) -> bool:
    place = PurePosixPath(path)
    if place.stem in _NO_TESTS:
        return False
    in_folder = any(part.lower() in _FOLDERS for part in place.parts[:-1])
    return is_test(path) or (in_folder and place.suffix in extensions)


def started_tree(tree: Tree, start: str, tests: Sequence[str]) -> str | None:
    """Bring the tree back to `start`, but for these files; the checkpoint to return to.

    None, and nothing is done, where the tree is `start` but for them."""
    if not set(tree.changed(start)) - set(tests):
        return None
    now = tree.checkpoint()
    tree.restore(start)
    tree.restore(now, tests)
    return now


def judge_tests(
    baseline: Baseline,
    before: SuiteReport,
    now: SuiteReport | None,
    *,
    tests: tuple[str, ...],
    undone: tuple[str, ...],
    known: Callable[[str], bool],
) -> Passed | Failed | Unverified:
    """The verdict on new tests. Pure.

    `before` are all tests on the tree before any edit, the new ones included; `now` are those on the present
    one, None where there was no edit yet. `known` says whether a name is one of the task or the repository.
    Unverified: the new tests fail as they should; they are the `unfixed` of its evidence."""
    ids = {case.id for case in baseline.report.cases}
    fresh = [case for case in before.cases if case.id not in ids]
    failing = tuple(case.id for case in fresh if case.failed)
    if wrong := _wrong(baseline, before, fresh, tests, known):
        return no_test(wrong, undone, report=before)
    if now is None:
        return Unverified(evidence=_evidence(_fails(failing), undone, before, unfixed=failing))
    aim = replace(
        baseline,
        report=replace(baseline.report, cases=(*baseline.report.cases, *fresh)),
        targets=failing,
        own=failing,
    )
    verdict = judge(aim, now, patch="", alternatives=0, undone=undone)
    if isinstance(verdict, Passed):
        return verdict
    return no_test(f"With the change, too: {verdict.evidence.reason}", undone, report=now)


def none_written(undone: tuple[str, ...]) -> Failed | Unverified:
    """The verdict on a test step that wrote none: it may be right that no test can show the task. Pure."""
    if undone:
        reason = f"No new test was written; edits to other files were undone: {names(undone)}."
        return no_test(reason, undone)
    return Unverified(evidence=_evidence("No test was written.", (), None))


def no_test(reason: str, undone: tuple[str, ...], *, report: SuiteReport | None = None) -> Failed:
    """The verdict on a test step that gave no evidence. Pure."""
    return Failed(evidence=_evidence(reason, undone, report))


def _fails(failing: Sequence[str]) -> str:
    what = "1 test that acr wrote fails" if len(failing) == 1 else f"{len(failing)} tests that acr wrote fail"
    return f"{what} before the change, as it should: {names(failing)}."


def _wrong(
    baseline: Baseline,
    before: SuiteReport,
    fresh: Sequence[CaseResult],
    tests: Collection[str],
    known: Callable[[str], bool],
) -> str:
    """Why the new tests are no evidence; "" where they are."""
    if before.timed_out:
        return "With the new test the tests did not end in time."
    failing = [case for case in fresh if case.failed]
    if before.fault and not any(case.file in tests and case.file in before.fault for case in failing):
        return f"With the new test the tests cannot start: {before.fault}."
    now = set(before.passing())
    if gone := [test for test in baseline.report.passing() if test not in now]:
        return f"With the new test {gone[0]}, which passed, fails or no longer runs."
    if not fresh:
        return "The test command runs none of the new tests: they may lie in the wrong place."
    if not failing:
        return PASSES
    for case in failing:
        if why := _of_its_own(case, tests, known):
            return f"{case.id} fails for a reason of its own, not for the task's: {why}."
    return ""


def _of_its_own(case: CaseResult, tests: Collection[str], known: Callable[[str], bool]) -> str:
    """What is wrong with the test itself, as far as its failure tells; "" for an honest failure."""
    if found := _FIXTURE.search(f"{case.message}\n{case.detail}"):
        return found.group(0)
    if case.exception.endswith(_UNDEFINED):
        places = _PLACE.findall(case.detail)
        if not places or places[-1][0] in tests:
            return f"{case.exception}: {case.message}"
    missing = _MODULE.search(f"{case.message}\n{case.detail}")
    if missing and not known(missing.group(1)):
        return missing.group(0)
    return ""


def _evidence(
    reason: str, undone: tuple[str, ...], report: SuiteReport | None, *, unfixed: tuple[str, ...] = ()
) -> Evidence:
    return Evidence(u=0.0, unfixed=unfixed, undone=undone, report=report, reason=reason, verifier=OWN_TEST)
