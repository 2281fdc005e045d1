"""A kept patch applied later, and an applied one taken back, on the tree as it is by then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.errors import PatchConflict, UsageError
from acr_cli.worktree.contents import CONTENTS
from acr_cli.worktree.kept import apply_kept, can_apply, can_undo, undo
from acr_cli.worktree.repository import Repository, open_repository
from acr_cli.worktree.runs import RunFolder, new_run, sweep_runs
from acr_cli.worktree.tree import RunTree

SOURCE = Path(__file__).parents[2]
LINES = "".join(f"line {n}\n" for n in range(30))


@pytest.fixture
def repository(git_repo: Callable[..., Path]) -> Repository:
    return open_repository(git_repo({"a.txt": LINES, "b.txt": "b\n", "gone/c.txt": "c\n"}))


@pytest.fixture
def run(repository: Repository, tmp_path: Path) -> RunFolder:
    run, lock = new_run(tmp_path / "home", repository=repository.root, task="")
    lock.release()
    tree = RunTree.copy(repository.root, repository.files(), run.path)
    start = tree.checkpoint()
    (tree.root / "a.txt").write_text(LINES.replace("line 3\n", "line three\n"))
    (tree.root / "new").mkdir()
    (tree.root / "new" / "d.txt").write_text("d\n")
    tree.delete("gone/c.txt")
    run.keep_patch(tree.diff(start))
    run.update(status="changed_unverified")
    run.drop_copies()
    return run


def contents(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text()
        for path in sorted(root.rglob("*"))
        if ".git" not in path.parts and path.is_file()
    }


def test_a_patch_is_applied_and_taken_back_and_applied_again(repository: Repository, run: RunFolder) -> None:
    before = contents(repository.root)
    assert (can_apply(run), can_undo(run)) == (True, False)
    carried = apply_kept(repository, run)
    assert carried.files == ("a.txt", "gone/c.txt", "new/d.txt")
    after = contents(repository.root)
    assert after == {"a.txt": LINES.replace("line 3\n", "line three\n"), "b.txt": "b\n", "new/d.txt": "d\n"}
    assert (can_apply(run), can_undo(run)) == (False, True)
    undo(repository, run)
    assert contents(repository.root) == before
    assert not (repository.root / "new").exists()
    apply_kept(repository, run)
    assert contents(repository.root) == after
    assert sorted(path.name for path in run.path.iterdir() if path.is_dir()) == []


def test_edits_elsewhere_in_the_same_file_are_kept(repository: Repository, run: RunFolder) -> None:
    target = repository.root / "a.txt"
    target.write_text(LINES.replace("line 27\n", "mine\n"))
    apply_kept(repository, run)
    assert target.read_text() == LINES.replace("line 27\n", "mine\n").replace("line 3\n", "line three\n")
    target.write_text(target.read_text() + "more\n")
    undo(repository, run)
    assert target.read_text() == LINES.replace("line 27\n", "mine\n") + "more\n"


def test_a_patch_that_does_not_fit_changes_nothing(repository: Repository, run: RunFolder) -> None:
    (repository.root / "a.txt").write_text(LINES.replace("line 3\n", "mine\n"))
    before = contents(repository.root)
    with pytest.raises(PatchConflict, match="The patch does not apply: "):
        apply_kept(repository, run)
    assert contents(repository.root) == before
    assert can_apply(run)


def test_there_must_be_something_to_apply_or_to_undo(repository: Repository, run: RunFolder) -> None:
    with pytest.raises(UsageError, match="has changed nothing"):
        undo(repository, run)
    apply_kept(repository, run)
    with pytest.raises(UsageError, match="is applied already"):
        apply_kept(repository, run)
    run.keep_patch("")
    with pytest.raises(UsageError, match="has no patch"):
        undo(repository, run)


def test_a_patch_belongs_to_its_repository(
    repository: Repository, run: RunFolder, git_repo: Callable[..., Path]
) -> None:
    other = open_repository(git_repo({"a.txt": LINES}, name="other"))
    with pytest.raises(UsageError, match="was made in ") as caught:
        apply_kept(other, run)
    assert f"-C {repository.root}" in caught.value.hint


def test_a_run_that_is_at_work_is_left_alone(repository: Repository, run: RunFolder) -> None:
    with run.lock(), pytest.raises(UsageError, match="is at work"):
        apply_kept(repository, run)


KILLED = """
import os, signal, sys
from pathlib import Path
from acr_cli.worktree import kept
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder
def stop(event, arguments):
    if event == "os.rename" and str(arguments[0]).endswith(("-1.new", "-2.new")):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(stop)
