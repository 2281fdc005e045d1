"""A run whose folder cannot be written any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.build.fixing import run
from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Event, RunStarted
from acr_cli.records import Task
from acr_cli.settings import Settings


def test_the_error_that_ended_a_run_is_heard_of_though_its_end_cannot_be_noted(
    git_repo: Callable[..., Path], acr_home: Path
) -> None:
    def in_the_way(event: Event) -> None:
        if isinstance(event, RunStarted):
            (acr_home / "runs" / event.run / "run.json.new").mkdir()
            raise SandboxUnavailable("No space is left.")

    with pytest.raises(SandboxUnavailable, match="No space is left"):
        run(Settings(home=acr_home), where=git_repo({"a.py": ""}), task=Task(text="x"), emit=in_the_way)
