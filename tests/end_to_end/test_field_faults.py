"""Faults that users of such programs have met in the field, where no other file has a test of their kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from acr_cli.models.gateway import warm
from acr_cli.orchestrator.prior import _table

PROGRAM = str(Path(sys.executable).parent / "acr")


def test_no_alias_resolves_to_itself_or_to_another_alias() -> None:
    aliases = _table().aliases
    assert aliases
    assert not [name for name, target in aliases.items() if name == target or target in aliases]


def test_an_open_stdin_does_not_block_where_a_task_is_given(acr_home: Path, broken: Path) -> None:
    """No end of file ever comes; the program must not wait for one."""
    with subprocess.Popen(
        [PROGRAM, "fix", "make it faster", "--exclude", "builtin/repair"],
        cwd=broken,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.wait(timeout=120) == 3


def test_the_telemetry_of_embedded_libraries_is_off() -> None:
    warm()
    import litellm

    from acr_cli.memory.chroma import _settings

    assert litellm.telemetry is False
    assert litellm.callbacks == litellm.success_callback == litellm.failure_callback == []
    assert _settings().anonymized_telemetry is False
