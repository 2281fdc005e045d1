"""One case after another on one small repository: verified for real, and nothing may stay behind."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from acr_cli.errors import AcrError
from acr_cli.parts import load
from acr_cli.protocols import Limits
from acr_cli.records import Baseline, Failed, Passed, Verdict
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.toolchains import BUILTIN
from acr_cli.verifier.verifier import Verifier
from acr_cli.worktree.tree import RunTree
from tests.toolchains import attacks, attacks_compiled
from tests.toolchains.hostile import SLEEPER, Attacks, Case, Due, cases, telling
from tests.toolchains.small_repositories import EVERY, Small
from tests.verifier.conftest import Bench

TABLE: dict[str, tuple[Small, Attacks]] = {
    small.name: (telling(small), table)
    for small, table in (
        (attacks.PYTEST, attacks.PYTEST_ATTACKS),
        (attacks.UNITTEST, attacks.UNITTEST_ATTACKS),
        *(
            (small, getattr(attacks, name, None) or getattr(attacks_compiled, name))
            for small, name in zip(
                EVERY,
                (
                    *("NODE_ATTACKS", "MOCHA_ATTACKS", "JEST_ATTACKS", "VITEST_ATTACKS", "GO_ATTACKS"),
                    *("RUST_ATTACKS", "CMAKE_ATTACKS", "CPP_ATTACKS", "MESON_ATTACKS", "MAKE_ATTACKS"),
                    *("MAVEN_ATTACKS", "GRADLE_ATTACKS", "MINITEST_ATTACKS", "RSPEC_ATTACKS", "PHP_ATTACKS"),
                ),
                strict=True,
            )
        ),
    )
}
"""What is tried, by the name of the repository."""

PATIENCE = {"python": 20.0, "ruby": 20.0, "php": 45.0, "javascript": 25.0, "typescript": 30.0, "java": 120.0}
_PATIENCE = 45.0  # seconds for the tests of any other language
MEMORY = 1024**3
# What the tests of JavaScript need, installed once: a repository whose owner has installed its dependencies.
NODE_MODULES = (
    '{"private": true, "devDependencies": {"jest": "^29", "mocha": "^10", "vitest": "^3", "vite": "^6"}}'
)
DEBIAN_MAVEN = Path("/usr/share/maven-repo")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a case. `wrong` is what is wrong with it, "" if nothing is."""

    case: Case
    accepted: bool
    wrong: str
    seconds: float
    said: str


def install_node_modules(folder: Path) -> Path:
    """A folder in which the runners of JavaScript are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(NODE_MODULES)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-progress"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=240)
    return folder


def install_debian_maven(home: Path) -> str:
    """Debian's packages as if Maven had downloaded them; why that cannot be, "" if it can."""
    if not (DEBIAN_MAVEN / "org/apache/maven/plugins/maven-resources-plugin").is_dir():
        return "needs Debian's libsurefire-java, libmaven-resources-plugin-java, junit4"
    store = home / ".m2"
    if not store.exists():
        store.mkdir(parents=True)
        # Some of its links lead to packages that are not installed.
        subprocess.run(["cp", "-RL", DEBIAN_MAVEN, store / "repository"], capture_output=True, check=False)
    return ""


def missing(small: Small) -> str:
    """The programs that this machine lacks."""
    return ", ".join(program for program in small.needs if shutil.which(program) is None)


