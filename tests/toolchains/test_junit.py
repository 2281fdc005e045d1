"""JUnit XML from foreign code: hostile, broken, strange."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.protocols import CommandResult
from acr_cli.toolchains import junit
from acr_cli.toolchains.python import Python

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
    '<testsuites><testsuite><testcase name="&c;"/></testsuite></testsuites>'
)
FILE = (
    '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuites><testsuite>'
    '<testcase classname="a" name="b"><failure>&x;</failure></testcase></testsuite></testsuites>'
)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (LAUGHS.encode(), "does not begin with a testsuite"),
        (FILE.encode(), "does not begin with a testsuite"),
        (LAUGHS.encode("utf-16"), "not UTF-8"),
        (b"<!-- <testsuites> -->" + LAUGHS.encode(), "does not begin with a testsuite"),
        (b"", "does not begin with a testsuite"),
        (b"<html/>", "does not begin with a testsuite"),
        (b"<testsuites><testsuite>", "not well-formed"),
        (b"<testsuites>&undefined;</testsuites>", "not well-formed"),
    ],
    ids=["laughs", "file", "utf16", "comment", "empty", "html", "cut", "entity"],
)
def test_a_report_that_cannot_be_trusted_is_refused(report: bytes, why: str) -> None:
    with pytest.raises(junit.UnreadableReport, match=why):
        junit.parse(report)


def test_a_report_that_is_too_large_is_refused() -> None:
    with pytest.raises(junit.UnreadableReport, match="larger than 64 MiB"):
        junit.parse(bytes(junit.MAX_BYTES + 1))


def test_suites_nested_deeper_than_the_stack_are_read() -> None:
    depth = 5_000
    report = b"<testsuite>" * depth + b'<testcase classname="a" name="b"/>' + b"</testsuite>" * depth
    assert [case.name for case in junit.parse(report)] == ["b"]


def test_a_case_with_bad_numbers_and_missing_attributes_is_still_a_case() -> None:
    [case] = junit.parse(b'<testsuites><testsuite><testcase time="soon"/></testsuite></testsuites>')
    assert (case.classname, case.name, case.seconds, case.outcome) == ("", "", 0.0, "passed")


def test_a_long_traceback_is_cut_in_its_middle() -> None:
    failure = f"<failure>first{'x' * 9_000}last</failure>"
    [case] = junit.parse(
        f"<testsuite><testcase classname='a' name='b'>{failure}</testcase></testsuite>".encode()
    )
    assert case.detail.startswith("first")
    assert case.detail.endswith("last")
    assert "5009 characters left out" in case.detail


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("", "ValueError: bad\nmore", ("ValueError", "bad")),
        ("", "shop.errors.Empty: no items", ("Empty", "no items")),
        ("", "assert 1 == 2", ("AssertionError", "assert 1 == 2")),
        ("", 'failed on setup with "OSError: no disk"', ("OSError", "no disk")),
        ("AssertionError", "1 != 2", ("AssertionError", "1 != 2")),
        ("", "StopIteration", ("StopIteration", "")),
        ("", "", ("", "")),
    ],
)
def test_exception_and_message_are_told_apart(kind: str, message: str, expected: tuple[str, str]) -> None:
    raw = junit.RawCase(
        classname="a",
        name="b",
        file="",
        outcome="failed",
        kind=kind,
        message=message,
        detail="",
        seconds=0,
        properties={},
    )
    assert junit.exception_and_message(raw) == expected


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda t: f"<testsuite>{t}</testsuite>".encode()))
def test_no_report_makes_the_toolchain_raise(report: bytes) -> None:
    chain = Python()
    plan = chain.plan(Path(__file__).parent, command="pytest", tests=(), scratch="/scratch")
    assert plan is not None
    read = chain.read(plan, report, CommandResult(exit_code=0, output="", seconds=1.0))
    assert read.fault or read.cases
