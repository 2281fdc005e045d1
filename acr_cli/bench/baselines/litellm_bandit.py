"""The adaptive router of litellm: its own classifier of prompts and Beta bandit, without its proxy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from typing import Any

from acr_cli.bench.baselines.cascade import Cascade
from acr_cli.bench.baselines.extra import require
from acr_cli.bench.player import Setting, left
from acr_cli.records import Candidate, Choice, Context, Outcome

_ROUTER = "litellm.router_strategy.adaptive_router"


class LitellmBandit(Cascade):
    """Thompson sampling by kind of request: 0.7 x the draw + 0.3 x cheapness, as litellm ships it.

    Source: `litellm.router_strategy.adaptive_router`, whose functions `classify_prompt`, `initial_cell`,
    `pick_best` and `apply_delta` are called as they are, with their constants (prior mass 10, at most 200
    observations a cell). Adapted: a verdict stands for what the router reads as a satisfied user or a
    failure, one observation each; the signs that it looks for in a conversation do not exist here. All
    models are of its middle tier, which is its default. Cheapness is of the list price where every
    candidate has one, else of the mean cost of warm rows and own tries. litellm's object around these
    functions is left out: its draws come from the process's own generator, and it wants an event loop and
    the proxy's data base. A second attempt is drawn among those that are left. The propensity is not known
    in closed form and is given as 1."""

    name = "litellm_bandit"

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        # Without these it fetches prices over the network and loads a .env file when it is imported.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        os.environ["LITELLM_MODE"] = "PRODUCTION"
        self.bandit = self._module(f"{_ROUTER}.bandit")
        self.classify = self._module(f"{_ROUTER}.classifier").classify_prompt
        types = self._module("litellm.types.router")
        middle = types.AdaptiveRouterPreferences(quality_tier=2, strengths=[])
        self.cells = {
            (kind, candidate.id): self.bandit.initial_cell(middle, kind)
            for kind in types.RequestType
            for candidate in setting.candidates
        }
        self.listed = None not in self.rate.values()

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        if not there:
            return None
        kind = self.classify(context.text)
        cells = {name: self.cells[kind, name] for name in there}
        return self.pick(self.bandit.pick_best(cells, {name: self._dear(name) for name in there}, rng=rng))

    def learn(self, context: Context, outcome: Outcome) -> None:
        super().learn(context, outcome)
        place = self.classify(context.text), outcome.candidate
        good, bad = float(outcome.passed), float(not outcome.passed)
        self.cells[place] = self.bandit.apply_delta(self.cells[place], good, bad)

    def _dear(self, name: str) -> float:
        return (self.rate[name] or 0.0) if self.listed else max(self._cost(name), 0.0)

    def _module(self, name: str) -> Any:
        return require(name, self.name, hint="pip install --upgrade acr-cli")
