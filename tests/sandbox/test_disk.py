"""What commands write is bound, in bytes and in number; what others write is not blamed on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.protocols import Limits, Session
from acr_cli.sandbox.disk import Disk, Folders, Size, measure
from tests.sandbox.conftest import IMAGE, LIMITS

FILLER = """\
import os, sys
folder, size = sys.argv[1], int(sys.argv[2])
number = 0
while number < 40_000:
    if number % 1000 == 0:
        os.makedirs(f"{folder}/{number}")
    with open(f"{folder}/{number - number % 1000}/{number}", "wb") as file:
        file.write(b"x" * size)
    number += 1
    if size and number == 40:
        import time
        time.sleep(20)
if not size:
    import time
    time.sleep(20)
"""

MIB = 1024**2


@pytest.mark.parametrize(
    ("where", "size", "limits"),
    [
        ("work", 10 * MIB, replace(LIMITS, disk_bytes=100 * MIB)),
        ("scratch", 0, replace(LIMITS, files=5_000)),
    ],
    ids=["files of 10 MB", "empty files"],
)
def test_a_command_that_fills_the_disk_is_stopped_and_said(
    session: Session, where: str, size: int, limits: Limits
) -> None:
    folder = f"{session.workdir if where == 'work' else session.scratch}/filled"
    result = session.run(["python", "-c", FILLER, folder, str(size)], limits=limits)
    assert (result.out_of_disk, result.exit_code, result.timed_out) == (True, 137, False)
    shown = f"more than {limits.disk_bytes // MIB} MiB or" if size else f"or {limits.files} files"
    assert shown in result.output
    assert not session.run("echo alive", limits=LIMITS).out_of_disk


def test_what_lay_in_the_tree_and_what_others_write_is_not_counted(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "large").write_bytes(b"x" * 8 * MIB)
    disk = Disk(Folders(copy))
    limits = Limits(disk_bytes=4 * MIB, files=100)
    (tmp_path / "another's").write_bytes(b"x" * 16 * MIB)
    assert not disk.over(limits)
    (copy / "more").write_bytes(b"x" * 5 * MIB)
    (tmp_path / "another's too").write_bytes(b"x" * 16 * MIB)
    assert disk.over(limits)


class _Told:
    """A place of which is told what is free, look by look; what lies there grows meanwhile."""

    name, hint = "told", ""

    def __init__(self, *free: int, used: tuple[int, int]) -> None:
        self._free, self._used = list(free), list(used)

    def free(self) -> Size:
        return Size(bytes=self._free.pop(0), files=1_000_000)

    def measure(self, most: Size | None = None) -> Size:
        return Size(bytes=self._used.pop(0), files=1)


def test_what_others_remove_does_not_hide_what_a_command_writes() -> None:
    place = _Told(1000, 1500, 900, used=(0, 600))
    disk = Disk(place, floor=Size(bytes=0, files=0))
    limits = Limits(disk_bytes=500)
    assert not disk.over(limits)
    assert disk.over(limits)


def test_a_copy_that_is_gone_is_a_broken_sandbox(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    disk = Disk(Folders(copy))
    copy.rmdir()
    with pytest.raises(SandboxBroken, match=r"copy cannot be looked at: no such file or directory\."):
        disk.over(Limits())


def test_a_copy_is_measured_without_following_links_and_links_count_once(tmp_path: Path) -> None:
    copy, beside = tmp_path / "copy", tmp_path / "beside"
    copy.mkdir()
    beside.mkdir()
    (beside / "outside").write_bytes(b"x" * 8 * MIB)
    (copy / "link").symlink_to(beside)
    (copy / "one").write_bytes(b"x" * MIB)
    (copy / "two").hardlink_to(copy / "one")
    (copy / "sparse").touch()
    with (copy / "sparse").open("wb") as file:
        file.truncate(8 * MIB)
    found = measure((copy,))
    assert (found.files, found.whole) == (4, True)
    assert MIB <= found.bytes < 2 * MIB
    assert measure((copy,), most=Size(bytes=0, files=10)).whole


def test_a_disk_that_others_fill_is_a_broken_sandbox(tmp_path: Path) -> None:
    disk = Disk(Folders(tmp_path), floor=Size(bytes=1 << 60, files=0))
    with pytest.raises(SandboxBroken, match="almost full") as caught:
        disk.over(Limits())
    assert "Free some space" in str(caught.value.hint)


UNSEEN = """\
import json, os, sys
from dataclasses import replace
from pathlib import Path
from acr_cli.protocols import Limits
from acr_cli.sandbox.choose import open_sandbox

home, tree, image, files = sys.argv[1:]
limits = Limits(memory_bytes=192 * 1024**2, pids=48, seconds=20, disk_bytes=40 << 20, files=2000)
said = []
sandbox = open_sandbox(
    "docker", run_id="unseen", home=Path(home), image=image, limits=limits, emit=said.append,
    environ=os.environ,
)
with sandbox.open(Path(tree)) as session:
    assert not os.path.exists(files), "this engine's files are seen"
    session.put({"ours": b"x" * (60 << 20)})
    for command in json.loads(sys.stdin.read()):
        result = session.run(command)
        print(json.dumps([result.out_of_disk, result.exit_code, result.output]))
print(json.dumps([str(event) for event in said[1:]]))
"""
WRITE = "dd if=/dev/zero of={} bs=1M count={} 2>/dev/null"
HIDE = 'import time; [(open(f"h/{n}", "wb").write(bytes(8 << 20)), time.sleep(0.2)) for n in range(80)]'
MANY = "import os; [(os.mkdir(f'{n}'), [open(f'{n}/{m}', 'w') for m in range(40)]) for n in range(50)]"


@pytest.mark.docker
@pytest.mark.skipif(os.getuid() != 0, reason="only root can hide the engine's files from a program")
@pytest.mark.parametrize(
    ("command", "stopped"),
    [
        (f"{WRITE.format('little', 20)}; sleep 2; echo whole", False),
        (f"mkdir h; chmod 300 h; python -c '{HIDE}'", True),
        (f'python -c "{MANY}"; sleep 20', True),
    ],
    ids=["little", "hidden bytes", "files"],
)
def test_where_the_engines_files_are_not_seen_a_container_tells_what_is_written(
    tree: Path, acr_home: Path, docker_engine: Any, command: str, stopped: bool
) -> None:
    root = docker_engine.info()["DockerRootDir"]
    hiding = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', root]
    program = [sys.executable, "-c", UNSEEN, str(acr_home), str(tree), IMAGE, f"{root}/volumes"]
    done = subprocess.run(
        [*hiding, *program], input=json.dumps([command]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result, said = map(json.loads, done.stdout.splitlines())
    words = "\nacr: killed, for it wrote more than 40 MiB or 2000 files to the disk, or filled it\n"
    assert result == ([True, 137, words] if stopped else [False, 0, "whole\n"])
    assert said == []
