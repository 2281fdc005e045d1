"""Every wall that `make soak` takes down is where it looks for it, and so is its test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.guards import GUARDS, ROOT, Guard


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_wall_and_its_test_are_there(guard: Guard) -> None:
    assert (ROOT / guard.file).read_text(encoding="utf-8").count(guard.text) == 1
    file, _, test = guard.test.partition("::")
    assert f"def {test.partition('[')[0]}" in Path(ROOT / file).read_text(encoding="utf-8")
