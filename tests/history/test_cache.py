"""What examining has shown is kept, under all that it depends on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.history.cache import Examinations, alone
from acr_cli.history.installed import environments, installed_copy
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


def test_one_call_at_a_time_is_at_work_on_a_repository(tmp_path: Path) -> None:
    with alone(tmp_path, "one"):
        with pytest.raises(UsageError, match="at work"), alone(tmp_path, "one"):
            pass
        with alone(tmp_path, "another"):
            pass
    with alone(tmp_path, "one"):
        pass
    assert oct(tmp_path.joinpath("cache", "warm").stat().st_mode & 0o777) == "0o700"


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")

    with pytest.raises(SandboxUnavailable, match="cannot be written"), alone(tmp_path, "one"):
        pass


def test_an_installed_copy_of_the_sources_is_found(tmp_path: Path) -> None:
    site = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / "pkg").mkdir(parents=True)
    (site / "pkg" / "a.py").write_text("")
    places = environments({}, tmp_path)

    assert installed_copy(places, ["README", "src/pkg/b.py", "src/pkg/a.py"]) == site / "pkg" / "a.py"
    assert installed_copy(places, ["src/pkg/b.py", "pkg/__init__.py"]) is None
    assert installed_copy(environments({"VIRTUAL_ENV": "/nowhere"}, tmp_path / "x"), ["pkg/a.py"]) is None
