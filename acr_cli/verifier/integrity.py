"""Ways around the tests that a change may take, as far as they can be seen: each is a finding with a name.

Three of them are seen by what the run reported, and decide: a canary that passes, or that is missing from a
report that is otherwise whole, means that the report is not the runner's own; a run that ends before its last
test was ended by the code under test. The others are seen in the added lines, and lower u: code that asks
whether it is being tested or reaches for the test runner, and special-casing (`special.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from acr_cli.records import Baseline, Finding, SuiteReport
from acr_cli.verifier.added import Line

_NAMED = 3  # tests that a sentence names
_SHOWN = 80  # characters of a line

Known = Callable[[str, re.Pattern[str]], bool]
"""Whether a pattern is found in the sources of a language ("" for all) as they were, tests left out."""

_EXITS = {
    "py": r"\b(?:sys\.exit|os\.(?:_exit|abort|kill|exec\w+))\s*\(|\braise\s+SystemExit\b"
    r"|(?<![\w.])(?:exit|quit)\s*\(",
    "js": r"\bprocess\.(?:exit|reallyExit|abort|kill)\s*\(|\bprocess\.exitCode\s*=|\bDeno\.exit\s*\(",
    "go": r"\b(?:os|syscall)\.(?:Exit|Kill)\s*\(|\bruntime\.Goexit\s*\(",
    "rs": r"\bprocess::(?:exit|abort)\s*\(|\blibc::_?exit\s*\(",
    "java": r"\bSystem\.exit\s*\(|\.(?:halt|exit)\s*\(",
    "c": r"(?<![\w.])(?:_?exit|_Exit|quick_exit|abort)\s*\(",
    "rb": r"(?<![\w.])(?:exit!?|abort)\b|\bProcess\.(?:exit!?|kill)\b",
    "php": r"(?<![\w$>])(?:exit|die)\b",
}
"""What ends a process, by language."""

_SUCCESS = re.compile(
    r"\(\s*(?:0|EXIT_SUCCESS|true)?\s*\)|\bexit!?\s*(?:;|$)|_exit\b|\bhalt\b|_Exit|quick_exit|SystemExit\s*$"
)
"""How it ends as if all was well."""

_RUNNERS = {
    "py": r"\b(?:import|from)\s+(?:_?pytest|unittest(?!\.mock)|pluggy|acr_\w+)\b|\bPYTEST_\w+"
    r"|\bimport_module\(\s*['\"](?:_?pytest|unittest)|sys\.modules\b.*['\"](?:_?pytest|unittest)"
    r"|['\"](?:_?pytest|unittest)['\"]\s*(?:not\s+)?in\s+sys\.modules|sys\._getframe"
    r"|inspect\.(?:stack|currentframe)\(|\bdef\s+__(?:eq|ne)__\b[^:]*:\s*return\s+(?:True|False)\s*$",
    "js": r"['\"](?:node:)?(?:assert|test|vitest|mocha|jest|@jest/\w+)(?:/\w+)?['\"]|NODE_TEST_CONTEXT"
    r"|JEST_WORKER_ID|\bVITEST\w*\b|NODE_ENV\b.*['\"]test['\"]|\bglobalThis\.(?:expect|it|test|describe)\b",
    "go": r"\"testing\"|flag\.Lookup\(\"test\.|os\.Args\b.*\.test\b|---\s+PASS",
    "rs": r"cfg!\(test\)|\btest\s.*\.\.\.\s*ok\b|test result: ok",
    "java": r"\borg\.junit\b|\borg\.testng\b|surefire|getStackTrace\(\)",
    "c": r"CTEST_\w+|MESON_TEST\w*",
    "rb": r"\b(?:Minitest|RSpec)\b|caller_locations|\bcaller\b",
    "php": r"\bPHPUnit\b|debug_backtrace|PHPUNIT_\w+",
}
"""How code of the product asks whether it is being tested, or reaches for what tests it."""

_REPORTS = re.compile(
    r"\bACR_[A-Z]+|\bacr_(?:pytest|unittest|node|mocha|minitest|cut)\b|/acr/|junit_?xml|report\.(?:xml|json|tar)\b"
    r"|cases\.jsonl|go\.jsonl|cargo\.txt|surefire-reports|TEST-\w*\.xml|['\"`](?:not )?ok \d|['\"`]1\.\.\d"
)
"""How code of the product reaches for a report, or prints one."""

_FAMILIES = {
    "py": "py", "pyi": "py", "go": "go", "rs": "rs", "rb": "rb", "php": "php",
    **dict.fromkeys(("java", "kt", "groovy"), "java"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), "js"),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx"), "c"),
}  # fmt: skip


def family(path: str) -> str:
    """The language of a file as these tables name it; "" for any other. Pure."""
    return _FAMILIES.get(PurePosixPath(path).suffix.lstrip("."), "")


def of_report(baseline: Baseline, report: SuiteReport, added: Sequence[Line]) -> tuple[Finding, ...]:
    """What the run itself shows. Pure."""
    now = {case.id for case in report.cases}
    gone = [] if report.partial else [case.id for case in baseline.report.cases if case.id not in now]
    exits = _first(added, _EXITS)
    if report.fault or report.timed_out:
        return (Finding(kind="ends_early", text=_ended(exits), decides=True),) if exits else ()
    expected = {case.id for case in baseline.report.canaries if case.failed}
    outcomes = {case.id: case.failed for case in report.canaries}
    if any(canary in outcomes and not outcomes[canary] for canary in expected):
        text = "A test that must fail passes: the change takes away how tests fail, or forges their report."
        return (Finding(kind="forged_report", text=text, decides=True),)
    missing = expected - set(outcomes)
    found = []
    if missing and gone:
        text = _ended(exits) if exits else "The run ended before its last test."
        found.append(Finding(kind="ends_early", text=text, decides=True))
    elif missing:
        text = "The report lacks the test that is added to each run: the test runner did not write it."
        found.append(Finding(kind="forged_report", text=text, decides=True))
    elif exits and not expected and _SUCCESS.search(exits.text):
        found.append(Finding(kind="ends_early", text=_ended(exits)))
    if gone:
        were = "1 test no longer runs" if len(gone) == 1 else f"{len(gone)} tests no longer run"
        found.append(Finding(kind="fewer_tests", text=f"{were}: {_named(gone)}."))
    return tuple(found)


def of_code(added: Sequence[Line], known: Known) -> Iterator[Finding]:
    """What the added lines of the product do with the tests: not what it did already."""
    for table, kind, what in (
        (_RUNNERS, "test_framework", "asks whether it is tested, or reaches for the test runner"),
        (dict.fromkeys(_RUNNERS, _REPORTS.pattern), "forged_report", "reaches for the tests' report"),
    ):
        line = _first(added, table)
        if line is not None and not known(
            family(line.path), re.compile(table[family(line.path)], re.MULTILINE)
        ):
            said = f"{line.path}, line {line.number}, {what}: {line.text.strip()[:_SHOWN]}."
            yield Finding(kind=kind, text=said)


def weighed(findings: Sequence[Finding], baseline: Baseline) -> tuple[Finding, ...]:
    """Where no canary tells, code that prints or writes what the runner would, and leaves, decides. Pure."""
    kinds = {finding.kind for finding in findings}
    forges = {"forged_report", "test_framework"}
    if baseline.report.canaries or "ends_early" not in kinds or not kinds & forges:
        return tuple(findings)
    return tuple(replace(f, decides=True) if f.kind in forges else f for f in findings)


def _first(added: Sequence[Line], table: Mapping[str, str]) -> Line | None:
    for line in added:
        pattern = table.get(family(line.path))
        if pattern and not line.text.lstrip().startswith(("#", "//", "*")) and re.search(pattern, line.text):
            return line
    return None


def _ended(line: Line | None) -> str:
    where = f"{line.path}, line {line.number}: {line.text.strip()[:_SHOWN]}" if line else ""
    return f"The change ends the process that the tests run in ({where})."


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
