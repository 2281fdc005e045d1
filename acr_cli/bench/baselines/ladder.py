"""The fixed ladder of each dimension, fitted on the warm rows under the rules of the replay."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from acr_cli.bench.baselines.warm import amount, rows_by, warm_rows
from acr_cli.bench.ladders import Flags, ladders
from acr_cli.bench.player import Baseline, Setting, left
from acr_cli.bench.replay import Rules, Verifier
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context


class Ladder(Baseline):
    """By dimension the order of candidates that maximises score - lam x cost on the warm rows.

    Every order of at most as many candidates as there are attempts is looked at (see `bench.ladders`), a
    shorter one stops earlier. The verdicts on the warm rows err at the rates that the user states for the
    stream. Tasks that allow one attempt get the best single candidate. An unknown dimension gets the ladder
    of all rows. `lam` is in score per USD; a curve is drawn by its values."""

    name = "ladder"

    def __init__(self, lam: float | str = 1.0) -> None:
        self.lam = amount(lam)

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        warm = warm_rows(setting, self.name)
        rules = Rules(false_accept=setting.false_accept, false_reject=setting.false_reject)
        passed = Verifier(warm, rules, setting.seed).passed
        self.overall = self._fit(warm, passed)
        self.fitted = {
            label: self._fit(warm.take(rows), passed[rows])
            for label, rows in rows_by(warm.dimensions).items()
        }

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random) -> Choice | None:
        there = left(context, candidates)
        single = context.attempts + len(context.failed) == 1
        order = self.fitted.get(context.dimension, self.overall)[1 if single else self.setting.attempts]
        return next((self.pick(name) for name in order if name in there), None)

    def _fit(self, warm: Matrix, passed: Flags) -> dict[int, list[str]]:
        """By number of attempts, the ids of the best order."""
        found = {
            attempts: ladders(warm, passed, attempts, lams=(self.lam,)).best(self.lam)
            for attempts in {1, self.setting.attempts}
        }
        return {attempts: [warm.models[column] for column in order] for attempts, order in found.items()}
