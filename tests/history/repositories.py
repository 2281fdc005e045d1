"""Git histories written commit by commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, str | bytes | None]


class History:
    """A repository in `root`. Every commit gets a date of its own, so that ids do not depend on the clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commits = 0
        root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        when = f"{1_700_000_000 + 60 * self.commits} +0000"
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, message: str, files: Files) -> str:
        """Write these files (None deletes one) and commit everything; the commit's id."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.commits += 1
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self.git("rev-parse", "HEAD")


def snapshot(repo: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link of a repository, `.git` included: mode and bytes."""
    return {
        str(path.relative_to(repo)): (
            path.lstat().st_mode,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in sorted(repo.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
