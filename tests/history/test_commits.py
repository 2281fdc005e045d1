"""The history of a real repository is read, and the repository stays as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.history.commits import entries, read, walk
from acr_cli.history.laying import lay_task
from acr_cli.history.prospects import prospects
from acr_cli.history.records import Commit, Git, Prospect
from acr_cli.worktree.hardened_git import git
from acr_cli.worktree.tree import RunTree
from tests.history.repositories import History, snapshot


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


def reader(root: Path) -> Git:
    def run(*arguments: str, stdin: bytes = b"") -> bytes:
        return git(*arguments, directory=root / ".git", work_tree=root, stdin=stdin)

    return run


def found(root: Path, skipped: list[tuple[str, str]] | None = None) -> list[Prospect]:
    noted = skipped if skipped is not None else []

    def skip(commit: Commit, why: str) -> None:
        noted.append((commit.subject, why))

    ask = reader(root)
    listed = prospects(ask, walk(ask, 100), protected=lambda _: False, command=frozenset(), skip=skip)
    return list(listed)


def test_commits_come_newest_first_with_what_they_changed(history: History) -> None:
    history.commit("first", {"a.py": "1\n", "b": "b\n"})
    history.commit("second", {"a.py": "2\n", "ä ö\n.txt": "x\n", "b": None})

    walked = walk(reader(history.root), 10)

    assert [commit.subject for commit in walked.commits] == ["second", "first"]
    changes = {c.path: c.status for c in walked.commits[0].changes}
    assert changes == {"a.py": "M", "ä ö\n.txt": "A", "b": "D"}
    assert walked.commits[1].parents == ()
    assert walked.commits[0].time > walked.commits[1].time
    assert not walked.shallow


def test_no_more_commits_are_looked_at_than_asked_for(history: History) -> None:
    for number in range(5):
        history.commit(str(number), {"a": str(number)})

    assert [commit.subject for commit in walk(reader(history.root), 2).commits] == ["4", "3"]


def test_a_merge_is_one_commit_of_the_first_parents(history: History) -> None:
    history.commit("base", {"a": "1"})
    history.git("checkout", "--quiet", "-b", "side")
    history.commit("on the side", {"b": "1"})
    history.git("checkout", "--quiet", "main")
    history.git("merge", "--quiet", "--no-ff", "--message=merged", "side")
    skipped: list[tuple[str, str]] = []

    assert found(history.root, skipped) == []
    assert skipped == [("merged", "a merge"), ("base", "the first commit")]


def test_a_message_in_another_encoding_is_read(history: History) -> None:
    history.git("config", "i18n.commitEncoding", "latin1")
    history.commit("x", {"a": "1"})
    raw = subprocess.run(
        ["git", "commit", "--quiet", "--allow-empty", "-F", "-"],
        cwd=history.root,
        input="Grüße".encode("latin1"),
        check=False,
    )
    assert raw.returncode == 0

    assert walk(reader(history.root), 1).commits[0].subject == "Grüße"


@pytest.mark.parametrize(
    "encoding", ["undefined", "punycode", "idna", "hex", "x\0y", "no such", "unicode_escape"]
)
def test_a_commit_in_what_is_no_encoding_or_at_no_time_is_read_all_the_same(
    history: History, encoding: str
) -> None:
    first = history.commit("x", {"a": "1"})
    tree = history.git("rev-parse", f"{first}^{{tree}}")
    who = f"a <a@b> {'9' * 5000} +0000"
    header = f"tree {tree}\nparent {first}\nauthor {who}\ncommitter {who}\nencoding {encoding}\n\n"
    made = subprocess.run(
        ["git", "hash-object", "-w", "-t", "commit", "--literally", "--stdin"],
        cwd=history.root,
        input=header.encode() + b"Mend \\x it \xff\n",
        capture_output=True,
        check=True,
    )
    history.git("update-ref", "HEAD", made.stdout.decode().strip())

    newest = walk(reader(history.root), 2).commits[0]

    assert (newest.subject, newest.time) == ("Mend \\x it \ufffd", 0)


def test_without_a_commit_there_is_nothing(history: History) -> None:
    assert walk(reader(history.root), 10).commits == ()


def test_a_shallow_clone_ends_where_it_ends(history: History, tmp_path: Path) -> None:
    for number in range(4):
        history.commit(f"c{number}", {"a.py": f"{number}\n", "test_a.py": f"{number}\n"})
    address = f"file://{history.root}"
    subprocess.run(["git", "clone", "--quiet", "--depth=2", address, tmp_path / "clone"], check=True)
    skipped: list[tuple[str, str]] = []

    assert [p.commit.subject for p in found(tmp_path / "clone", skipped)] == ["c3"]
    assert skipped == [("c2", "the clone is shallow and ends here")]


def test_nothing_is_fetched_for_a_partial_clone(history: History, tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    history.commit("first", {"a.py": "1\n", "b.py": text})
    history.commit("fix", {"a.py": "2\n", "test_a.py": "t\n", "b.py": None, "c.py": f"{text}more\n"})
    history.commit("last", {"a.py": "3\n", "test_a.py": "u\n"})
    history.git("config", "uploadpack.allowFilter", "true")
    address, clone = f"file://{history.root}", tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--filter=blob:none", address, clone], check=True)
    before = snapshot(clone)
    skipped: list[tuple[str, str]] = []

    assert found(clone, skipped) == []
    missing = "its files are not in this clone"
    assert skipped == [("last", missing), ("fix", missing), ("first", "the first commit")]
    assert snapshot(clone) == before


def test_objects_that_are_missing_are_left_out(history: History) -> None:
    history.commit("first", {"a": "content\n"})
    blob = history.git("rev-parse", "HEAD:a")

    assert read(reader(history.root), [blob, "0" * 40]) == {blob: b"content\n"}
    assert [(e.path, e.mode, e.size) for e in entries(reader(history.root), "HEAD")] == [("a", "100644", 8)]


def test_the_tree_of_a_task_is_the_parents_with_the_tests_of_the_commit(
    history: History, tmp_path: Path
) -> None:
    history.commit(
        "first", {"a.py": "old\n", "test_a.py": "old test\n", "test_b.py": "b\n", "run": "#!/bin/sh\n"}
    )
    (history.root / "run").chmod(0o755)
    (history.root / "link").symlink_to("a.py")
    history.commit("second", {})
    history.commit(
        "fix", {"a.py": "the fix\n", "test_a.py": "new test\n", "test_b.py": None, "CHANGES.md": "x"}
    )
    history.commit("later", {"later.py": "later\n"})
    before = snapshot(history.root)
    (task,) = found(history.root)
    tree = RunTree.copy(history.root, (), tmp_path / "run")

    assert lay_task(reader(history.root), task, tree) == ""
    assert tree.files() == ("a.py", "link", "run", "test_a.py")
    assert (tree.root / "a.py").read_text() == "old\n"
    assert (tree.root / "test_a.py").read_text() == "new test\n"
    assert (tree.root / "link").is_symlink()
    assert (tree.root / "run").stat().st_mode & 0o111
    assert not (tree.root / ".git").exists()
    assert snapshot(history.root) == before


def test_filters_and_line_ends_of_the_user_change_nothing(history: History, tmp_path: Path) -> None:
    history.commit("first", {"a.py": b"one\r\ntwo\n", ".gitattributes": "* text eol=crlf filter=x\n"})
    history.git("config", "filter.x.smudge", f"touch {tmp_path}/it-ran; cat")
    history.commit("fix", {"a.py": b"three\r\nfour\n", "test_a.py": "t\n"})
    (task,) = found(history.root)
    tree = RunTree.copy(history.root, (), tmp_path / "run")

    lay_task(reader(history.root), task, tree)

    stored = subprocess.run(
        ["git", "cat-file", "blob", "HEAD~1:a.py"], cwd=history.root, check=True, capture_output=True
    )
    assert (tree.root / "a.py").read_bytes() == stored.stdout
    assert not (tmp_path / "it-ran").exists()


def test_a_file_that_becomes_a_folder_is_laid_out(history: History, tmp_path: Path) -> None:
    history.commit("first", {"tests": "a file\n", "a.py": "1\n"})
    history.commit("fix", {"tests": None, "tests/test_a.py": "t\n", "a.py": "2\n"})
    (task,) = found(history.root)
    tree = RunTree.copy(history.root, (), tmp_path / "run")

    assert lay_task(reader(history.root), task, tree) == ""
    assert tree.files() == ("a.py", "tests/test_a.py")


def test_a_name_that_would_leave_the_tree_is_refused(
    history: History, tmp_path: Path, git_repo: Callable[..., Path]
) -> None:
    history.commit("first", {"a.py": "1\n"})
    blob = history.git("rev-parse", "HEAD:a.py")
    made = subprocess.run(
        ["git", "mktree"],
        cwd=history.root,
        input=f"100644 blob {blob}\t..\n".encode(),
        capture_output=True,
        check=True,
    )
    evil = history.git("commit-tree", made.stdout.decode().strip(), "-m", "evil")
    history.git("reset", "--quiet", "--soft", evil)
    test = history.commit("fix", {"a.py": "2\n", "test_a.py": "t\n"})
    assert test
    (task,) = found(history.root)
    tree = RunTree.copy(history.root, (), tmp_path / "run")

    assert "holds a name that cannot be written" in lay_task(reader(history.root), task, tree)
