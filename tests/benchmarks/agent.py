"""`python -m tests.benchmarks.agent`: acr beside aider and mini-swe-agent, and the repo map of 100,000 files.

The three programs get the same tasks in the same repositories, and the same model behind them: an oracle that
holds the patch and answers each in its own format, in the fewest turns. What is left to differ is theirs:
what they send, how often they ask, and the time around it. Then the map; see `tests.benchmarks.agent_map`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from acr_cli.testing.loopback import LoopbackServer
from tests.benchmarks import agent_map
from tests.benchmarks.agent_oracle import Oracle, Sample, prompt
from tests.benchmarks.agent_peers import AIDER, MODEL, PROGRAMS, Program, environment, install

TASKS = Path(__file__).with_name("agent_tasks")
MAP_FILES = (1_000, 10_000, 100_000)
_LIMIT = 300  # seconds for one run
_GIT = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One program on one task. Tokens are those of all its requests; seconds of wall time."""

    program: str
    task: str
    solved: bool
    turns: int
    tokens: int
    again: int  # of the tokens: in the longest beginning that an earlier request of this run had, too
    outside: float  # from start to end, without the server's answers
    cpu: float  # seconds of all of its processes
    first: float  # until the first request arrives


@cache
def tokenizer() -> Any:
    """cl100k_base, as litellm ships it: nothing is fetched."""
    spec = find_spec("litellm")
    folder = Path((spec.submodule_search_locations or ["."])[0]) if spec else Path()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder / "litellm_core_utils" / "tokenizers")
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def counted(prompts: Sequence[str]) -> tuple[int, int]:
    """Tokens of these requests, and how many of them stood at the beginning of an earlier one."""
    encoded = [tokenizer().encode(text, disallowed_special=()) for text in prompts]
    again = 0
    for number, tokens in enumerate(encoded):
        again += max((_shared(tokens, other) for other in encoded[:number]), default=0)
    return sum(map(len, encoded)), again


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the beginning that both have."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def lay_out(sample: Sample, root: Path) -> None:
    """The task's repository, with one commit."""
    if sample.beside:
        agent_map.write(root, sample.beside, Random(0), 1)
    for path, text in sample.before.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.aider*\nlast.traj.json\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *_GIT, *command], cwd=root, check=True)


