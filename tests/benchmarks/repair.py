"""How many small defects `builtin/repair` fixes: `python -m tests.benchmarks.repair`.

Each program of repair_programs/ is copied without its held-back tests and repaired against the visible ones;
then the held-back tests decide. Overfitted: the visible tests pass, a held-back one does not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from acr_cli.records import Candidate, CaseResult, Dimension, Step, StepKind
from acr_cli.repair.backend import Repair
from tests.repair.folders import FolderSandbox, FolderTree, OpenBudget

PROGRAMS = Path(__file__).with_name("repair_programs")
HANG_SECONDS = 5  # a test that takes longer counts as failing
MEMORY_KIB = 4_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One program's repair. `verdict`: "fixed" | "overfitted" | "not found" | "void"."""

    name: str
    kind: str
    verdict: str
    seconds: float
    tried: int
    alternatives: int
    summary: str


def run_tests(root: Path) -> list[CaseResult]:
    """All tests below a folder, in one process with limits of time and memory."""
    report = root / ".report.xml"
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
        "--tb=short",
    ]
    command += [f"--timeout={HANG_SECONDS}", "-o", "junit_family=xunit1", f"--junitxml={report}"]
    limited = ["sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh", *command]
    subprocess.run(limited, cwd=root, capture_output=True, timeout=300, check=False)
    cases = list(_cases(ET.parse(report).getroot()))  # noqa: S314 - written by pytest just now
    report.unlink()
    return cases


def _cases(suite: ET.Element) -> Iterator[CaseResult]:
    for case in suite.iter("testcase"):
        file = case.get("file", "")
        module = file.removesuffix(".py").replace("/", ".")
        classes = case.get("classname", "").removeprefix(module).strip(".")
        failure = case.find("failure")
        failure = failure if failure is not None else case.find("error")
        yield CaseResult(
            id="::".join([file, *([classes] if classes else []), case.get("name", "")]),
            outcome="passed" if failure is None else "failed",
            message=(failure.get("message") or "").split("\n")[0] if failure is not None else "",
            file=file,
            seconds=float(case.get("time", 0)),
        )


def try_program(folder: Path, limit: float) -> Trial:
    """Repair a copy of one program and look at the held-back tests."""
    defect = tomllib.loads((folder / "defect.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="acr-bench-") as place:
        root = Path(place, folder.name)
        shutil.copytree(
            folder,
            root,
            ignore=shutil.ignore_patterns("held_back", "defect.toml", "fix.patch", "__pycache__"),
        )
        failures = tuple(case for case in run_tests(root) if case.failed)
        step = Step(
            id=folder.name,
            kind=StepKind.EDIT,
            text="",
            dimension=Dimension.BUG_FIXING,
            language="python",
            failures=failures,
            test_command="python -m pytest",
        )
        backend = Repair(emit=lambda _: None, time_limit=limit, interpreter=sys.executable)
        candidate = Candidate(id="builtin/repair", backend="repair")
        attempt = backend.attempt(step, candidate, FolderTree(root), FolderSandbox(), OpenBudget())
        verdict = "void" if attempt.void else "not found"
        if attempt.patch:
            shutil.copytree(
                folder / "held_back", root / "held_back", ignore=shutil.ignore_patterns("__pycache__")
            )
            verdict = "overfitted" if any(case.failed for case in run_tests(root)) else "fixed"
    return Trial(
        name=folder.name,
        kind=str(defect["kind"]),
        verdict=verdict,
        seconds=round(attempt.seconds, 2),
        tried=attempt.tried,
        alternatives=attempt.alternatives,
        summary=attempt.summary,
    )


def totals(trials: Sequence[Trial]) -> dict[str, object]:
    """Counts and times over all trials, and fixed of all by kind."""
    kinds: dict[str, list[int]] = {}
    for trial in trials:
        count = kinds.setdefault(trial.kind, [0, 0])
        count[0] += trial.verdict == "fixed"
        count[1] += 1
    seconds = [trial.seconds for trial in trials]
    return {
        "type": "bench_repair",
        "programs": len(trials),
        "fixed": sum(trial.verdict == "fixed" for trial in trials),
        "overfitted": sum(trial.verdict == "overfitted" for trial in trials),
        "not_found": sum(trial.verdict == "not found" for trial in trials),
        "void": sum(trial.verdict == "void" for trial in trials),
        "median_seconds": round(statistics.median(seconds), 2) if seconds else 0.0,
        "max_seconds": max(seconds, default=0.0),
        "kinds": {
            kind: {"fixed": fixed, "programs": count} for kind, (fixed, count) in sorted(kinds.items())
        },
    }


def show(trials: Sequence[Trial], console: Console) -> None:
    table = Table("program", "kind", "verdict", "seconds", "tried", "alternatives")
    colours = {"fixed": "green", "overfitted": "yellow", "not found": "red", "void": "magenta"}
    for trial in trials:
        verdict = f"[{colours[trial.verdict]}]{trial.verdict}[/]"
        numbers = (f"{trial.seconds:.1f}", str(trial.tried), str(trial.alternatives))
        table.add_row(trial.name, trial.kind, verdict, *numbers)
    console.print(table)
    total = totals(trials)
    by_kind = Table("kind", "fixed", "programs")
    for kind, counts in total["kinds"].items():  # type: ignore[attr-defined]
        by_kind.add_row(kind, str(counts["fixed"]), str(counts["programs"]))
    console.print(by_kind)
    console.print(
        f"fixed {total['fixed']} of {total['programs']}, overfitted {total['overfitted']}, "
        f"not found {total['not_found']}, void {total['void']}; "
        f"median {total['median_seconds']} s, max {total['max_seconds']} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON line a program, then one of totals")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each program")
    parser.add_argument("--only", metavar="NAME", help="this program alone")
    options = parser.parse_args()
    folders = sorted(path.parent for path in PROGRAMS.glob("*/defect.toml"))
    folders = [folder for folder in folders if options.only in (None, folder.name)]
    if not folders:
        parser.error(f"no program named {options.only}")
    progress = Console(stderr=True)
    trials = []
    for folder in folders:
        trial = try_program(folder, options.limit)
        trials.append(trial)
        if options.json:
            print(json.dumps({"type": "bench_repair_program", **asdict(trial)}), flush=True)
        else:
            progress.print(
                f"{trial.name}: {trial.verdict}, {trial.seconds:.1f} s; {trial.summary}",
                highlight=False,
                markup=False,
            )
    if options.json:
        print(json.dumps(totals(trials)))
    else:
        show(trials, Console())


if __name__ == "__main__":
    main()
