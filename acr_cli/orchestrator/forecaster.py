"""What is expected of each candidate at a step: its chance, by all voters, and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from acr_cli.orchestrator.cost import Costs, Spending
from acr_cli.orchestrator.experience import Cell, Experience, Pattern, evidence, named
from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.prior import Rates, plain_name
from acr_cli.orchestrator.sequence import moved
from acr_cli.orchestrator.trait import WEIGHTS, Beliefs, Indexes, Numbers, Trait, difficulty, fit, scale
from acr_cli.orchestrator.weights import starts, weights
from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Context, Tally, Vote

TRAIT = "trait"

STRENGTH = 20.0
"""How many outcomes of exactly a situation the trait's expectation of it is worth."""

_BETWEEN = 0.8  # standard deviation of abilities between candidates, marginal logits
_KIN = 0.3  # between efforts and endpoints of one model
_LANGUAGE = 0.2  # of a candidate between languages of a dimension
_ENOUGH = 0.8  # share of a dimension's tasks from which one language is all of it
_UNKNOWN_COST = 0.1  # of the others' mean, for a candidate whose cost nobody knows: find out
_SCORES = 5.0  # how many outcomes what is common to all scores is worth
Z90 = 1.645
"""Half-width of a 90 % interval, in standard deviations."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """C candidates in their order; the trait is over them and, after them, all others with outcomes here."""

    names: tuple[str, ...]  # C
    trait: Trait
    nodes: Numbers  # how likely each difficulty is, after what has failed on the step
    patterns: tuple[Sequence[Pattern], ...]  # the dimension's, then the language's
    tasks: float  # that were begun in this dimension
    votes: Mapping[str, Mapping[str, Vote]]  # by candidate and voter, after what has failed on the step
    chance: Numbers  # C: that the verifier passes it, all voters together
    low: Numbers  # C, 90 % interval
    high: Numbers
    opinion: Numbers  # C: what the other voters make of the trait's chance, in logits more
    notes: tuple[str, ...]  # C: where its prior comes from, for people
    cost: tuple[float | None, ...]  # C, USD
    price: Numbers  # C, USD, with time
    partial: tuple[Numbers, Numbers]  # C: what a passed and a failed attempt score


class Forecaster:
    """A pure function of context and candidates, but for what it keeps of the last tallies to be quick."""

    def __init__(
        self,
        voters: Sequence[Voter],
        *,
        mistakes: Callable[[str], Mistakes],
        rates: Rates,
        value_of_hour: float = 0.0,
    ) -> None:
        self._voters = voters
        self._mistakes = mistakes
        self._rates = rates
        self._per_second = value_of_hour / 3600
        self._start = starts(voters)
        self._experience = Experience()
        self._fits: dict[object, tuple[object, Trait]] = {}

    def outlook(self, context: Context, candidates: Sequence[Candidate]) -> Outlook:
        self._experience.look(context.tallies)
        whole = self._experience.dimension(context.dimension)
        here = self._experience.cell(context.dimension, context.language)
        costs = Costs(context, _spending(whole), _spending(here))
        price = self._prices(costs, candidates)
        trait, patterns = self._trait(context, candidates, whole, here)
        nodes = _after(context, trait)
        cells = (whole, here)[: len(patterns)]
        own = _corrected(_chance(trait, nodes, len(candidates)), context, candidates, cells)
        records = whole.kept("records", lambda: _records(patterns[0]))
        votes = self._votes(context, candidates, own, trait, records)
        chance = np.array([_mixed(votes[c.id].values()) for c in candidates])
        opinion = _logit(chance) - _logit(own)
        low, high = (moved(_chance(trait, nodes, len(candidates), z), opinion) for z in (-Z90, Z90))
        ids = tuple(c.id for c in candidates)
        return Outlook(
            names=ids,
            trait=trait,
            nodes=nodes,
            patterns=patterns,
            tasks=whole.tasks,
            votes=votes,
            chance=chance,
            low=np.minimum(low, chance),
            high=np.maximum(high, chance),
            opinion=opinion,
            notes=tuple(self._rates(c, context.dimension).note for c in candidates),
            cost=tuple(costs.usd(c) for c in candidates),
            price=price,
            partial=_partial(whole, here, ids),
        )

    # --- ability ----------------------------------------------------------------------------------

    def _trait(
        self, context: Context, candidates: Sequence[Candidate], whole: Cell, here: Cell
    ) -> tuple[Trait, tuple[Sequence[Pattern], ...]]:
        """The posterior for dimension and language, and the patterns of both; of the dimension alone, where
        the language is nearly all of it."""
        patterns = whole.patterns()
        names = tuple(dict.fromkeys([*(c.id for c in candidates), *named(patterns)]))
        mistakes = self._mistakes(context.verifier)
        beliefs = _beliefs(_all(names, candidates), context.dimension, self._rates)
        version = (self._experience.version(context.dimension), names, beliefs.mean.tobytes(), mistakes)
        shown = partial(evidence, names=names, accepts=mistakes.accepts(names), rejects=mistakes.false_reject)
        trait = self._kept(context.dimension, version, lambda: fit(shown(patterns), beliefs))
        if not context.language or not here or here.tasks >= _ENOUGH * whole.tasks:
            return trait, (patterns,)
        local = here.patterns()
        narrower = Beliefs(
            mean=trait.marginal(),
            spread=_LANGUAGE,
            kin=np.arange(len(names)),
            among_kin=_LANGUAGE,
            doubt=trait.error,
        )
        cell = (context.dimension, context.language)
        trait = self._kept(cell, version, lambda: fit(shown(local), narrower, trait.spread))
        return trait, (patterns, local)

    def _kept(self, key: object, version: object, make: Callable[[], Trait]) -> Trait:
        kept = self._fits.get(key)
        if kept is None or kept[0] != version:
            kept = self._fits[key] = (version, make())
        return kept[1]

    # --- votes and prices -------------------------------------------------------------------------

    def _votes(
        self,
        context: Context,
        candidates: Sequence[Candidate],
        own: Numbers,
        trait: Trait,
        records: Mapping[str, str],
    ) -> dict[str, dict[str, Vote]]:
        """By candidate and voter; each voter's opinion as it is after what has failed on the step."""
        shares = weights([TRAIT, *(v.name for v in self._voters)], self._experience.gains(), self._start)
        votes: dict[str, dict[str, Vote]] = {c.id: {} for c in candidates}
        for candidate, chance in zip(candidates, own, strict=True):
            note = records.get(candidate.id, "no outcome here yet")
            votes[candidate.id][TRAIT] = Vote(
                voter=TRAIT, value=float(chance), weight=shares[TRAIT], note=note
            )
        nodes = _after(context, trait)
        for voter in self._voters:
            for name, vote in voter.vote(context, candidates).items():
                value = vote.value if not context.failed else _conditional(vote.value, trait, nodes)
                votes[name][voter.name] = replace(vote, value=value, weight=shares[voter.name])
        return votes

    def _prices(self, costs: Costs, candidates: Sequence[Candidate]) -> Numbers:
        """C, USD: a candidate whose price nobody knows counts as a cheap one, so that somebody finds out."""
        prices = [costs.price(candidate, self._per_second) for candidate in candidates]
        known = [price for price in prices if price is not None]
        guess = _UNKNOWN_COST * sum(known) / len(known) if known else 0.0
        return np.array([guess if price is None else price for price in prices])


