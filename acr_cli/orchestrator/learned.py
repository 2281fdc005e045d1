"""`learned`: who is likely to solve the step, what that costs, and whom to try while it pays.

1. Chance and price of every candidate (`forecaster`): a latent trait model of own outcomes, with the other
   voters mixed in by weights that are learned.
2. The best way through the candidates, stopping included (`sequence`), with abilities raised by what it is
   worth to know more of them: the index of Brezzi and Lai (2002), which approximates that of Gittins.
3. With a small probability another candidate than the best, in proportion to the probability that it is in
   truth the better one (probability matching, Thompson 1933).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from acr_cli.orchestrator.experience import seen
from acr_cli.orchestrator.forecaster import STRENGTH, Z90, Forecaster, Outlook
from acr_cli.orchestrator.mistakes import Mistakes, usual
from acr_cli.orchestrator.prior import Rates, published_rate
from acr_cli.orchestrator.sequence import DIGITS, Lots, Programme, moved, programme, promising
from acr_cli.orchestrator.trait import Indexes, Numbers, difficulty, scale
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Choice, Context, Forecast, Rung

VALUE_OF_SUCCESS = 1.0
"""USD: what a verified fix is worth."""

_HORIZON = 300.0  # tasks that are expected to come, at least; else as many as have been


@dataclass(frozen=True, kw_only=True, eq=False)
class _Way:
    """The sequential rule on the candidates that it was run on, by their places among all."""

    places: Indexes  # of who has not failed
    solution: Programme

    def gains(self, count: int) -> Numbers:
        """C, USD: of trying each next; -inf for who cannot be."""
        gains = np.full(count, -np.inf)
        gains[self.places] = self.solution.gain[0].round(DIGITS)
        return gains


class Learned:
    """Implements `protocols.Policy`.

    `mistakes` gives the rates of a kind of verifier, `rates` what is expected of candidates beforehand;
    values are in USD. Going on after a failure ends when no candidate is worth its price any more; a step's
    first attempt is always made."""

    name = "learned"

    def __init__(
        self,
        voters: Sequence[Voter] = (),
        *,
        exploration: float,
        value_of_success: float = VALUE_OF_SUCCESS,
        value_of_hour: float = 0.0,
        mistakes: Callable[[str], Mistakes] = usual,
        rates: Rates = published_rate,
    ) -> None:
        self._forecaster = Forecaster(voters, mistakes=mistakes, rates=rates, value_of_hour=value_of_hour)
        self._exploration = exploration
        self._value = value_of_success

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        if not candidates or not context.attempts:
            return None
        outlook = self._forecaster.outlook(context, candidates)
        way = self._way(context, outlook, _bonus(outlook))
        gains = way.gains(len(candidates))
        best = int(gains.argmax())
        stops = way.solution.value[0] > gains[best] + 10**-DIGITS
        if gains[best] == -np.inf or (stops and context.failed):
            return None
        chances = self._propensities(outlook, gains, best)
        place = best if rng is None else _drawn(chances, rng)
        forecasts = _forecasts(context, outlook, gains)
        chosen = next(f for f in forecasts if f.candidate == outlook.names[place])
        return Choice(
            candidate=chosen.candidate,
            propensity=float(chances[place]),
            policy=self.name,
            reason=_reason(context, chosen, forecasts, self._value, explored=place != best),
            explored=place != best,
            forecasts=forecasts,
            neighbours=context.neighbours,
            ladder=_ladder(outlook, way, place),
        )

    def answer(self, context: Context, candidates: Sequence[Candidate]) -> str:
        """Which of `context.failed` (not empty) to hand in, if one of them must be: the likeliest to be right
        all the same. Pure."""
        if len(context.failed) == 1:
            return context.failed[0]
        outlook = self._forecaster.outlook(context, candidates)
        solves = dict(zip(outlook.names, outlook.trait.marginal(), strict=False))
        worth = dict(zip(outlook.names, self._consolation(outlook), strict=True))
        return max(context.failed, key=lambda name: (worth.get(name, 0.0), solves.get(name, -np.inf)))

    def _way(self, context: Context, outlook: Outlook, bonus: Numbers) -> _Way:
        there = np.array([name not in context.unavailable for name in outlook.names])
        failed = np.array([name in context.failed for name in outlook.names])
        passed, _ = outlook.partial
        worth = self._value * passed
        open_ = np.flatnonzero(there & ~failed)
        kept = open_[promising(outlook.chance[open_], outlook.price[open_], worth[open_])]
        trait = outlook.trait.of(np.arange(len(failed)), bonus)
        solves = trait.solves()
        passes = trait.passes(solves)
        consolation = self._consolation(outlook)
        lots = Lots(
            passes=passes[kept],
            proves=solves[kept] * (1 - trait.false_reject),
            price=outlook.price[kept],
            worth=worth[kept],
            consolation=consolation[kept],
            nodes=difficulty(passes, failed[None].astype(np.float64))[0],
            fallback=float(consolation[failed].max(initial=0.0)),
            opinion=outlook.opinion[kept],
        )
        names = [outlook.names[place] for place in kept]
        gone = frozenset(name for name, is_so in zip(outlook.names, failed, strict=True) if is_so)
        known = tuple(seen(patterns, names, STRENGTH, gone) for patterns in outlook.patterns if patterns)
        return _Way(places=kept, solution=programme(lots, context.attempts, known))

    def _consolation(self, outlook: Outlook) -> Numbers:
        """C, USD: what handing in a rejected attempt is worth: it may be right, or half right."""
        trait = outlook.trait.of(np.arange(len(outlook.names)))
        chance = 1 / (1 + np.exp(-trait.marginal()))
        wrongly = chance * trait.false_reject
        rightly = (1 - chance) * (1 - trait.false_accept)
        _, partial = outlook.partial
        worth: Numbers = self._value * np.maximum(partial, wrongly / np.maximum(wrongly + rightly, 1e-9))
        return worth

    def _propensities(self, outlook: Outlook, gains: Numbers, best: int) -> Numbers:
        """C: how likely each is to be chosen."""
        there = np.isfinite(gains)
        gap = np.where(there, gains[best] - gains, np.inf)
        error = self._value * (outlook.high - outlook.low) / (2 * Z90)
        better = _normal(-gap / np.maximum(np.hypot(error, error[best]), 1e-9))
        chances: Numbers = 2 * better * self._exploration / there.sum()
        chances[best] = 0.0
        chances[best] = 1 - chances.sum()
        return chances


def _bonus(outlook: Outlook) -> Numbers:
    """C: by how many logits ability is raised for what there is to learn (Brezzi and Lai 2002)."""
    trait, count = outlook.trait, len(outlook.names)
    error = trait.error[:count]
    chance = 1 / (1 + np.exp(-trait.marginal()[:count]))
    variance = (error / scale(trait.spread)) ** 2 * chance * (1 - chance)  # in outcomes: of one is 1
    bonus: Numbers = _psi(max(_HORIZON, outlook.tasks) * variance) * error
    return bonus


def _psi(s: Numbers) -> Numbers:
    """The approximation of the boundary of optimal stopping by Brezzi and Lai (2002)."""
    s = np.maximum(s, 1e-9)
    root, log = np.sqrt(s), np.log(np.maximum(s, 1.2))
    far = np.sqrt(np.maximum(2 * log - np.log(np.maximum(log, 0.1)) - np.log(16 * np.pi), 0.01))
    steps = [s <= 0.2, s <= 1, s <= 5, s <= 15]
    values = [np.sqrt(s / 2), 0.49 - 0.11 / root, 0.63 - 0.26 / root, 0.77 - 0.58 / root]
    found: Numbers = np.select(steps, values, far)
    return found


def _normal(x: Numbers) -> Numbers:
    """The distribution function of the standard normal, by its logistic approximation (Bowling 2009)."""
    x = np.clip(x, -9, 9)
    chance: Numbers = 1 / (1 + np.exp(-0.07056 * x**3 - 1.5976 * x))
    return chance


def _drawn(chances: Numbers, rng: Random) -> int:
    point, total = rng.random(), 0.0
    for place, chance in enumerate(chances):
        total += chance
        if point < total:
            return place
    return int(chances.argmax())


def _forecasts(context: Context, outlook: Outlook, gains: Numbers) -> tuple[Forecast, ...]:
    """All candidates, best first; those that failed or broke come last."""
    gone = {*context.failed, *context.unavailable}
    least = float(gains.min(initial=0.0, where=np.isfinite(gains)))  # of whom the rule was not run on
    found = [
        Forecast(
            candidate=name,
            p_success=0.0 if name in context.failed else float(outlook.chance[place]),
            p_low=0.0 if name in context.failed else float(outlook.low[place]),
            p_high=0.0 if name in context.failed else float(outlook.high[place]),
            cost_usd=outlook.cost[place],
            score=float(gains[place]) if np.isfinite(gains[place]) else least,
            votes=tuple(outlook.votes[name].values()),
            note=outlook.notes[place],
        )
        for place, name in enumerate(outlook.names)
    ]
    return tuple(sorted(found, key=lambda f: (f.candidate in gone, -f.score)))


def _ladder(outlook: Outlook, way: _Way, first: int) -> tuple[Rung, ...]:
    """Who comes next after each failure, with what is expected of them once they did fail."""
    count = len(outlook.names)
    trait = outlook.trait.of(np.arange(count))
    passes = trait.passes(trait.solves())
    rungs: list[Rung] = []
    failed, missed, cost = 0, 1.0, 0.0
    place: int | None = first
    weights = outlook.nodes.copy()
    while place is not None:
        chance = float(outlook.chance[place])
        if rungs:
            chance = float(moved(weights @ passes[place], outlook.opinion[place]))
        cost += missed * (outlook.cost[place] or 0.0)
        missed *= 1 - chance
        rungs.append(Rung(candidate=outlook.names[place], p_cumulative=1 - missed, cost_cumulative_usd=cost))
        weights *= 1 - np.minimum(passes[place], 1 - 1e-9)
        weights /= weights.sum()
        found = np.flatnonzero(way.places == place)
        if not len(found):
            break
        failed |= 1 << int(found[0])
        following = way.solution.best(failed)
        place = None if following is None else int(way.places[following])
    return tuple(rungs)


def _reason(
    context: Context, chosen: Forecast, forecasts: Sequence[Forecast], value: float, *, explored: bool
) -> str:
    """One sentence of why this candidate and not the best of the others."""
    gone = {*context.failed, *context.unavailable, chosen.candidate}
    others = [f for f in forecasts if f.candidate not in gone]
    prefix = f"after {' and '.join(context.failed)} failed, " if context.failed else ""
    if not others:
        return f"{prefix}the only candidate that is left" if prefix else "the only candidate"
    if explored:
        return f"{prefix}drawn at random to learn more about it ({_expected(chosen)})"
    rival = max(others, key=lambda f: f.score)
    now, instead = (f.p_success * value - (f.cost_usd or 0) for f in (chosen, rival))
    why = "best value"
    if now < instead:  # by this attempt alone; what follows, time and learning decide otherwise
        cheap = (chosen.cost_usd or 0) < (rival.cost_usd or 0)
        why = (
            "cheap enough to go first" if cheap else "worth most with time, false passes and learning counted"
        )
    return f"{prefix}{why}: {_expected(chosen)}; second best {rival.candidate}: {_expected(rival)}"


def _expected(forecast: Forecast) -> str:
    return f"{100 * forecast.p_success:.0f} % for {_money(forecast.cost_usd)}"


def _money(usd: float | None) -> str:
    """With two digits that count."""
    if usd is None:
        return "an unknown cost"
    if usd < 5e-7:
        return "$0"
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.{1 - math.floor(math.log10(usd))}f}".rstrip("0")
