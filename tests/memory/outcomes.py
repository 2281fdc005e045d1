"""Outcomes for the tests of memory; as a program it writes some, and names each that was acknowledged.

python -m tests.memory.outcomes HOME BOUND ID...
"""

from __future__ import annotations

import hashlib
import math
import sys
from pathlib import Path
from random import Random
from typing import Any

from acr_cli.memory.store import Memory
from acr_cli.records import Outcome, Price, Signal, Usage

SIZE = 8
EMBEDDER = "test:8"


def unit_vector(seed: str, size: int = SIZE) -> tuple[float, ...]:
    rng = Random(hashlib.sha256(seed.encode()).digest())
    numbers = [rng.gauss(0, 1) for _ in range(size)]
    length = math.sqrt(sum(x * x for x in numbers))
    return tuple(x / length for x in numbers)


def make_outcome(id_: str, **changes: Any) -> Outcome:
    """An outcome whose vector and numbers follow from its id."""
    rng = Random(id_)
    values: dict[str, Any] = {
        "id": id_,
        "run": f"run-{id_}",
        "step": "s1",
        "attempt": 1,
        "time": 1_700_000_000.0 + rng.randrange(100_000),
        "text": f"The test of {id_} fails",
        "vector": unit_vector(id_),
        "embedder": EMBEDDER,
        "kind": "edit",
        "dimension": rng.choice(["bug_fixing", "algorithm"]),
        "language": "python",
        "repository": rng.choice(["here", "there"]),
        "candidate": rng.choice(["cheap", "strong"]),
        "family": "",
        "price": Price(input=1.0, output=2.0, source="config"),
        "available": ("cheap", "strong"),
        "failed_before": (),
        "policy": "acrouter",
        "propensity": 0.95,
        "verdict": rng.choice(["passed", "failed", "unverified"]),
        "verifier": "tests",
        "u": rng.random(),
        "signals": (Signal(name="tests", value=1.0, weight=1.0, note="2 of 2"),),
        "cost_usd": rng.random() / 10,
        "usage": Usage(input_tokens=100, output_tokens=10, calls=1),
        "seconds": rng.random() * 60,
    }
    return Outcome(**values | changes)


def main() -> None:
    home, bound, *ids = sys.argv[1:]
    memory = Memory(Path(home), bound=int(bound))
    for id_ in ids:
        memory.remember(make_outcome(id_))
        sys.stdout.write(f"{id_}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
