"""The search for keys and for leftovers, which every test of the suite ends with, finds what is planted."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.security.canary import Search, drawn, holding, told
from tests.security.left_behind import Processes, below_the_folders_of, locks

PLANTED = drawn()  # one that the suite's own search does not look for
RAW = PLANTED.encode()
SOUGHT = Search(PLANTED)
HIDDEN: dict[str, bytes] = {
    "plain": b"Authorization: Bearer " + RAW,
    "json": json.dumps({"headers": {"x": f'"{PLANTED}"'}}).encode(),
    "broken over two lines": b"| " + RAW[:14] + b" |\n| " + RAW[14:] + b" |",
    "cut off": b"key " + RAW[:11] + b"...",
    "the end of it": b"... " + RAW[-11:],
    "base64": base64.b64encode(b"user:" + RAW),
    "base64, shifted": base64.b64encode(b"user2:" + RAW + b"@"),
    "base64, shifted twice": base64.urlsafe_b64encode(b"users12:" + RAW),
    "hex": RAW.hex().encode(),
    "gzip": gzip.compress(b"log " * 99 + RAW),
    "zlib, as git has it": zlib.compress(b"blob 33\0" + RAW),
}


@pytest.mark.parametrize("data", HIDDEN.values(), ids=HIDDEN)
def test_a_key_is_found_however_it_is_written(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "small").write_bytes(data)
    (tmp_path / "a" / "innocent").write_bytes(drawn(tag=PLANTED).encode())
    assert list(holding(tmp_path, SOUGHT)) == [tmp_path / "a" / "b" / "small"]


def test_a_key_is_found_in_large_files_names_links_and_archives(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"\0" * 5_000_000 + RAW)
    (tmp_path / PLANTED).mkdir()
    (tmp_path / "link").symlink_to(f"/nowhere/{PLANTED}")
    with zipfile.ZipFile(tmp_path / "archive", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.txt", PLANTED * 3)
    os.mkfifo(tmp_path / "pipe")  # which nobody may wait for
    assert {path.name for path in holding(tmp_path, SOUGHT)} == {"large", PLANTED, "link", "archive"}


def test_what_is_no_key_is_none() -> None:
    assert not told(b"no key, and no " + drawn(tag=PLANTED).encode() + b" either", SOUGHT)


def test_processes_that_outlive_a_test_are_named_with_it(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    sleep = "import time; time.sleep(60)"
    elsewhere: dict[str, Any] = {"cwd": "/", "env": {"PATH": os.environ["PATH"]}}
    by_folder, by_variable = {**elsewhere, "cwd": tmp_path}, {**elsewhere, "env": {"HOME": str(tmp_path)}}
    for how, argument in ((by_folder, ""), (by_variable, ""), (elsewhere, str(tmp_path))):
        command = [sys.executable, "-c", sleep, argument]
        subprocess.run(["/bin/sh", "-c", '"$@" & :', "sh", *command], check=True, **how)
    processes.look("the one that leaks")
    left = processes.left(patience=0.2)
    for process in left:
        process.kill()
    assert len(left) == 3
    assert all("the one that leaks" in str(process) and "sleep(60)" in str(process) for process in left)
    assert processes.left() == []


def test_a_process_that_ends_in_time_is_no_leftover(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    ending = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"], cwd=tmp_path)
    processes.look("a test")
    assert processes.left() == []
    ending.wait()


def test_files_and_held_locks_are_seen(tmp_path: Path) -> None:
    from filelock import FileLock

    assert below_the_folders_of(tmp_path, patience=0) == []
    (tmp_path / "of-a-test").mkdir()
    assert below_the_folders_of(tmp_path, patience=0) == []
    with FileLock(tmp_path / "of-a-test" / "lock") as lock:
        assert locks() == [lock.lock_file]
        assert below_the_folders_of(tmp_path, patience=0) == ["of-a-test/lock"]
    assert locks() == []


def test_a_test_that_leaks_fails_and_is_named(pytester_like: Callable[[str], str]) -> None:
    said = pytester_like(
        "import subprocess, tempfile\nfrom tests.security.canary import KEY\n\n\n"
        "def test_writes_a_key(acr_home):\n    acr_home.mkdir()\n    (acr_home / 'log').write_text(KEY)\n\n\n"
        "def test_leaves_a_file(acr_home):\n    tempfile.mkstemp()\n\n\n"
        "def test_leaves_a_process(tmp_path):\n"
        "    subprocess.run(['sh', '-c', 'sleep 60 & :'], cwd=tmp_path, check=True)\n\n\n"
        "def test_is_clean(acr_home):\n    acr_home.mkdir()\n"
    )
    assert "4 passed" in said
    assert "3 errors" in said
    for fault in ("a key is in ", "a temporary file is left: ", "left running: process "):
        assert fault in said
    assert "::test_leaves_a_process: " in said


@pytest.fixture
def pytester_like(tmp_path: Path) -> Callable[[str], str]:
    """Runs a file of tests under the suite's own conftest: `said(text) -> what pytest printed`."""

    def run(text: str) -> str:
        file = tmp_path / "test_leaks.py"
        file.write_text(text)
        root = Path(__file__).parents[2]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest"]
        options = [
            f"--basetemp={tmp_path / 'base'}",
            f"--rootdir={root}",
            f"--config-file={root}/pyproject.toml",
        ]
        done = subprocess.run(
            [*command, *options, file], cwd=root, capture_output=True, text=True, check=False, timeout=100
        )
        return done.stdout + done.stderr

    return run
