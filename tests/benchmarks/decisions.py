"""`python -m tests.benchmarks.decisions`: milliseconds of a decision with a full memory.

Fills a memory with so many outcomes of made-up steps, then decides so many times in this process, from the
step's vector to the choice: its neighbours and tallies from the store, and the default policy. Once with a
memory that nothing changes, once with a new outcome before each decision, as in a run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median, quantiles

import numpy as np

from acr_cli.memory.store import Memory
from acr_cli.orchestrator.policies import open_policy
from acr_cli.records import Candidate, Context, Dimension, Outcome, Price, Usage

OUTCOMES = 20_000
DECISIONS = 200
MODELS = 8
SIZE = 384  # of a vector
TOPICS = 400
LANGUAGES = ("python", "go", "javascript", "java", "rust")
EMBEDDER = "made-up:384"
AIM = 10.0  # ms, the median

POOL = tuple(
    Candidate(
        id=f"vendor/model-{place}",
        backend="agent",
        model=f"vendor/model-{place}",
        price=Price(input=0.2 * 2**place, output=2**place, source="config"),
    )
    for place in range(MODELS)
)


class Steps:
    """Made-up steps: topics lie together in the space of vectors, tasks differ in difficulty."""

    def __init__(self, seed: int) -> None:
        self.rng, self.numbers = Random(seed), np.random.default_rng(seed)
        self.topics = self.numbers.normal(size=(TOPICS, SIZE))
        self.time = 1_700_000_000.0

    def vector(self) -> tuple[float, ...]:
        near = self.topics[self.rng.randrange(TOPICS)] + self.numbers.normal(size=SIZE) * 0.5
        return tuple((near / np.linalg.norm(near)).tolist())

    def context(self) -> Context:
        return Context(
            text="the tests fail",
            vector=self.vector(),
            embedder=EMBEDDER,
            dimension=self.rng.choice(list(Dimension)).value,
            language=self.rng.choice(LANGUAGES),
            size_tokens=3_000,
        )

    def outcomes(self, number: int) -> Iterator[Outcome]:
        """Of one step: up to three attempts in any order, until one passes."""
        step, difficulty, failed = self.context(), self.rng.gauss(0, 1), []
        for attempt, place in enumerate(self.rng.sample(range(MODELS), 3), start=1):
            passed = self.rng.gauss(0.4 * place - 1.5, 1) > 2 * difficulty
            self.time += 60
            yield Outcome(
                id=f"{number}.{attempt}",
                run=str(number),
                step="1",
                attempt=attempt,
                time=self.time,
                text=step.text,
                vector=step.vector,
                embedder=EMBEDDER,
                kind="edit",
                dimension=step.dimension,
                language=step.language,
                repository="here",
                candidate=POOL[place].id,
                family="",
                price=POOL[place].price,
                available=tuple(c.id for c in POOL),
                failed_before=tuple(failed),
                policy="learned",
                propensity=0.95,
                verdict="passed" if passed else "failed",
                verifier="tests",
                u=float(passed),
                signals=(),
                cost_usd=0.002 * 2**place,
                usage=Usage(input_tokens=20_000, output_tokens=2_000, calls=6),
                seconds=30.0,
                votes=(("trait", 0.6), ("neighbours", 0.5)),
                p_success=0.58,
            )
            if passed:
                return
            failed.append(POOL[place].id)

    def many(self, count: int) -> Iterator[Outcome]:
        made = number = 0
        while made < count:
            for outcome in self.outcomes(number):
                yield outcome
                made += 1
                if made == count:
                    return
            number += 1


def measure(memory: Memory, steps: Steps, decisions: int, *, grows: bool) -> dict[str, list[float]]:
    """Milliseconds of each part, for each decision; "CPU" is what of the whole was spent at work."""
    policy = open_policy("learned", exploration=0.05)
    spent: dict[str, list[float]] = {"neighbours": [], "tallies": [], "choice": [], "decision": [], "CPU": []}
    rng = Random(1)
    for number in range(decisions):
        if grows:
            memory.remember(next(steps.outcomes(10_000_000 + number)))
        known = steps.context()
        worked, times = time.process_time(), [time.perf_counter()]
        neighbours = memory.neighbours(known.vector, EMBEDDER)
        times.append(time.perf_counter())
        tallies = memory.tallies()
        times.append(time.perf_counter())
        known = Context(
            **{name: getattr(known, name) for name in known.__slots__}
            | {"neighbours": neighbours, "tallies": tallies}
        )
        policy.choose(known, POOL, rng)
        times.append(time.perf_counter())
        parts = [1000 * (b - a) for a, b in pairwise(times)]
        worked = 1000 * (time.process_time() - worked)
        for name, value in zip(spent, [*parts, sum(parts), worked], strict=True):
            spent[name].append(value)
    return spent


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--outcomes", type=int, default=OUTCOMES)
    options.add_argument("--decisions", type=int, default=DECISIONS)
    chosen = options.parse_args()
    steps = Steps(0)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder), bound=max(chosen.outcomes, 1))
        memory.take_in(steps.many(chosen.outcomes))
        started = time.perf_counter()
        tallies = memory.tallies()
        opened = 1000 * (time.perf_counter() - started)
        print(
            f"{chosen.outcomes} outcomes, {len(tallies)} tallies, {MODELS} models, {os.cpu_count()} cores;"
            f" opened in {opened:.0f} ms"
        )
        print(f"{'memory':22} {'part':12} {'median ms':>10} {'90 %':>8} {'most':>8}")
        slowest = 0.0
        for name, grows in (("unchanged", False), ("a new outcome each", True)):
            spent = measure(memory, steps, chosen.decisions, grows=grows)
            for part, values in spent.items():
                ninth = quantiles(values, n=10)[-1]
                print(f"{name:22} {part:12} {median(values):10.2f} {ninth:8.2f} {max(values):8.2f}")
            slowest = max(slowest, median(spent["decision"]))
        memory.close()
    print(f"aim: a median under {AIM:g} ms; {'reached' if slowest < AIM else 'missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
