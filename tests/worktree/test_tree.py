"""The run's copy: complete, byte for byte, restorable; its patch gives the same bytes elsewhere."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acr_cli.errors import PatchConflict, PathRefused, SandboxUnavailable, TreeDamaged
from acr_cli.worktree.delivery import Content, content_of
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.tree import RunTree, touched

MakeRepository = Callable[..., Path]

State = Mapping[str, Content | None]


def copy(root: Path, run: Path) -> RunTree:
    return RunTree.copy(root, open_repository(root).files(), run)


def state(tree: RunTree) -> State:
    return {name: content_of(tree.root / name) for name in tree.files()}


ODD = {
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "mixed.txt": b"one\r\ntwo\nthree\r\n",
    "bom.py": b"\xef\xbb\xbfx = 1\n",
    "latin1.py": "# é\nx = 'ü'\n".encode("latin-1"),
    "utf16.txt": "hällo\n".encode("utf-16"),
    "binary.bin": bytes(range(256)) * 8,
    "no_newline.py": b"x = 1",
    "empty": b"",
    "ident.txt": b"$Id$\n",
    "trailing.txt": b"spaces   \n\ttab\t\n\n\n",
    "cr.txt": b"old\rmac\r",
    "form\ttab.txt": b"x\n",
    "with space/quo\"te's.py": b"x\n",
    "new\nline.py": b"x\n",
    "-dash.py": b"x\n",
    "*.py": b"x\n",
    "été/ñ.py": b"x\n",
    os.fsdecode(b"latin-\xe9.py"): b"x\n",
    ".gitattributes": (
        b"* text=auto eol=crlf\n*.txt ident filter=lfs diff=lfs merge=lfs\n"
        b"*.py working-tree-encoding=UTF-16\n*.bin -diff\n[attr]odd text eol=lf\nmixed.txt odd\n"
    ),
}


def test_the_copy_is_byte_for_byte_whatever_the_attributes_say(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    root = git_repo(ODD, commit=False)
    tree = copy(root, tmp_path / "run")
    tree.checkpoint()
    assert {name: (tree.root / name).read_bytes() for name in tree.files()} == ODD


def test_a_patch_of_odd_files_gives_the_same_bytes_on_another_copy(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    root = git_repo(ODD, commit=False)
    one, two = copy(root, tmp_path / "one"), copy(root, tmp_path / "two")
    start = one.checkpoint()
    for name, data in ODD.items():
        (one.root / name).write_bytes(data[:3] + b"\x00changed\r\n\xff" + data[3:])
    patch = one.diff(start)
    assert one.changed(start) == touched(patch) == tuple(sorted(ODD))
    hostile = [name for name in ODD if any(ord(c) < 32 for c in name)]
    for name in hostile:  # such names may be carried along, not edited
        with pytest.raises(PathRefused):
            two.apply(patch)
        one.restore(start, [name])
        patch = one.diff(start)
    two.apply(patch)
    assert state(two) == state(one)
    two.apply(patch, reverse=True)
    assert state(two) == {name: Content(mode="100644", data=data) for name, data in ODD.items()}


def test_modes_and_links_are_copied(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"run.sh": "#!/bin/sh\n", "plain": "", "pkg/a.py": ""})
    (root / "run.sh").chmod(0o750)
    (root / "plain").chmod(0o400)
    for link, target in {"file": "plain", "dir": "pkg", "gone": "absent", "up": "../..", "loop": "."}.items():
        (root / link).symlink_to(target)
    tree = copy(root, tmp_path / "run")
    links = {name: (tree.root / name).readlink() for name in tree.files() if (tree.root / name).is_symlink()}
    assert {k: str(v) for k, v in links.items()} == {
        "file": "plain", "dir": "pkg", "gone": "absent", "up": "../..", "loop": ".",
    }  # fmt: skip
    assert (tree.root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tree.root / "plain").stat().st_mode & 0o777 == 0o644
    assert tree.restore(tree.checkpoint()) is None
    assert len(tree.files()) == 8


def test_what_git_itself_would_refuse_is_not_copied(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"a.py": "", ".GIT/config": "", "sub/.Git/hooks/x": "", "git~1": ""}, commit=False)
    tree = copy(root, tmp_path / "run")
    tree.checkpoint()
    assert tree.files() == ("a.py",)


def test_files_that_vanish_meanwhile_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    tree = RunTree.copy(tmp_path, ["a", "b", "c/d", "a/e"], tmp_path / "run")
    assert tree.files() == ("a",)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("")
    secret.chmod(0)
    program = (
        "import sys; from pathlib import Path; from acr_cli.worktree.tree import RunTree\n"
        "from acr_cli.errors import AcrError\n"
        "try:\n    RunTree.copy(Path(sys.argv[1]), ['secret'], Path(sys.argv[1]) / 'run')\n"
        "except AcrError as error:\n    print(error.exit_code, error.message)\n"
    )
    done = as_user(program, tmp_path)
    assert done.stdout.startswith("4 The working copy in ")
    assert "/secret: permission denied." in done.stdout
    assert not (tmp_path / "run" / "tree").exists()


def as_user(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program with `folder` as argument, as a user to whom permissions apply."""
    import sys

    command = [sys.executable, "-B", "-c", program, str(folder)]
    if os.geteuid() == 0:
        for place in (folder, *folder.parents):
            place.chmod(place.stat().st_mode | 0o055)
        folder.chmod(0o777)
        command = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *command]
    source = str(Path(__file__).parents[2])
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": source, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmpfs: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(os.urandom(3_000_000))
    small = tmpfs("1m")
    with pytest.raises(SandboxUnavailable) as caught:
        RunTree.copy(tmp_path, ["big"], small / "run")
    assert caught.value.message.endswith("no space left on device.")
    assert "ACR_HOME" in caught.value.hint
    assert not (small / "run" / "tree").exists()


