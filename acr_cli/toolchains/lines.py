"""What a command prints when it has no report: TAP (Test Anything Protocol) and the lines of automake.

The command itself is a test besides: its exit code decides, and where its output is neither, it alone does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acr_cli.records import CaseResult
from acr_cli.toolchains import junit

_PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)
_VERSION = re.compile(r"^TAP version \d+$", re.MULTILINE)  # a run that crashes may never tell its plan
_TAP = re.compile(
    r"^(not )?ok\b(?: +(\d+))?(?: +-)?(?: +([^#\n]*?))?(?: *# *(skip|todo)\b.*)?$", re.IGNORECASE
)
_AUTOMAKE = re.compile(r"^(PASS|FAIL|XPASS|XFAIL|SKIP|ERROR): (\S.*)$", re.MULTILINE)
_TOTALS = re.compile(r"^# TOTAL:", re.MULTILINE)
_OUTCOMES = {
    "PASS": "passed",
    "XFAIL": "passed",
    "SKIP": "skipped",
    "FAIL": "failed",
    "XPASS": "failed",
    "ERROR": "error",
}


def cases(text: str) -> list[CaseResult]:
    """TAP or automake's lines as cases; none where the output is neither. Pure."""
    found = _tap(text) if _PLAN.search(text) or _VERSION.search(text) else []
    return found or (_automake(text) if _TOTALS.search(text) else [])


def _tap(text: str) -> list[CaseResult]:
    """Of nested tests the outermost alone; what follows a failure is its detail. Pure."""
    found: list[CaseResult] = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        test = _TAP.match(line)
        if test is None:
            continue
        name = (test.group(3) or "").strip() or f"test {test.group(2) or len(found) + 1}"
        outcome = "skipped" if test.group(4) else "failed" if test.group(1) else "passed"
        detail = _after(lines, at + 1) if outcome == "failed" else ""
        found.append(_case(name, outcome, detail))
    return found


def _after(lines: Sequence[str], start: int) -> str:
    said: list[str] = []
    for line in lines[start:]:
        if _TAP.match(line) or _PLAN.match(line):
            break
        said.append(re.sub(r"^(?:# ?|  )", "", line))
    return "\n".join(said).strip("\n")


def _automake(text: str) -> list[CaseResult]:
    return [_case(name, _OUTCOMES[word], text) for word, name in _AUTOMAKE.findall(text)]


def _case(name: str, outcome: str, detail: str) -> CaseResult:
    failed = outcome in ("failed", "error")
    said = next((line.strip() for line in detail.splitlines() if line.strip(" -.")), "")
    return CaseResult(
        id=name,
        outcome=outcome,
        message=(said or "it failed")[: junit.MESSAGE_CHARS] if failed else "",
        detail=junit.cut(detail, junit.DETAIL_CHARS) or name if failed else "",
    )
