"""Policies that look at nothing: always the same candidate, or any."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from acr_cli.bench.player import Baseline, left
from acr_cli.records import Candidate, Choice, Context


class Always(Baseline):
    """One candidate, by id, tried once a task; nothing where it is not there."""

    name = "always"

    def __init__(self, candidate: str) -> None:
        if not candidate:
            raise ValueError("no candidate is named")
        self.candidate = candidate

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        return self.pick(self.candidate) if self.candidate in left(context, candidates) else None


class Uniform(Baseline):
    """Any of those that have not failed on the task, each as likely as the others."""

    name = "random"

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        return self.pick(rng.choice(there), 1 / len(there)) if there else None
