"""`python -m tests.benchmarks.startup`: how long acr takes to start, beside bare Python, Typer and its peers.

Every program stands in an environment of its own, acr too: a wheel of this checkout. In each round every
command runs once, in an order of its own, so that what else the machine does falls on all of them alike. A
ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acr_cli.testing.answers import Stall
from acr_cli.testing.loopback import LoopbackServer
from tests.benchmarks.agent_peers import AIDER, MINI, environment, install

ROOT = Path(__file__).parents[2]
LLM = "llm==0.36"
TYPER = "typer==0.29.2"
ACR = "acr"
# Two commands, one option each; our own help is plain, as Typer's is without rich markup.
APP = """
import typer
app = typer.Typer({markup}add_completion=False)

@app.command()
def greet(name: str = typer.Option("you", help="Whom.")) -> None:
    "Say hello."
    print("hello", name)

@app.command()
def part(name: str = typer.Option("you", help="Whom.")) -> None:
    "Say goodbye."
    print("goodbye", name)

if __name__ == "__main__":
    app()
"""
AIMS = (
    ("acr --help", "Typer, plain help", 1.15),
    ("acr --help", "Typer, rich help", 1.15),
    ("acr --help", "mini --help", 0.6),
    ("acr --help", "aider --help", 0.25),
    ("acr --version", "Typer, plain help", 1.15),
    ("acr, models at Tab", "Typer, plain help", 1.15),
    ("acr, runs at Tab", "Typer, plain help", 1.15),
)
"""What is measured, beside what, and at most how many times it should take."""


def main() -> int:
    """Measure, print, and say with the exit code whether every aim is reached."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "acr-bench-agent")
    options = argparse.ArgumentParser(description="How long acr takes to start, beside others.")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--environments", type=Path, default=cached, help=f"default {cached}")
    options.add_argument("--json", action="store_true", help="every second that was measured")
    chosen = options.parse_args()
    prepare(chosen.environments)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(commands(chosen.environments, Path(folder)), chosen.rounds, Path(folder))
        work = to_work(
            environment(chosen.environments, ACR) / "bin", max(1, chosen.rounds // 3), Path(folder)
        )
    if chosen.json:
        print(json.dumps({**found, **work}))
        return 0
    missed = shown(found)
    shown_work(work)
    return missed


def prepare(folder: Path) -> None:
    """All environments; acr's is filled anew from this checkout, the others once."""
    folder.mkdir(parents=True, exist_ok=True)
    install(folder, [AIDER, MINI, LLM, TYPER])
    python = environment(folder, ACR) / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        lock = ROOT / "requirements" / "dev.txt"
        _pip(python, "--require-hashes", "-r", str(lock))
    _pip(python, "--no-deps", "--no-build-isolation", "--force-reinstall", str(ROOT))


def _pip(python: Path, *arguments: str) -> None:
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments]
    subprocess.run(pip, check=True)


def commands(folder: Path, scratch: Path) -> dict[str, list[str]]:
    """What is run, by the name that it is shown under."""

    def program(package: str, name: str) -> str:
        return str(environment(folder, package) / "bin" / name)

    for name, markup in (("plain", "rich_markup_mode=None, "), ("rich", "")):
        (scratch / f"with_{name}_help.py").write_text(APP.format(markup=markup))
    acr = program(ACR, "acr")
    return {
        "python -c pass": [program(TYPER, "python"), "-c", "pass"],
        "Typer, plain help": [program(TYPER, "python"), str(scratch / "with_plain_help.py"), "--help"],
        "Typer, rich help": [program(TYPER, "python"), str(scratch / "with_rich_help.py"), "--help"],
        "acr --version": [acr, "--version"],
        "acr --help": [acr, "--help"],
        "acr fix --help": [acr, "fix", "--help"],
        "acr, models at Tab": [acr, "completion", "--values", "models"],
        "acr, runs at Tab": [acr, "completion", "--values", "runs"],
        "acr config show": [acr, "config", "show"],
        "acr route": [acr, "route", "the parser drops the last line"],
        "llm --help": [program(LLM, "llm"), "--help"],
        "mini --help": [program(MINI, "mini"), "--help"],
        "aider --help": [program(AIDER, "aider"), "--help"],
    }


