"""What examining has shown is kept, under all that it depends on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.history.cache import Examinations
from acr_cli.history.records import Examined
from acr_cli.records import CaseResult

TASK = Examined(
    commit="c" * 40,
    failures=(CaseResult(id="t::x", outcome="failed", message="m", exception="E", file="t"),),
    test_command="pytest",
    language="python",
    bytes=12,
)


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    Examinations(tmp_path / "a", "key").keep(TASK)

    assert Examinations(tmp_path / "a", "key").get(TASK.commit) == TASK
    assert Examinations(tmp_path / "a", "key").get("d" * 40) is None


def test_another_way_of_running_the_tests_is_another_result(tmp_path: Path) -> None:
    Examinations(tmp_path, "docker").keep(TASK)
    Examinations(tmp_path, "bubblewrap").keep(replace(TASK, reason="its tests pass without it"))

    assert Examinations(tmp_path, "docker").get(TASK.commit) == TASK


def test_what_says_nothing_about_the_commit_is_not_kept(tmp_path: Path) -> None:
    cache = Examinations(tmp_path, "key")
    cache.keep(Examined(commit=TASK.commit, reason="its tests cannot start: no pytest", kept=False))

    assert cache.get(TASK.commit) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"schema": 2}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_none(tmp_path: Path, damage: bytes) -> None:
    cache = Examinations(tmp_path, "key")
    cache.keep(TASK)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)

    assert cache.get(TASK.commit) is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    cache = Examinations(tmp_path / "cache", "key")

    cache.keep(TASK)

    assert cache.get(TASK.commit) is None
