"""The repo map of a large synthetic repository, beside aider's of the same files.

Writes a repository of so many files in six languages, draws its map cold, then again unchanged, then after
one file has changed, each in a process of its own; prints seconds, files read and peak memory, readers
included. aider's map is drawn cold and again, and given up after a time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from acr_cli.agent.repomap.drawing import RepoMap

FOLDER = 50  # files in one folder

PYTHON = """import os
from {near} import {name1}


class {own}Service:
    def __init__(self, store, limit=10):
        self.store = store
        self.limit = limit

    def {method}(self, values):
        total = 0
        for value in values:
            if value is None:
                continue
            total += {name1}(value, self.limit)
        return {name2}(total)

    def describe(self):
        return "%s of %s" % (self.limit, os.fspath(self.store))


def {name0}(value, limit):
    result = []
    while value > limit:
        result.append({name3}(value))
        value //= 2
    return result
"""
TYPESCRIPT = """import {{ {name1}, {name2} }} from "./{near}";

export interface {own}Options {{ limit: number; label?: string }}

export class {own}Service {{
  constructor(private readonly options: {own}Options) {{}}
  {method}(values: number[]): number {{
    return values.map((value) => {name1}(value, this.options.limit)).reduce((a, b) => a + b, 0);
  }}
}}

export function {name0}(value: number, limit: number): number {{
  return value > limit ? {name2}(value) : {name3}(limit);
}}
"""
GO = """package part

type {own}Options struct {{
	Limit int
	Label string
}}

func (o *{own}Options) {method}(values []int) int {{
	total := 0
	for _, value := range values {{
		total += {name1}(value, o.Limit)
	}}
	return {name2}(total)
}}

func {name0}(value int, limit int) int {{
	if value > limit {{
		return {name3}(value)
	}}
	return limit
}}
"""
JAVA = """package part;

public class {own}Service {{
    private final int limit;

    public {own}Service(int limit) {{
        this.limit = limit;
    }}

    public int {method}(int[] values) {{
        int total = 0;
        for (int value : values) {{
            total += {name1}(value, limit);
        }}
        return {name2}(total);
    }}

    public static int {name0}(int value, int limit) {{
        return value > limit ? {name3}(value) : limit;
    }}
}}
"""
RUST = """pub struct {own}Options {{
    pub limit: usize,
}}

impl {own}Options {{
    pub fn {method}(&self, values: &[usize]) -> usize {{
        values.iter().map(|value| {name1}(*value, self.limit)).sum::<usize>() + {name2}(1)
    }}
}}

pub fn {name0}(value: usize, limit: usize) -> usize {{
    if value > limit {{ {name3}(value) }} else {{ limit }}
}}
"""
C = """#include "part.h"

struct {own}_options {{
    int limit;
}};

int {method}(const struct {own}_options *options, const int *values, int count) {{
    int total = 0;
    for (int i = 0; i < count; i++) {{
        total += {name1}(values[i], options->limit);
    }}
    return {name2}(total);
}}

int {name0}(int value, int limit) {{
    return value > limit ? {name3}(value) : limit;
}}
"""
AIDER = """
import json, resource, sys, time
from pathlib import Path
from aider.repomap import RepoMap
class Quiet:
    def tool_output(self, *_, **__): pass
    tool_warning = tool_error = tool_output
    def read_text(self, path, **_): return Path(path).read_text()
class Counting:
    def token_count(self, text): return len(text) // 4