def test_a_private_repository_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "git").write_text("in the way")
    with pytest.raises(SandboxUnavailable, match=os.strerror(errno.EEXIST).lower()):
        RunTree.copy(tmp_path, [], tmp_path / "run")


# --- checkpoints ------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> RunTree:
    source = tmp_path / "source"
    files = {"a.py": b"a\n", "pkg/b.py": b"b\n", "pkg/deep/c.py": b"c\n", "run.sh": b"#!/bin/sh\n"}
    for name, data in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("a.py")
    return RunTree.copy(source, [*files, "link"], tmp_path / "run")


def edit_content(root: Path) -> None:
    (root / "a.py").write_bytes(b"b\n")  # of the same size, in the same second


def create(root: Path) -> None:
    (root / "new" / "er").mkdir(parents=True)
    (root / "new" / "er" / "x").write_text("x")


def delete_folder(root: Path) -> None:
    for name in ("pkg/deep/c.py", "pkg/b.py"):
        (root / name).unlink()
    (root / "pkg" / "deep").rmdir()
    (root / "pkg").rmdir()


def change_mode(root: Path) -> None:
    (root / "a.py").chmod(0o755)
    (root / "run.sh").chmod(0o644)


def file_to_link(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("pkg/b.py")


def link_to_file(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").write_text("a.py")


def file_to_folder(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").mkdir()
    (root / "a.py" / "inner.py").write_text("")


def folder_to_file(root: Path) -> None:
    delete_folder(root)
    (root / "pkg").write_text("")


def folder_to_link(root: Path) -> None:
    delete_folder(root)
    (root / "pkg").symlink_to("/etc")


def retarget_link(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("absent")


def create_ignored(root: Path) -> None:
    (root / ".gitignore").write_text("*\n")
    (root / "x.log").write_text("")


def rename(root: Path) -> None:
    (root / "pkg" / "b.py").rename(root / "renamed.py")


def asked_for(tree: RunTree, start: str) -> None:
    """What was edited since was deleted by the tree itself."""
    now = tree.checkpoint()
    tree.restore(start)
    tree.restore(now)


EDITS = [
    edit_content, create, delete_folder, change_mode, file_to_link, link_to_file, file_to_folder,
    folder_to_file, folder_to_link, retarget_link, create_ignored, rename,
]  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_restore_brings_the_checkpoint_back(tree: RunTree, edit: Callable[[Path], None]) -> None:
    before, start = state(tree), tree.checkpoint()
    edit(tree.root)
    assert tree.changed(start)
    tree.restore(start)
    assert state(tree) == before
    assert (tree.diff(start), tree.changed(start)) == ("", ())
    assert not (tree.root / "new").exists()


@pytest.mark.parametrize("edit", EDITS)
def test_restoring_each_changed_path_is_restoring_all(tree: RunTree, edit: Callable[[Path], None]) -> None:
    before, start = state(tree), tree.checkpoint()
    edit(tree.root)
    tree.restore(start, tree.changed(start))
    assert state(tree) == before


@pytest.mark.parametrize("edit", EDITS)
def test_a_patch_carries_the_edit_to_another_copy_and_back(
    tree: RunTree, tmp_path: Path, edit: Callable[[Path], None]
) -> None:
    before, start = state(tree), tree.checkpoint()
    other = RunTree.copy(tree.root, tree.files(), tmp_path / "other")
    edit(tree.root)
    asked_for(tree, start)
    patch = tree.diff(start)
    other.apply(patch)
    assert state(other) == state(tree)
    other.apply(patch, reverse=True)
    assert state(other) == before


def test_restoring_some_paths_leaves_the_others(tree: RunTree) -> None:
    start = tree.checkpoint()
    edit_content(tree.root)
    create(tree.root)
    (tree.root / "pkg" / "b.py").unlink()
    tree.restore(start, ["pkg/b.py", "new/er/x", "never.py", "run.sh"])
    assert tree.changed(start) == ("a.py",)
    assert not (tree.root / "new").exists()


def test_a_checkpoint_reads_its_files(tree: RunTree) -> None:
    start = tree.checkpoint()
    change_mode(tree.root)
    assert tree.read(start, "run.sh") == ("100755", b"#!/bin/sh\n")
    assert tree.read(start, "link") == ("120000", b"a.py")
    assert tree.read(start, "pkg") is None
    assert tree.read(start, "absent") is None
    assert tree.read(tree.checkpoint(), "a.py") == ("100755", b"a\n")


def test_checkpoints_of_equal_states_are_equal(tree: RunTree) -> None:
    first = tree.checkpoint()
    edit_content(tree.root)
    second = tree.checkpoint()
    tree.restore(first)
    assert first == tree.checkpoint() != second


@pytest.mark.parametrize("edit", EDITS)
def test_git_is_asked_again_as_soon_as_anything_differs(
    tree: RunTree, edit: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.1)
    start = tree.checkpoint()
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", "")
        assert (tree.checkpoint(), tree.diff(start), tree.changed(start)) == (start, "", ())
    old = (tree.root / "a.py").stat().st_mtime_ns
    edit(tree.root)
    for name in tree.files():
        os.utime(tree.root / name, ns=(old, old), follow_symlinks=False)
    assert tree.checkpoint() == RunTree(tree.directory.parent).checkpoint() != start
    edited = state(tree)
    asked_for(tree, start)
    patch = tree.diff(start)
    tree.restore(start)
    tree.apply(patch)
    assert state(tree) == edited


NAME = st.sampled_from(["a", "b", "c", "ü", "x y"])
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)
LINE = st.sampled_from(
    [b"one", b"two\r", b"\xff\xfe", b"\x00", b"", b"    x = 1", b"--- a/b", b"@@ -1 +1 @@"]
)
DATA = st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(LINE, max_size=6), st.sampled_from([b"", b"\n"])
)
CONTENT = st.one_of(
    st.builds(Content, mode=st.sampled_from(["100644", "100755"]), data=DATA),
    st.builds(Content, mode=st.just("120000"), data=st.sampled_from([b"absent", b"../out", b"x/y"])),
)
FILES = st.dictionaries(PATH, CONTENT, max_size=6).map(
    lambda files: {n: c for n, c in files.items() if not any(n.startswith(f"{o}/") for o in files)}
)


def write(root: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if content.mode == "120000":
            target.symlink_to(os.fsdecode(content.data))
        else:
            target.write_bytes(content.data)
            target.chmod(int(content.mode[-3:], 8))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=FILES, after=FILES)
def test_any_edit_is_its_patch_and_can_be_restored(
    before: Mapping[str, Content], after: Mapping[str, Content]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(place / "source", before)
        one = RunTree.copy(place / "source", list(before), place / "one")
        two = RunTree.copy(place / "source", list(before), place / "two")
        start = one.checkpoint()
        write(place / "after", after)
        one.restore(RunTree.copy(place / "after", [], place / "empty").checkpoint())  # git's empty tree
        assert one.files() == ()
        write(one.root, after)
        patch = one.diff(start)
        two.apply(patch)
        assert state(two) == after
        one.restore(start)
        assert state(one) == before


# --- paths and patches of strangers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "", ".", "./", "/etc/passwd", "//etc/passwd", "..", "../x", "a/../../x", "a/..", "nul\0byte",
        "new\nline", "tab\t", "esc\x1b[0m", "del\x7f", ".git", ".git/config", ".GIT/config", ".Git",
        "a/.git/hooks/x", "git~1", "GIT~1/config", ".git ", ".git.", ".git. . /config",
        ".git::$INDEX_ALLOCATION", ".git:x", ".g\u200cit", ".gi\u200dt/config", "\ufeff.git", "out/x",
        "out", "chain/x", "d/" * 3000, "n" * 300, "é" * 130, "loop", "loop/x", "C:\\Windows", "C:x", "con",
        "CON/nul.txt", "aux.py", "com1", "a\\b", "..\\x", "self/out/x", "inner",
    ],
)  # fmt: skip
def test_a_hostile_path_is_refused(tree: RunTree, tmp_path: Path, path: str) -> None:
    (tree.root / "out").symlink_to(tmp_path)
    (tree.root / "chain").symlink_to("out")
    (tree.root / "loop").symlink_to("loop")
    (tree.root / "self").symlink_to(".")
    (tree.root / "inner").symlink_to(tree.directory / "config")
    with pytest.raises(PathRefused) as caught:
        tree.path(path)
    assert len(caught.value.message.splitlines()) == 1


def test_a_file_may_be_new_in_a_folder_of_whatever_name(tree: RunTree) -> None:
    for folder in ("aux", "what?", "a\u200bb"):
        (tree.root / folder).mkdir()
        assert tree.path(f"{folder}/new.py") == tree.root / folder / "new.py"
        with pytest.raises(PathRefused, match="every system"):
            tree.path(f"{folder}/con/new.py")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.py", "a.py"), ("./a.py", "a.py"), ("pkg//b.py", "pkg/b.py"), ("new/x.py", "new/x.py"),
        ("link", "a.py"), ("to/b.py", "pkg/b.py"), ("é.py", "é.py"), ("日本.git", "日本.git"),
        (".gitignore", ".gitignore"), (".github/x.yml", ".github/x.yml"), ("x.git/y", "x.git/y"),
        ("with a space", "with a space"), ("console.py", "console.py"), ("aux.c", "aux.c"), ("-rf", "-rf"),
    ],
)  # fmt: skip
def test_an_honest_path_is_found(tree: RunTree, path: str, expected: str) -> None:
    (tree.root / "to").symlink_to("pkg")
    (tree.root / "aux.c").write_text("")  # a name like this may be edited where it is, and not made
    assert tree.path(path) == tree.root / expected


