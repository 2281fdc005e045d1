"""The one way back: whole or not at all, whatever comes between."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import PatchConflict
from acr_cli.worktree.delivery import JOURNAL, Change, Content, content_of, deliver, recover

SOURCE = Path(__file__).parents[2]


def file(data: bytes, mode: str = "100644") -> Content:
    return Content(mode=mode, data=data)


def link(target: str) -> Content:
    return Content(mode="120000", data=target.encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("a.py", "b.py", "pkg/c.py", "pkg/deep/d.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def edited(name: str, data: bytes = b"new", mode: str = "100644") -> dict[str, Change]:
    return {name: Change(before=file(name.encode()), after=file(data, mode))}


def everything(root: Path) -> Mapping[str, tuple[int, int, int, bytes]]:
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(root))] = (status.st_mode, status.st_ino, status.st_nlink, data)
    return found


def refused(root: Path, changes: Mapping[str, Change], folder: Path) -> PatchConflict:
    """The conflict, after which nothing is changed and nothing is left."""
    before = everything(root)
    with pytest.raises(PatchConflict) as caught:
        deliver(root, changes, folder)
    assert everything(root) == before
    assert list(folder.iterdir()) == []
    assert caught.value.message.endswith(".")
    assert caught.value.exit_code == 1
    return caught.value


# --- what it does -----------------------------------------------------------------------------------------


def test_files_are_edited_created_deleted_and_linked(root: Path, folder: Path) -> None:
    deliver(
        root,
        {
            **edited("a.py", b"new"),
            "b.py": Change(before=file(b"b.py"), after=link("a.py")),
            "pkg/deep/d.py": Change(before=file(b"pkg/deep/d.py"), after=None),
            "new/er/x.py": Change(before=None, after=file(b"x", "100755")),
        },
        folder,
    )
    assert (root / "a.py").read_bytes() == b"new"
    assert (root / "b.py").readlink() == Path("a.py")
    assert content_of(root / "new" / "er" / "x.py") == file(b"x", "100755")
    assert sorted(p.name for p in root.iterdir()) == ["a.py", "b.py", "new", "pkg"]
    assert sorted(p.name for p in (root / "pkg").iterdir()) == ["c.py"]  # no empty folder stays
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "wanted", "expected"),
    [
        (0o640, "100644", 0o640),
        (0o640, "100755", 0o750),
        (0o755, "100644", 0o644),
        (0o700, "100755", 0o700),
        (0o604, "100755", 0o705),
        (0o444, "100644", 0o444),
    ],
)
def test_a_file_keeps_its_permissions_but_for_the_executable_bits(
    root: Path, folder: Path, mode: int, wanted: str, expected: int
) -> None:
    (root / "a.py").chmod(mode)
    before = content_of(root / "a.py")
    deliver(root, {"a.py": Change(before=before, after=file(b"new", wanted))}, folder)
    assert stat.S_IMODE((root / "a.py").stat().st_mode) == expected


def test_a_file_keeps_its_owner_and_attributes(root: Path, folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    os.chown(root / "a.py", 1000, 1000)
    deliver(root, edited("a.py"), folder)
    status = (root / "a.py").stat()
    assert (status.st_uid, status.st_gid) == (1000, 1000)


def test_a_new_file_follows_the_umask(root: Path, folder: Path) -> None:
    before = os.umask(0o027)
    try:
        deliver(root, {"x": Change(before=None, after=file(b"x", "100755"))}, folder)
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "x").stat().st_mode) == 0o750


def test_a_link_is_replaced_and_not_followed(root: Path, folder: Path) -> None:
    (root / "to").symlink_to("a.py")
    deliver(root, {"to": Change(before=link("a.py"), after=file(b"mine"))}, folder)
    assert (root / "to").read_bytes() == b"mine"
    assert (root / "a.py").read_bytes() == b"a.py"


def test_a_file_becomes_a_folder_and_a_folder_a_file(root: Path, folder: Path) -> None:
    deliver(
        root,
        {
            "a.py": Change(before=file(b"a.py"), after=None),
            "a.py/x": Change(before=None, after=file(b"x")),
            "pkg": Change(before=None, after=file(b"p")),
            "pkg/c.py": Change(before=file(b"pkg/c.py"), after=None),
            "pkg/deep/d.py": Change(before=file(b"pkg/deep/d.py"), after=None),
        },
        folder,
    )
    files = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    assert files == {"a.py/x": b"x", "pkg": b"p", "b.py": b"b.py"}


def test_other_files_may_have_changed_meanwhile(root: Path, folder: Path) -> None:
    (root / "b.py").write_bytes(b"by the user")
    deliver(root, edited("a.py"), folder)
    assert (root / "b.py").read_bytes() == b"by the user"


def test_nothing_to_write_is_nothing_written(root: Path, folder: Path) -> None:
    before = everything(root)
    deliver(root, {}, folder)
    assert everything(root) == before


# --- what it refuses --------------------------------------------------------------------------------------


def change_content(root: Path) -> None:
    (root / "pkg" / "c.py").write_bytes(b"by the user")


def change_mode(root: Path) -> None:
    (root / "pkg" / "c.py").chmod(0o755)


def delete(root: Path) -> None:
    (root / "pkg" / "c.py").unlink()


def make_link(root: Path) -> None:
    (root / "pkg" / "c.py").unlink()
    (root / "pkg" / "c.py").symlink_to("../a.py")


def make_folder(root: Path) -> None:
    (root / "pkg" / "c.py").unlink()
    (root / "pkg" / "c.py").mkdir()


def move_behind_link(root: Path) -> None:
    (root / "pkg").rename(root / "real")
    (root / "pkg").symlink_to("real")


def move_outside(root: Path) -> None:
    (root / "pkg").rename(root.parent / "outside")
    (root / "pkg").symlink_to("../outside")


MEANWHILE = [change_content, change_mode, delete, make_link, make_folder, move_behind_link, move_outside]


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_file_that_changed_meanwhile_is_a_conflict(
    root: Path, folder: Path, meanwhile: Callable[[Path], None]
) -> None:
    meanwhile(root)
    conflict = refused(
        root, {**edited("a.py"), "n/x": Change(before=None, after=file(b"x")), **edited("pkg/c.py")}, folder
    )
    assert conflict.message.startswith("pkg/c.py ")


def test_a_new_file_that_the_user_made_too_is_a_conflict(root: Path, folder: Path) -> None:
    (root / "x").write_bytes(b"x")  # the very same content: still not ours
    assert "x has changed" in refused(root, {"x": Change(before=None, after=file(b"x"))}, folder).message


@pytest.mark.parametrize("name", ["a.py", "new.py"])
def test_a_repository_that_was_removed_meanwhile_is_a_conflict(root: Path, folder: Path, name: str) -> None:
    before = file(b"a.py") if name == "a.py" else None
    shutil.rmtree(root)
    said = refused(root, {name: Change(before=before, after=file(b"new"))}, folder).message
    assert said == f"{root} is not there any more; nothing was written."
    assert not root.exists()


def test_a_folder_with_other_files_is_not_replaced(root: Path, folder: Path) -> None:
    changes = {
        "pkg": Change(before=None, after=file(b"p")),
        "pkg/c.py": Change(before=file(b"pkg/c.py"), after=None),
    }
    assert "is a directory" in refused(root, changes, folder).message


def test_a_disk_that_is_full_is_a_conflict(tmpfs: Callable[[str], Path], folder: Path) -> None:
    root = tmpfs("256k")
    (root / "a.py").write_bytes(b"a.py")
    (root / "ballast").write_bytes(bytes(200_000))
    changes = {**edited("a.py", b"small"), "n/x": Change(before=None, after=file(bytes(100_000)))}
    assert "no space left on device" in refused(root, changes, folder).message


def test_a_home_that_is_full_is_a_conflict(tmpfs: Callable[[str], Path], root: Path) -> None:
    home = tmpfs("16k")
    (home / "run").mkdir()
    with pytest.raises(OSError, match="No space"):
        (home / "ballast").write_bytes(bytes(100_000))
    assert "no space left on device" in refused(root, edited("a.py"), home / "run").message


def test_a_file_that_cannot_be_replaced_takes_all_of_it_back(root: Path, folder: Path) -> None:
    """The last of several renames fails: a file system is mounted on the file."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    target = root / "pkg" / "c.py"
    done = subprocess.run(["mount", "--bind", target, target], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("cannot mount here")
    try:
        changes = {
            **edited("a.py"),
            "b.py": Change(before=file(b"b.py"), after=None),
            "n/x": Change(before=None, after=file(b"x")),
            "pkg/deep/d.py": Change(before=file(b"pkg/deep/d.py"), after=link("x")),
            **edited("pkg/c.py"),
        }
        assert "busy" in refused(root, changes, folder).message
    finally:
        subprocess.run(["umount", target], check=True)


CONFLICT = """
import sys
from pathlib import Path
from typing import Any
from acr_cli.errors import PatchConflict
from acr_cli.worktree.delivery import Change, Content, deliver
root, folder = Path(sys.argv[1]) / "root", Path(sys.argv[1]) / "run"
one, two = (Content(mode="100644", data=data) for data in (b"a.py", b"new"))
try:
    new = Change(before=None, after=two)
    deliver(root, {"a.py": Change(before=one, after=two), sys.argv[2]: new}, folder)
except PatchConflict as error:
    print(error.message)
"""


def as_user(program: str, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as a user to whom permissions apply."""
    command = [sys.executable, "-B", "-c", program, str(place), *arguments]
    if os.geteuid() == 0:
        for outer in (place, *place.parents):
            outer.chmod(outer.stat().st_mode | 0o055)
        subprocess.run(["chown", "-R", "1000:1000", place], check=True)
        command = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *command]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(place)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("locked", "created"), [("pkg", "pkg/x"), ("pkg", "pkg/new/er/x"), (".", "pkg/x")])
def test_a_folder_that_may_not_be_written_is_a_conflict(
    root: Path, folder: Path, tmp_path: Path, locked: str, created: str
) -> None:
    (root / locked).chmod(0o555)
    before = [(p, p.read_bytes()) for p in sorted(root.rglob("*")) if p.is_file()]
    done = as_user(CONFLICT, tmp_path, created)
    (root / locked).chmod(0o755)
    assert done.stdout == f"The patch cannot be written to {root}: permission denied.\n"
    assert done.stderr == ""
    assert [(p, p.read_bytes()) for p in sorted(root.rglob("*")) if p.is_file()] == before
    assert list(folder.iterdir()) == []


def test_a_file_that_may_not_be_read_is_a_conflict(root: Path, folder: Path, tmp_path: Path) -> None:
    (root / "a.py").chmod(0)
    assert "permission denied" in as_user(CONFLICT, tmp_path, "x").stdout
    assert not (root / "x").exists()


# --- interrupts and kills ---------------------------------------------------------------------------------


class Interrupting:
    """Raises Ctrl-C at the n-th line within the module of deliveries."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.seen = 0

    def __call__(self, frame: object, event: str, _: object) -> object:
        if not getattr(frame, "f_code").co_filename.endswith("delivery.py"):  # noqa: B009 - typed as object
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.line:
                signal.raise_signal(signal.SIGINT)
        return self


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files just opened
def test_an_interrupt_at_any_line_leaves_all_or_nothing(tmp_path: Path) -> None:
    outcomes = set()
    changes = {
        **edited("a.py"),
        "b.py": Change(before=file(b"b.py"), after=None),
        "n/x": Change(before=None, after=file(b"x")),
    }
    before, after = {"a.py": b"a.py", "b.py": b"b.py"}, {"a.py": b"new", "n/x": b"x"}
    line, going = 1, True
    while going:
        root, folder = tmp_path / f"root{line}", tmp_path / f"run{line}"
        folder.mkdir()
        root.mkdir()
        for name, data in before.items():
            (root / name).write_bytes(data)
        trace = Interrupting(line)
        ours = sys.gettrace()
        sys.settrace(trace)
        try:
            deliver(root, changes, folder)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(ours)
        going = trace.seen >= line
        found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        assert found in (before, after), f"line {line}"
        assert list(folder.iterdir()) == [], f"line {line}"
        assert (root / "n").exists() == (found == after), f"line {line}"
        outcomes.add(found == after)
        line += 1
    assert outcomes == {True, False}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_delivery_works_in_a_thread(root: Path, folder: Path) -> None:
    thread = threading.Thread(target=deliver, args=(root, edited("a.py"), folder))
    thread.start()
    thread.join()
    assert (root / "a.py").read_bytes() == b"new"


@pytest.mark.parametrize("what", ["deliver", "recover"])
def test_a_kill_at_any_line_leaves_all_or_nothing_after_recovery(tmp_path: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("kill_deliveries.py"), tmp_path, what],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert set(found) == {"before", "after"}
    assert min(found.values()) > 5


def killed_half_way(root: Path, folder: Path) -> None:
    """a.py is replaced, pkg/c.py is not yet."""
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(SOURCE)!r})
from pathlib import Path
from typing import Any
from acr_cli.worktree.delivery import Change, Content, deliver
def stop(event, arguments):
    if event == "os.rename" and str(arguments[0]).endswith("-1.new"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(stop)
changes = {{
    name: Change(before=Content(mode="100644", data=name.encode()), after=Content(mode="100644", data=b"new"))
    for name in ("a.py", "pkg/c.py")
}}
deliver(Path({str(root)!r}), changes, Path({str(folder)!r}))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    assert (root / "a.py").read_bytes() == b"new"
    assert (root / "pkg" / "c.py").read_bytes() == b"pkg/c.py"


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if ".acr-" in path.name]


