"""The user's repository: what is listed, what is refused, and that nothing of it is written or run."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.errors import RepositoryRefused
from acr_cli.worktree.delivery import deliver
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.kept import changes_since
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.tree import RunTree
from tests.security.fuzzing_git import index_of

MakeRepository = Callable[..., Path]


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time of change and bytes of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    return found


# --- what is listed ---------------------------------------------------------------------------------------


def test_tracked_and_untracked_files_are_listed_and_ignored_and_deleted_ones_are_not(
    git_repo: MakeRepository,
) -> None:
    root = git_repo({"kept.py": "", "gone.py": "", "deep/er/a.py": "", ".gitignore": "*.log\nbuild/\n"})
    (root / "gone.py").unlink()
    (root / "new.py").write_text("")
    (root / "x.log").write_text("")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("")
    assert open_repository(root).files() == (".gitignore", "deep/er/a.py", "kept.py", "new.py")


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ()),
        (("*.log",), ("sub/y.log", "x.log")),
        (("build",), ("build/out",)),
        (("build/",), ("build/out",)),
        (("sub/*.log",), ("sub/y.log",)),
        (("*.txt",), ()),
    ],
)
def test_ignored_files_are_listed_by_pattern(
    git_repo: MakeRepository, patterns: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    root = git_repo({".gitignore": "*.log\nbuild/\n", "a.py": ""})
    for name in ("x.log", "sub/y.log", "build/out", "note.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("")
    assert open_repository(root).ignored(patterns) == expected


NAMES = [
    "with space.py",
    "quo\"te's.py",
    "new\nline.py",
    "tab\t.py",
    "été/ñ.py",
    "-dash.py",
    "a\\b.py",
    "*.py",
    ":x",
]


@pytest.mark.parametrize("name", [*NAMES, os.fsdecode(b"latin-\xe9.py")])
def test_every_name_is_listed_as_it_is(git_repo: MakeRepository, name: str) -> None:
    assert open_repository(git_repo({name: "x"})).files() == (name,)
    assert open_repository(git_repo({name: "x"}, name="fresh", commit=False)).files() == (name,)


def test_links_count_as_files_also_dangling_ones(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": ""})
    (root / "link").symlink_to("a.py")
    (root / "nowhere").symlink_to("absent")
    (root / "itself").symlink_to("itself")
    assert open_repository(root).files() == ("a.py", "itself", "link", "nowhere")


def test_a_file_that_lies_behind_a_link_now_is_not_copied_and_its_target_is_left_alone(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    root = git_repo({"pkg/a.py": "mine"})
    outside = tmp_path / "outside"
    shutil.move(root / "pkg", outside)
    (root / "pkg").symlink_to(outside)
    repository = open_repository(root)
    tree = RunTree.copy(root, repository.files(), tmp_path / "run")
    assert (outside / "a.py").read_text() == "mine"
    assert tree.files() == ("pkg",)


def test_what_an_index_names_outside_of_the_repository_is_neither_listed_nor_copied(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    root = git_repo({"a.py": "1\n"})
    for beside in (tmp_path / "beside", root.parent / "beside"):
        beside.write_text("not of the repository\n")
    names = ["../beside", str(tmp_path / "beside"), "./a.py", "n" * 300, ".git/config", "a.py"]
    index = root / ".git" / "index"
    index.write_bytes(index_of([name.encode() for name in names]))

    listed = open_repository(root).files()
    tree = RunTree.copy(root, (*listed, *names[:3]), tmp_path / "run")

    assert listed == (".git/config", "a.py")
    assert tree.files() == ("a.py",)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["git", "tree"]
    assert (tmp_path / "beside").read_text() == "not of the repository\n"


def test_nested_repositories_and_submodules_are_left_out(git_repo: MakeRepository) -> None:
    library = git_repo({"lib.py": ""}, name="library")
    root = git_repo({"a.py": ""})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git_repo({"n.py": ""}, name="repo/nested")
    git_repo({"n.py": ""}, name="repo/unborn", commit=False)
    assert open_repository(root).files() == (".gitmodules", "a.py")


def test_special_files_are_left_out(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": ""})
    os.mkfifo(root / "pipe")
    assert open_repository(root).files() == ("a.py",)


# --- where it is found ------------------------------------------------------------------------------------


def test_a_repository_is_found_from_a_folder_or_a_file_in_it(git_repo: MakeRepository) -> None:
    root = git_repo({"deep/er/a.py": ""})
    assert open_repository(root / "deep" / "er").root == root
    assert open_repository(root / "deep" / "er" / "a.py").root == root


def test_a_linked_worktree_has_its_own_files_and_the_same_identity(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    root = git_repo({"a.py": ""})
    git(root, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    (tmp_path / "linked" / "b.py").write_text("")
    linked = open_repository(tmp_path / "linked")
    assert linked.root == tmp_path / "linked"
    assert linked.files() == ("a.py", "b.py")
    assert linked.identity == open_repository(root).identity


def test_a_worktree_of_a_bare_repository_is_no_bare_repository(
    git_repo: MakeRepository, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(git_repo({"a.py": ""})), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert open_repository(tmp_path / "linked").files() == ("a.py",)


def test_clones_share_an_identity_and_others_do_not(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"a.py": ""})
    git(tmp_path, "clone", "--quiet", str(root), "clone")
    identity = open_repository(root).identity
    assert open_repository(tmp_path / "clone").identity == identity
    assert open_repository(git_repo({"a.py": "other"}, name="other")).identity != identity
    assert len(identity) == 16
    assert int(identity, 16)


def test_repositories_without_a_commit_are_known_by_their_path(git_repo: MakeRepository) -> None:
    one = open_repository(git_repo({"a.py": ""}, commit=False))
    two = open_repository(git_repo({"a.py": ""}, name="two", commit=False))
    assert one.identity != two.identity


def test_a_repository_of_another_user_is_read(git_repo: MakeRepository) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    root = git_repo({"a.py": ""})
    subprocess.run(["chown", "-R", "1000:1000", root], check=True)
    assert open_repository(root).files() == ("a.py",)


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"])
def test_the_environment_of_a_git_hook_has_no_effect(
    git_repo: MakeRepository, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    root = git_repo({"a.py": ""})
    other = git_repo({"b.py": ""}, name="other")
    identity = open_repository(root).identity
    value = {"GIT_WORK_TREE": other, "GIT_INDEX_FILE": other / ".git" / "index"}.get(variable, other / ".git")
    monkeypatch.setenv(variable, str(value))
    monkeypatch.setenv("GIT_ICASE_PATHSPECS", "1")
    monkeypatch.chdir(other)
    repository = open_repository(root)
    assert (repository.root, repository.files(), repository.identity) == (root, ("a.py",), identity)


# --- what is refused --------------------------------------------------------------------------------------


def refusal(where: Path, home: Path | None = None) -> RepositoryRefused:
    with pytest.raises(RepositoryRefused) as caught:
        open_repository(where, home=home)
    assert caught.value.exit_code == 9
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    assert "is not in a git repository" in refusal(tmp_path).message


def test_a_broken_git_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert "is not in a git repository" in refusal(tmp_path).message


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    assert "is a bare repository" in refusal(tmp_path / "bare.git").message


def test_the_home_directory_is_refused(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": ""})
    assert "home directory" in refusal(root, home=root).message


def test_the_home_directory_by_the_environment_is_refused(
    git_repo: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = git_repo({"a.py": ""})
    monkeypatch.setenv("HOME", str(root))
    assert "home directory" in refusal(root).message


def test_a_submodule_is_refused_wherever_it_lies(git_repo: MakeRepository) -> None:
    library = git_repo({"lib.py": ""}, name="library")
    root = git_repo({"a.py": ""}, name="modules/repo")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    assert "is a submodule" in refusal(root / "sub").message
    assert open_repository(root).root == root


def test_a_link_that_loops_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be entered" in refusal(tmp_path / "loop").message


def test_an_absent_place_is_refused(tmp_path: Path) -> None:
    assert "cannot be entered: no such file or directory" in refusal(tmp_path / "absent").message


def test_a_broken_index_is_one_sentence(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": ""})
    (root / ".git" / "index").write_bytes(b"nonsense" * 10)
    with pytest.raises(RepositoryRefused, match="git cannot read this repository: "):
        open_repository(root).files()


def test_a_machine_without_git_is_one_sentence(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"a.py": ""})
    program = (
        "import sys; from pathlib import Path\n"
        "from acr_cli.errors import AcrError\n"
        "from acr_cli.worktree.repository import open_repository\n"
        "try:\n    open_repository(Path(sys.argv[1]))\n"
        "except AcrError as error:\n    print(error.exit_code, error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, root],
        env={**os.environ, "PATH": str(tmp_path / "empty")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("9 There is no git on this machine.", "")


# --- nothing is written, nothing is run -------------------------------------------------------------------


def test_the_users_git_directory_is_never_written(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"a.py": "x = 1\n", "b.py": "", ".gitignore": "*.log"})
    (root / "a.py").write_text("x = 2\n")  # the index is stale: git would like to refresh it
    os.utime(root / "b.py")
    before = snapshot(root / ".git")
    repository = open_repository(root)
    repository.ignored(("*.log",))
    tree = RunTree.copy(root, repository.files(), tmp_path / "run")
    start = tree.checkpoint()
    (tree.root / "a.py").write_text("x = 3\n")
    (tree.root / "new" / "c.py").parent.mkdir()
    (tree.root / "new" / "c.py").write_text("")
    deliver(root, changes_since(tree, start), tmp_path / "run")
    assert (root / "a.py").read_text() == "x = 3\n"
    assert snapshot(root / ".git") == before


CONFIGURED = {
    "core.fsmonitor": "{canary}",
    "core.pager": "{canary}",
    "core.editor": "{canary}",
    "core.sshCommand": "{canary}",
    "core.askPass": "{canary}",
    "core.gitProxy": "{canary}",
    "diff.external": "{canary}",
    "diff.evil.command": "{canary}",
    "diff.evil.textconv": "{canary}",
    "diff.trustExitCode": "true",
    "filter.evil.clean": "{canary}",
    "filter.evil.smudge": "{canary}",
    "filter.evil.required": "true",
    "filter.slow.process": "{canary}",
    "merge.evil.driver": "{canary}",
    "interactive.diffFilter": "{canary}",
    "pager.ls-files": "{canary}",
    "alias.ls-files": "!{canary}",
    "credential.helper": "!{canary}",
    "remote.origin.url": "ext::{canary}",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "{canary}",
    "protocol.ext.allow": "always",
    "extensions.partialClone": "origin",
    "uploadpack.packObjectsHook": "{canary}",
    "gpg.program": "{canary}",
}


def test_no_program_of_the_repository_runs(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({
        "a.py": "x = 1\n",
        "b.py": "",
        ".gitattributes": "*.py filter=evil diff=evil merge=evil\nb.py filter=slow\n",
    })  # fmt: skip
    canary, sung = tmp_path / "canary", tmp_path / "sung"
    canary.write_text(f"#!/bin/sh\necho $0 >> {sung}\nexit 1\n")
    canary.chmod(0o755)
    for key, value in CONFIGURED.items():
        git(root, "config", key, value.format(canary=canary))
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
        shutil.copy(canary, hooks / hook)
    git(root, "config", "core.hooksPath", str(hooks))
    (root / "a.py").write_text("x = 2\n")

    repository = open_repository(root)
    tree = RunTree.copy(root, repository.files(), tmp_path / "run")
    start = tree.checkpoint()
    (tree.root / "a.py").write_text("x = 3\n")
    patch = tree.diff(start)
    changes = changes_since(tree, start)
    tree.restore(start)
    tree.apply(patch)
    deliver(root, changes, tmp_path / "run")
    assert (root / "a.py").read_text() == "x = 3\n"
    assert not sung.exists()


def test_a_missing_object_is_not_fetched(git_repo: MakeRepository, tmp_path: Path) -> None:
    root = git_repo({"a.py": "x = 1\n"})
    canary, sung = tmp_path / "canary", tmp_path / "sung"
    canary.write_text(f"#!/bin/sh\ntouch {sung}\nexit 1\n")
    canary.chmod(0o755)
    for key in (
        "remote.origin.url",
        "remote.origin.promisor",
        "protocol.ext.allow",
        "extensions.partialClone",
    ):
        git(root, "config", key, CONFIGURED[key].format(canary=canary))
    commit = git(root, "rev-parse", "HEAD")
    (root / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    assert open_repository(root).files() == ("a.py",)
    assert not sung.exists()


# --- the one thing that writes: --commit ------------------------------------------------------------------


def test_a_commit_holds_exactly_its_files_and_leaves_what_is_staged(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": "1", "b.py": "1", "gone.py": "1"})
    (root / "b.py").write_text("staged")
    git(root, "add", "b.py")
    (root / "a.py").write_text("2")
    (root / "new file.py").write_text("2")
    (root / "gone.py").unlink()
    names = ("a.py", "gone.py", "never was.py", "new file.py")
    short = open_repository(root).commit(names, "fix: it\n\nBecause.")
    assert git(root, "show", "--name-status", "--format=%s|%b", "HEAD").split("\n") == [
        "fix: it|Because.", "", "", "M\ta.py", "D\tgone.py", "A\tnew file.py",
    ]  # fmt: skip
    assert git(root, "rev-parse", "--short", "HEAD") == short
    assert git(root, "diff", "--cached", "--name-only") == "b.py"


def test_the_first_commit_can_be_ours(git_repo: MakeRepository) -> None:
    root = git_repo({"a.py": "1", "b.py": "1"}, commit=False)
    open_repository(root).commit(("a.py",), "fix")
    assert git(root, "ls-tree", "--name-only", "HEAD") == "a.py"


def test_a_commit_that_git_refuses_leaves_the_index_as_it_was(
    git_repo: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = git_repo({"a.py": "1"})
    git(root, "config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    (root / "a.py").write_text("2")
    before = (root / ".git" / "index").read_bytes()
    with pytest.raises(GitFailed) as caught:
        open_repository(root).commit(("a.py",), "fix")
    assert caught.value.message.startswith("git failed: ")
    assert (root / ".git" / "index").read_bytes() == before
