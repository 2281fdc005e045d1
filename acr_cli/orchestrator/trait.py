"""One latent trait behind all outcomes: a candidate's ability against a task's difficulty.

Item response theory (Rasch 1960; Birnbaum 1968) with a random task: candidate c passes a task of difficulty
z with probability f + (1 - f - r) sigma(a_c - s z), z ~ N(0, 1), where f and r are the verifier's rates of
false accepts and false rejects and s is how far the tasks of a dimension lie apart. An attempt after verified
failures is judged against the difficulty that these failures imply, so that a candidate which sees only what
others could not solve is not taken for a weak one.

Abilities have a hierarchical normal prior: what all candidates of the dimension have in common, what kin (the
same model at another effort or endpoint) have in common, and the candidate's own part. The fit is the
posterior mode by Fisher scoring; s is the likeliest of a few values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indexes = NDArray[np.int64]

NODES: Numbers = np.linspace(-4.0, 4.0, 25)
"""Difficulties on which integrals are taken, in standard deviations."""

WEIGHTS: Numbers = np.exp(-NODES * NODES / 2) / np.exp(-NODES * NODES / 2).sum()

_SPREADS = ((1.0, 0.2), (1.7, 0.35), (3.0, 0.3), (5.0, 0.15))
"""Values of s in logits, and how likely each is beforehand."""

_USUAL_SPREAD = 2.0  # without an attempt after a failure nothing is seen of it
_COMMON = 1.5  # prior standard deviation of a dimension's level, in marginal logits
_REFERENCE = 1.4  # the scale that `Beliefs.spread` is stated at, see `scale`
_ROUNDS = 12
_CLOSE = 1e-3
_LONGEST_STEP = 1.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """P patterns over C candidates: who tried after whom had failed, and how often it passed and failed."""

    names: tuple[str, ...]  # C
    situations: Numbers  # S x C, 1 where that candidate had failed before; the first may be nobody
    situation: Indexes  # P, a row of the situations
    who: Indexes  # P
    passed: Numbers  # P
    failed: Numbers  # P
    false_accept: Numbers  # C, of the verifier for this candidate's work
    false_reject: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Beliefs:
    """The prior over C candidates, in marginal logits: ability before the tasks' spread widens it."""

    mean: Numbers  # C
    spread: float  # standard deviation between candidates
    kin: Indexes  # C, the number of each one's kin
    among_kin: float  # standard deviation within kin; part of `spread`
    doubt: Numbers | None = None  # C: standard deviations of `mean`; they widen the errors alone


@dataclass(frozen=True, kw_only=True, eq=False)
class Trait:
    """The posterior: abilities in logits, normal around `ability` with standard deviation `error`."""

    names: tuple[str, ...]  # C
    ability: Numbers  # C
    error: Numbers  # C
    spread: float  # s
    false_accept: Numbers  # C
    false_reject: float

    def marginal(self) -> Numbers:
        """Abilities as marginal logits: sigma of it is about the chance on a task that nothing is known of
        (probit approximation, MacKay 1992)."""
        marginal: Numbers = self.ability / scale(self.spread)
        return marginal

    def of(self, places: Indexes, shift: Numbers | float = 0.0) -> Trait:
        """These candidates alone, their abilities moved by so many logits."""
        return Trait(
            names=tuple(self.names[place] for place in places),
            ability=self.ability[places] + shift,
            error=self.error[places],
            spread=self.spread,
            false_accept=self.false_accept[places],
            false_reject=self.false_reject,
        )

    def solves(self) -> Numbers:
        """C x nodes: chance to solve, at each difficulty."""
        return _sigma(self.ability[:, None] - self.spread * NODES)

    def passes(self, solves: Numbers) -> Numbers:
        """The chance that the verifier says so."""
        accept = self.false_accept[:, None]
        passes: Numbers = accept + (1 - accept - self.false_reject) * solves
        return passes


def scale(spread: float) -> float:
    """Conditional logits in a marginal one, where difficulty varies by `spread`. Pure."""
    return float(np.sqrt(1 + np.pi * spread * spread / 8))


