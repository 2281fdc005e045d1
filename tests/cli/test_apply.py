"""`acr apply` and `acr undo`: which run is meant, what is asked, and what is said of a patch that fails."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from acr_cli.cli.terminal import clean
from acr_cli.worktree.runs import new_run

PROGRAM = Path(sys.executable).parent / "acr"
PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@pytest.fixture
def repo(git_repo: Callable[..., Path]) -> Path:
    return git_repo({"a.py": "x = 1\n"})


@pytest.fixture
def kept(acr_home: Path, repo: Path) -> Callable[[str], str]:
    """A run three minutes ago that ended with a status and kept its patch back; its id."""

    def make(status: str) -> str:
        folder, lock = new_run(acr_home, repository=repo, task="")
        folder.update(status=status, applied=False, files=["a.py"], time=time.time() - 200)
        folder.keep_patch(PATCH)
        lock.release()
        return folder.id

    return make


def test_a_verified_patch_is_applied_without_a_question(acr, repo: Path, kept) -> None:
    run = kept("fixed")
    done = acr("apply", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Applied run {run} (3 min ago): +1 -1 in a.py" in done.stdout
    assert (repo / "a.py").read_text() == "x = 2\n"


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("changed_unverified", "is proved by no test"),
        ("not_fixed", "does not make the failing tests pass"),
    ],
)
def test_any_other_patch_needs_consent_and_is_named(acr, repo: Path, kept, status: str, why: str) -> None:
    run = kept(status)
    done = acr("apply", cwd=repo)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"The patch of run {run} (3 min ago) {why}; applying it needs your consent." in done.stderr
    assert "--yes" in done.stderr
    assert (repo / "a.py").read_text() == "x = 1\n"
    assert acr("apply", "--yes", cwd=repo).returncode == 0


@pytest.mark.parametrize(("answer", "want"), [("y", "x = 2\n"), ("n", "x = 1\n")])
def test_on_a_terminal_the_patch_is_shown_before_the_question(
    repo: Path, kept, answer: str, want: str
) -> None:
    run = kept("changed_unverified")
    child = pexpect.spawn(str(PROGRAM), ["apply", run], cwd=str(repo), encoding="utf-8", timeout=60)
    child.expect(r"Apply it to your files\? \[y/N\] ")
    assert "x = 2" in clean(child.before)
    child.sendline(answer)
    rest = child.read()
    assert (repo / "a.py").read_text() == want
    assert ("Nothing was applied." in rest) is (answer == "n")


def test_a_patch_that_fits_no_more_names_run_file_and_remedy(acr, repo: Path, kept) -> None:
    run = kept("fixed")
    (repo / "a.py").write_text("y = 3\n")
    done = acr("apply", cwd=repo)
    assert done.returncode == 1
    for word in (run, "a.py", f"acr runs show {run}"):
        assert word in done.stderr
    assert (repo / "a.py").read_text() == "y = 3\n"
