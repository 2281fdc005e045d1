"""A child started ahead settles what is remembered later, holds nothing meanwhile, and never outlives acr."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome

# Those of Chroma and of what it stands on.
pytestmark = pytest.mark.filterwarnings("default")

STARTING = (
    "import os, signal, sys, threading, time\nfrom pathlib import Path\n"
    "from acr_cli.memory.store import Memory\nfrom tests.memory.outcomes import make_outcome\n"
    "memory = Memory(Path(sys.argv[1]))\nahead = memory.ahead()\nprint(ahead.pid, flush=True)\n"
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path)
    yield opened
    opened.close()


def fill(memory: Memory, *ids: str) -> None:
    for id_ in ids:
        memory.remember(make_outcome(id_))


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def ends(pid: int) -> bool:
    """Whether a process is gone within some seconds."""
    until = time.monotonic() + 20
    while (alive := lives(pid)) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive


def started(tmp_path: Path, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STARTING + program, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_it_settles_what_was_remembered_after_its_start(memory: Memory) -> None:
    ahead = memory.ahead()  # there is no folder of memory yet
    fill(memory, "a", "b")
    assert ahead.settle() == ("2 outcomes in the Chroma collection", "")
    assert not lives(ahead.pid)
    assert memory.stats().collection.state == "current"


def test_another_acr_may_settle_and_forget_while_it_waits(memory: Memory) -> None:
    fill(memory, "a", "b")
    ahead = memory.ahead()
    memory.settle()
    assert memory.settled == "2 outcomes in the Chroma collection"
    memory.forget(ids=["a"])
    fill(memory, "c")
    assert ahead.settle() == ("2 outcomes in the Chroma collection", "")


@pytest.mark.parametrize("dies", [signal.SIGKILL, signal.SIGSEGV])
def test_one_that_died_before_its_word_is_replaced_and_is_no_damage(memory: Memory, dies: int) -> None:
    fill(memory, "a")
    memory.settle()
    notes = memory.folder / "chroma" / "synced.json"
    built = notes.parent.stat().st_ino
    ahead = memory.ahead()
    os.kill(ahead.pid, dies)
    assert ends(ahead.pid)
    fill(memory, "b")
    memory.settle(ahead)
    assert memory.settled == "2 outcomes in the Chroma collection"
    assert notes.parent.stat().st_ino == built


def test_it_builds_a_damaged_collection_anew(memory: Memory) -> None:
    fill(memory, "a")
    memory.settle()
    ahead = memory.ahead()
    (memory.folder / "chroma" / "synced.json").unlink()
    fill(memory, "b")
    assert ahead.settle() == ("2 outcomes in the Chroma collection, built anew", "")


def test_one_that_fails_at_a_damaged_collection_counts_as_the_first_try(memory: Memory) -> None:
    fill(memory, "a")
    memory.settle()
    ahead = memory.ahead()
    (memory.folder / "chroma" / "chroma.sqlite3").write_bytes(b"\xff" * 5000)
    fill(memory, "b")
    memory.settle(ahead)
    assert memory.settled == "2 outcomes in the Chroma collection, built anew"


def test_where_nothing_was_remembered_it_just_ends(memory: Memory) -> None:
    ahead = memory.ahead()
    memory.settle(ahead)
    assert memory.settled == "nothing to index yet"
    assert not lives(ahead.pid)
    assert not memory.folder.exists()


@pytest.mark.parametrize("importing", [0.0, 0.4])
def test_it_goes_with_an_acr_that_is_killed(tmp_path: Path, importing: float) -> None:
    """`importing`: seconds that it is let import for; what was remembered is settled by the next one."""
    killed = "memory.remember(make_outcome('a'))\n"
    killed += f"time.sleep({importing})\nos.kill(os.getpid(), signal.SIGKILL)"
    with started(tmp_path, killed) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
    assert ends(child)
    assert not (tmp_path / "memory" / "chroma").exists()
    memory = Memory(tmp_path)
    memory.settle()
    assert memory.settled == "1 outcomes in the Chroma collection"
    memory.close()


def test_an_interrupt_of_the_whole_group_leaves_it_waiting(memory: Memory) -> None:
    ahead = memory.ahead()
    until = time.monotonic() + 20
    while not _ignores(ahead.pid) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(ahead.pid, signal.SIGINT)
    fill(memory, "a")
    assert ahead.settle() == ("1 outcomes in the Chroma collection", "")


def _ignores(pid: int) -> bool:
    """Whether a process ignores SIGINT."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(mask >> (signal.SIGINT - 1) & 1)


def test_an_interrupt_at_the_end_waits_for_nothing(tmp_path: Path) -> None:
    """The child hangs, as a stopped one does; Ctrl-C ends acr's wait, and the child."""
    program = (
        "memory.remember(make_outcome('a'))\nos.kill(ahead.pid, signal.SIGSTOP)\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    memory.settle(ahead)\nexcept KeyboardInterrupt:\n    print('heard')\n"
    )
    with started(tmp_path, program) as process:
        output, _ = process.communicate(timeout=40)  # its own patience is longer
    child, *said = output.split()
    assert said == ["heard"]
    assert ends(int(child))