def created(name: str, line: str = "x", mode: str = "100644") -> str:
    head = f"diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1 @@\n+{line}\n" + ("\\ No newline at end of file\n" if mode == "120000" else "")


MISFIT = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-zzz\n+x\n"
HOSTILE_PATCHES = {
    "up": created("../x"),
    "no character": created("a\ud800"),
    "inner up": created("pkg/../../x"),
    "git": created(".git/x"),
    "git in other letters": created(".gIt/hooks/pre-commit"),
    "git's short name": created("git~1/config"),
    "absolute": created("/tmp/x"),
    "through a link": created("out/x"),
    "through its own link": created("l", "/tmp", "120000") + created("l/x"),
    "no patch": "I have changed the file as you asked.\n",
    "does not fit": MISFIT,
    "one of two": created("n") + MISFIT,
}


@pytest.mark.parametrize("patch", HOSTILE_PATCHES.values(), ids=HOSTILE_PATCHES)
def test_a_hostile_patch_is_refused_and_changes_nothing(tree: RunTree, tmp_path: Path, patch: str) -> None:
    (tree.root / "out").symlink_to(tmp_path)
    start, around = tree.checkpoint(), sorted(tmp_path.iterdir())
    with pytest.raises((PatchConflict, PathRefused)) as caught:
        tree.apply(patch)
    assert caught.value.message.endswith(".")
    assert tree.changed(start) == ()
    assert sorted(tmp_path.iterdir()) == around


