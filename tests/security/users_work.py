"""A repository with everything that a user could lose; and every file that is not as it should be."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.security.hostile import PROGRAM

FIXED = PROGRAM["limit.py"].replace("value > low", "value < low")
UNDER_WAY = ("rebase", "merge", "cherry-pick", "bisect")
"""What a user may be in the middle of."""
State = Mapping[str, tuple[int, bytes]]
"""By path: mode and content of every file, link and folder, git's own included."""


def git(root: Path, *arguments: str, check: bool = True) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=check, capture_output=True)


def repository(root: Path, *, under_way: str = "") -> Path:
    """Staged, unstaged, untracked and ignored files, a stash, branches, a second work tree, hooks, a link."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "--initial-branch=main")
    texts = {**PROGRAM, "other.txt": "1\n", ".gitignore": "*.log\n", "run.sh": "#!/bin/sh\n"}
    for name, text in texts.items():
        (root / name).write_text(text)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("other.txt")
    git(root, "add", "--all")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", "-b", "beside", str(root.with_name("beside")))
    git(root, "switch", "-qc", "other")
    (root / "other.txt").write_text("2\n")
    git(root, "commit", "-qam", "second")
    git(root, "switch", "-q", "main")
    if under_way:
        _begin(root, under_way)
    else:
        (root / "run.sh").write_text("#!/bin/sh\n# put away\n")
        git(root, "stash", "-q")
        (root / "staged.txt").write_text("staged\n")
        git(root, "add", "staged.txt")
        (root / "staged.txt").write_text("staged, and changed since\n")
    (root / "untracked.txt").write_text("untracked\n")
    (root / "ignored.log").write_text("ignored\n")
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    git(root, "config", "user.nickname", "mine")
    return root


def _begin(root: Path, what: str) -> None:
    """Get into the middle of it: of a conflict, or of a search."""
    for text in ("3\n", "4\n"):
        (root / "other.txt").write_text(text)
        git(root, "commit", "-qam", f"made it {text}")
    commands = {
        "rebase": (("rebase", "other"),),
        "merge": (("merge", "other"),),
        "cherry-pick": (("cherry-pick", "other"),),
        "bisect": (("bisect", "start"), ("bisect", "bad", "HEAD"), ("bisect", "good", "HEAD~2")),
    }
    for command in commands[what]:
        git(root, *command, check=False)
    marks = {"rebase": "rebase-merge", "merge": "MERGE_HEAD", "cherry-pick": "CHERRY_PICK_HEAD"}
    assert (root / ".git" / marks.get(what, "BISECT_LOG")).exists()


def state(root: Path) -> State:
    """See `State`."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        try:
            mode = path.lstat().st_mode
            content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else b""
            found[path.relative_to(root).as_posix()] = (
                mode,
                path.read_bytes() if stat.S_ISREG(mode) else content,
            )
        except FileNotFoundError:  # a file that is being renamed just now
            continue
    return found


def is_patched(root: Path) -> bool:
    """Whether the verified fix is in the user's file."""
    return (root / "limit.py").read_text() == FIXED


def differences(wanted: State, found: State, *, patched: bool) -> Sequence[str]:
    """Every path that is not as wanted, but for the verified fix where `patched` allows it."""
    lost = []
    for name in sorted({*wanted, *found}):
        was, now = wanted.get(name), found.get(name)
        fixed = patched and name == "limit.py" and was and now == (was[0], FIXED.encode())
        if now != was and not fixed:
            lost.append(f"{name}: {'gone' if now is None else 'new' if was is None else 'changed'}")
    return lost
