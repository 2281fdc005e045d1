"""Private copies: gone however their use ends, and a full disk is one sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.sandbox.copies import private_copy


def test_a_disk_that_is_full_while_a_copy_is_used_is_a_broken_sandbox(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with (
        pytest.raises(SandboxBroken, match="cannot be written: no space left on device") as caught,
        private_copy(tmp_path / "home", "run", tmp_path / "tree"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert "Free some space" in caught.value.hint
    assert list((tmp_path / "home").rglob("work")) == []


def test_other_errors_of_those_who_use_a_copy_pass(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(BrokenPipeError), private_copy(tmp_path / "home", "run", tmp_path / "tree"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
