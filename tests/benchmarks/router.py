"""Every policy on the public outcome matrices, setting by setting: `python -m tests.benchmarks.router`.

The folder of the matrices is named by ACR_MATRICES; it is no part of this repository. These matrices have
been looked at by many, by this project too: they are development data, and no figure of them is a headline.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from acr_cli.build.benching import Plan, replay
from acr_cli.cli.bench_shown import show_result
from acr_cli.errors import AcrError

VARIABLE = "ACR_MATRICES"
NEEDED = ("id.csv.gz", "id_tasks.jsonl.gz", "ood176.csv.gz", "ood176_tasks.jsonl.gz", "prices.csv")
MISSING = f"""\
{VARIABLE} must name a folder with {", ".join(NEEDED)}.
They are made from the released data of arXiv 2606.22902 (MIT; the repository LanceZPF/agent-as-a-router,
folder data/coderouterbench): id.csv.gz holds the long tables of train, val and test in one, with a column
`split`, ood176.csv.gz the agentic one; both have task_id, dimension, language, model, score, cost_usd and
total_tokens. The .jsonl.gz hold task_id and prompt; prices.csv model, input and output, in USD per million
tokens.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One table: a name, and what its replay is asked for but the files and the kind of cost."""

    name: str
    matrix: str
    plan: Mapping[str, object]


_ID = {"stream": ("test",)}
_WARM = {**_ID, "warm": ("train", "val")}
_WRONG = {"attempts": 5, "false_accept": 0.1, "false_reject": 0.05}
SETTINGS = (
    Setting(name="id-1-warm", matrix="id", plan={**_WARM, "attempts": 1}),
    Setting(name="id-1-cold", matrix="id", plan={**_ID, "attempts": 1}),
    Setting(name="id-3-warm", matrix="id", plan={**_WARM, "attempts": 3}),
    Setting(name="ood176-5-cold", matrix="ood176", plan={"attempts": 5}),
    Setting(name="old112-5-cold", matrix="ood176", plan={"attempts": 5, "only": "old112::*"}),
    Setting(name="new64-5-cold", matrix="ood176", plan={"attempts": 5, "only": "new64::*"}),
    Setting(name="ood176-5-wrong", matrix="ood176", plan=_WRONG),
    Setting(name="ood176-5-wrong-shared", matrix="ood176", plan={**_WRONG, "shared_accepts": 0.5}),
)
COSTS = ("reported", "floor")


def plans(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, Plan]]:
    """Every setting under each kind of cost. The price list serves the floor alone: both know the same."""
    for setting in SETTINGS:
        if options.setting and setting.name not in options.setting:
            continue
        plan = Plan(
            matrix=folder / f"{setting.matrix}.csv.gz",
            tasks=folder / f"{setting.matrix}_tasks.jsonl.gz",
            policies=tuple(options.policy or ()),
            seeds=options.seeds,
            jobs=options.jobs,
            embed=options.embed,
        )
        plan = replace(plan, **setting.plan)  # type: ignore[arg-type]
        for cost in COSTS:
            if options.cost and cost not in options.cost:
                continue
            floored = replace(plan, floor=True, prices=folder / "prices.csv", prices_hidden=True)
            yield f"{setting.name}-{cost}", floored if cost == "floor" else plan


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.router")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--policy", action="append", help="take part; once for each; default: all that can")
    parser.add_argument("--setting", action="append", choices=[setting.name for setting in SETTINGS])
    parser.add_argument("--cost", action="append", choices=COSTS)
    parser.add_argument("--embed", action="store_true", help="embed the known texts, so that neighbours vote")
    parser.add_argument("-o", dest="output", type=Path, help="a folder to keep every result in")
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get(VARIABLE, ""))
    if not os.environ.get(VARIABLE) or not all((folder / name).is_file() for name in NEEDED):
        sys.stderr.write(MISSING)
        return 2
    console = Console(width=200, highlight=False, markup=False)
    cache = options.output or Path.home() / ".cache" / "acr-bench"
    for name, plan in plans(folder, options):
        console.rule(name)
        try:
            done = replay(plan, cache)
            if options.output:
                done.write(options.output / f"{name}.json")
        except AcrError as error:
            sys.stderr.write(f"{name}: {error.message} {error.hint}\n")
            return error.exit_code
        show_result(console, done.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
