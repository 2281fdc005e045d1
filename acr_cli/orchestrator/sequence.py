"""The sequential rule: whom to try first, who follows each failure, and when to stop.

Pandora's problem (Weitzman 1979) with boxes that hang together through the task's difficulty, solved by
dynamic programming over the sets of candidates that have failed: from each set the candidate that is worth
most, or to stop. With independent boxes it is Pandora's index V - cost / chance, which also chooses the few
candidates that the programme is run on where there are many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from acr_cli.orchestrator.trait import WEIGHTS, Indexes, Numbers, difficulty

MOST = 9
"""Candidates in one programme: 2^9 sets."""

DIGITS = 9
"""Of gains that are compared, lest the last bit, which differs by machine, decides between equals."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lots:
    """What is known of C candidates on the task at hand; worths and prices in USD."""

    passes: Numbers  # C x nodes: chance that the verifier passes it, by its difficulty
    proves: Numbers  # C x nodes: chance that it does and is right
    price: Numbers  # C, of an attempt
    worth: Numbers  # C, of an attempt that solves it
    consolation: Numbers  # C, of handing in an attempt that was rejected
    nodes: Numbers = field(
        default_factory=WEIGHTS.copy
    )  # how likely each difficulty is, after what has failed
    fallback: float = 0.0  # of handing in what has failed already
    opinion: Numbers | float = 0.0  # C: what others than the trait say of its chance, in logits more


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """Outcomes of exactly such situations, which correct what the trait expects: Q of them."""

    after: Indexes  # Q, the set that had failed, bit c for candidate c
    who: Indexes  # Q
    passed: Numbers  # Q
    failed: Numbers  # Q
    strength: float  # how many outcomes the expectation is worth


@dataclass(frozen=True, kw_only=True, eq=False)
class Programme:
    """The solution: by set of those who have failed."""

    chance: Numbers  # 2^C x C: that the candidate passes, in [0, 1]
    gain: Numbers  # 2^C x C, USD: of trying the candidate and going on in the best way; -inf if it has failed
    value: Numbers  # 2^C, USD: of the best way, stopping included

    def best(self, failed: int) -> int | None:
        """The candidate to try after these failures, or None when stopping is worth as much."""
        gains = self.gain[failed]
        best = int(gains.round(DIGITS).argmax())
        return best if gains[best] > -np.inf and gains[best] >= self.value[failed] - 10**-DIGITS else None


def programme(lots: Lots, attempts: int, seen: tuple[Seen, ...] = ()) -> Programme:
    """Solve for up to so many attempts. Pure."""
    count = len(lots.price)
    members, sizes, levels = _sets(count)
    weights = difficulty(lots.passes, members, lots.nodes)
    chance = weights @ lots.passes.T
    right = weights @ lots.proves.T
    for each in seen:
        before = chance[each.after, each.who]
        total = each.passed + each.failed
        after = (each.strength * before + each.passed) / (each.strength + total)
        right[each.after, each.who] *= after / np.maximum(before, 1e-12)
        chance[each.after, each.who] = after
    told = moved(chance, lots.opinion)
    gain = right * told / np.maximum(chance, 1e-12) * lots.worth - lots.price
    chance = told
    gain[members.astype(bool)] = -np.inf
    stop = np.where(members > 0, lots.consolation, 0.0).max(axis=1, initial=lots.fallback)
    value = stop.copy()
    following = np.arange(len(sizes))[:, None] | (1 << np.arange(count))
    for size in range(min(attempts, count) - 1, -1, -1):
        rows = levels[size]
        gain[rows] += (1 - chance[rows]) * value[following[rows]]
        value[rows] = np.maximum(stop[rows], gain[rows].max(axis=1))
    for size in range(min(attempts, count), count + 1):
        gain[levels[size]] = -np.inf
    return Programme(chance=chance, gain=gain, value=value)


def promising(chance: Numbers, price: Numbers, worth: Numbers) -> Indexes:
    """The candidates to run a programme on, in their order: those of the best Pandora index, and the
    likeliest. Pure."""
    if len(chance) <= MOST:
        return np.arange(len(chance))
    index = (worth - price / np.maximum(chance, 1e-9)).round(DIGITS)
    likeliest = np.argsort(-chance.round(DIGITS), kind="stable")[:2]
    order = np.argsort(-index, kind="stable")
    chosen = list(dict.fromkeys([*likeliest, *order]))[:MOST]
    return np.sort(np.array(chosen, dtype=np.int64))


def moved(chance: Numbers, logits: Numbers | float) -> Numbers:
    """Chances in (0, 1), raised by logits. Pure."""
    odds = np.exp(logits)
    raised: Numbers = chance * odds / (1 - chance + chance * odds)
    return raised


@lru_cache(maxsize=16)
def _sets(count: int) -> tuple[Numbers, Indexes, tuple[Indexes, ...]]:
    """All sets of `count` candidates: members (2^C x C, 0 or 1), sizes, and the sets of each size."""
    members = ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1).astype(np.float64)
    sizes = members.sum(axis=1).astype(np.int64)
    return members, sizes, tuple(np.flatnonzero(sizes == size) for size in range(count + 1))
