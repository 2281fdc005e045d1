"""What is expected of each candidate at a step: its chance, by all voters, and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from acr_cli.orchestrator.cost import Costs
from acr_cli.orchestrator.experience import Cell, Experience, Pattern, evidence, named
from acr_cli.orchestrator.prior import Rates, plain_name
from acr_cli.orchestrator.trait import Beliefs, Numbers, Trait, difficulty, fit, scale
from acr_cli.orchestrator.weights import starts, weights
from acr_cli.protocols import Voter
from acr_cli.records import SCORES, Candidate, Context, Vote

TRAIT = "trait"

STRENGTH = 20.0
"""How many outcomes of exactly a situation the trait's expectation of it is worth."""

_BETWEEN = 0.8  # standard deviation of abilities between candidates, marginal logits
_KIN = 0.3  # between efforts and endpoints of one model
_LANGUAGE = 0.4  # of a candidate between languages of a dimension
_PRICE_SIGN = 0.15  # marginal logits of ability an e-fold of price, where nothing is published
_ENOUGH = 0.8  # share of a dimension's tasks from which one language is all of it
_UNKNOWN_COST = 0.1  # of the others' mean, for a candidate whose cost nobody knows: find out
_SCORES = 5.0  # how many outcomes what is common to all scores is worth
_Z90 = 1.645


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """How often the verifier is wrong: rates in [0, 1)."""

    false_accept: float = 0.0
    false_reject: float = 0.0
    by_candidate: Mapping[str, float] = field(default_factory=dict)  # false accepts that differ

    def accept(self, names: Sequence[str]) -> Numbers:
        return np.array([self.by_candidate.get(name, self.false_accept) for name in names])


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
    shift: Numbers  # C: of ability, in logits, by the voters beside the trait
    cost: tuple[float | None, ...]  # C, USD
    price: Numbers  # C, USD, with time
    partial: tuple[Numbers, Numbers]  # C: what a passed and a failed attempt score


class Forecaster:
    """A pure function of context and candidates, but for what it keeps of the last tallies to be quick."""

    def __init__(self, voters: Sequence[Voter], *, errors: Callable[[str], Errors], rates: Rates) -> None:
        self._voters = voters
        self._errors = errors
        self._rates = rates
        self._start = starts(voters)
        self._experience = Experience()
        self._fits: dict[object, tuple[object, Trait]] = {}

    def outlook(self, context: Context, candidates: Sequence[Candidate]) -> Outlook:
        self._experience.look(context.tallies)
        whole = self._experience.dimension(context.dimension)
        here = self._experience.cell(context.dimension, context.language)
        patterns = whole.patterns()
        names = tuple(dict.fromkeys([*(c.id for c in candidates), *named(patterns)]))
        costs = Costs(context, whole.tallies.values())
        price = _prices(costs, candidates)
        trait, local = self._trait(context, candidates, names, patterns, (whole, here), price)
        nodes = _after(context, trait, names)
        ids = [c.id for c in candidates]
        own = _chance(context, trait, ids, nodes, (patterns, local))
        votes = self._votes(context, candidates, trait, nodes, own, patterns)
        chance = np.array([_mixed(votes[c.id].values()) for c in candidates])
        shift = (_logit(chance) - _logit(own)) * scale(trait.spread)
        low, high = (_chance(context, trait, ids, nodes, (), shift, z) for z in (-_Z90, _Z90))
        return Outlook(
            names=tuple(ids),
            trait=trait,
            nodes=nodes,
            patterns=(patterns, local),
            tasks=whole.tasks,
            votes=votes,
            chance=chance,
            low=np.minimum(low, chance),
            high=np.maximum(high, chance),
            shift=shift,
            cost=tuple(costs.usd(c) for c in candidates),
            price=price,
            partial=_partial(whole, here, ids),
        )

    # --- ability ----------------------------------------------------------------------------------

    def _trait(
        self,
        context: Context,
        candidates: Sequence[Candidate],
        names: tuple[str, ...],
        patterns: Sequence[Pattern],
        cells: tuple[Cell, Cell],
        price: Numbers,
    ) -> tuple[Trait, Sequence[Pattern]]:
        """The posterior for dimension and language, and the language's patterns where it is not all of it."""
        whole, here = cells
        errors = self._errors(context.verifier)
        accept = errors.accept(names)
        beliefs = self._beliefs(context.dimension, candidates, names, price)
        version = (self._experience.version(context.dimension), names, beliefs.mean.tobytes(), errors)

        def of_dimension() -> Trait:
            return fit(evidence(patterns, names, accept, errors.false_reject), beliefs)

        trait = self._kept(context.dimension, version, of_dimension)
        if not context.language or not here or here.tasks >= _ENOUGH * whole.tasks:
            return trait, ()
        local = here.patterns()
        narrower = Beliefs(
            mean=trait.marginal(),
            spread=_LANGUAGE,
            kin=np.arange(len(names)),
            among_kin=_LANGUAGE,
            doubt=trait.error,
        )

        def of_language() -> Trait:
            return fit(evidence(local, names, accept, errors.false_reject), narrower, trait.spread)

        return self._kept((context.dimension, context.language), version, of_language), local

    def _kept(self, key: object, version: object, make: Callable[[], Trait]) -> Trait:
        kept = self._fits.get(key)
        if kept is None or kept[0] != version:
            kept = self._fits[key] = (version, make())
        return kept[1]

    def _beliefs(
        self, dimension: str, candidates: Sequence[Candidate], names: Sequence[str], price: Numbers
    ) -> Beliefs:
        """What is published of each; of whom nothing is, price tells a little."""
        known = {c.id: c for c in candidates}
        everybody = [known.get(name) or Candidate(id=name, backend="", model=name) for name in names]
        priors = [self._rates(candidate, dimension) for candidate in everybody]
        mean = _logit(np.array([prior.value for prior in priors]))
        strangers = [
            i for i, c in enumerate(candidates) if not priors[i].known and c.price.known and price[i]
        ]
        if strangers:
            logs = np.log(price[strangers])
            mean[strangers] += _PRICE_SIGN * (logs - logs.mean())
        kin = [plain_name((c.model or c.id).split("@")[0]) for c in everybody]
        order = {name: number for number, name in enumerate(dict.fromkeys(kin))}
        return Beliefs(
            mean=mean, spread=_BETWEEN, kin=np.array([order[name] for name in kin]), among_kin=_KIN
        )

    # --- votes ------------------------------------------------------------------------------------

    def _votes(
        self,
        context: Context,
        candidates: Sequence[Candidate],
        trait: Trait,
        nodes: Numbers,
        own: Numbers,
        patterns: Sequence[Pattern],
    ) -> dict[str, dict[str, Vote]]:
        """By candidate and voter; each voter's opinion as it is after what has failed on the step."""
        shares = weights([TRAIT, *(v.name for v in self._voters)], self._experience.gains(), self._start)
        records = _records(patterns)
        votes: dict[str, dict[str, Vote]] = {c.id: {} for c in candidates}
        for candidate, chance in zip(candidates, own, strict=True):
            note = records.get(candidate.id, "no outcome here yet")
            votes[candidate.id][TRAIT] = Vote(
                voter=TRAIT, value=float(chance), weight=shares[TRAIT], note=note
            )
        for voter in self._voters:
            for name, vote in voter.vote(context, candidates).items():
                value = vote.value if not context.failed else _conditional(vote.value, trait, nodes)
                votes[name][voter.name] = replace(vote, value=value, weight=shares[voter.name])
        return votes