def measured(runs: Mapping[str, Sequence[str]], rounds: int, scratch: Path) -> dict[str, list[float]]:
    """Seconds of every command in every round; one round before the first warms the disk's cache."""
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_CONFIGURED": "true",
    }
    (scratch / ".acr").mkdir()
    (scratch / ".acr" / "config.toml").write_text('[[model]]\nid = "anthropic/claude-opus-4-6"\n')
    found: dict[str, list[float]] = {name: [] for name in runs}
    order, rng = list(runs), random.Random(0)
    for number in range(rounds + 1):
        rng.shuffle(order)
        for name in order:
            began = time.perf_counter()
            done = subprocess.run(
                list(runs[name]),
                env=environ,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            spent = time.perf_counter() - began
            if done.returncode:
                raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
            if number:
                found[name].append(spent)
    return found


def to_work(programs: Path, rounds: int, scratch: Path) -> dict[str, list[float]]:
    """Seconds until `acr route` has answered, and until `acr fix` sends a model its first request: each in a
    home that is new, and again in the same one. Beside them the tests alone, which a baseline runs."""
    repository = scratch / "shop"
    shutil.copytree(ROOT / "tests" / "demo" / "shop", repository)
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(scratch), "LANG": "C.UTF-8"}
    tests = [str(programs / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        home = scratch / f"home{number}"
        for state in ("new home", "same home"):
            with LoopbackServer({"mine": lambda _request: Stall()}) as server:
                home.mkdir(exist_ok=True)
                model = f'[[model]]\nid = "openai/mine"\nbase_url = "{server.base_url}"\n'
                (home / "config.toml").write_text(model)
                here = {**environ, "ACR_HOME": str(home)}
                for name, command, ended in (
                    ("acr route", ["acr", "route", "a wrong total"], lambda: False),
                    ("acr fix", ["acr", "fix", "--sandbox", "none", "--yes"], server.requests.__len__),
                    ("the tests alone", tests, lambda: False),
                ):
                    spent = _until(command, here, repository, ended)
                    found.setdefault(f"{name}, {state}", []).append(spent)
                if not server.requests:
                    raise SystemExit("acr fix ended without a request to a model")
    return found


def _until(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path, ended: Callable[[], object]
) -> float:
    """Seconds until something has happened, which ends the command, or until it has ended."""
    began = time.perf_counter()
    program = shutil.which(command[0], path=environ["PATH"]) or command[0]
    with subprocess.Popen(
        [program, *command[1:]],
        env=environ,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and not ended():
            time.sleep(0.002)
        spent = time.perf_counter() - began
        if process.returncode is None:
            process.terminate()
    return spent


def shown_work(found: Mapping[str, Sequence[float]]) -> None:
    """Print the table of `to_work`."""
    print(f"\n{'to the answer, or the first request':<36} {'median':>9} {'from':>8} {'to':>8}")
    for name, seconds in found.items():
        print(f"{name:<36} {statistics.median(seconds):7.3f} s {min(seconds):8.3f} {max(seconds):8.3f}")


def ratio(found: Mapping[str, Sequence[float]], name: str, other: str) -> tuple[float, float, float]:
    """Median, lower and upper quartile of the rounds' ratios."""
    each = sorted(mine / theirs for mine, theirs in zip(found[name], found[other], strict=True))
    quarter = len(each) // 4
    return statistics.median(each), each[quarter], each[-quarter - 1]


def shown(found: Mapping[str, Sequence[float]]) -> int:
    """Print the tables; 1 where an aim is missed."""
    print(f"{'command':<22} {'median':>9} {'from':>8} {'to':>8}   times bare Python")
    for name, seconds in found.items():
        low, high = min(seconds), max(seconds)
        times = ratio(found, name, "python -c pass")[0]
        print(f"{name:<22} {statistics.median(seconds):7.3f} s {low:8.3f} {high:8.3f}   {times:5.1f} x")
    print(f"\n{'ratio':<42} {'median':>7}  {'quartiles':<13} aim")
    missed = 0
    for name, other, aim in AIMS:
        middle, low, high = ratio(found, name, other)
        missed += middle > aim
        verdict = "" if middle <= aim else "  missed"
        print(f"{name + ' / ' + other:<42} {middle:7.2f}  {low:.2f} to {high:.2f}  {aim:.2f}{verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