@dataclass(kw_only=True)
class Ground:
    """Where a small repository is tried."""

    small: Small
    folder: Path
    home: Path
    sandbox: str = "bubblewrap"
    image: str | None = None
    installed: Path | None = None  # of JavaScript
    rustup: str = ""
    setup: str | None = None
    limits: Limits | None = None
    run: str = field(default_factory=lambda: f"trial-{secrets.token_hex(4)}")

    def bench(self, files: dict[str, str]) -> Bench:
        """As `acr fix` would wire it."""
        source = self.folder / f"source-{secrets.token_hex(3)}"
        for name, text in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        events: list[object] = []
        limits = self.limits or hostile_limits(self.small)
        environ = {**os.environ, **({"RUSTUP_HOME": self.rustup} if self.rustup else {})}
        opened = open_sandbox(
            self.sandbox, run_id=self.run, home=self.home, image=self.image, limits=limits,
            emit=events.append, environ=environ, repository=self.installed if self.small.setup else None,
        )  # fmt: skip
        verifier = Verifier(
            toolchains=[load("toolchains", name, BUILTIN)() for name in BUILTIN],
            image=self.image,
            setup=self.setup,
            sandbox=opened,
            emit=events.append,
            limits=limits,
            repository="a test's repository",
        )
        tree = RunTree.copy(source, sorted(files), self.folder / f"run-{secrets.token_hex(3)}")
        return Bench(tree=tree, verifier=verifier, events=events)  # type: ignore[arg-type]

    def tried(self, chosen: Sequence[Case]) -> Iterator[Outcome]:
        """Each case in turn; those that begin alike share their baseline."""
        known: dict[tuple[object, ...], tuple[Bench, Baseline | str, str]] = {}
        for case in chosen:
            key = tuple(case.baseline.items())
            if key not in known:
                files = {**self.small.files, **{k: v for k, v in case.baseline.items() if v is not None}}
                bench = self.bench(files)
                known[key] = (bench, self._baseline(bench), bench.tree.checkpoint())
            yield self._outcome(case, *known[key])

    def _baseline(self, bench: Bench) -> Baseline | str:
        try:
            return bench.baseline()
        except AcrError as error:
            return error.message

    def _outcome(self, case: Case, bench: Bench, baseline: Baseline | str, start: str) -> Outcome:
        if isinstance(baseline, str) or baseline.targets != (self.small.target,):
            said = baseline if isinstance(baseline, str) else f"targets {baseline.targets}"
            return Outcome(case=case, accepted=False, wrong=f"baseline: {said}", seconds=0.0, said=said)
        bench.tree.restore(start)
        began = time.monotonic()
        verdict = bench.attempt(baseline, case.edits)
        seconds = time.monotonic() - began
        wrong = wrongness(case, verdict)
        if case.flips and len(baseline.flaky) != 1:
            wrong = wrong or f"flaky: {baseline.flaky}"
        left = self.left()
        return Outcome(
            case=case,
            accepted=isinstance(verdict, Passed),
            wrong=wrong or (f"left behind: {', '.join(left)}" if left else ""),
            seconds=seconds,
            said=said_of(verdict),
        )

    def left(self) -> list[str]:
        """Processes and containers that a case has left behind."""
        found = [f"process {pid}" for pid in sleepers()]
        if self.sandbox != "docker":
            return found
        import docker  # only where it is used

        client = docker.from_env(timeout=30)
        try:
            chosen: dict[str, str | list[str] | bool] = {"label": f"acr.run={self.run}"}
            found += [f"container {c.name}" for c in client.containers.list(all=True, filters=chosen)]
            found += [f"volume {v.name}" for v in client.volumes.list(filters=chosen)]
        finally:
            client.close()
        return found


def hostile_limits(small: Small) -> Limits:
    """Limits that an attack soon reaches."""
    memory = 2 * MEMORY if small.toolchain == "java" else MEMORY
    return Limits(memory_bytes=memory, seconds=PATIENCE.get(small.toolchain, _PATIENCE))


def sleepers() -> list[str]:
    """The processes of this machine that the forking test has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if SLEEPER.encode() in words and words[0].endswith(b"sleep"):
            found.append(path.parent.name)
    return found


def wrongness(case: Case, verdict: Verdict) -> str:
    """What is wrong with a verdict, "" if nothing is. Pure."""
    if not isinstance(verdict, Passed | Failed):
        return f"no verdict: {said_of(verdict)}"
    accepted = isinstance(verdict, Passed)
    if case.due is Due.ACCEPTED:
        return "" if accepted else "false reject"
    if case.due is Due.NAMED and accepted and verdict.evidence.findings:
        return ""
    return "false accept" if accepted else ""


def said_of(verdict: Verdict) -> str:
    """A verdict in one line. Pure."""
    if not isinstance(verdict, Passed | Failed):
        return repr(verdict)[:300]
    kinds = [f"{finding.kind}{'!' if finding.decides else ''}" for finding in verdict.evidence.findings]
    return " ".join([type(verdict).__name__, verdict.evidence.reason[:200], *kinds, *verdict.evidence.undone])


def chosen_cases(name: str) -> list[Case]:
    """All cases of one repository."""
    return cases(*TABLE[name])


@contextmanager
def own_home(folder: Path) -> Iterator[Path]:
    """A HOME that is nobody's, for as long as it lasts."""
    before = os.environ.get("HOME", "")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = str(folder)
    try:
        yield folder
    finally:
        os.environ["HOME"] = before