def test_an_empty_patch_changes_nothing(tree: RunTree) -> None:
    tree.apply("")
    assert touched("") == ()


def test_a_renaming_touches_both_names() -> None:
    patch = "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
    assert touched(patch) == ("new", "old")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become a user who may not read a file")
def test_a_file_that_may_not_be_read_is_named_and_the_hint_is_about_it(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "run"
    source.mkdir()
    folder.mkdir()
    (source / "secret.txt").write_text("x")
    (source / "secret.txt").chmod(0)
    for place in (tmp_path, source, folder, *tmp_path.parents[:-2]):
        place.chmod(place.stat().st_mode | 0o055)
    os.chown(folder, 1000, 1000)
    os.seteuid(1000)
    try:
        with pytest.raises(SandboxUnavailable, match=r"secret\.txt: permission denied") as caught:
            RunTree.copy(source, ("secret.txt",), folder)
    finally:
        os.seteuid(0)
    assert "make it readable" in caught.value.hint


def test_a_tree_that_was_deleted_is_not_taken_for_a_missing_git(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    tree = RunTree.copy(tmp_path / "source", (), tmp_path / "run")
    shutil.rmtree(tree.root)
    with pytest.raises(TreeDamaged, match="run is not there any more"):
        tree.checkpoint()


@pytest.mark.parametrize("left", [0, 1, -1], ids=["all", "nearly all", "one"])
def test_what_another_program_deletes_in_a_tree_is_no_patch(tree: RunTree, left: int) -> None:
    (tree.root / "twin").write_bytes((tree.root / tree.files()[0]).read_bytes())  # nothing was moved there
    start, names = tree.checkpoint(), tree.files()
    for name in names[left:] if left >= 0 else names[:1]:
        (tree.root / name).unlink()
    (tree.root / "new.py").write_text("made since\n")
    with pytest.raises(TreeDamaged, match=r"has lost '.*'( and \d+ others)?, which nobody"):
        tree.diff(start)


def test_what_undoing_removes_is_no_damage(tree: RunTree, tmp_path: Path) -> None:
    start = tree.checkpoint()
    (tree.root / "test_new.py").write_text("x = 1\n")
    (tree.root / "kept.py").write_text("x = 2\n")
    later = tree.checkpoint()
    tree.restore(start, ["test_new.py"])
    assert "deleted file mode" in tree.diff(later)
    assert "deleted file mode" in tree.fork(tmp_path / "other").diff(later)


def test_deleting_and_moving_all_files_is_a_patch_where_it_was_asked_for(
    tree: RunTree, tmp_path: Path
) -> None:
    start, names = tree.checkpoint(), tree.files()
    for name in names:
        tree.delete(name)
    assert tree.changed(start) == names
    patch = tree.diff(start)
    tree.restore(start)
    (tree.root / "below").mkdir()
    for name in names:
        target = tree.root / "below" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (tree.root / name).rename(target)
    assert "deleted file mode" in tree.diff(start)
    tree.restore(start)
    other = tree.fork(tmp_path / "other")
    other.apply(patch)
    assert (other.files(), other.diff(start)) == ((), patch)
