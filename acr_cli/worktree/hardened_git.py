"""The one file that wraps GitPython, hardened.

No hook, file-system monitor, pager or external diff of the repository runs, no optional lock is taken,
nothing is fetched and nothing asks on the terminal. The git directory, the work tree and the index are always
named, and the variables that would redirect git (`GIT_DIR` and its like, as git itself sets them for a hook)
are dropped from the environment of this process.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from acr_cli.errors import AcrError, RepositoryRefused
from acr_cli.redaction import key_variables

if TYPE_CHECKING:
    from git import Repo

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
    "GIT_LITERAL_PATHSPECS": "1",
    # A missing object must not start the transport that the repository names.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
_KEPT = re.compile(r"GIT_(AUTHOR|COMMITTER)_\w+|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|GIT_PYTHON_\w+")


class GitFailed(AcrError):
    """git said no; `reason` is the last line that it printed, or why it could not be run."""

    id: ClassVar[str] = "git"

    def __init__(self, reason: str) -> None:
        super().__init__(f"git failed: {reason}.")
        self.reason = reason


def git(
    *arguments: str, directory: Path, work_tree: Path, private: bool = False, stdin: bytes = b""
) -> bytes:
    """What `git ARGUMENTS` prints, run in `work_tree` on the git directory `directory`.

    `private` means one of our own: the user's configuration then has no effect.

    Raises: GitFailed, RepositoryRefused when there is no git on this machine."""
    _prepare()
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
                env={**_without_keys(), **_ENVIRONMENT, **where, **(_ALONE if private else {})},
                stdout_as_string=False,
                strip_newline_in_stdout=False,
            )
        except (GitCommandError, GitCommandNotFound) as error:
            if not work_tree.is_dir():
                raise GitFailed(f"{work_tree} is not there any more") from error
            if isinstance(error, GitCommandNotFound):
                raise RepositoryRefused("There is no git on this machine.", hint="Install git.") from error
            raise GitFailed(_last_line(str(error.stderr)) or f"exit status {error.status}") from error
    return bytes(output)


def discover(folder: Path) -> Repo | None:
    """The repository around a folder, or None. Reads files only: no git runs."""
    _prepare()
    from git import Repo
    from git.exc import GitError

    try:
        return Repo(folder, search_parent_directories=True, expand_vars=False)
    except (GitError, ValueError, OSError):
        return None


def _without_keys() -> dict[str, str]:
    """The variables of this process that hold keys, emptied: git and its filters have no use for them."""
    return {name: "" for name in key_variables(os.environ) if not name.startswith("GIT_")}


def _prepare() -> None:
    """Before GitPython is imported or git is run."""
    for name in list(os.environ):
        if name.startswith("GIT_") and not _KEPT.fullmatch(name):
            del os.environ[name]
    # Without it the import of GitPython fails where there is no git.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")


def _last_line(stderr: str) -> str:
    """GitPython wraps what git printed in a line of its own and quotes. Pure."""
    text = stderr.strip().removeprefix("stderr: '").removesuffix("'").strip()
    return text.splitlines()[-1].removeprefix("fatal: ").removeprefix("error: ") if text else ""
