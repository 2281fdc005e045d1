"""A sample of the campaign that `make soak` runs for longer, with every kind of fault."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.memory.test_faults import faulty
from tests.security.campaign import FAULTS, trial

__all__ = ["faulty"]
SAMPLE = ("kill", "disk", "switched", "rebase")
SEEDS = [len(FAULTS) * (70 + n) + FAULTS.index(fault) for n, fault in enumerate(SAMPLE)]


@pytest.mark.parametrize("seed", SEEDS, ids=SAMPLE)
def test_nothing_of_the_users_is_lost(seed: int, tmp_path: Path, faulty: Path) -> None:
    done = trial(seed, tmp_path / "trial", faulty, environ=dict(os.environ))
    assert done.losses == (), done
