"""What the global options of one invocation say, wherever they stand on the line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.cli.terminal import clean, console
from acr_cli.errors import RepositoryRefused, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from acr_cli.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a command could not be carried out."""

    id: str
    exit_code: int
    message: str
    hint: str = ""


@dataclass(kw_only=True, slots=True)
class Invocation:
    """One call of the program."""

    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    config: Path | None = None
    on_failure: Callable[[Failure], None] | None = None  # what a command prints on stdout for a failure
    ends: int = 0  # exit code of what is done already, where its output can be read by nobody
    lost: OSError | None = None  # why a command, which goes on, could not write to stdout

    def update(
        self, *, directory: str | None, quiet: bool, verbose: bool, no_color: bool, config: str | None
    ) -> None:
        """Take the global options in; `-C` changes the directory, so that all later paths start there.

        Raises: UsageError, RepositoryRefused for a loop of links."""
        if config is not None:
            self.config = Path(config).expanduser().absolute()
        if directory is not None:
            try:
                os.chdir(Path(directory).expanduser())
            except OSError as error:
                refused = RepositoryRefused if error.errno == errno.ELOOP else UsageError
                raise refused(f"-C {directory}: {error.strerror}.") from error
        self.quiet = self.quiet or quiet
        self.verbose = self.verbose or verbose
        self.no_color = self.no_color or no_color

    @property
    def out(self) -> Console:
        """For results."""
        return console(sys.stdout, no_color=self.no_color)

    @property
    def err(self) -> Console:
        """For progress."""
        return console(sys.stderr, no_color=self.no_color)

    @property
    def config_file(self) -> Path:
        from acr_cli.settings import user_file

        return user_file(config=self.config)

    def settings(self, flags: Mapping[str, object] | None = None) -> Settings:
        """The settings of this invocation; what is odd about their sources goes to stderr.

        Raises: ConfigurationError, UsageError."""
        from acr_cli.settings import load, load_environment

        loaded = load(where=here(), config=self.config, flags=flags)
        # Keys of the home's .env count as if the user had exported them; what is exported wins.
        for name, value in load_environment(home=loaded.settings.home).items():
            os.environ.setdefault(name, value)
        if not self.quiet:
            for warning in loaded.warnings:
                sys.stderr.write(f"warning: {clean(warning)}\n")
        return loaded.settings


def here() -> Path:
    """The folder that the user stands in. Raises: UsageError where it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("The current directory no longer exists.") from error
