"""Bandits that know nothing beforehand: a table by dimension and candidate, filled by what was tried.

The reward of a try is its verdict (1 or 0) - 0.1 x its cost in USD: the reward of arXiv 2606.22902 with the
verdict in the place of the score, which a policy does not see. Warm rows are not looked at. A second attempt
is chosen as the first one is, among those that are left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.records import Candidate, Choice, Context, Outcome

COST_WEIGHT = 0.1  # reward per USD


@dataclass(slots=True)
class Arm:
    """What became of one candidate in one dimension."""

    passed: int = 0
    tried: int = 0
    cost_usd: float = 0.0

    @property
    def reward(self) -> float:
        """The mean reward; needs a try."""
        return (self.passed - COST_WEIGHT * self.cost_usd) / self.tried


class Tabular(Baseline):
    """Counts by dimension and candidate."""

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        self.arms: defaultdict[tuple[str, str], Arm] = defaultdict(Arm)

    def learn(self, context: Context, outcome: Outcome) -> None:
        arm = self.arms[context.dimension, outcome.candidate]
        arm.tried += 1
        arm.passed += outcome.passed
        arm.cost_usd += outcome.cost_usd


class Thompson(Tabular):
    """Thompson sampling, Beta(1, 1) for the verdict, less 0.1 x the mean cost that was seen.

    Source: Thompson (1933), as in Chapelle and Li (NeurIPS 2011), algorithm 2. The propensity is not known in
    closed form and is given as 1."""

    name = "thompson"

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        if not there:
            return None
        return self.pick(max(there, key=lambda name: self._draw(self.arms[context.dimension, name], rng)))

    @staticmethod
    def _draw(arm: Arm, rng: Random) -> float:
        chance = rng.betavariate(1 + arm.passed, 1 + arm.tried - arm.passed)
        return chance - COST_WEIGHT * arm.cost_usd / max(arm.tried, 1)


class EpsilonGreedy(Tabular):
    """The highest mean reward in the dimension, with chance `epsilon` any candidate instead.

    Source: Sutton and Barto (2018), section 2.4, sample averages. An untried candidate comes before all that
    were tried."""

    name = "epsilon_greedy"

    def __init__(self, epsilon: float | str = 0.1) -> None:
        self.epsilon = float(epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ValueError("epsilon is a probability")

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        if not there:
            return None

        def mean(name: str) -> float:
            arm = self.arms[context.dimension, name]
            return arm.reward if arm.tried else float("inf")

        chosen = greedy = max(there, key=mean)
        if rng.random() < self.epsilon:
            chosen = rng.choice(there)
        propensity = self.epsilon / len(there) + (1 - self.epsilon) * (chosen == greedy)
        return self.pick(chosen, propensity)
