"""Every case of every language that this machine can run, as a confusion matrix; and what a verdict costs.

`make bench-verifier ARGS="go rust --sandbox docker --case exit --rounds 5 --only cost"`
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acr_cli.records import Passed
from tests.toolchains import node_image, trial
from tests.toolchains.attacks import PYTEST
from tests.toolchains.hostile import Due, telling
from tests.toolchains.trial import TABLE, Ground, Outcome

_CMAKE = "cmake -S . -B build -DSMALL_BUILD_TESTS=ON && cmake --build build && ctest --test-dir build"
BARE: Mapping[str, str] = {
    "pytest": "python -m pytest -q",
    "unittest": "python -m unittest",
    "node": "node --test",
    "mocha": "mocha",
    "jest": "jest",
    "vitest": "vitest run",
    "go": "go test ./...",
    "rust": "cargo test --offline",
    "cmake": _CMAKE,
    "cmake-cpp": _CMAKE,
    "meson": "meson setup build && meson test -C build",
    "make": "make test",
    "maven": "mvn -o -q -Dmaven.repo.local=$HOME/.m2/repository test",
    "gradle": "gradle --offline --no-daemon test",
    "minitest": "ruby -Itest test/sum_test.rb",
    "rspec": "rspec",
    "phpunit": "phpunit tests",
    "suite": "python -m pytest -q",
}
"""The test commands as a person types them, without acr and without a sandbox."""

_MANY = """\
import time
import pytest


@pytest.mark.parametrize("n", range(100))
def test_many(n):
    time.sleep(0.05)
"""
SUITE = replace(
    telling(PYTEST), name="suite", files={**telling(PYTEST).files, "test_many.py": _MANY}, seconds=120.0
)
"""A suite of a hundred tests that takes five seconds: the other repositories have two or three tests."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds: of the bare command, of a repository's first run, of verdicts. Medians, but for `cold`."""

    bare: float
    cold: float
    warm: float


