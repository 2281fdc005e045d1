"""Small trees, and real runs of their tests on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from acr_cli.protocols import CommandResult, TestPlan, Toolchain
from acr_cli.records import SuiteReport
from acr_cli.toolchains.python import Python
from tests.toolchains import trial
from tests.toolchains.small_repositories import Small

# Read before a test gets a home of its own.
RUSTUP_HOME = os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runners of JavaScript, installed once."""
    return trial.install_node_modules(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def ground(tmp_path: Path, acr_home: Path, request: pytest.FixtureRequest) -> Callable[..., trial.Ground]:
    """A small repository to be tried, `ground("go", sandbox="docker", image=..., limits=...)`; one of another
    form than that of the table is given itself."""

    def make(small: str | Small, **more: Any) -> trial.Ground:
        chosen = trial.TABLE[small][0] if isinstance(small, str) else small
        if why := trial.missing(chosen):
            pytest.skip(f"needs {why}; install with the system's packages")
        if chosen.debian_maven and (why := trial.install_debian_maven(Path(os.environ["HOME"]))):
            pytest.skip(why)
        installed = request.getfixturevalue("node_modules") if chosen.setup else None
        return trial.Ground(
            small=chosen, folder=tmp_path, home=acr_home, installed=installed, rustup=RUSTUP_HOME, **more
        )

    return make


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Writes a tree of files, `tree({"a.py": "x = 1"}) -> Path`."""

    def make(files: Mapping[str, str]) -> Path:
        root = tmp_path / "tree"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        root.mkdir(exist_ok=True)
        return root

    return make


def execute(plan: TestPlan, root: Path, *, environment: Mapping[str, str], seconds: float) -> CommandResult:
    """Runs a plan here, with this interpreter as `python3`."""
    for name, data in plan.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    began = time.monotonic()
    try:
        done = subprocess.run(
            plan.argv,
            cwd=root,
            env={**os.environ, "PATH": path, **plan.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CommandResult(exit_code=137, output="", seconds=seconds, timed_out=True)
    return CommandResult(exit_code=done.returncode, output=done.stdout, seconds=time.monotonic() - began)


@pytest.fixture
def run_tests(tree: Callable[[Mapping[str, str]], Path], tmp_path: Path) -> Callable[..., SuiteReport]:
    """Detects, plans, runs and reads: `run_tests(files, command=None, tests=(), limit=60)`."""

    def run(
        files: Mapping[str, str],
        *,
        command: str | None = None,
        tests: Sequence[str] = (),
        limit: float = 60,
        toolchain: Toolchain | None = None,
    ) -> SuiteReport:
        root = tree(files)
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        chain = toolchain or Python()
        plan = chain.plan(root, command=command, tests=tests, scratch=str(scratch))
        assert plan is not None
        result = execute(plan, root, environment={"ACR_TEST_SECONDS": str(limit)}, seconds=120)
        report = Path(plan.report) if plan.report else None
        return chain.read(plan, report.read_bytes() if report and report.exists() else None, result)

    return run
