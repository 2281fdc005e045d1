"""AutoMix: the smallest model first, then, from its verification, whether a larger one is worth its price."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from acr_cli.bench.baselines.warm import Numbers, amount, column_means, warm_rows
from acr_cli.bench.ladders import Flags, Indexes, attempts_allowed
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.bench.replay import Rules, Verifier
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context

LEAST = 10  # warm rows that a belief rests on; with fewer the answer at hand is kept

State = tuple[int, ...]  # places of the rejected models, by size


class AutoMix(Baseline):
    """A decision process over verifications, solved on the warm rows; `lam` is in score per USD.

    Source: Aggarwal, Madaan et al. (NeurIPS 2024), the POMDP router for two or more models. Exact: the
    smallest model answers first; only verifications are looked at, never the question; an action reports
    the answer at hand or asks any larger model, smaller ones in between being passed over; the actions
    maximise expected score - lam x cost. Adapted: size is the mean cost of the warm rows; verification is
    the verdict instead of the model's own reading of its answer, so that the belief about who can solve a
    task is the share of warm rows with the same rejections, and backward induction takes the place of a
    sampled solver."""

    name = "automix"

    def __init__(self, lam: float | str = 1.0) -> None:
        self.lam = amount(lam)

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        rules = Rules(false_accept=setting.false_accept, false_reject=setting.false_reject)
        self.by_size = np.argsort(column_means(warm.cost), kind="stable")
        self.names = [warm.models[column] for column in self.by_size]
        passed = Verifier(warm, rules, setting.seed).passed[:, self.by_size]
        process = _Process(warm, self.by_size, passed, attempts_allowed(warm, setting.attempts), self.lam)
        for first in range(len(self.names)):
            process.solve((first,), process.rejected(np.arange(warm.tasks), first))
        self.next = process.next

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        by_size = [name for name in self.names if name in there]
        if not context.failed:
            return self.pick(by_size[0]) if by_size else None
        state = tuple(self.names.index(name) for name in context.failed)
        following = self.next.get(state)
        if following is None:
            return None
        return next((self.pick(name) for name in self.names[following:] if name in there), None)


class _Process:
    """The actions after each sequence of rejections, the models numbered by size."""

    def __init__(
        self, warm: Matrix, by_size: NDArray[np.intp], passed: Flags, limits: Indexes, lam: float
    ) -> None:
        self.score: Numbers = np.nan_to_num(warm.score[:, by_size])
        self.price: Numbers = lam * np.nan_to_num(warm.cost[:, by_size])
        self.there = warm.available[:, by_size]
        self.passed = passed
        self.limits = limits
        self.next: dict[State, int] = {}

    def rejected(self, rows: Indexes, model: int) -> Indexes:
        """Those of these rows where this model was tried and rejected."""
        kept: Indexes = rows[self.there[rows, model] & ~self.passed[rows, model]]
        return kept

    def solve(self, state: State, rows: Indexes) -> float:
        """The value of these rows, all of them rejected so far as `state` says; keeps the best actions."""
        last = state[-1]
        best = float(self.score[rows, last].sum())
        open_rows = rows[self.limits[rows] > len(state)]
        if len(open_rows) < LEAST:
            return best
        closed = best - float(self.score[open_rows, last].sum())
        for model in range(last + 1, self.score.shape[1]):
            asked = open_rows[self.there[open_rows, model]]
            missing = open_rows[~self.there[open_rows, model]]
            accepted = asked[self.passed[asked, model]]
            value = closed + float(self.score[missing, last].sum()) - float(self.price[asked, model].sum())
            value += float(self.score[accepted, model].sum())
            value += self.solve((*state, model), self.rejected(open_rows, model))
            if value > best:
                best, self.next[state] = value, model
        return best
