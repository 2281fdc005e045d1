"""Who takes part in a replay: a policy that is told what became of its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """All that a player may know before the stream begins.

    Candidates are anonymous and in a seeded order; a price is there where the user named one. `warm` holds
    full rows of true scores and costs, its models being the candidates' ids in the same order. The
    verifier's rates of error are as the user states them."""

    candidates: tuple[Candidate, ...]
    attempts: int
    warm: Matrix | None = None
    false_accept: float = 0.0  # share of wrong answers that pass
    false_reject: float = 0.0  # share of right answers that fail
    seed: int = 0
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Unit vectors by text, of the stream's and the warm splits' known texts; empty where none was wanted."""


class Player(Protocol):
    """A `protocols.Policy` in a replay. One object plays one stream, after `prepare`."""

    name: str

    def prepare(self, setting: Setting) -> None: ...

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        """Whom to try next among `candidates`, those that are there for this task; `context.failed` have
        been tried and rejected. None stops."""
        ...

    def learn(self, context: Context, outcome: Outcome) -> None:
        """What became of the latest choice: a verdict and a cost, never a score."""
        ...

    def answer(self, context: Context) -> str:
        """Which of `context.failed` (not empty) to hand in, all having been rejected."""
        ...


class Baseline:
    """A player that learns nothing, tries what `first` says and hands in what it tried last."""

    name = ""

    def prepare(self, setting: Setting) -> None:
        self.setting = setting

    def learn(self, context: Context, outcome: Outcome) -> None:
        """Nothing."""

    def answer(self, context: Context) -> str:
        return context.failed[-1]

    def pick(self, candidate: str, propensity: float = 1.0, reason: str = "") -> Choice:
        """The choice of a candidate by id."""
        return Choice(candidate=candidate, propensity=propensity, policy=self.name, reason=reason)


def left(context: Context, candidates: Sequence[Candidate]) -> list[str]:
    """The ids of those who have not been tried on this task, in the candidates' order. Pure."""
    return [c.id for c in candidates if c.id not in context.failed]
