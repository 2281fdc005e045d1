"""A sample of the campaign that `make soak` runs for longer: one trial of every kind of fault; and a commit
while git is in the middle of something."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from acr_cli.sandbox.bubblewrap import find_program
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.repository import open_repository
from tests.memory.test_faults import faulty
from tests.security.campaign import trial
from tests.security.faults import FAULTS, compiled
from tests.security.users_work import differences, repository, state

__all__ = ["faulty"]
MOMENTS = {
    "int": "applied",
    "term": "verdict",
    "hup": "progress",
    "switched": "verdict",
    "edited beside": "choice",
    "clock forward": "remembered",
    "tree deleted": "attempt",
    "home deleted": "verdict",
}
"""Others: while the tests run for the first time."""
SEEDS = {"killed in apply": 7, "killed in undo": 9, "disk in apply": 2, "disk in undo": 9}
"""Of those whose fault would not come up with the seed 0."""


@pytest.fixture(scope="module")
def libraries(faulty: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """What is preloaded."""
    return {"disk": faulty, "clock": compiled("clock", tmp_path_factory.mktemp("clock"))}


@pytest.mark.parametrize("kind", FAULTS)
def test_nothing_of_the_users_is_lost(kind: str, tmp_path: Path, libraries: Mapping[str, Path]) -> None:
    if FAULTS[kind].needs == "root" and os.geteuid() != 0:
        pytest.skip("needs root, to become a user without rights; run the tests in a container")
    if "read-only mount" in kind and find_program(os.environ)[0] is None:
        pytest.skip("needs bubblewrap, to mount the repository read-only; install bubblewrap")
    moment = MOMENTS.get(kind, "progress")
    done = trial(
        SEEDS.get(kind, 0),
        tmp_path / "trial",
        libraries,
        environ=dict(os.environ),
        kind=kind,
        moment=moment,
        thorough=False,
    )
    assert done.losses == (), done
    assert done.fired or FAULTS[kind].ends == {4}, done  # such a run ends before it comes to its moment


@pytest.mark.parametrize(
    ("under_way", "why"),
    [
        ("rebase", "a rebase is under way"),
        ("bisect", "a bisection is under way"),
        ("merge", "cannot do a partial commit during a merge"),
        ("cherry-pick", "cannot do a partial commit during a cherry-pick"),
    ],
)
def test_nothing_is_committed_while_git_is_in_the_middle_of_something(
    tmp_path: Path, under_way: str, why: str
) -> None:
    root = tmp_path / "repo"
    repository(root, under_way=under_way)
    (root / "limit.py").write_text("x = 1\n")
    before = state(root)
    with pytest.raises(GitFailed, match=why):
        open_repository(root).commit(("limit.py",), "fix")
    changed = differences(before, state(root), patched=False)
    assert [each for each in changed if not each.startswith(".git/objects/")] == []
