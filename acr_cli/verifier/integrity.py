"""Ways around the tests that a change may take, as far as they can be seen: each is a finding with a name.

Three of them are seen by what the run reported, and decide: a canary that passes, or that is missing from a
report that is otherwise whole, means that the report is not the runner's own; a run that ends before its last
test was ended by the code under test. Code that speaks of the files that carry our reports decides, too, and
so does, where a test is nothing but the exit code of a program, as in C, code that ends this as if all was
well, unless it stands in a program's own file. The others are seen in the added lines, and lower u: code that
asks whether it is being tested or reaches for the test runner, and special-casing (`special.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
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
    "c": r"(?<![\w.])(?:_?exit|_Exit|quick_exit|abort)\s*\(|\bSYS_exit|__NR_exit",
    "rb": r"(?<![\w.])(?:exit!?|abort)\b|\bProcess\.(?:exit!?|kill)\b",
    "php": r"(?<![\w$>])(?:exit|die)\b",
}
"""What ends a process, by language."""

_SUCCESS = re.compile(
    r"\(\s*(?:0|EXIT_SUCCESS|true)?\s*\)|\bexit!?\s*(?:;|$)|_exit|\bhalt\b|_Exit|quick_exit|SystemExit\s*$"
)
"""How it ends as if all was well."""

_PROGRAM = {
    "py": r"__main__|sys\.argv|\bargparse\b|\A#!",
    "js": r"require\.main|process\.argv|\A#!",
    "go": r"\bfunc main\(",
    "rs": r"\bfn main\(",
    "java": r"\bvoid main\(",
    "c": r"\bw?main\s*\(",
    "rb": r"__FILE__|\bARGV\b|\A#!",
    "php": r"\$argv\b|PHP_SAPI|\A#!",
}
"""How a file shows that it is a program's own, which may well end it."""

_RUNNERS = {
    "py": r"\b(?:import|from)\s+(?:_?pytest|unittest(?!\.mock)|pluggy|acr_\w+)\b|\bPYTEST_\w+"
    r"|\bimport_module\(\s*['\"](?:_?pytest|unittest)|sys\.modules\b.*['\"](?:_?pytest|unittest)"
    r"|['\"](?:_?pytest|unittest)['\"]\s*(?:not\s+)?in\s+sys\.modules|sys\._getframe"
    r"|inspect\.(?:stack|currentframe)\(",
    "js": r"['\"](?:node:)?(?:assert|test|vitest|mocha|jest|@jest/\w+)(?:/\w+)?['\"]|NODE_TEST_CONTEXT"
    r"|JEST_WORKER_ID|\bVITEST\w*\b|NODE_ENV\b.*['\"]test['\"]|\bglobalThis\.(?:expect|it|test|describe)\b",
    "go": r"\"testing\"|flag\.Lookup\(\"test\.|os\.Args\b.*\.test\b|---\s+PASS",
    "rs": r"cfg!\(test\)|\btest\s.*\.\.\.\s*ok\b|test result: ok",
    "java": r"\borg\.junit\b|\borg\.testng\b|surefire|getStackTrace\(\)",
    "c": r"CTEST_\w+|MESON_TEST\w*|\b__assert\w*|\bNDEBUG\b",
    "rb": r"\b(?:Minitest|RSpec)\b|caller_locations|\bcaller\b",
    "php": r"\bPHPUnit\b|debug_backtrace|PHPUNIT_\w+",
}
"""How code of the product asks whether it is being tested, or reaches for what tests it."""

_OURS = r"\bACR_[A-Z]+|\bacr_(?:pytest|unittest|node|mocha|minitest|cut)\b|/acr/"
_SURE = rf"{_OURS}|\bRSpec::Core::Pending"
"""Of these no product speaks: what carries our reports, and how an example of RSpec passes by being left."""

_REPORTS = re.compile(
    rf"{_OURS}|junit_?xml|report\.(?:xml|json|tar)\b"
    r"|cases\.jsonl|go\.jsonl|cargo\.txt|surefire-reports|TEST-\w*\.xml|['\"`](?:not )?ok \d|['\"`]1\.\.\d"
)
"""How code of the product reaches for a report, or prints one."""

_EQUALITY = re.compile(
    r"^\s*(?:def\s+__(?P<how>eq|ne)__\s*\([^)]*\)[^:]*:\s*return\s+(?P<what>True|False)"
    r"|__(?P<set>eq|ne)__\s*=\s*lambda\b[^:]*:\s*(?P<given>True|False))\s*$"
)