def solved(sample: Sample, root: Path) -> bool:
    """Whether the tests pass, as they were at the start."""
    for path, text in sample.before.items():
        if path.rpartition("/")[2].startswith("test_"):
            (root / path).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def measure(
    program: Program, sample: Sample, *, peers: Path, home: Path, blind: bool, keep: Path | None
) -> Run:
    """One run in a fresh copy of the repository."""
    oracle = Oracle(sample=sample, program=program.speaks, blind=blind)
    with tempfile.TemporaryDirectory() as folder, LoopbackServer({MODEL.partition("/")[2]: oracle}) as server:
        root = Path(folder, sample.name)
        root.mkdir()
        lay_out(sample, root)
        environ, command = program.environ(home, server.base_url), program.command(sample, peers)
        before, started = _cpu(), time.perf_counter()
        done = subprocess.run(
            command,
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        seconds, cpu = time.perf_counter() - started, _cpu() - before
        right = solved(sample, root)
    prompts = [prompt(request) for request in oracle.asked]
    if keep is not None:
        _keep(keep / program.name.replace(", ", "-") / sample.name, oracle, prompts, done)
    tokens, again = counted(prompts)
    return Run(
        program=program.name,
        task=sample.name,
        solved=right,
        turns=len(prompts),
        tokens=tokens,
        again=again,
        outside=seconds - oracle.busy,
        cpu=cpu,
        first=oracle.arrived[0] - started if oracle.arrived else seconds,
    )


def _cpu() -> float:
    """Seconds of CPU that ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _keep(
    folder: Path, oracle: Oracle, prompts: Sequence[str], done: subprocess.CompletedProcess[str]
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "output.txt").write_text(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    for number, (request, text) in enumerate(zip(oracle.asked, prompts, strict=True), 1):
        (folder / f"{number}.json").write_text(json.dumps(request.body, indent=1, ensure_ascii=False))
        (folder / f"{number}.txt").write_text(text)


def table(runs: Sequence[Run]) -> str:
    """A row for each program: medians over its runs, and from the least to the most."""
    names = ("prompt tokens", "of these again", "s outside", "CPU s", "s to first")
    columns = [(name, 25) for name in names]
    titles = "".join(f"{title:>{width}}" for title, width in columns)
    lines = [f"{'program':20} {'solved':>7} {'turns':>6}{titles}"]
    for name in dict.fromkeys(run.program for run in runs):
        own = [run for run in runs if run.program == name]
        right = [run for run in own if run.solved]
        turns = sum(run.turns for run in own) / max(1, len(right))
        spreads = (
            _spread([run.tokens for run in own], 0),
            _spread([run.again for run in own], 0),
            _spread([run.outside for run in own], 2),
            _spread([run.cpu for run in own], 2),
            _spread([run.first for run in own], 2),
        )
        cells = "".join(f"{text:>{width}}" for text, (_, width) in zip(spreads, columns, strict=True))
        lines.append(f"{name:20} {len(right):>3}/{len(own):<3} {turns:6.2f}{cells}")
    return "\n".join(lines)


def _spread(values: Sequence[float], places: int) -> str:
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:,.{places}f} ({least:,.{places}f}-{most:,.{places}f})"


def compare(chosen: argparse.Namespace) -> list[Run]:
    """Every program on every task, in turn, so that a busy machine is busy for all of them."""
    samples = [Sample.read(f) for f in sorted(TASKS.iterdir()) if f.is_dir() and f.name[0] != "_"]
    samples = [sample for sample in samples if not chosen.tasks or sample.name in chosen.tasks]
    programs = [PROGRAMS[name] for name in chosen.programs or PROGRAMS]
    install(chosen.peers, sorted({program.package for program in programs} - {""}))
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        homes = {program.name: Path(folder, str(number)) for number, program in enumerate(programs)}
        for number in range(chosen.repeats + 1):
            for sample in samples if number else samples[:1]:
                for program in programs:
                    run = measure(
                        program,
                        sample,
                        peers=chosen.peers,
                        home=homes[program.name],
                        blind=chosen.blind,
                        keep=chosen.keep,
                    )
                    if number == 0:  # what is compiled and cached once is not what is measured
                        continue
                    runs.append(run)
                    if chosen.json:
                        print(json.dumps(asdict(run)), flush=True)
    return runs


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "acr-bench-agent")
    options.add_argument("--peers", type=Path, default=cached, help=f"their environments (default {cached})")
    options.add_argument("--programs", nargs="+", choices=list(PROGRAMS), metavar="NAME")
    options.add_argument("--tasks", nargs="+", metavar="NAME")
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--blind", action="store_true", help="the oracle changes lines that it has not seen")
    options.add_argument("--keep", type=Path, help="a folder for every request and output")
    options.add_argument("--json", action="store_true", help="a line for each run, too")
    options.add_argument("--only", choices=("tasks", "map"))
    options.add_argument("--files", type=int, nargs="+", default=MAP_FILES, help="sizes of the map's tree")
    options.add_argument(
        "--aider-seconds", type=float, default=300, help="aider's map is given up after these"
    )
    chosen = options.parse_args()
    if chosen.only != "map":
        sight = "lines that it has not seen, too" if chosen.blind else "only what it has seen"
        print(f"{MODEL} is an oracle; it changes {sight}. Medians (least-most).")
        print(table(compare(chosen)))
    if chosen.only != "tasks":
        install(chosen.peers, [AIDER])
        python = environment(chosen.peers, AIDER) / "bin" / "python"
        for files in chosen.files:
            agent_map.print_table(files, aider=python, aider_seconds=chosen.aider_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