def adjusted_success(
    tallies: tuple[Tally, ...], *, mistakes: Callable[[str], Mistakes], rates: Rates
) -> dict[str, tuple[float, float, float]]:
    """By candidate, the chance to solve a task of those that were begun here, and its 90 % interval, each in
    [0, 1]: a raw success rate is too low for who was only asked after others had failed. Pure."""
    experience = Experience()
    experience.look(tallies)
    total: dict[str, list[float]] = {}
    for dimension in dict.fromkeys(t.dimension for t in tallies):
        whole = experience.dimension(dimension)
        patterns = whole.patterns()
        if not patterns:  # nothing was verified here
            continue
        names = named(patterns)
        beliefs = _beliefs(_all(names, ()), dimension, rates)
        known = mistakes("tests")
        shown = evidence(patterns, names=names, accepts=known.accepts(names), rejects=known.false_reject)
        trait = fit(shown, beliefs)
        chances = [_chance(trait, WEIGHTS, len(names), z) for z in (0.0, -Z90, Z90)]
        for place, name in enumerate(names):
            sums = total.setdefault(name, [0.0] * 4)
            sums[0] += whole.tasks
            for index, chance in enumerate(chances, start=1):
                sums[index] += whole.tasks * float(chance[place])
    return {
        name: (mean / tasks, low / tasks, high / tasks)
        for name, (tasks, mean, low, high) in total.items()
        if tasks
    }


