"""`acr fix` in a repository of several projects, and in one that does not say how it is tested."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.end_to_end.conftest import result_of
from tests.toolchains.test_several import BACKEND, PRICE, SHOP, SUM

PROGRAM = Path(sys.executable).parent / "acr"


def _tests(stderr: str) -> str:
    return next(line for line in stderr.splitlines() if "running the tests:" in line)


@pytest.mark.parametrize("where", ["", "backend"])
def test_a_monorepo_is_fixed_from_the_root_and_from_inside(
    git_repo: Callable[..., Path], acr: Callable[..., Any], where: str
) -> None:
    root = git_repo(SHOP, name="shop")
    done = acr("fix", "--sandbox", "bubblewrap", cwd=root / where)
    assert done.returncode == 0, done.stderr
    assert BACKEND in _tests(done.stderr)
    assert ("npm test" in _tests(done.stderr)) is (not where)
    assert (root / "backend/shop/price.py").read_text() == PRICE.format("+")


def test_inside_one_project_the_others_do_not_matter(
    git_repo: Callable[..., Path], acr: Callable[..., Any]
) -> None:
    root = git_repo({**SHOP, "frontend/src/sum.js": SUM.format("+")}, name="shop")
    done = acr("fix", "--sandbox", "bubblewrap", "--json", cwd=root / "frontend")
    assert result_of(done.stdout)["status"] == "nothing_to_fix"


def _asked(root: Path, answer: str) -> tuple[str, int]:
    child = pexpect.spawn(
        str(PROGRAM),
        ["fix", "--sandbox", "bubblewrap"],
        cwd=str(root),
        env=dict(os.environ),  # type: ignore[arg-type]
        timeout=60,
        encoding="utf-8",
        dimensions=(40, 200),
    )
    child.expect("Which command runs the tests")
    child.sendline(answer)
    said = child.read()
    child.close()
    return said, child.exitstatus or 0


def test_a_test_command_that_is_nowhere_is_asked_for(
    git_repo: Callable[..., Path], acr: Callable[..., Any]
) -> None:
    root = git_repo({"check": "echo fine\n"}, name="bare")
    said, code = _asked(root, "sh check")
    assert code == 0
    assert "nothing to fix" in said
    assert "`acr config set test 'sh check'` keeps it" in said
    said, code = _asked(root, "")
    assert code == 2
    assert "--test" in said
    silent = acr("fix", "--sandbox", "bubblewrap", cwd=root)  # nobody is there to be asked
    assert silent.returncode == 2
    assert "--test" in silent.stderr
