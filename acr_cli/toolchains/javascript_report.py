"""What the runners of JavaScript said: jest's JSON, which vitest writes too, and our own reporters' lines.

A test file that cannot be loaded is a case in error with the file as its id: a change of the code can help.
Where what cannot be found is a package, nothing of the code can help, and the tests could not start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from acr_cli.records import CaseResult
from acr_cli.toolchains import junit
from acr_cli.toolchains.suite import Left, Reader, plain

SEPARATOR = " > "

_ROOTS = re.compile(r"^(?:file://)?(?:/private)?(?:/acr/work|.*?/work)/")
_PACKAGE = re.compile(
    r"""(?:Cannot find (?:module|package)|Failed to resolve import|Could not resolve)"""
    r"""\s+["']([^"'./~][^"']*)["']"""
)
_NAMED = re.compile(r"(?:Uncaught )?((?:[A-Z]\w*)?(?:Error|Exception|Failure))(?: \[[^\]]*\])?: ")
_OWN = ("src/", "lib/", "app/", "test/", "tests/", "@/", "node:", "#", "virtual:")
_OUTCOMES = {
    "passed": "passed", "failed": "failed", "skipped": "skipped", "pending": "skipped", "todo": "skipped",
    "disabled": "skipped", "focused": "passed",
}  # fmt: skip


def jest(left: Left) -> tuple[list[CaseResult], str]:
    """`--json` of jest and vitest."""
    if "report.json" not in left.files:
        return [], _without(left)
    try:
        report = json.loads(left.files["report.json"])
    except (ValueError, RecursionError):
        return [], "the report of the tests cannot be read: it is no JSON"
    cases = [case for suite in _dicts(_get(report, "testResults")) for case in _suite(left, suite)]
    return cases, _import_fault(cases)


def _suite(left: Left, suite: dict[str, Any]) -> Iterator[CaseResult]:
    file = _file(left, _text(suite, "name"))
    tests = list(_dicts(suite.get("assertionResults")))
    message = plain(_text(suite, "message"))
    if not tests and suite.get("status") == "failed":
        yield _problem(file, file, message, outcome="error")
    for test in tests:
        ancestors = [a for a in _list(test.get("ancestorTitles")) if isinstance(a, str) and a]
        case_id = SEPARATOR.join([file, *ancestors, _text(test, "title")])
        outcome = _OUTCOMES.get(_text(test, "status"), "failed")
        seconds = junit.seconds(test.get("duration")) / 1000
        if outcome == "failed":
            said = "\n\n".join(plain(m) for m in _list(test.get("failureMessages")) if isinstance(m, str))
            yield _problem(case_id, file, said, outcome="failed", seconds=seconds)
        else:
            yield CaseResult(id=case_id, outcome=outcome, file=file, seconds=seconds)


def lines(left: Left) -> tuple[list[CaseResult], str]:
    """What our reporters for mocha and for node's own runner write."""
    if "cases.jsonl" not in left.files:
        return [], _without(left)
    cases = []
    for line in left.text("cases.jsonl").splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            cases.append(_entry(left, entry))
    if left.code and not any(case.failed for case in cases):
        return cases, _without(left)
    return cases, _import_fault(cases)


def _entry(left: Left, entry: dict[str, Any]) -> CaseResult:
    path = [name for name in _list(entry.get("path")) if isinstance(name, str)]
    file = _file(left, _text(entry, "file"))
    # node tells a file that ends badly as a test of the file's name.
    if len(path) == 1 and (path[0].startswith(("/", "file://")) or path[0] == file or not path[0]):
        file, path = _file(left, path[0]) if path[0] else file, []
    outcome = _OUTCOMES.get(_text(entry, "outcome"), "failed")
    case_id = SEPARATOR.join(part for part in (file, *path) if part)
    seconds = junit.seconds(entry.get("ms")) / 1000
    if outcome != "failed":
        return CaseResult(id=case_id, outcome=outcome, file=file, seconds=seconds)
    message, name = plain(_text(entry, "message")), _text(entry, "name")
    stack = plain(_text(entry, "stack"))
    said = stack if message and message in stack else f"{name or 'Error'}: {message}\n{stack}"
    if case_id == file:
        said = f"{said}\n{left.output}"
    outcome = "error" if case_id == file else "failed"
    return _problem(case_id, file, said, outcome=outcome, seconds=seconds, name=name)


def _problem(
    case_id: str, file: str, said: str, *, outcome: str, seconds: float = 0.0, name: str = ""
) -> CaseResult:
    text = re.sub(r"^\s*(?:●[^\n]*|Test suite failed to run)\s*", "", said).strip()
    text = re.sub(r"^Test suite failed to run\s*", "", text)
    spoken = [line.strip() for line in text.splitlines() if line.strip()]
    first = spoken[0] if spoken else ""
    if first.endswith(":") and len(spoken) > 1:  # node's assertions say on the next line what differs
        first = f"{first} {spoken[1]}"
    named = _NAMED.match(first)
    return CaseResult(
        id=case_id,
        outcome=outcome,
        message=(first[named.end() :] if named else first)[: junit.MESSAGE_CHARS],
        exception=named.group(1) if named else name,
        detail=junit.cut(text, junit.DETAIL_CHARS),
        file=file,
        seconds=seconds,
    )


def _import_fault(cases: list[CaseResult]) -> str:
    """A package that a test file cannot be loaded without."""
    for case in cases:
        if case.outcome == "error" and case.id == case.file:
            missing = _PACKAGE.search(case.detail)
            if missing and not missing.group(1).startswith(_OWN):
                return f"the package {missing.group(1)} is not installed, needed by {case.file}"
    return ""


def _without(left: Left) -> str:
    missing = _PACKAGE.search(left.output)
    if missing and not missing.group(1).startswith(_OWN):
        return f"the package {missing.group(1)} is not installed"
    wrong = [line.strip() for line in left.output.splitlines() if re.search(r"\bError\b|not found", line)]
    said = wrong[0] if wrong else next(iter(left.output.strip().splitlines()[-1:]), "")
    return f"{left.runner} left no report: {said or f'exit code {left.code}'}"[: junit.MESSAGE_CHARS]


def _file(left: Left, name: str) -> str:
    """A path as the runner tells it, below the root of the repository."""
    name = name.replace("\\", "/")
    if not name.startswith(("/", "file://")):
        return left.path(name.removeprefix("./")) if name else ""
    return _ROOTS.sub("", name)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (entry for entry in _list(value) if isinstance(entry, dict))


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


READERS: dict[str, Reader] = {"jest": jest, "vitest": jest, "mocha": lines, "node": lines}
"""Who reads the report of which runner."""