def test_recovery_completes_what_was_begun(root: Path, folder: Path) -> None:
    killed_half_way(root, folder)
    assert recover(folder) == ("a.py", "pkg/c.py")
    assert (root / "pkg" / "c.py").read_bytes() == b"new"
    assert leftovers(root) == list(folder.iterdir()) == []


def test_recovery_takes_back_what_the_user_has_overtaken(root: Path, folder: Path) -> None:
    killed_half_way(root, folder)
    (root / "pkg" / "c.py").write_bytes(b"by the user")
    assert recover(folder) == ()
    assert (root / "a.py").read_bytes() == b"a.py"
    assert (root / "pkg" / "c.py").read_bytes() == b"by the user"
    assert leftovers(root) == list(folder.iterdir()) == []


def test_recovery_leaves_what_the_user_has_changed_since(root: Path, folder: Path) -> None:
    killed_half_way(root, folder)
    (root / "a.py").write_bytes(b"by the user")
    assert recover(folder) == ()
    assert (root / "a.py").read_bytes() == b"by the user"
    assert (root / "pkg" / "c.py").read_bytes() == b"pkg/c.py"
    assert leftovers(root) == []


def test_what_cannot_be_noted_now_is_noted_by_the_next_recovery(root: Path, folder: Path) -> None:
    def full(_: Mapping[str, Any]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    noted: list[Mapping[str, Any]] = []
    deliver(root, edited("a.py"), folder, note={"applied": True}, keep=full)
    assert (root / "a.py").read_bytes() == b"new"
    assert leftovers(root) == []
    with pytest.raises(OSError, match="No space left"):
        recover(folder, full)
    assert recover(folder, noted.append) == ("a.py",)
    assert recover(folder, noted.append) == ()
    assert noted == [{"applied": True}]


def test_there_is_nothing_to_recover_without_a_journal(folder: Path) -> None:
    assert recover(folder) == ()
    assert recover(folder / "absent") == ()


@pytest.mark.parametrize(
    "journal", ["", "{", "[]", "{}", '{"root": "/", "state": "committed", "entries": [1]}']
)
def test_a_journal_that_cannot_be_read_is_dropped(folder: Path, journal: str) -> None:
    (folder / JOURNAL).write_text(journal)
    assert recover(folder) == ()
    assert list(folder.iterdir()) == []


def test_a_tree_that_is_gone_needs_no_recovery(root: Path, folder: Path) -> None:
    killed_half_way(root, folder)
    root.rename(root.with_name("moved"))
    assert recover(folder) == ()
    assert list(folder.iterdir()) == []


# --- contents ---------------------------------------------------------------------------------------------


def test_contents_tell_files_links_and_absence_apart(root: Path) -> None:
    (root / "to").symlink_to("absent")
    (root / "b.py").chmod(0o751)
    assert content_of(root / "a.py") == file(b"a.py")
    assert content_of(root / "b.py") == file(b"b.py", "100755")
    assert content_of(root / "to") == link("absent")
    assert content_of(root / "pkg") is content_of(root / "absent") is content_of(root / "a.py" / "x") is None
    assert len({c.digest for c in (file(b"a"), file(b"a", "100755"), link("a"), file(b""))}) == 4
