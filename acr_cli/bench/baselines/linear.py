"""Linear contextual bandits, as `mabwiser` has them, with the parameters of arXiv 2606.22902."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

from acr_cli.bench.baselines.bandits import COST_WEIGHT
from acr_cli.bench.baselines.extra import require
from acr_cli.bench.baselines.warm import Numbers
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.records import Candidate, Choice, Context, Outcome

SLOTS = 16  # dimensions, and as many languages, that are told apart


class LinUcb(Baseline):
    """LinUCB with disjoint arms, alpha = 1, lambda = 1.

    Source: Li et al. (WWW 2010), algorithm 1. The reward is the verdict - 0.1 x cost; warm rows, if there
    are any, are pulls of all arms before the first task, with the score in the verdict's place. Adapted:
    the features, which the paper does not state, are a constant, the dimension and the language (a slot
    each, given out as they are first seen, the last one being shared). A second attempt is the best of
    those that are left."""

    name = "linucb"

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        self.slots: tuple[dict[str, int], dict[str, int]] = ({}, {})
        names = [candidate.id for candidate in setting.candidates]
        module = require("mabwiser.mab", self.name)
        self.bandit = module.MAB(names, self._policy(module.LearningPolicy), seed=setting.seed)
        warm = setting.warm
        if warm is None or not warm.tasks:
            nothing = np.zeros((len(names), 1 + 2 * SLOTS))
            self.bandit.fit(names, [0.0] * len(names), nothing)  # a pull of nothing teaches nothing
            return
        contexts = self._features(zip(warm.dimensions, warm.languages, strict=True))
        rows, columns = np.nonzero(warm.available)
        rewards = warm.score[rows, columns] - COST_WEIGHT * warm.cost[rows, columns]
        self.bandit.fit([warm.models[column] for column in columns], rewards, contexts[rows])

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        if not there:
            return None
        expected = self.bandit.predict_expectations(self._features([(context.dimension, context.language)]))
        return self.pick(max(there, key=lambda name: float(expected[name])))

    def learn(self, context: Context, outcome: Outcome) -> None:
        features = self._features([(context.dimension, context.language)])
        reward = outcome.passed - COST_WEIGHT * outcome.cost_usd
        self.bandit.partial_fit([outcome.candidate], [reward], features)

    def _policy(self, policies: Any) -> Any:
        return policies.LinUCB(alpha=1.0, l2_lambda=1.0)

    def _features(self, tasks: Iterable[tuple[str, str]]) -> Numbers:
        """N x 33 numbers, 0 or 1, of N tasks' dimensions and languages."""
        rows = []
        for task in tasks:
            row = np.zeros(1 + 2 * SLOTS)
            row[0] = 1.0
            for place, (label, slots) in enumerate(zip(task, self.slots, strict=True)):
                slot = slots.setdefault(label, min(len(slots), SLOTS - 1))
                row[1 + place * SLOTS + slot] = 1.0
            rows.append(row)
        return np.array(rows)


class LinTs(LinUcb):
    """Linear Thompson sampling, v = 0.5, lambda = 1.

    Source: Agrawal and Goyal (ICML 2013); otherwise as `LinUcb`. The propensity is not known in closed form
    and is given as 1."""

    name = "lints"

    def _policy(self, policies: Any) -> Any:
        return policies.LinTS(alpha=0.5, l2_lambda=1.0)
