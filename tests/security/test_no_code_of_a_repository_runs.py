"""Whatever acr command runs in a hostile repository: none of its code runs on the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acr_cli.cli.app import root
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.repository import open_repository
from tests.security.hostile import hostile, marked

Acr = Callable[..., subprocess.CompletedProcess[str]]

IN_ORDER: tuple[tuple[str, ...], ...] = (
    ("doctor",),
    ("route", "mend the clamp", "--explain"),
    ("config", "init"),
    ("config", "show", "--origin"),
    ("config", "path"),
    ("config", "get", "max_cost"),
    ("config", "set", "max_cost", "0.5"),
    ("config", "unset", "max_cost"),
    ("models", "list"),
    ("models", "add", "openai/gpt-5.6"),
    ("models", "test", "openai/gpt-5.6"),
    ("models", "remove", "openai/gpt-5.6"),
    ("memory", "stats"),
    ("memory", "list"),
    ("memory", "show", "none"),
    ("memory", "forget", "none"),
    ("memory", "export", "out.jsonl"),
    ("memory", "import", "out.jsonl"),
    ("memory", "reindex"),
    ("memory", "sync"),
    ("memory", "report", "-o", "report.html"),
    ("bench", "replay", "--matrix", "none.csv"),
    ("bench", "compare", "none", "none"),
    ("bench", "figure", "none"),
    ("train", "policy"),
    ("cache", "list"),
    ("cache", "prune"),
    ("completion", "bash"),
    ("warm", "--dry-run", "--yes"),
    ("fix", "--sandbox", "bubblewrap", "--model", "builtin/repair", "--commit", "--yes"),
    ("undo",),
    ("apply", "--yes"),
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "replay"),
    ("runs", "resume"),
    ("chat",),
    ("help", "fix"),
)
"""Every command, in an order in which each has something to do."""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path
        return
    for name, each in inner.items():
        yield from leaves(each, (*path, name))


def test_no_command_is_forgotten() -> None:
    tried = {
        given[: len(path)] for path in leaves(root()) for given in IN_ORDER if given[: len(path)] == path
    }
    assert tried == set(leaves(root()))


def test_the_repository_does_run_its_code_where_nobody_guards(
    git_repo: Callable[..., Path], tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    repo = hostile(git_repo, marks)
    for command in (
        ["git", "status"],
        ["git", "diff"],
        ["git", "commit", "-am", "x"],
        [sys.executable, "-m", "pytest", "-q"],
        ["make", "-n"],
    ):
        subprocess.run(command, cwd=repo, capture_output=True, check=False, timeout=60)
    assert marked(marks) >= {"conftest", "make-parse", "git-canary.sh"}


def test_no_command_runs_it(acr: Acr, git_repo: Callable[..., Path], tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    repo = hostile(git_repo, marks)
    environ = {"VIRTUAL_ENV": sys.prefix, "PATH": f"{os.environ['PATH']}"}
    guilty: dict[str, set[str]] = {}
    for command in IN_ORDER:
        before = marked(marks)
        done = acr(*command, cwd=repo, env=environ, input="", timeout=200)
        if ran := marked(marks) - before:
            guilty[" ".join(command)] = ran
        assert "Traceback" not in done.stderr, (command, done.stderr)
        if command[0] == "fix":
            assert (done.returncode, "not committed" in done.stderr) == (0, True), done.stderr
    assert guilty == {}


@pytest.mark.parametrize(
    "command", [("route", "mend the clamp"), ("doctor",), ("models", "list"), ("fix", "--help")]
)
def test_the_module_takes_none_of_its_libraries_from_the_folder_it_is_called_in(
    acr_home: Path, git_repo: Callable[..., Path], tmp_path: Path, command: tuple[str, ...]
) -> None:
    marks = tmp_path / "marks"
    repo = hostile(git_repo, marks)
    for name in ("typing", "typer", "pydantic", "tomllib"):
        (repo / f"{name}.py").write_bytes((repo / "json.py").read_bytes())
    shutil.rmtree(repo / "acr_cli")  # a package of our own name would be taken before a line of ours runs
    started = [sys.executable, "-m", "acr_cli", *command]
    done = subprocess.run(started, cwd=repo, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr, done.stderr
    assert marked(marks) == set()


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_a_commit_runs_the_programs_of_the_user_alone(
    git_repo: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "users-config"))
    repo = git_repo({"a.txt": "a\n", ".gitattributes": "*.txt filter=mine\n"})
    mark = tmp_path / "mark"
    subprocess.run(["git", "config", scope, "filter.mine.clean", f"touch {mark}; cat"], cwd=repo, check=True)
    (repo / "a.txt").write_text("b\n")
    if scope == "--local":
        with pytest.raises(GitFailed, match=r"filter\.mine\.clean"):
            open_repository(repo).commit(("a.txt",), "fix")
    else:
        open_repository(repo).commit(("a.txt",), "fix")
    assert mark.exists() is (scope == "--global")


def test_large_files_of_git_lfs_are_committed(git_repo: Callable[..., Path]) -> None:
    repo = git_repo({"a.txt": "a\n"})
    for name, value in (("clean", "git-lfs clean -- %f"), ("process", "git-lfs filter-process")):
        subprocess.run(["git", "config", f"filter.lfs.{name}", value], cwd=repo, check=True)
    (repo / "a.txt").write_text("b\n")
    assert open_repository(repo).commit(("a.txt",), "fix")