getattr(kept, sys.argv[3])(open_repository(Path(sys.argv[1])), RunFolder(path=Path(sys.argv[2])))
"""


def test_what_was_killed_half_way_is_completed_by_the_next_sweep(
    repository: Repository, run: RunFolder, tmp_path: Path
) -> None:
    before = contents(repository.root)

    def killed(what: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, repository.root, run.path, what],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
        assert sweep_runs(tmp_path / "home") == (run,)

    killed("apply_kept")
    assert contents(repository.root)["a.txt"] != LINES
    assert (can_apply(run), can_undo(run)) == (False, True)
    killed("undo")
    assert contents(repository.root) == before
    assert (can_apply(run), can_undo(run)) == (True, False)
    assert run.describe()["status"] == "changed_unverified"


def fixed(repository: Repository, run: RunFolder, name: str, before: str, after: str) -> RunFolder:
    """The run, with another patch in it, applied."""
    (repository.root / name).write_text(before)
    tree = RunTree.copy(repository.root, (name,), run.path)
    start = tree.checkpoint()
    (tree.root / name).write_text(after)
    run.keep_patch(tree.diff(start))
    run.drop_copies()
    apply_kept(repository, run)
    return run


def test_lines_that_were_added_at_the_end_of_a_short_file_stay(
    repository: Repository, run: RunFolder
) -> None:
    fixed(repository, run, "s.py", "def f(x):\n    return x * 3\n", "def f(x):\n    return x * 2\n")
    file = repository.root / "s.py"
    file.write_text("import os\n\n" + file.read_text() + "\n\nmine = 1\n")
    undo(repository, run)
    assert file.read_text() == "import os\n\ndef f(x):\n    return x * 3\n\n\nmine = 1\n"


def test_what_a_run_emptied_is_not_put_back_among_new_lines(repository: Repository, run: RunFolder) -> None:
    fixed(repository, run, "s.py", "old\n", "")
    (repository.root / "s.py").write_text("mine\n")
    with pytest.raises(PatchConflict, match=r"^1 of 1 hunks .* s\.py at the beginning;"):
        undo(repository, run)
    assert (repository.root / "s.py").read_text() == "mine\n"


def test_a_run_that_does_not_say_where_it_was_made_is_one_sentence(
    repository: Repository, run: RunFolder
) -> None:
    (run.path / "run.json").write_text("")
    with pytest.raises(UsageError, match="is damaged"):
        apply_kept(repository, run)


def test_hunks_that_cannot_be_taken_back_are_named_and_nothing_is_written(
    repository: Repository, run: RunFolder
) -> None:
    changed = LINES.replace("line 3\n", "line three\n").replace("line 20\nline 21\n", "twenty\n")
    fixed(repository, run, "s.py", LINES, changed.replace("line 29\n", ""))
    file = repository.root / "s.py"
    edited = file.read_text().replace("twenty\n", "my twenty\n") + "mine\n"
    file.write_text(edited)
    with pytest.raises(PatchConflict) as caught:
        undo(repository, run)
    assert caught.value.message == (
        "2 of 3 hunks cannot be taken back, since what is there was edited later: s.py line 21, s.py after "
        "line 28; nothing was written."
    )
    assert f"acr runs show {run.id}" in caught.value.hint
    assert caught.value.exit_code == 1
    assert file.read_text() == edited
    assert can_undo(run)


def test_files_that_were_made_or_deleted_are_taken_back_only_as_they_are(
    repository: Repository, run: RunFolder
) -> None:
    apply_kept(repository, run)
    (repository.root / "new" / "d.txt").write_text("d and mine\n")
    (repository.root / "gone").mkdir()
    (repository.root / "gone" / "c.txt").write_text("another c\n")
    (repository.root / "a.txt").unlink()
    with pytest.raises(PatchConflict) as caught:
        undo(repository, run)
    for said in (
        "3 of 3 hunks",
        "a.txt (is not there any more)",
        "gone/c.txt (is there again)",
        "new/d.txt (was made by the run, and edited since)",
    ):
        assert said in caught.value.message


def test_what_the_user_took_back_already_is_no_obstacle(repository: Repository, run: RunFolder) -> None:
    before = contents(repository.root)
    apply_kept(repository, run)
    (repository.root / "new" / "d.txt").unlink()
    (repository.root / "new").rmdir()
    (repository.root / "a.txt").write_text(LINES)
    undo(repository, run)
    assert contents(repository.root) == before
    assert not can_undo(run)


def test_executable_bits_of_the_user_stay(repository: Repository, run: RunFolder) -> None:
    apply_kept(repository, run)
    (repository.root / "a.txt").chmod(0o755)
    undo(repository, run)
    assert (repository.root / "a.txt").read_text() == LINES
    assert (repository.root / "a.txt").stat().st_mode & 0o111


@pytest.mark.parametrize("kept", [None, b"", b"garbage", b"\x1f\x8b\x08\0\0\0\0\0\0\0broken"])
def test_without_the_kept_contents_the_patch_is_reversed(
    repository: Repository, run: RunFolder, kept: bytes | None
) -> None:
    before = contents(repository.root)
    apply_kept(repository, run)
    place = run.path / CONTENTS
    assert place.stat().st_mode & 0o077 == 0 or run.path.stat().st_mode & 0o077 == 0
    if kept is None:
        place.unlink()
    else:
        place.write_bytes(kept)
    undo(repository, run)
    assert contents(repository.root) == before
