"""Logs as CI services print them, and the part of them that tells why they failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.cli.ci_logs import ROOM, failing_part, plain
from acr_cli.cli.inputs import read_task

ACTIONS = """\
\ufeff2026-11-29T21:00:00.1234567Z ##[group]Run actions/checkout@v5
2026-11-29T21:00:00.1234567Z with:
2026-11-29T21:00:00.2234567Z ##[endgroup]
2026-11-29T21:00:01.0000000Z ##[group]Run pytest
2026-11-29T21:00:01.0000000Z \x1b[36;1mpytest\x1b[0m
2026-11-29T21:00:01.0000000Z ##[endgroup]
2026-11-29T21:00:02.0000000Z E       assert 1 == 2
2026-11-29T21:00:02.0000000Z \x1b[31mFAILED\x1b[0m test_a.py::\x1b[1mtest_one\x1b[0m - assert 1 == 2
2026-11-29T21:00:02.0000000Z ##[error]Process completed with exit code 1.
"""
CLEANED = """\
Run actions/checkout@v5
with:
Run pytest
pytest
E       assert 1 == 2
FAILED test_a.py::test_one - assert 1 == 2
##error Process completed with exit code 1."""


def test_time_stamps_colours_and_groups_of_github_are_taken_off() -> None:
    assert failing_part(ACTIONS) == CLEANED


def test_so_are_the_names_of_job_and_step() -> None:
    told = "".join(f"test (3.12)\tRun pytest\t{line}\n" for line in ACTIONS.strip().split("\n"))
    assert failing_part(told) == CLEANED


@pytest.mark.parametrize(
    ("line", "plainly"),
    [
        ("2026-11-29T21:00:00.123456Z 00O collected 3 items", "collected 3 items"),
        ("2026-11-29T21:00:00+01:00 make: *** [all] Error 2", "make: *** [all] Error 2"),
        ("section_start:1700000000:script[collapsed=true]\r\x1b[0Krunning", "running"),
        (" 10%\r 50%\r100% done", "100% done"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("##[debug]nothing of interest", None),
        ("2026-11-29 is a date", "2026-11-29 is a date"),
        ("a\tb\tc", "a\tb\tc"),
        ("bell\x07 and\x00 nul", "bell and nul"),
    ],
)
def test_what_services_wrap_around_lines_is_taken_off(line: str, plainly: str | None) -> None:
    assert plain(line) == ([] if plainly is None else [plainly])


NOISE = [f"Downloading package {n} of 5000 from the mirror, which takes a while" for n in range(3000)]


def among(*telling: str) -> str:
    """Telling lines in the middle of a long log."""
    return "\n".join([*NOISE, *telling, *NOISE])


@pytest.mark.parametrize(
    "telling",
    [
        "E       AssertionError: assert 3 == 4",
        "FAILED tests/test_a.py::test_one - assert 3 == 4",
        "--- FAIL: TestOne (0.00s)",
        "thread 'main' panicked at src/lib.rs:3:5:",
        "error[E0382]: borrow of moved value: `x`",
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "npm ERR! Test failed.  See above for more details.",
        "  \u25cf sums \u203a adds two numbers",
        "not ok 3 - adds two numbers",
        "[ERROR] ShopTest.price:12 expected: <3> but was: <4>",
        "a.c:3:5: error: 'x' undeclared",
        "Traceback (most recent call last):",
        "test shop::tests::price ... FAILED",
        "[  FAILED  ] Shop.Price (0 ms)",
        "make: *** [Makefile:3: test] Error 2, 1 failed",
    ],
)
def test_what_failed_is_found_in_a_long_log(telling: str) -> None:
    part = failing_part(among("before it", telling, "behind it"))
    assert f"before it\n{telling}\nbehind it\n" in part
    assert "lines left out ...]" in part
    assert len(part) < ROOM + 200


def test_every_failing_test_is_named_however_many_there_are() -> None:
    names = [f"FAILED tests/test_many.py::test_{n}[{'x' * 40}]" for n in range(400)]
    part = failing_part(among("E   assert 1 == 2", *names))
    assert all(name in part for name in names)
    assert "E   assert 1 == 2" in part


def test_the_end_of_a_long_log_is_kept() -> None:
    assert failing_part(among("E   x") + "\nThe job ran out of memory.").endswith(
        "The job ran out of memory."
    )


def test_a_short_log_is_kept_whole() -> None:
    assert failing_part("make: *** no rule to make target\n") == "make: *** no rule to make target"


@settings(deadline=None)
@given(st.text(max_size=400) | st.lists(st.sampled_from(ACTIONS.splitlines()), max_size=400).map("\n".join))
def test_any_log_is_read_and_bounded(log: str) -> None:
    part = failing_part(log)
    assert len(part) <= len(log) + 10 * log.count("##[error]")
    assert failing_part("") == ""


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["E   x", "ok", "error: y", "", "1 failed", "noise " * 50]),
        min_size=600,
        max_size=900,
    )
)
def test_what_is_kept_of_a_long_log_is_bounded(lines: list[str]) -> None:
    part = failing_part("\n".join(lines))
    assert len(part) <= ROOM + 40 * len(lines)


def test_a_log_in_a_file_is_cut_down_to_what_failed(tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_text(ACTIONS + "".join(f"2026-11-29T21:00:03Z {line}\n" for line in NOISE))
    task, _ = read_task(None, None, str(tmp_path / "ci.log"), None)
    assert task.log.startswith("Run actions/checkout@v5\n")
    assert "\nFAILED test_a.py::test_one - assert 1 == 2\n" in task.log
    assert len(task.log) < ROOM + 200
