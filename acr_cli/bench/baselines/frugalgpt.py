"""FrugalGPT: the cascade of at most three models that is most often right within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from acr_cli.bench.baselines.warm import amount, column_means, warm_rows
from acr_cli.bench.ladders import Flags, attempts_allowed, ladders
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.bench.replay import PASSES, Rules, Verifier
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context

LENGTH = 3
LAMS = (0.0, 0.1, 1.0, 10.0, 100.0)  # of the beams, where there are too many models for all lists


class FrugalGpt(Baseline):
    """One list of models for all tasks, fitted on the warm rows: most score for at most `budget` USD a task.

    Source: Chen, Zaharia and Zou (2023), section 3, "LLM cascade": choose the list of m = 3 models and the
    thresholds that maximise the expected score subject to the expected cost. Without `budget` it is what
    the best single model costs, the setting in which the paper compares the two. Exact: the optimisation,
    over all lists. Adapted: the scorer that reads an answer is the verdict here. With two values a
    threshold can only say whether a rejected answer is good enough to stop at, and a list that stops there
    is a shorter list: the thresholds are searched with the lists. Of rejected answers the one that is most
    often right in spite of it is handed in, as counted on the warm rows."""

    name = "frugalgpt"

    def __init__(self, budget: float | str | None = None) -> None:
        self.budget = None if budget is None else amount(budget)

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        rules = Rules(false_accept=setting.false_accept, false_reject=setting.false_reject)
        passed = Verifier(warm, rules, setting.seed).passed
        longest = min(LENGTH, setting.attempts)
        found = ladders(warm, passed, longest, lams=LAMS, limits=attempts_allowed(warm, longest))
        order = found.best_within(self._budget(warm) * warm.tasks)
        cheapest = int(np.argmin(column_means(warm.cost)))
        self.order = [warm.models[column] for column in order or (cheapest,)]
        self.scorer = dict(zip(warm.models, _right_though_rejected(warm, passed), strict=True))

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        return next((self.pick(name) for name in self.order if name in there), None)

    def answer(self, context: Context) -> str:
        return max(reversed(context.failed), key=lambda name: self.scorer[name])

    def _budget(self, warm: Matrix) -> float:
        if self.budget is not None:
            return self.budget
        return float(column_means(warm.cost)[int(np.argmax(column_means(warm.score)))]) * (1 + 1e-9)


def _right_though_rejected(warm: Matrix, passed: Flags) -> list[float]:
    """M chances that a rejected answer is right; 0 where none was rejected."""
    rejected = warm.available & ~passed
    right = (rejected & (warm.score >= PASSES)).sum(axis=0)
    chances: list[float] = (right / np.maximum(rejected.sum(axis=0), 1)).tolist()
    return chances