def main() -> int:
    """0 when every verdict was right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="REPOSITORY", help=f"of {', '.join((*TABLE, 'suite'))}")
    parser.add_argument("--sandbox", default="bubblewrap", choices=["bubblewrap", "docker"])
    parser.add_argument("--case", default="", help="only cases whose name holds this")
    parser.add_argument("--only", choices=["verdicts", "cost"], help="one half of the benchmark")
    parser.add_argument("--rounds", type=int, default=3, help="of which costs are the medians")
    given = parser.parse_args()
    rustup = os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")
    outcomes: dict[str, list[Outcome]] = {}
    costs: dict[str, Cost | None] = {}
    with tempfile.TemporaryDirectory() as folder, trial.own_home(Path(folder, "home")) as home:
        for name in given.names or (*TABLE, "suite"):
            ground = ground_for(name, Path(folder), home, sandbox=given.sandbox, rustup=rustup)
            if isinstance(ground, str):
                print(f"{name}: not run, it needs {ground}")
                continue
            if given.only != "cost" and name in TABLE:
                cases = [case for case in trial.chosen_cases(name) if given.case in case.name]
                outcomes[name] = [shown(name, outcome) for outcome in ground.tried(cases)]
            if given.only != "verdicts":
                costs[name] = cost(ground, BARE[name], given.rounds)
    return tell(outcomes, costs, given.rounds)


def ground_for(name: str, folder: Path, home: Path, *, sandbox: str, rustup: str) -> Ground | str:
    """Where it is tried; what it needs, if this machine lacks that."""
    small = SUITE if name == "suite" else TABLE[name][0]
    why = trial.missing(small) or (trial.install_debian_maven(home) if small.debian_maven else "")
    image = image_for(small.toolchain) if sandbox == "docker" else None
    if why or image == "":
        return why or "an image"
    installed = folder / "installed"
    if small.setup and not installed.exists():
        trial.install_node_modules(installed)
    return Ground(
        small=small, folder=folder / name, home=folder / name / ".acr", sandbox=sandbox, image=image,
        installed=installed if small.setup else None, rustup=rustup,
    )  # fmt: skip


def image_for(toolchain: str) -> str:
    """The image for Docker; "" where none can be had here."""
    base = os.environ.get("ACR_TEST_IMAGE", "acr-test-python:ci")
    if toolchain == "python":
        return base
    if toolchain != "javascript":
        return ""
    import docker  # only where it is used

    client = docker.from_env(timeout=60)
    try:
        return node_image.make(client, base)
    finally:
        client.close()


def shown(name: str, outcome: Outcome) -> Outcome:
    mark = f"WRONG, {outcome.wrong}" if outcome.wrong else "right"
    print(f"{name:10} {outcome.case.name:46} {outcome.seconds:6.1f} s  {mark}  | {outcome.said}", flush=True)
    return outcome


# --- what a verdict costs ---------------------------------------------------------------------------------


def cost(ground: Ground, command: str, rounds: int) -> Cost | None:
    """Bare runs and verdicts on a right patch, in turn, each in a fresh copy; None where none was right."""
    began = time.monotonic()
    bench = ground.bench(dict(ground.small.files))
    baseline = bench.baseline()
    cold = time.monotonic() - began
    start = bench.tree.checkpoint()
    bare_times, warm = [], []
    bare(ground, command)  # what is cached by the programs themselves is cached for both
    for _ in range(rounds):
        bare_times.append(bare(ground, command))
        bench.tree.restore(start)
        began = time.monotonic()
        verdict = bench.attempt(baseline, {ground.small.source: ground.small.right})
        warm.append(time.monotonic() - began)
        if not isinstance(verdict, Passed):
            print(f"{ground.small.name}: no cost, for {trial.said_of(verdict)}")
            return None
    spent = Cost(bare=statistics.median(bare_times), cold=cold, warm=statistics.median(warm))
    print(f"{ground.small.name:10} bare {spent.bare:.2f} s, warm {spent.warm:.2f} s", flush=True)
    return spent


def bare(ground: Ground, command: str) -> float:
    """Seconds of the command on the mended tree, on this machine."""
    root = ground.folder / "bare"
    for path, text in {**ground.small.files, ground.small.source: ground.small.right}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    programs = [str(Path(sys.executable).parent)]
    if ground.installed is not None:
        (root / "node_modules").symlink_to(ground.installed / "node_modules")
        programs.append(str(ground.installed / "node_modules/.bin"))
    environment = {**os.environ, "PATH": os.pathsep.join([*programs, os.environ["PATH"]]), "CI": "1"}
    environment |= {"RUSTUP_HOME": ground.rustup} if ground.rustup else {}
    began = time.monotonic()
    done = subprocess.run(
        ["sh", "-c", command], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - began
    shutil.rmtree(root)
    if done.returncode:
        print(f"{ground.small.name}: {command} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return seconds if not done.returncode else math.nan


# --- the tables -------------------------------------------------------------------------------------------


def tell(outcomes: Mapping[str, Sequence[Outcome]], costs: Mapping[str, Cost | None], rounds: int) -> int:
    """Prints what was found; 0 when every verdict was right."""
    wrong = [(name, each) for name, found in outcomes.items() for each in found if each.wrong]
    if outcomes:
        print(f"\n{'':10} {'right':>6} {'wrong':>6} {'false accept':>13} {'false reject':>13} {'named':>6}")
        everything = [each for found in outcomes.values() for each in found]
        for name, found in [*outcomes.items(), ("together", everything)]:
            print(row(name, found))
        print()
        confusion(everything)
    for name, each in wrong:
        print(f"WRONG: {name}, {each.case.name}: {each.wrong} ({each.said})")
    if costs:
        print(f"\nseconds, medians of {rounds}; excess = warm - 1.3 x bare - 0.5 s, aimed at 0 or less")
        print(
            f"{'':10} {'bare':>7} {'cold':>7} {'warm':>7} {'cold/bare':>10} {'warm/bare':>10} {'excess':>7}"
        )
    for name, spent in costs.items():
        if spent is not None:
            excess = spent.warm - 1.3 * spent.bare - 0.5
            print(
                f"{name:10} {spent.bare:7.2f} {spent.cold:7.2f} {spent.warm:7.2f}"
                f" {spent.cold / spent.bare:10.2f} {spent.warm / spent.bare:10.2f} {excess:7.2f}"
            )
    return 1 if wrong else 0


def row(name: str, found: Sequence[Outcome]) -> str:
    """One line of the table of languages. Pure."""
    wrong = [each.wrong for each in found if each.wrong]
    named = sum(each.accepted and each.case.due is Due.NAMED and not each.wrong for each in found)
    return (
        f"{name:10} {len(found) - len(wrong):6} {len(wrong):6} {wrong.count('false accept'):13}"
        f" {wrong.count('false reject'):13} {named:6}"
    )


def confusion(found: Sequence[Outcome]) -> None:
    print(f"{'':22} {'accepted':>9} {'rejected':>9}")
    for due, said in (
        (Due.ACCEPTED, "to be accepted"), (Due.REJECTED, "to be rejected"), (Due.NAMED, "to be named"),
    ):  # fmt: skip
        of = [each for each in found if each.case.due is due]
        accepted = sum(each.accepted for each in of)
        print(f"{said:22} {accepted:9} {len(of) - accepted:9}")


if __name__ == "__main__":
    sys.exit(main())