def _all(names: Sequence[str], candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of these names; of those that are not in the pool all that is known is the name."""
    known = {c.id: c for c in candidates}
    return [known.get(name) or Candidate(id=name, backend="", model=name) for name in names]


def _beliefs(candidates: Sequence[Candidate], dimension: str, rates: Rates) -> Beliefs:
    """What is published of each, and nothing else: what a candidate costs says nothing of its ability. Where
    it did, a dear one that was tried, whose cost is known by then, would look abler than an untried one."""
    published = np.array([rates(candidate, dimension).value for candidate in candidates])
    return Beliefs(mean=_logit(published), spread=_BETWEEN, kin=_kin(candidates), among_kin=_KIN)


def _kin(candidates: Sequence[Candidate]) -> Indexes:
    """The same number for efforts and endpoints of one model."""
    names = [plain_name((c.model or c.id).split("@")[0]) for c in candidates]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] for name in names])


def _after(context: Context, trait: Trait) -> Numbers:
    """Nodes: how difficult the task is, once these have failed."""
    marked = np.array([[1.0 if name in context.failed else 0.0 for name in trait.names]])
    nodes: Numbers = difficulty(trait.passes(trait.solves()), marked)[0]
    return nodes


def _chance(trait: Trait, nodes: Numbers, count: int, errors: float = 0.0) -> Numbers:
    """That each of the first `count` passes at these difficulties; abilities shifted by standard errors.
    Pure."""
    shifted = trait.of(np.arange(count), errors * trait.error[:count])
    chance: Numbers = np.clip(shifted.passes(shifted.solves()) @ nodes, 1e-4, 1 - 1e-4)
    return chance


def _corrected(
    chance: Numbers,
    context: Context,
    candidates: Sequence[Candidate],
    cells: Sequence[Cell],
) -> Numbers:
    """Drawn to what became of exactly this situation, in dimension and language. Pure."""
    chance = chance.copy()
    situation = tuple(sorted(context.failed))
    place = {c.id: index for index, c in enumerate(candidates)}
    for cell in cells:
        for pattern in cell.after(situation):
            if pattern.candidate in place:
                index, total = place[pattern.candidate], STRENGTH + pattern.passed + pattern.failed
                chance[index] = (STRENGTH * chance[index] + pattern.passed) / total
    return chance


def _conditional(chance: float, trait: Trait, nodes: Numbers) -> float:
    """What an opinion on a task that nothing is known of says at these difficulties. Pure."""
    ability = _logit(np.array([chance])) * scale(trait.spread)
    right = replace(trait, ability=ability, error=np.zeros(1), false_accept=np.zeros(1))
    return float((right.solves() @ nodes)[0])


def _mixed(votes: Iterable[Vote]) -> float:
    """The mean by weight of those who have voted. Pure."""
    total = weight = 0.0
    for vote in votes:
        total += vote.weight * vote.value
        weight += vote.weight
    return min(max(total / weight, 1e-4), 1 - 1e-4)


def _partial(whole: Cell, here: Cell, names: Sequence[str]) -> tuple[Numbers, Numbers]:
    """C, each: what a passed and a failed attempt score, where scores are known; else 1 and 0. Pure."""
    passed, failed = np.ones(len(names)), np.zeros(len(names))
    everywhere = whole.scored()
    if everywhere:
        for cell in (everywhere, here.scored()):
            passed = _mean(cell, names, "u_passed", "passed", None if cell is everywhere else passed)
            failed = _mean(cell, names, "u_failed", "failed", None if cell is everywhere else failed)
    return passed, failed


def _mean(cell: Cell, names: Sequence[str], total: str, count: str, prior: Numbers | None) -> Numbers:
    """C: sum over number, drawn to the prior, which is the mean of all where none is given. Pure."""
    sums, numbers = cell.sums(names, total), cell.sums(names, count)
    if prior is None:
        prior = np.full(len(names), sums.sum() / max(numbers.sum(), 1.0))
    mean: Numbers = (sums + _SCORES * prior) / (numbers + _SCORES)
    return mean


def _spending(cell: Cell) -> Spending:
    return cell.kept("spending", lambda: Spending(cell.tallies.values()))


def _records(patterns: Sequence[Pattern]) -> dict[str, str]:
    """By candidate, for people: what it has to show. Pure."""
    totals: dict[str, list[float]] = {}
    for pattern in patterns:
        total = totals.setdefault(pattern.candidate, [0.0, 0.0, 0.0])
        total[0] += pattern.passed
        total[1] += pattern.passed + pattern.failed
        total[2] += (pattern.passed + pattern.failed) * bool(pattern.after)
    return {
        name: f"solved {passed:.4g} of {tried:.4g}"
        + (f", {late:.4g} after others had failed" if late else "")
        for name, (passed, tried, late) in totals.items()
    }


def _logit(chance: Numbers) -> Numbers:
    bounded = np.clip(chance, 1e-3, 1 - 1e-3)
    logit: Numbers = np.log(bounded / (1 - bounded))
    return logit
