"""A machine of git states: a user at work in a repository, and acr beside, in any order.

What acr does to the repository is compared byte by byte, `.git` included: all of a patch or nothing of it,
and after an undo what was there before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from acr_cli.errors import AcrError, PatchConflict
from acr_cli.worktree.contents import keep_changes
from acr_cli.worktree.delivery import Change, content_of
from acr_cli.worktree.kept import apply_kept, can_apply, can_undo, changes_since, undo
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder, new_run, sweep_runs
from acr_cli.worktree.tree import RunTree
from tests.conftest import IDENTITY
from tests.security.users_work import State, state

NAMES = ("a.py", "b.txt", "sub/c.py", "sub/deep/d", "e f", "\u00e4.txt", "x.log")
TEXTS = ("", "1\n", "1\n2\n3\n", "1\r\n2\r\n", "no end", "1\n2\n3\n4\n5\n6\n7\n8\n", "\0\1", "1\n2\nthree\n")
COUNTED: Counter[str] = Counter()
"""What has been done and compared, of all machines of this process."""
_NAME, _TEXT = st.sampled_from(NAMES), st.sampled_from(TEXTS)
_GIT: dict[str, tuple[tuple[str, ...], ...]] = {
    "commit": (("commit", "-qm", "x", "--allow-empty"),),
    "commit all": (("commit", "-qam", "x"),),
    "stash": (("stash", "-q"),),
    "stash all": (("stash", "-q", "--include-untracked"),),
    "pop": (("stash", "pop", "-q"),),
    "branch": (("branch", "side"),),
    "switch": (("switch", "-q", "side"),),
    "switch back": (("switch", "-q", "main"),),
    "detach": (("switch", "-q", "--detach"),),
    "orphan": (("switch", "-q", "--orphan", "alone"),),
    "merge": (("merge", "-q", "side"),),
    "tag": (("tag", "-f", "t"),),
    "worktree": (("worktree", "add", "-q", "../beside", "-b", "beside"),),
    "crlf": (("config", "core.autocrlf", "true"),),
    "no modes": (("config", "core.fileMode", "false"),),
    "sparse": (("sparse-checkout", "set", "sub"),),
    "not sparse": (("sparse-checkout", "disable"),),
    "submodule": (("-c", "protocol.file.allow=always", "submodule", "add", "-q", "../other", "module"),),
    "pack": (("gc", "-q"),),
    "unstage": (("reset", "-q"),),
}


class GitStates(RuleBasedStateMachine):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="acr-states-")).resolve()
        self.root, self.home = self.place / "repo", self.place / "home"
        self.kept: list[RunFolder] = []  # runs whose patch was made
        self.before: dict[str, tuple[State, State]] = {}  # around the delivery, by run

    def teardown(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    # --- the user -------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        for folder in (self.root, self.place / "other"):
            folder.mkdir()
            self.git("init", "-q", "--initial-branch=main", where=folder)
        self.git("commit", "-qm", "x", "--allow-empty", where=self.place / "other")
        (self.root / ".gitignore").write_text("*.log\n")
        (self.root / ".git" / "hooks").mkdir(exist_ok=True)
        for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
            path = self.root / ".git" / "hooks" / hook
            path.write_text(f"#!/bin/sh\ntouch {self.place}/hook\n")
            path.chmod(0o755)

    @rule(name=_NAME, text=_TEXT)
    def edit(self, name: str, text: str) -> None:
        path = self.root / name
        with suppress(OSError):  # a folder stands there, or a file in its way
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(text, newline="")

    @rule(name=_NAME, how=st.sampled_from(("add", "add -N", "rm --cached", "rm -f", "checkout --")))
    def stage(self, name: str, how: str) -> None:
        self.git(*how.split(), name)

    @rule(name=_NAME, first=_TEXT, then=_TEXT)
    def stage_a_part(self, name: str, first: str, then: str) -> None:
        self.edit(name, first)
        self.git("add", "-f", name)
        self.edit(name, then)

    @rule(what=st.sampled_from(sorted(_GIT)))
    def use_git(self, what: str) -> None:
        for command in _GIT[what]:
            self.git(*command)

    @rule(name=_NAME, other=_NAME)
    def move(self, name: str, other: str) -> None:
        self.git("mv", name, other)

    @rule(name=_NAME, what=st.sampled_from(("x", "r", "link", "link out", "gone", "folder")))
    def change_kind(self, name: str, what: str) -> None:
        path = self.root / name
        with suppress(OSError):
            if what in ("x", "r"):
                path.chmod(0o755 if what == "x" else 0o600)
                return
            path.unlink()
            if what.startswith("link"):
                path.symlink_to("a.py" if what == "link" else self.place)
            elif what == "folder":
                path.mkdir()

    @rule(
        text=st.sampled_from(("* text=auto eol=crlf\n", "*.py -text\n", "* filter=evil\n", "*.txt ident\n"))
    )
    def set_attributes(self, text: str) -> None:
        (self.root / ".gitattributes").write_text(text)

    # --- acr ------------------------------------------------------------------------------------------------

    @rule(name=_NAME, text=_TEXT, other=_NAME, what=st.sampled_from(("write", "delete", "mode", "both")))
    def work(self, name: str, text: str, other: str, what: str) -> None:
        with self.untouched():
            repository = open_repository(self.root)
            folder, lock = new_run(self.home, repository=repository.root, task="x")
            try:
                tree = RunTree.copy(repository.root, repository.files(), folder.path)
                start = tree.checkpoint()
                with suppress(OSError, AcrError):
                    _work_in(tree, name, text, other, what)
                changes = changes_since(tree, start)
                folder.keep_patch(tree.diff(start))
                keep_changes(folder.path, changes)
                folder.update(status="not_fixed", applied=False)
                folder.drop_copies()
            finally:
                lock.release()
        if changes:
            self.kept.append(folder)

    @precondition(lambda self: self.kept)
    @rule(which=st.integers(0, 9))
    def apply(self, which: int) -> None:
        run = self.kept[which % len(self.kept)]
        if can_apply(run):
            before = self.state()
            if self.carried(lambda: apply_kept(open_repository(self.root), run), before, run):
                self.before[run.id] = before, self.state()

    @precondition(lambda self: self.kept)
    @rule(which=st.integers(0, 9), at=st.integers(1, 90))
    def killed_while_it_applies(self, which: int, at: int) -> None:
        run = self.kept[which % len(self.kept)]
        if not can_apply(run):
            return
        before = self.state()
        child = os.fork()
        if child == 0:
            tempfile.tempdir = str(self.place)  # what a killed process leaves there goes with the rest
            _die_at(at)
            with suppress(BaseException):
                apply_kept(open_repository(self.root), run)
            os._exit(0)
        COUNTED["kills"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        sweep_runs(self.home)
        self.whole_or_not(before, run)
        if can_undo(run):
            self.before[run.id] = before, self.state()

    @precondition(lambda self: self.before)
    @rule(which=st.integers(0, 9))
    def take_back(self, which: int) -> None:
        run = next(r for r in self.kept if r.id == sorted(self.before)[which % len(self.before)])
        if not can_undo(run):
            return
        was, then = self.before[run.id]
        now = self.state()
        try:
            undo(open_repository(self.root), run)
        except PatchConflict:
            assert self.state() == now, "a refused undo has changed something"
            assert now != then, "nothing was changed since, and the undo was refused"
            COUNTED["undos that were refused"] += 1
            return
        touched = _names(run)
        found = self.state()
        if now == then:
            assert _contents(found) == _contents(was), _unlike(found, was)
        assert not [name for name in _unlike(found, now) if name not in touched]
        self.before.pop(run.id)
        COUNTED["undos"] += 1

    @rule()
    def sweep(self) -> None:
        with self.untouched():
            sweep_runs(self.home)

    # --- what holds -----------------------------------------------------------------------------------------

    def carried(self, act: Any, before: State, run: RunFolder) -> bool:
        """Whether the patch went in; it is there whole then, and else nothing is."""
        try:
            act()
        except AcrError as error:
            if not error.message:
                raise AssertionError("it does not say why") from error
            assert self.state() == before, _unlike(self.state(), before)
            COUNTED["patches that were refused"] += 1
            return False
        return self.whole_or_not(before, run)

    def whole_or_not(self, before: State, run: RunFolder) -> bool:
        found = self.state()
        others = [name for name in _unlike(found, before) if name not in _names(run)]
        assert not others, f"not of the patch: {others}"
        changed = {name: change for name, change in _changes(run).items() if change.before != change.after}
        there = [content_of(self.root / name) == change.after for name, change in changed.items()]
        assert all(there) or found == before, "a part of the patch"
        COUNTED["patches that went in" if changed and all(there) else "patches that did not"] += 1
        return all(there)

    @contextmanager
    def untouched(self) -> Any:
        before = self.state()
        yield
        assert self.state() == before, _unlike(self.state(), before)

    def state(self) -> State:
        COUNTED["states compared"] += 1
        assert not (self.place / "hook").exists(), "a hook has run"
        return state(self.root)

    def git(self, *arguments: str, where: Path | None = None) -> None:
        environ = {**os.environ, **IDENTITY}
        subprocess.run(
            ["git", *arguments],
            cwd=where or self.root,
            env=environ,
            check=False,
            capture_output=True,
            timeout=60,
        )
        (self.place / "hook").unlink(missing_ok=True)  # it was the user's git


def _work_in(tree: RunTree, name: str, text: str, other: str, what: str) -> None:
    """What a model might do in its copy."""
    path = tree.path(name)
    if what in ("write", "both"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    if what == "mode":
        path.chmod(0o755)
    if what in ("delete", "both"):
        tree.delete(other)


def _changes(run: RunFolder) -> Mapping[str, Change]:
    from acr_cli.worktree.contents import kept_changes

    return kept_changes(run.path) or {}


def _names(run: RunFolder) -> set[str]:
    """The paths of a patch, and the folders that they lie in."""
    names = set(_changes(run))
    return names | {str(parent) for name in names for parent in Path(name).parents}


def _contents(found: State) -> State:
    """Without folders, which git does not know."""
    return {
        name: (mode & 0o170111, data) for name, (mode, data) in found.items() if mode & 0o170000 != 0o040000
    }


def _unlike(found: State, wanted: State) -> list[str]:
    return [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]


def _die_at(number: int) -> None:
    """Kill this process at the n-th change that it makes to the disk."""
    left = number

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "open" and isinstance(arguments[1], str) and arguments[1][:1] in "wxa"
        if writes or event in ("os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir"):
            left -= 1
            if left == 0:
                os._exit(9)

    sys.addaudithook(count)
