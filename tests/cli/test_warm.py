"""What `acr warm` asks for and prints."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from acr_cli.cli.warm import shape, show, summary
from acr_cli.history.records import Record, TaskReport, WarmResult

TASK = TaskReport(
    commit="4f2a9c81d07735a0b1c2",
    subject="slugify loses words",
    status="passed",
    tests=("tests/test_slug.py::test_words", "tests/test_slug.py::test_dashes"),
    candidate="openai/strong",
    attempts=2,
    u=0.96,
    cost_usd=0.0123,
    seconds=21.0,
    run="20260102-150405",
)
DONE = replace(
    TASK, status="done", commit="0b7c11d2e3", subject="sum of none", run="", candidate="openai/weak"
)
RESULT = WarmResult(
    status="done",
    exit_code=0,
    repository="0123456789abcdef",
    dry_run=False,
    commits=40,
    tasks=(TASK, DONE),
    skipped={"changes no tests": 30, "a merge": 8},
    candidates={
        "openai/weak": Record(attempts=1, passed=0, cost_usd=0.0003, seconds=4.0),
        "openai/strong": Record(attempts=1, passed=1, cost_usd=0.012, seconds=17.0),
    },
    outcomes=2,
    cost_usd=0.0123,
    seconds=30.0,
)
LISTED = replace(TASK, status="listed", candidate="openai/weak", run="", attempts=0, expected_usd=0.02)
DRY = replace(RESULT, dry_run=True, tasks=(LISTED, DONE), candidates={}, outcomes=0, cost_usd=0.0)


def shown(result: WarmResult) -> str:
    console = Console(file=io.StringIO(), width=110)
    show(console, result)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_the_table_of_a_call() -> None:
    assert (
        shown(RESULT)
        == """\
commit      what                 tests  outcome  by             tries    cost  time
4f2a9c81d0  slugify loses words      2  passed   openai/strong      2  $0.012  21 s
0b7c11d2e3  sum of none              2  done     openai/weak        -       -     -

40 commits looked at, 2 tasks found, 1 done before, 1 passed now; 2 new outcomes in memory, $0.012 paid, 30 s.
  openai/weak: 0 of 1 attempt passed, $0.0003, 4.0 s
  openai/strong: 1 of 1 attempt passed, $0.012, 17 s
38 commits left out: changes no tests (30), a merge (8)."""
    )


def test_the_table_of_a_dry_run() -> None:
    assert (
        shown(DRY)
        == """\
commit      what                 tests  outcome  by           expected
4f2a9c81d0  slugify loses words      2  open     openai/weak     $0.02
0b7c11d2e3  sum of none              2  done     openai/weak         -

40 commits looked at, 2 tasks found, 1 open, expected to cost $0.02. No model was called.
38 commits left out: changes no tests (30), a merge (8)."""
    )


def test_a_message_of_a_commit_cannot_reach_the_terminal() -> None:
    evil = replace(RESULT, tasks=(replace(TASK, subject="\x1b[31mred\x07 \x9b2J"),))

    assert not any(ord(c) < 32 and c != "\n" for c in shown(evil))


def test_where_there_is_nothing_it_is_said() -> None:
    empty = replace(RESULT, tasks=(), skipped={}, candidates={}, commits=0, outcomes=0)

    assert summary(empty) == "There is no commit yet, so there is nothing to learn from."


def test_the_last_line_is_data() -> None:
    told = shape(replace(RESULT, status="budget", exit_code=6, error_id="budget", message="m", hint="h"))

    assert json.loads(json.dumps(told)) == told
    assert {k: told[k] for k in ("type", "schema", "status", "exit_code", "outcomes")} == {
        "type": "warm",
        "schema": 1,
        "status": "budget",
        "exit_code": 6,
        "outcomes": 2,
    }
    assert told["tasks"][0]["tests"] == list(TASK.tests)
    assert told["models"]["openai/strong"] == {"attempts": 1, "passed": 1, "cost_usd": 0.012, "seconds": 17.0}
    assert told["error"] == {"id": "budget", "message": "m", "hint": "h"}
    assert shape(DRY)["expected_usd"] == 0.02


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--max-cost USD"),
        (("--max-cost", "much"), "an amount of USD"),
        (("--max-cost", "1", "--commits", "0"), "--commits must be a whole number"),
        (("--max-cost", "1", "--sandbox", "cage"), "--sandbox must be"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_in_one_sentence(acr, git_repo, arguments, says) -> None:
    done = acr("warm", "--json", *arguments, cwd=git_repo({"a.py": ""}))

    told = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, told["type"], told["exit_code"], told["error"]["id"]) == (2, "warm", 2, "usage")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
