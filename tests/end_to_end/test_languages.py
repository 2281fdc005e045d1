"""The built program in repositories that are not Python: detected, verified, fixed with a scripted model."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import result_of
from tests.toolchains.small_repositories import EVERY, Small

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]
FIX = ("fix", "--json", "--sandbox", "bubblewrap", "--exclude", "builtin/repair")
NODE, GO, MAKE, RUBY = (next(s for s in EVERY if s.name == n) for n in ("node", "go", "make", "minitest"))


def skip_without(small: Small) -> None:
    missing = [program for program in small.needs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}; install with the system's packages")


def writes(small: Small, source: str) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        return Say(text=f"{small.source}\n```\n{source}```\n")

    return answer


@pytest.mark.parametrize("small", [NODE, GO], ids=lambda small: small.name)
def test_the_model_whose_patch_breaks_another_test_is_followed_by_the_one_that_is_right(
    small: Small, acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    skip_without(small)
    repo = git_repo(dict(small.files))
    with LoopbackServer(
        {"weak": writes(small, small.breaks), "strong": writes(small, small.right)}
    ) as server:
        pool(server, {"weak": 0.5, "strong": 8.0})
        done = acr(*FIX, cwd=repo)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], result["verified"]) == (0, "fixed", True), done.stderr
    assert result["evidence"]["fixed"] == [small.target]
    assert result["steps"][-1]["model"] == "openai/strong"
    assert (repo / small.source).read_text() == small.right
    told = "\n".join(str(message["content"]) for message in server.requests_for("weak")[0].messages)
    assert small.target in told
    assert small.keeps in "\n".join(str(m["content"]) for m in server.requests_for("strong")[0].messages)


@pytest.mark.parametrize("small", [MAKE, RUBY], ids=lambda small: small.name)
def test_a_repository_whose_tests_pass_has_nothing_to_fix(
    small: Small, acr: Acr, git_repo: Callable[..., Path]
) -> None:
    skip_without(small)
    done = acr(*FIX[:-2], cwd=git_repo({**small.files, small.source: small.right}))
    assert (done.returncode, result_of(done.stdout)["status"]) == (0, "nothing_to_fix"), done.stderr


def test_what_was_detected_is_shown_with_its_reason(acr: Acr, git_repo: Callable[..., Path]) -> None:
    skip_without(GO)
    done = acr("fix", "--sandbox", "bubblewrap", cwd=git_repo(dict(GO.files)))
    assert "go test ./..." in done.stderr
    assert "go.mod is there, and tests as sum/sum_test.go" in done.stderr


def test_a_command_of_another_language_is_read_beside_scripts_in_python(
    acr: Acr, git_repo: Callable[..., Path]
) -> None:
    skip_without(NODE)
    repo = git_repo({**NODE.files, "tools/release.py": "print('released')\n", NODE.source: NODE.right})
    done = acr("fix", "--sandbox", "bubblewrap", "--test", "node --test test/sum.test.mjs", cwd=repo)
    assert done.returncode == 0, done.stderr
    assert "2 tests pass" in done.stderr


def test_a_repository_without_tests_in_any_language_asks_for_the_command(
    acr: Acr, git_repo: Callable[..., Path]
) -> None:
    done = acr("fix", "--json", "--sandbox", "bubblewrap", cwd=git_repo({"main.go": "package main\n"}))
    result = result_of(done.stdout)
    assert done.returncode == 2
    assert "--test" in result["error"]["hint"]


def test_a_program_that_is_not_there_is_named(acr: Acr, git_repo: Callable[..., Path]) -> None:
    repo = git_repo({**NODE.files, "package.json": '{"scripts": {"test": "vitest run"}}'})
    done = acr("fix", "--json", "--sandbox", "bubblewrap", cwd=repo)
    result = result_of(done.stdout)
    assert done.returncode == 4
    assert "vitest" in result["error"]["message"]
    assert "--setup" in result["error"]["hint"]
