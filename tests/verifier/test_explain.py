"""What the next candidate hears of a failure."""

from __future__ import annotations

import pytest

from acr_cli.records import CaseResult, Evidence, SuiteReport
from acr_cli.verifier.explain import LIMIT, explain_failure
from acr_cli.verifier.tampering import added_by, of_command


def failing(count: int, detail: str = "") -> Evidence:
    cases = tuple(
        CaseResult(
            id=f"test_x.py::test_{n}", outcome="failed", exception="KeyError", message=f"'{n}'", detail=detail
        )
        for n in range(count)
    )
    return Evidence(
        u=0.1,
        unfixed=tuple(c.id for c in cases),
        broken=("test_y.py::test_gone",),
        undone=("conftest.py",),
        report=SuiteReport(cases=cases),
        reason="They still fail.",
    )


def test_reason_undone_edits_and_every_test_come_before_the_details() -> None:
    told = explain_failure(failing(3, "Traceback: here\nKeyError"))
    assert told.startswith(
        "They still fail.\nEdits to tests or their configuration were undone: conftest.py."
    )
    assert "- test_x.py::test_2: KeyError: '2'" in told
    assert "- test_y.py::test_gone (passed before): it no longer runs" in told
    assert told.index("- test_y.py::test_gone") < told.index("Traceback: here")


@pytest.mark.parametrize("count", [1, 3, 40, 400])
def test_it_is_never_longer_than_what_is_worth_reading(count: int) -> None:
    assert len(explain_failure(failing(count, "x" * 9_000))) <= LIMIT


def test_without_cases_the_output_of_the_run_is_told() -> None:
    report = SuiteReport(fault="the test run left no report", output="Fatal Python error: Aborted")
    told = explain_failure(Evidence(u=0.0, report=report, reason="The test run left no report."))
    assert "Fatal Python error: Aborted" in told


def test_without_a_report_the_reason_is_all() -> None:
    assert explain_failure(Evidence(u=0.0, reason="No change was made.")) == "No change was made."


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("make test", {"Makefile", "makefile", "GNUmakefile", "make"}),
        ("./run-tests.sh --fast", {"run-tests.sh"}),
        ("cd web && CI=1 bash -e ci/all.sh", {"cd", "ci/all.sh"}),
        ("python check_all.py", {"check_all.py"}),
        ("python app.py", set()),
        ("grep -q right notes.txt", {"grep"}),
        ("pytest tests/test_x.py::test_a", {"pytest"}),
    ],
)
def test_a_test_command_consists_of_the_script_that_it_runs(command: str, files: set[str]) -> None:
    assert of_command(command) == files


def test_the_files_that_a_diff_creates_are_told_from_those_that_it_changes() -> None:
    diff = (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+new file mode\n"
        "diff --git a/b.py b/b.py\nnew file mode 100644\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+y\n"
    )
    assert added_by(diff) == {"b.py"}
