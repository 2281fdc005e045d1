"""Failures that a limit of the sandbox may be behind: which setting is named, and when none is."""

from __future__ import annotations

import pytest

from acr_cli.records import CaseResult, SuiteReport
from acr_cli.verifier.starting import felt

FORK = "self.pid = _fork_exec(\nE   BlockingIOError: [Errno 11] Resource temporarily unavailable"


def report(exception: str, message: str = "", detail: str = "") -> SuiteReport:
    case = CaseResult(id="t::a", outcome="failed", exception=exception, message=message, detail=detail)
    return SuiteReport(cases=(case,))


@pytest.mark.parametrize(
    ("failed", "setting"),
    [
        (report("OSError", "[Errno 27] File too large"), "disk_limit SIZE"),
        (report("", "write /tmp/x: file too large"), "disk_limit SIZE"),
        (report("MemoryError"), "memory_limit SIZE"),
        (report("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate"), "memory_limit SIZE"),
        (report("AssertionError", "no", "E   MemoryError\n"), "memory_limit SIZE"),
        (report("RuntimeError", "can't start new thread"), "pids N"),
        (report("BlockingIOError", "[Errno 11]", FORK), "pids N"),
    ],
)
def test_the_setting_behind_an_error_is_named(failed: SuiteReport, setting: str) -> None:
    (said,) = felt(failed)
    assert said.startswith("t::a fails as code does that reaches a limit")
    assert f"`acr config set {setting}`" in said
    assert felt(failed, {"t::a"}) == (), "it failed so before"


@pytest.mark.parametrize(
    "failed",
    [
        report("AssertionError", "assert 'File too large' == 'ok'"),
        report("Failed", "DID NOT RAISE <class 'MemoryError'>"),
        report("BlockingIOError", "[Errno 11] Resource temporarily unavailable"),
    ],
)
def test_other_failures_are_the_repositorys_own(failed: SuiteReport) -> None:
    assert felt(failed) == ()
