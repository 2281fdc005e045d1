"""The cheapest first, on to the next dearer one after each rejection."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from acr_cli.bench.baselines.warm import column_means
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.records import Candidate, Choice, Context, Outcome

TOKENS = 1000  # in, and as many out: a try of whose size nothing is known


class Cascade(Baseline):
    """Cheapest first by mean cost: of the warm rows if there are any and of its own tries, else as priced.

    A candidate of whose cost nothing is known comes first, once, which shows it. A price per token is
    multiplied by as many tokens as the tries with such a price have cost so far."""

    name = "cascade"

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        self.paid = {candidate.id: 0.0 for candidate in setting.candidates}
        self.tried = dict.fromkeys(self.paid, 0)
        self.attempt = {c.id: c.price.per_attempt for c in setting.candidates}
        self.rate = {c.id: _rate(c) for c in setting.candidates}
        if (warm := setting.warm) is not None:
            known = (~np.isnan(warm.cost)).sum(axis=0)
            for name, mean, count in zip(warm.models, column_means(warm.cost), known, strict=True):
                self.paid[name], self.tried[name] = float(mean * count), int(count)

    def learn(self, context: Context, outcome: Outcome) -> None:
        self.paid[outcome.candidate] += outcome.cost_usd
        self.tried[outcome.candidate] += 1

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        return self.pick(min(there, key=self._cost)) if there else None

    def _cost(self, name: str) -> float:
        """USD that a try is expected to cost; -1 where nothing is known."""
        if self.tried[name]:
            return self.paid[name] / self.tried[name]
        if (attempt := self.attempt[name]) is not None:
            return attempt
        if (rate := self.rate[name]) is not None:
            return rate * self._tokens()
        return -1.0

    def _tokens(self) -> float:
        """Tokens of a try, in and out each, as the costs seen so far imply."""
        seen = [(n, self.tried[n]) for n, rate in self.rate.items() if rate and self.tried[n]]
        listed = sum((self.rate[name] or 0.0) * tried for name, tried in seen)
        return sum(self.paid[name] for name, _ in seen) / listed if listed else TOKENS


def _rate(candidate: Candidate) -> float | None:
    """USD for one token in and one out; None without a price."""
    price = candidate.price
    return None if price.input is None or price.output is None else (price.input + price.output) / 1e6
