"""Which part of a commit is its tests, and which commits are no tasks."""

from __future__ import annotations

import pytest

from acr_cli.history.division import MOST_BYTES, MOST_FILES, divide, is_test, unfit, unreadable
from acr_cli.history.records import Change, Commit


def change(path: str, status: str = "M", *, mode: str = "100644", old_mode: str = "100644") -> Change:
    return Change(path=path, status=status, old_mode=old_mode, new_mode=mode, old="a", new="b")


def commit(*changes: Change, parents: tuple[str, ...] = ("p",)) -> Commit:
    return Commit(id="c", parents=parents, message="m", time=0, changes=changes)


def reason(*changes: Change, parents: tuple[str, ...] = ("p",), shallow: bool = False) -> str:
    made = commit(*changes, parents=parents)
    return unfit(made, divide(made, lambda _: False), shallow=shallow, is_test_file=is_test)


@pytest.mark.parametrize(
    "path",
    [
        *("tests/test_a.py", "test_a.py", "a_test.go", "src/a.test.js", "a.spec.ts", "src/test/java/A.java"),
        *(
            "spec/a_spec.rb",
            "FooTest.java",
            "pkg/testing/data.json",
            "test.sh",
            "Tests/a.swift",
            "__tests__/a.js",
        ),
    ],
)
def test_tests_are_known_by_their_paths(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["latest.py", "contest.py", "src/attest/a.py", "protest/a.go", "a.py"])
def test_other_files_are_no_tests(path: str) -> None:
    assert not is_test(path)


def test_a_commit_is_divided() -> None:
    parts = divide(
        commit(
            change("a.py"), change("test_a.py"), change("README.md"), change("docs/x.txt"), change("conf")
        ),
        lambda path: path == "conf",
    )

    assert [c.path for c in parts.tests] == ["test_a.py", "conf"]
    assert [c.path for c in parts.sources] == ["a.py"]
    assert [c.path for c in parts.others] == ["README.md", "docs/x.txt"]


TEST = change("test_a.py")


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("", (TEST, change("a.py"))),
        ("", (TEST, change("a.py", "A"))),
        ("changes nothing", ()),
        ("changes no tests", (change("a.py"),)),
        ("changes no sources", (TEST, change("README.md"))),
        ("renames files", (TEST, change("b.py", "R"))),
        ("changes links", (TEST, change("a.py", mode="120000"))),
        ("changes links", (TEST, change("a.py", "T", old_mode="120000"))),
        ("changes a submodule", (TEST, change("lib", mode="160000"))),
        (f"changes more than {MOST_FILES} files", (TEST, *(change(f"{n}.py") for n in range(MOST_FILES)))),
    ],
)
def test_a_commit_that_cannot_be_a_task_says_why(why: str, changes: tuple[Change, ...]) -> None:
    assert reason(*changes) == why


def test_a_deleted_test_is_no_test() -> None:
    gone = Change(path="test_a.py", status="D", old_mode="100644", new_mode="000000", old="a", new="")

    assert reason(gone, change("a.py")) == "changes no tests"


def test_where_the_history_begins_there_is_no_task() -> None:
    assert reason(TEST, parents=()) == "the first commit"
    assert reason(TEST, parents=(), shallow=True) == "the clone is shallow and ends here"
    assert reason(TEST, parents=("p", "q")) == "a merge"


@pytest.mark.parametrize(
    ("why", "blobs"),
    [
        ("", {"a": b"x", "b": b"y"}),
        ("its files are not in this clone", {"a": b"x"}),
        ("changes binary files", {"a": b"x", "b": b"\0"}),
        ("changes more than 1,000 kB", {"a": b"x" * MOST_BYTES, "b": b"y"}),
    ],
)
def test_what_cannot_be_read_is_no_task(why: str, blobs: dict[str, bytes]) -> None:
    assert unreadable([change("a.py")], blobs) == why
