"""The one file that wraps GitPython, hardened.

No hook, file-system monitor, pager, external diff or filter of the repository runs, no optional lock is
taken, and nothing asks on the terminal. The git directory, the work tree and the index are always named, so
that `GIT_DIR` and the like in the environment have no effect.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from acr_cli.errors import RepositoryRefused

_HARDENED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EXTERNAL_DIFF": "",
    "GIT_LITERAL_PATHSPECS": "1",
}
_ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class GitFailed(Exception):
    """git said no; `reason` is the last line that it printed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def git(
    *arguments: str, directory: Path, work_tree: Path, private: bool = False, stdin: bytes = b""
) -> bytes:
    """What `git ARGUMENTS` prints, run in `work_tree` on the git directory `directory`.

    `private` means one of our own: the user's configuration then has no effect.

    Raises: GitFailed, RepositoryRefused when there is no git on this machine."""
    from git.cmd import Git
    from git.exc import GitCommandError, GitCommandNotFound

    options = [part for setting in _HARDENED for part in ("-c", setting)]
    where = {
        "GIT_DIR": str(directory),
        "GIT_WORK_TREE": str(work_tree),
        "GIT_INDEX_FILE": str(directory / "index"),
    }
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        try:
            output: Any = Git(str(work_tree)).execute(
                ["git", *options, *arguments],
                istream=source,
                env={**_ENVIRONMENT, **where, **(_ALONE if private else {})},
                stdout_as_string=False,
                strip_newline_in_stdout=False,
            )
        except GitCommandNotFound as error:
            raise RepositoryRefused("There is no git on this machine.", hint="Install git.") from error
        except GitCommandError as error:
            raise GitFailed(_last_line(str(error.stderr)) or f"exit status {error.status}") from error
    return bytes(output)


def _last_line(stderr: str) -> str:
    """GitPython wraps what git printed in a line of its own and quotes. Pure."""
    text = stderr.strip().removeprefix("stderr: '").removesuffix("'").strip()
    return text.splitlines()[-1].removeprefix("fatal: ").removeprefix("error: ") if text else ""
