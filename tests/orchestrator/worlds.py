"""Made-up worlds of known truth: tasks of a difficulty, candidates of an ability, and what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import polars as pl

from acr_cli.matrix import Matrix
from acr_cli.orchestrator.experience import Cell, Pattern, evidence
from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.trait import Beliefs, Evidence, Numbers, Trait
from acr_cli.records import Candidate, Context, Price, Tally

DIMENSION = "bug_fixing"
NO_MISTAKES = Mistakes()


def candidate(name: str, usd: float | None = None, *, model: str = "") -> Candidate:
    """A model that nothing is published of, at so much an attempt."""
    return Candidate(id=name, backend="agent", model=model or name, price=Price(per_attempt=usd))


def context(tallies: Sequence[Tally] = (), **changes: object) -> Context:
    known = Context(text="the tests fail", dimension=DIMENSION, attempts=3, tallies=tuple(tallies))
    return replace(known, **changes)


def tally(name: str, passed: float, failed: float, after: Sequence[str] = (), **changes: object) -> Tally:
    """So many outcomes of a candidate after the same failures."""
    known = Tally(
        candidate=name,
        dimension=DIMENSION,
        failed_before=tuple(sorted(after)),
        passed=passed,
        failed=failed,
        count=passed + failed,
        outcomes=round(passed + failed),
    )
    return replace(known, **changes)


@dataclass(frozen=True, kw_only=True)
class World:
    """Candidates with abilities in logits; tasks lie `spread` logits apart."""

    ability: tuple[float, ...]
    spread: float = 2.0
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"c{place}" for place in range(len(self.ability)))

    def truth(self) -> list[float]:
        """The chance of each on a task that nothing is known of."""
        z = np.random.default_rng(99).normal(size=20_000)
        return [float((1 / (1 + np.exp(self.spread * z - a))).mean()) for a in self.ability]

    def solved(self, tasks: int) -> Numbers:
        """Tasks x C, 1 where the candidate solves the task."""
        rng = np.random.default_rng(self.seed)
        z = rng.normal(size=(tasks, 1))
        chance = 1 / (1 + np.exp(self.spread * z - np.array(self.ability)))
        solved: Numbers = (rng.random(chance.shape) < chance).astype(float)
        return solved

    def tried(
        self, tasks: int, *, accepts: float = 0.0, rejects: float = 0.0, shuffled: bool = False
    ) -> list[Tally]:
        """Candidates in their order until the verifier passes one, summed up."""
        return summed(self.attempts(tasks, accepts=accepts, rejects=rejects, shuffled=shuffled))

    def attempts(
        self, tasks: int, *, accepts: float = 0.0, rejects: float = 0.0, shuffled: bool = False
    ) -> list[Tally]:
        """One tally an attempt, in the order in which they were made."""
        rng = Random(self.seed)
        found = []
        for row in self.solved(tasks):
            failed: list[str] = []
            order = list(range(len(self.names)))
            if shuffled:
                rng.shuffle(order)
            for place in order:
                name = self.names[place]
                passed = rng.random() >= rejects if row[place] else rng.random() < accepts
                found.append(tally(name, float(passed), float(not passed), failed))
                if passed:
                    break
                failed.append(name)
        return found


def summed(tallies: Sequence[Tally]) -> list[Tally]:
    """Those of the same key added up, in the order of their first."""
    found: dict[tuple[object, ...], Tally] = {}
    for each in tallies:
        key = (each.candidate, each.dimension, each.language, each.verifier, each.failed_before)
        known = found.get(key)
        found[key] = (
            each
            if known is None
            else replace(
                known,
                passed=known.passed + each.passed,
                failed=known.failed + each.failed,
                cost_usd=known.cost_usd + each.cost_usd,
                count=known.count + each.count,
                outcomes=known.outcomes + each.outcomes,
            )
        )
    return list(found.values())


def patterns(tallies: Sequence[Tally]) -> list[Pattern]:
    """As a cell of experience lays them out."""
    return Cell(tallies=dict(enumerate(tallies))).patterns()  # type: ignore[arg-type]


def shown(tallies: Sequence[Tally], names: Sequence[str], mistakes: Mistakes = NO_MISTAKES) -> Evidence:
    return evidence(
        patterns(tallies), names=names, accepts=mistakes.accepts(names), rejects=mistakes.false_reject
    )


def beliefs(count: int, *, kin: Sequence[int] | None = None, spread: float = 0.8) -> Beliefs:
    """Nothing is known of anybody."""
    return Beliefs(
        mean=np.zeros(count),
        spread=spread,
        kin=np.arange(count) if kin is None else np.array(kin),
        among_kin=0.3,
    )


def chances(trait: Trait) -> list[float]:
    """That each solves a task that nothing is known of."""
    from acr_cli.orchestrator.trait import WEIGHTS

    return [float(chance) for chance in trait.solves() @ WEIGHTS]


def matrix(score: Numbers, cost: Numbers) -> Matrix:
    """A matrix of one dimension; costs of shape C or T x C."""
    tasks, width = score.shape
    blank = pl.Series([""] * tasks)
    paid = np.broadcast_to(cost, score.shape)
    return Matrix(
        name="made",
        models=tuple(f"model-{column}" for column in range(width)),
        ids=pl.Series([f"task-{row}" for row in range(tasks)]),
        texts=blank,
        splits=blank,
        dimensions=pl.Series([DIMENSION] * tasks),
        languages=blank,
        score=score,
        cost=np.where(np.isnan(score), np.nan, paid),
    )