root, paths = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
drawing = RepoMap(map_tokens=1500, root=root, main_model=Counting(), io=Quiet(), refresh="always")
text = drawing.get_ranked_tags_map(
    [], [f"{root}/{path}" for path in paths], max_map_tokens=1500,
    mentioned_fnames={paths[len(paths) // 2]}, mentioned_idents={f"compute_{len(paths) // 3}_0"},
)
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "cpu": cpu, "mb": after.ru_maxrss / 1024}))
"""
SHAPES = (
    ("py", PYTHON),
    ("py", PYTHON),
    ("ts", TYPESCRIPT),
    ("go", GO),
    ("java", JAVA),
    ("rs", RUST),
    ("c", C),
)


def write(root: Path, files: int, rng: Random, repeats: int) -> list[str]:
    """The paths of a repository of so many files. Each uses names of others, mostly near ones."""
    paths = []
    for number in range(files):
        suffix, shape = SHAPES[number % len(SHAPES)]
        parts = []
        for part in range(repeats):
            near = [max(0, min(files - 1, number + rng.randint(-400, 400))) for _ in range(3)]
            names = {
                f"name{n + 1}": f"compute_{each}_{rng.randrange(repeats)}" for n, each in enumerate(near)
            }
            parts.append(
                shape.format(
                    near=f"module_{near[0]}",
                    own=f"Part{number}_{part}",
                    method=f"combine_{number}_{part}",
                    name0=f"compute_{number}_{part}",
                    **names,
                )
            )
        path = f"src/pack{number // FOLDER // 40}/unit{number // FOLDER}/module_{number}.{suffix}"
        paths.append(path)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("\n".join(parts))
    return paths


def measure(root: Path, cache: Path, listing: Path) -> dict[str, float]:
    """One map, in this very process."""
    paths = json.loads(listing.read_text())
    started = time.perf_counter()
    drawn = RepoMap(cache, source=root)
    text = drawn.draw(
        root,
        paths,
        named={paths[len(paths) // 2]: 1.0},
        words=f"compute_{len(paths) // 3}_0 is wrong",
        hidden=(),
        room=6000,
    )
    seconds = time.perf_counter() - started
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    return {
        "seconds": seconds,
        "cpu": cpu,
        "read": drawn.read,
        "mb": own.ru_maxrss / 1024,
        "reader_mb": others.ru_maxrss / 1024,  # of the largest
        "characters": len(text),
    }


def print_table(files: int, *, aider: Path, aider_seconds: float, repeats: int = 2) -> None:
    """Both maps of a tree of so many files, each of `repeats` parts. `aider` is a Python that has it."""
    with tempfile.TemporaryDirectory() as folder:
        root, cache, listing = (Path(folder, name) for name in ("tree", "cache", "files.json"))
        paths = write(root, files, Random(0), repeats)
        size = sum((root / path).stat().st_size for path in paths)
        listing.write_text(json.dumps(paths))
        print(f"\n{len(paths)} files, {size / len(paths):.0f} bytes each, {os.cpu_count()} cores")
        print(f"{'map':18} {'seconds':>8} {'CPU s':>7} {'files read':>11} {'MB':>6} {'MB of a reader':>15}")
        for what in ("first", "unchanged", "one changed"):
            if what == "one changed":
                (root / paths[7]).write_text("def compute_new(value):\n    return value\n")
                past = time.time() - 10
                os.utime(root / paths[7], (past, past))
            else:
                time.sleep(2.1)
            module = [sys.executable, "-m", "tests.benchmarks.agent_map"]
            command = [*module, *map(str, (root, cache, listing))]
            row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            print(
                f"{what:18} {row['seconds']:8.2f} {row['cpu']:7.2f} {row['read']:11.0f} {row['mb']:6.0f}"
                f" {row['reader_mb']:15.0f}"
            )
        for what in ("aider, first", "aider, unchanged"):
            command = [str(aider), "-c", AIDER, str(root), str(listing)]
            try:
                done = subprocess.run(command, capture_output=True, check=True, timeout=aider_seconds)
            except subprocess.TimeoutExpired:
                print(f"{what:18}   over {aider_seconds:.0f}: given up")
                break
            row = json.loads(done.stdout.splitlines()[-1])
            print(f"{what:18} {row['seconds']:8.2f} {row['cpu']:7.2f} {'':11} {row['mb']:6.0f}")
        print(f"cache: {sum(f.stat().st_size for f in cache.iterdir()) / 1e6:.0f} MB")


if __name__ == "__main__":
    print(json.dumps(measure(*map(Path, sys.argv[1:]))))
