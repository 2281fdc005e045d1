"""No sandbox: the commands run on this machine, as this user, in a copy of the tree.

Only the time limit binds for certain; memory (of all processes together), the number of processes and what
is written into the copy are watched, and a command over them killed. The network, the rest of the disk and
everything that the user may read are open to it; variables that are not needed to find programs (keys,
tokens) are not handed on. A process that left its session and whose parent has ended cannot be found again,
and survives; and when acr itself is killed by force, what it was running goes on.
"""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from acr_cli.errors import SandboxBroken
from acr_cli.events import Emit
from acr_cli.protocols import CommandResult, Limits, Recipe
from acr_cli.sandbox import dependencies, install, owner, programs
from acr_cli.sandbox.caches import packages_of
from acr_cli.sandbox.copies import Copy, private_copy, sweep_copies
from acr_cli.sandbox.interpreter import base_interpreter, cached_environment, users_environment
from acr_cli.sandbox.languages import prepare_each
from acr_cli.sandbox.process import WAITING, descendants, in_session, watch

_HANDED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR"),
        *("JAVA_HOME", "GOROOT", "GOPATH", "CARGO_HOME", "RUSTUP_HOME", "GEM_HOME", "XDG_RUNTIME_DIR"),
    )
)


class Host:
    """`--sandbox none`."""

    name = "none"

    def __init__(
        self,
        *,
        run_id: str,
        home: Path,
        limits: Limits,
        emit: Emit,
        environ: Mapping[str, str],
        repository: Path | None = None,
    ) -> None:
        self.limits = limits
        self._run_id = run_id
        self._home = home.absolute()
        self._emit = emit
        self._environ = environ
        self._repository = repository
        self.variables: Mapping[str, str] = self._base()
        self._others: Mapping[str, Host] = {}

    def _base(self) -> dict[str, str]:
        kept = {name: value for name, value in self._environ.items() if name in _HANDED_ON}
        return {"PATH": os.defpath, **kept}

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self.variables = {**self._base(), **recipe.environment}
        if recipe.language == "python":
            found = users_environment(self._environ, self._repository)
            venv = found.environment.absolute() if found and found.environment else self._cached(recipe, tree)
            path = f"{venv / 'bin'}{os.pathsep}{self._base()['PATH']}"
            self.variables = {**self._base(), "VIRTUAL_ENV": str(venv), "PATH": path, **recipe.environment}
        elif recipe.setup:
            own = dependencies.users(self._repository, recipe.installed, self._environ)
            folder = own[0].parent if own else self._cached_folder(recipe, tree)
            self.variables = {**self.variables, dependencies.VARIABLE: str(folder)}
        self._others = prepare_each(self, recipe, tree)

    def of(self, language: str) -> Host:
        return self._others.get(language, self)

    def _cached(self, recipe: Recipe, tree: Path) -> Path:
        base = base_interpreter(self._environ, self._repository)
        key = install.key(recipe, tree, self.name, base.version, str(base.program))

        def build(venv: Path) -> None:
            self._run_setup(recipe, tree, install.script(recipe, venv=str(venv), python=str(base.program)))

        return cached_environment(self._home, recipe.repository, key, build)

    def _cached_folder(self, recipe: Recipe, tree: Path) -> Path:
        def build(folder: Path) -> None:
            folder.mkdir()
            script = install.script(recipe, venv=str(folder))
            self._run_setup(recipe, tree, script, {dependencies.VARIABLE: str(folder)})

        found = programs.find(recipe.language, self._environ, self._repository, tree)
        key = install.key(recipe, tree, self.name, *found.marks)
        return cached_environment(self._home, recipe.repository, key, build)

    def _run_setup(
        self, recipe: Recipe, tree: Path, script: str, more: Mapping[str, str] | None = None
    ) -> None:
        install.tell(recipe, self._emit, "on this machine, into a cached environment")
        own = {**install.settings(self._environ), **install.proxies(self._environ)}
        wanted = (*own, *install.certificates(self._environ)[0], "PIP_FIND_LINKS")
        variables = {name: self._environ[name] for name in wanted if name in self._environ}
        with private_copy(self._home, self._run_id, tree, only=recipe.manifests) as folder:
            session = HostSession(self, folder)
            variables |= install.packages(str(packages_of(self._home, recipe.repository)))
            limits = install.limits(self.limits)
            result = session.run(script, environment={**variables, **(more or {})}, limits=limits)
        install.check(result, install.keep_log(self._home, self._run_id, recipe, result.output))

    @contextlib.contextmanager
    def open(self, tree: Path) -> Iterator[HostSession]:
        with private_copy(self._home, self._run_id, tree) as folder:
            session = HostSession(self, folder)
            try:
                yield session
            finally:
                session.end()

    def sweep(self) -> tuple[str, ...]:
        return sweep_copies(self._home)

    def describe(self) -> str:
        return f"no sandbox: this machine ({platform.system()}), Python {sys.version.split()[0]}"


class HostSession(Copy):
    """A copy on disk, and commands that run in it unconfined."""

    def __init__(self, sandbox: Host, folder: Path) -> None:
        super().__init__(folder, workdir=str(folder / "work"), scratch=str(folder / "scratch"))
        self._sandbox = sandbox

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", WAITING, "sh", *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**self._sandbox.variables, **(environment or {})},
                cwd=self.workdir,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise SandboxBroken(f"A command cannot be started: {error}.") from error
        family = _Family(process.pid)
        limits = limits or self._sandbox.limits
        with self.running(family.kill):
            return watch(process, limits=limits, disk=self._disk, kill=family.kill, family=family.members)


class _Family:
    """The processes of one command, remembered while they can be found: orphans lose their parent's id."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, int | None] = {}

    def members(self) -> list[int]:
        found = list({*descendants(self._root), *in_session(self._root)})
        for pid in found:
            if pid not in self._seen:
                self._seen[pid] = owner.started(pid)
        return found

    def kill(self) -> None:
        self.members()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, signal.SIGKILL)
        for pid, started in list(self._seen.items()):
            if pid == self._root or started is None or owner.started(pid) != started:
                continue  # ended, and its number may be another's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
