"""Disks that fill up and disks that break: at each single call, nothing acknowledged is lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome

ROOT = Path(__file__).parents[2]
EVERY_CALL = os.environ.get("ACR_FAULTS") == "all"  # `make bench-memory` tries them all, this file a share
SOURCE = Path(__file__).with_name("faulty.c")

WRITE = """
import sys
from pathlib import Path
from acr_cli.errors import StoreError
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome
memory = Memory(Path(sys.argv[1]), bound=3)
for i in range(6):
    try:
        memory.remember(make_outcome(f"o{i}", text="x y " * 300))
    except StoreError as error:
        print("refused", error.message, file=sys.stderr)
    else:
        print(f"o{i}", flush=True)
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler; install gcc")
    library = tmp_path_factory.mktemp("faulty") / "faulty.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def written(
    home: Path, faulty: Path, spare: Path, **fault: object
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    """Ids that a process acknowledged while its disk failed as told."""
    settings = {f"FAULT_{name.upper()}": str(value) for name, value in fault.items()}
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(home)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(faulty), "TMPDIR": str(spare), **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.split(), done


def kept(home: Path, spare: Path) -> set[str]:
    """Ids that memory knows once the disk works again: live, or folded into its numbers."""
    tempfile.tempdir = str(spare)
    try:
        memory = Memory(home, bound=3)
        memory.remember(make_outcome("after"))
        total = sum(tally.outcomes for tally in memory.tallies())
        ids = {o.id for o in memory.outcomes()}
        assert len(ids) == min(3, total)
        assert memory.stats().damaged == 0
        for i in range(6):  # one that is known already changes nothing
            memory.remember(make_outcome(f"o{i}", text="x y " * 300))
        again = sum(tally.outcomes for tally in memory.tallies())
        memory.close()
    finally:
        tempfile.tempdir = None
    return {f"{total}", f"{again}"}


@pytest.mark.slow
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("more", [0, 10**6], ids=["once", "for good"])
def test_each_write_call_may_fail(tmp_path: Path, faulty: Path, error: int, more: int) -> None:
    count, spare = tmp_path / "count", tmp_path / "spare"
    spare.mkdir()
    ids, _ = written(tmp_path / "whole", faulty, spare, under="/memory/", count=count)
    assert len(ids) == 6
    calls = int(count.read_text())
    assert calls > 20
    share = 1 if EVERY_CALL else 16 if more else 8
    for at in range(1 + error % share, calls + 1, share):
        home = tmp_path / f"home{at}"
        ids, done = written(home, faulty, spare, under="/memory/", at=at, error=error, more=more)
        assert len(ids) == 6, done.stderr  # in the journal, or waiting in a file: acknowledged all the same
        assert kept(home, spare) == {"7"}, (at, done.stderr)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
def test_where_no_place_takes_it_it_is_refused(tmp_path: Path, faulty: Path, error: int) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    ids, done = written(tmp_path / "home", faulty, spare, under="/", at=1, error=error, more=10**6)
    assert ids == []
    assert done.stderr.count("refused") == 6
    assert "The memory at" in done.stderr


def test_a_file_system_whose_locks_fail_costs_no_outcome(tmp_path: Path, faulty: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    home = tmp_path / "home"
    ids, done = written(home, faulty, spare, under="journal.sqlite3", locks=errno.EIO)
    assert len(ids) == 6, done.stderr
    assert len(list(tmp_path.rglob("*.json"))) == 6
    assert kept(home, spare) == {"7"}