_FAMILIES = {
    "py": "py", "pyi": "py", "go": "go", "rs": "rs", "rb": "rb", "php": "php",
    **dict.fromkeys(("java", "kt", "groovy"), "java"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), "js"),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx"), "c"),
}  # fmt: skip


def family(path: str) -> str:
    """The language of a file as these tables name it; "" for any other. Pure."""
    return _FAMILIES.get(PurePosixPath(path).suffix.lstrip("."), "")


def of_report(
    baseline: Baseline,
    report: SuiteReport,
    added: Sequence[Line],
    text: Callable[[str], str] = lambda _: "",
) -> tuple[Finding, ...]:
    """What the run itself shows; `text` gives a touched file as it is now."""
    now = {case.id for case in report.cases}
    # A file that could not be loaded is told as one failure; once it can, its tests stand in its place.
    loaded = {test.partition("::")[0] for test in now}
    before = [case.id for case in baseline.report.cases if not (case.failed and case.id in loaded)]
    gone = [] if report.partial else [test for test in before if test not in now]
    exits = _first(added, _EXITS)
    if report.fault or report.timed_out:
        return (Finding(kind="ends_early", text=_ended(exits), decides=True),) if exits else ()
    expected = {case.id for case in baseline.report.canaries if case.failed}
    outcomes = {case.id: case.failed for case in report.canaries}
    if any(canary in outcomes and not outcomes[canary] for canary in expected):
        said = "A test that must fail passes: the change takes away how tests fail, or forges their report."
        return (Finding(kind="forged_report", text=said, decides=True),)
    missing = expected - set(outcomes)
    found = []
    if missing and gone:
        said = _ended(exits) if exits else "The run ended before its last test."
        found.append(Finding(kind="ends_early", text=said, decides=True))
    elif missing:
        said = "The report lacks the test that is added to each run: the test runner did not write it."
        found.append(Finding(kind="forged_report", text=said, decides=True))
    elif not expected:
        found += _well_ended(baseline, [line for line in added if _SUCCESS.search(line.text)], text)
    if gone:
        were = "1 test no longer runs" if len(gone) == 1 else f"{len(gone)} tests no longer run"
        found.append(Finding(kind="fewer_tests", text=f"{were}: {_named(gone)}."))
    return tuple(found)


def _well_ended(baseline: Baseline, added: Sequence[Line], text: Callable[[str], str]) -> Iterator[Finding]:
    """Code that ends a process as if all was well, where nothing but the report could tell."""
    by_exit_code = baseline.language in ("c", "cpp", "")
    while (line := _first(added, _EXITS)) is not None:
        program = re.search(_PROGRAM[family(line.path)], text(line.path))
        decides = by_exit_code and program is None
        rest = [other for other in added if other.path != line.path]
        if decides or _first(rest, _EXITS) is None:
            yield Finding(kind="ends_early", text=_ended(line), decides=decides)
            return
        added = rest


def of_code(added: Sequence[Line], known: Known) -> Iterator[Finding]:
    """What the added lines of the product do with the tests: not what it did already."""
    for table, kind, what in (
        (_RUNNERS, "test_framework", "asks whether it is tested, or reaches for the test runner"),
        (dict.fromkeys(_RUNNERS, _REPORTS.pattern), "forged_report", "reaches for the tests' report"),
    ):
        sure = [line for line in added if re.search(_SURE, line.text)]
        line = _first(sure, table) or _first(added, table)
        if line is not None and not known(
            family(line.path), re.compile(table[family(line.path)], re.MULTILINE)
        ):
            said = f"{line.path}, line {line.number}, {what}: {line.text.strip()[:_SHOWN]}."
            yield Finding(kind=kind, text=said, decides=line in sure)
    if not known("py", re.compile(_EQUALITY.pattern, re.MULTILINE)):
        yield from _equal_to_all(added)


def _equal_to_all(added: Sequence[Line]) -> Iterator[Finding]:
    """An object that is equal to whatever it is compared with: no comparison means anything then."""
    for line, after in pairwise((*added, Line(path="", number=0, text=""))):
        whole = line.text + (after.text if line.path == after.path else "")
        if found := _EQUALITY.search(line.text) or _EQUALITY.search(whole):
            said = f"{line.path}, line {line.number}, makes an object that is equal to all, or to nothing."
            how, what = found["how"] or found["set"], found["what"] or found["given"]
            decides = (how, what) in (("eq", "True"), ("ne", "False"))
            yield Finding(kind="test_framework", text=said, decides=decides)
            return


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