def _after(context: Context, trait: Trait, names: Sequence[str]) -> Numbers:
    """Nodes: how difficult the task is, once these have failed."""
    marked = np.array([[1.0 if name in context.failed else 0.0 for name in names]])
    nodes: Numbers = difficulty(trait.passes(trait.solves()), marked)[0]
    return nodes


def _chance(
    context: Context,
    trait: Trait,
    names: Sequence[str],
    nodes: Numbers,
    patterns: Sequence[Sequence[Pattern]],
    shift: Numbers | float = 0.0,
    errors: float = 0.0,
) -> Numbers:
    """C: that each passes at these difficulties, corrected by outcomes of exactly this situation; with
    abilities shifted by logits, and by standard errors. Pure."""
    moved = trait.of(np.arange(len(names)), shift + errors * trait.error[: len(names)])
    chance = moved.passes(moved.solves()) @ nodes
    situation = tuple(sorted(context.failed))
    place = {name: index for index, name in enumerate(names)}
    for known in patterns:
        for pattern in known:
            if pattern.after == situation and pattern.candidate in place:
                index, total = place[pattern.candidate], STRENGTH + pattern.passed + pattern.failed
                chance[index] = (STRENGTH * chance[index] + pattern.passed) / total
    bounded: Numbers = np.clip(chance, 1e-4, 1 - 1e-4)
    return bounded


def _conditional(chance: float, trait: Trait, nodes: Numbers) -> float:
    """What an opinion on a task that nothing is known of says at these difficulties. Pure."""
    ability = _logit(np.array([chance])) * scale(trait.spread)
    solves = replace(trait, ability=ability, error=np.zeros(1), false_accept=np.zeros(1)).solves()
    return float((solves @ nodes)[0])


def _mixed(votes: Iterable[Vote]) -> float:
    """The mean by weight of those who have voted. Pure."""
    total = weight = 0.0
    for vote in votes:
        total += vote.weight * vote.value
        weight += vote.weight
    return min(max(total / weight, 1e-4), 1 - 1e-4)


def _prices(costs: Costs, candidates: Sequence[Candidate]) -> Numbers:
    """C, USD: a candidate whose price nobody knows counts as a cheap one, so that somebody finds out. Pure."""
    prices = [costs.price(candidate) for candidate in candidates]
    known = [price for price in prices if price is not None]
    guess = _UNKNOWN_COST * sum(known) / len(known) if known else 0.0
    return np.array([guess if price is None else price for price in prices])


def _partial(whole: Cell, here: Cell, names: Sequence[str]) -> tuple[Numbers, Numbers]:
    """C, each: what a passed and a failed attempt score, where scores are known; else 1 and 0. Pure."""
    passed, failed = np.ones(len(names)), np.zeros(len(names))
    everywhere = whole.of_verifier(SCORES)
    if everywhere:
        for cell in (everywhere, here.of_verifier(SCORES)):
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
