"""JUnit XML as test cases: the same for every language, and safe to read from foreign code.

A report is bytes from a sandbox, so nothing in it is trusted: it must be UTF-8, must open with its root
element (no document type, hence no entities), and must not be larger than 64 MiB.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from acr_cli.records import CaseResult

MAX_BYTES = 64 * 1024**2
DETAIL_CHARS = 4_000
MESSAGE_CHARS = 300

_PROLOG = re.compile(r"\s*+(?:<\?xml[^>]*\?>)?\s*+(?=<testsuites?[\s>/])")
_EXCEPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(?::\s|\s*$)")
_QUOTED = re.compile(r'failed on (?:setup|teardown) with "(.*)"\Z', re.DOTALL)


class UnreadableReport(ValueError):
    """The report is not JUnit XML that can be read; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawCase:
    """One `testcase` element as it stands."""

    classname: str
    name: str
    file: str
    outcome: str  # "passed" | "failed" | "error" | "skipped"
    kind: str  # the `type` attribute of what went wrong
    message: str  # all of the `message` attribute
    detail: str
    seconds: float
    properties: dict[str, str]


def parse(report: bytes) -> tuple[RawCase, ...]:
    """The cases of a report, in its order. Raises: UnreadableReport."""
    text = _text(report)
    from junitparser import JUnitXml, JUnitXmlError, TestCase

    try:
        root: Any = JUnitXml.fromstring(text)
    except (SyntaxError, ValueError, JUnitXmlError) as error:  # both XML parsers raise kinds of SyntaxError
        raise UnreadableReport(f"it is not well-formed XML: {error}") from error
    # Not by the library's own iteration, which recurses: suites may be nested deeper than Python's stack.
    from_element: Any = TestCase.fromelem
    return tuple(_raw(from_element(element)) for element in root._elem.iter("testcase"))  # noqa: SLF001


def _text(report: bytes) -> str:
    if len(report) > MAX_BYTES:
        raise UnreadableReport(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    try:
        text = report.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableReport("it is not UTF-8") from error
    opening = _PROLOG.match(text)
    if opening is None:
        raise UnreadableReport("it does not begin with a testsuite")
    return text[opening.end() :]


def _raw(case: Any) -> RawCase:
    problems = {type(result).__name__: result for result in case.result}
    outcome, problem = "passed", None
    for element, name in (("Skipped", "skipped"), ("Failure", "failed"), ("Error", "error")):
        if element in problems:
            outcome, problem = name, problems[element]
    return RawCase(
        classname=case.classname or "",
        name=case.name or "",
        file=(case._elem.get("file") or "").replace("\\", "/"),  # noqa: SLF001 - xunit1's attribute has no accessor
        outcome=outcome,
        kind=(problem.type or "") if problem is not None else "",
        message=(problem.message or "") if problem is not None else "",
        detail=_detail(case, problem),
        seconds=seconds(case._elem.get("time")),  # noqa: SLF001 - the accessor raises on bad numbers
        properties=_properties(case),
    )


def _detail(case: Any, problem: Any) -> str:
    if problem is None:
        return ""
    parts = [problem.text or "", case.system_out or "", case.system_err or ""]
    return cut("\n".join(part.strip("\n") for part in parts if part.strip()), DETAIL_CHARS)


def seconds(stated: object) -> float:
    """A duration as a report states it; 0.0 for what is no finite, positive number. Pure."""
    try:
        found = float(stated) if isinstance(stated, str | int | float) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return found if 0.0 < found < math.inf else 0.0


def _properties(case: Any) -> dict[str, str]:
    return {p.get("name") or "": p.get("value") or "" for p in case._elem.iterfind("properties/property")}  # noqa: SLF001


def cut(text: str, limit: int) -> str:
    """Head and tail of a text, at most `limit` characters and the line that says what was left out. Pure."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    return f"{head}\n[... {len(text) - limit} characters left out ...]\n{tail}"


def exception_and_message(raw: RawCase) -> tuple[str, str]:
    """The exception's type without its module, and the first line of what it says. Pure."""
    if raw.outcome in ("passed", "skipped"):
        return "", raw.message.split("\n", 1)[0][:MESSAGE_CHARS]
    quoted = _QUOTED.match(raw.message)
    message = quoted.group(1) if quoted else raw.message
    exception = raw.kind.rpartition(".")[2]
    named = _EXCEPTION.match(message)
    if not exception and named:
        exception, message = named.group(1).rpartition(".")[2], message[named.end() :]
    elif not exception and message.startswith("assert"):
        exception = "AssertionError"
    return exception, next((line.strip() for line in message.splitlines() if line.strip()), "")[
        :MESSAGE_CHARS
    ]


_SEVERITY = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}


def worst_of_each(cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """One case an id, the worst one: a test that passes and then fails in its teardown has failed. Pure."""
    kept: dict[str, CaseResult] = {}
    for case in cases:
        known = kept.get(case.id)
        if known is None or _SEVERITY[case.outcome] > _SEVERITY[known.outcome]:
            kept[case.id] = case
    return tuple(kept.values())