def difficulty(passes: Numbers, after: Numbers, before: Numbers = WEIGHTS) -> Numbers:
    """S x nodes: the posterior of a task's difficulty once the marked candidates have failed. Pure.

    `passes` is C x nodes, `after` S x C, `before` how likely each difficulty was."""
    log = after @ np.log1p(-np.minimum(passes, 1 - 1e-9))
    weights: Numbers = before * np.exp(log - log.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def fit(evidence: Evidence, beliefs: Beliefs, spread: float | None = None) -> Trait:
    """The posterior of the abilities; `spread` fixes s. Pure."""
    if spread is not None or not evidence.situations.any():
        return _fit(evidence, beliefs, spread or _USUAL_SPREAD)[0]
    found = [(_fit(evidence, beliefs, s), p) for s, p in _SPREADS]
    return max(found, key=lambda each: each[0][1] + np.log(each[1]))[0][0]


def _fit(evidence: Evidence, beliefs: Beliefs, spread: float) -> tuple[Trait, float]:
    """The mode at this s, and its log posterior."""
    widened = scale(spread)
    between = (beliefs.spread * widened / _REFERENCE) ** 2
    within = min((beliefs.among_kin * widened / _REFERENCE) ** 2, between)
    base = beliefs.mean * widened
    level = _Level(beliefs, between - within, within)
    ability = base.copy()
    errors = (evidence.false_accept, evidence.false_reject)
    for _ in range(_ROUNDS):
        gradient, information, likelihood = _score(evidence, ability, spread, *errors)
        deviation = ability - base
        pull = level.precision @ deviation
        step = np.linalg.solve(level.precision + np.diag(information), gradient - pull)
        step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        ability = ability + step
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    trait = Trait(
        names=evidence.names,
        ability=ability,
        error=level.error(information),
        spread=spread,
        false_accept=evidence.false_accept,
        false_reject=evidence.false_reject,
    )
    return trait, likelihood - float(deviation @ pull) / 2


class _Level:
    """What candidates have in common: all of them, and kin among themselves. Both are integrated out."""

    def __init__(self, beliefs: Beliefs, between: float, within: float) -> None:
        self.kin, self.between, self.within = beliefs.kin, between, within
        self.doubt = 0.0 if beliefs.doubt is None else beliefs.doubt**2
        alike = self.kin[:, None] == self.kin
        covariance = within * np.eye(len(self.kin)) + between * alike + _COMMON**2
        self.precision: Numbers = np.linalg.inv(covariance)  # C x C

    def error(self, information: Numbers) -> Numbers:
        """C: posterior standard deviations, kin's outcomes included."""
        weight = 1 / (self.within + 1 / np.maximum(information, 1e-9))
        others = np.bincount(self.kin, weight)[self.kin] - weight
        prior = self.doubt + self.within + 1 / (1 / max(self.between, 1e-9) + others)
        error: Numbers = np.sqrt(1 / (information + 1 / prior))
        return error


def _score(
    evidence: Evidence, ability: Numbers, spread: float, false_accept: Numbers, false_reject: float
) -> tuple[Numbers, Numbers, float]:
    """Gradient and Fisher information by candidate, and the log likelihood."""
    if not len(evidence.who):
        nothing = np.zeros(len(ability))
        return nothing, nothing, 0.0
    solves = _sigma(ability[:, None] - spread * NODES)
    right = 1 - false_accept[:, None] - false_reject
    passes = false_accept[:, None] + right * solves
    weights = difficulty(passes, evidence.situations)
    there = (evidence.situation, evidence.who)
    chance = np.clip((weights @ passes.T)[there], 1e-6, 1 - 1e-6)
    slope = (weights @ (right * solves * (1 - solves)).T)[there]
    gradient = (evidence.passed / chance - evidence.failed / (1 - chance)) * slope
    information = (evidence.passed + evidence.failed) * slope * slope / (chance * (1 - chance))
    likelihood = evidence.passed * np.log(chance) + evidence.failed * np.log(1 - chance)
    count = len(ability)
    totals = [np.bincount(evidence.who, each, count).astype(np.float64) for each in (gradient, information)]
    return totals[0], totals[1], float(likelihood.sum())


def _sigma(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-np.clip(x, -40, 40)))
