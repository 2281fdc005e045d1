"""What a command leaves in its copy to hold up whoever reads and removes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acr_cli.protocols import Recipe
from acr_cli.sandbox.files import copy_tree, entries, remove_tree
from tests.sandbox.conftest import Opened

LEAVE = """\
import os, socket
os.mkfifo("report.xml")
socket.socket(socket.AF_UNIX).bind("socket.xml")
os.symlink("/dev/zero", "zero.xml")
with open("sparse.xml", "wb") as file:
    try:
        file.truncate(1 << 40)
    except OSError:
        file.truncate(1 << 30)
here = os.open(".", os.O_RDONLY)
for _ in range(1100):
    os.mkdir("deep", dir_fd=here)
    there = os.open("deep", os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = there
os.mkdir(b"not utf-8 \\xff")
open(b"not utf-8 \\xff/\\xfe", "w").close()
os.mkdir("many")
for number in range(500):
    os.symlink("nowhere", f"many/{number}")
os.makedirs("locked/in")
open("locked/in/x", "w").close()
os.chmod("locked/in", 0)
os.chmod("locked", 0o100)
print("left")
"""


def test_nothing_that_is_left_holds_up_reading_and_removing(opened: Opened, tree: Path) -> None:
    opened.sandbox.prepare(Recipe(language="python"), tree)
    with opened.sandbox.open(tree) as session:
        assert session.run(["python", "-c", LEAVE]).output == "left\n"
        names = (
            "report.xml",
            "socket.xml",
            "zero.xml",
            "sparse.xml",
            "deep",
            "many",
            "/".join(["deep"] * 20),
        )
        read = {name: session.get(name) for name in names}
        assert {name for name, data in read.items() if data} == set()
        session.put({"report.xml": b"ours"})
        assert session.get("report.xml") == b"ours"
    assert list(opened.home.glob("runs/*/sandbox/*")) == []


def test_a_tree_deeper_than_the_stack_is_copied_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "tree"
    path.mkdir()
    for _ in range(1100):
        path /= "a"
        path.mkdir()
    (path / "file").write_text("deep")
    copy_tree(tmp_path / "tree", tmp_path / "copy")
    assert (tmp_path / "copy" / path.relative_to(tmp_path / "tree") / "file").read_text() == "deep"
    assert len(list(entries(tmp_path / "tree"))) == 1101
    remove_tree(tmp_path / "copy")
    remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def test_removing_follows_no_link_and_stays_where_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    gone = tmp_path / "gone"
    (gone / "in").mkdir(parents=True)
    (gone / "in" / "link").symlink_to(kept)
    (gone / "link").symlink_to("../kept")
    os.link(kept / "file", gone / "in" / "hard")
    (tmp_path / "link").symlink_to(kept)
    for folder in (gone, tmp_path / "link", tmp_path / "never was"):
        remove_tree(folder)
    assert not gone.exists()
    assert (kept / "file").read_text() == "kept"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody without rights")
def test_somebody_who_has_no_rights_removes_what_is_locked(tmp_path: Path) -> None:
    top = Path("/tmp") / f"acr-locked-{os.getpid()}"
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            for name in ("a/b/c", "d", "read-only/in/x"):
                (top / name).mkdir(parents=True)
            (top / "a/b/c/file").touch()
            modes = {"a/b/c": 0, "a/b": 0o500, "a": 0o100, "d": 0, "read-only/in": 0o555, "read-only": 0o555}
            for name, mode in modes.items():
                (top / name).chmod(mode)
            top.chmod(0)
            remove_tree(top)
            os._exit(int(top.exists()))
        except OSError:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
