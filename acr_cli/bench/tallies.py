"""What a replayed policy has learnt: sums over its own outcomes, as memory would hand them out.

The keys are memory's: candidate, dimension, language, kind of verifier, who had failed before. With a
half-life h an outcome of age a counts 2^(-a/h), as of the newest outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import exp2

from acr_cli.records import Outcome, Tally

Gains = Callable[[Outcome], Mapping[str, float]]
"""By voter, how much likelier it had found what happened than all voters together (natural logarithm)."""

_Key = tuple[str, str, str, str, tuple[str, ...]]


class Tallies:
    """Counts outcomes one by one. `half_life` in seconds of the stream's clock; None forgets nothing."""

    def __init__(self, *, half_life: float | None = None, gains: Gains = lambda _: {}) -> None:
        self._half_life = half_life
        self._gains = gains
        self._sums: dict[_Key, Tally] = {}  # as they weigh at the time of their newest outcome
        self._at: dict[_Key, float] = {}
        self._now = 0.0
        self._handed: tuple[Tally, ...] | None = ()

    def count(self, outcome: Outcome) -> None:
        """Add an outcome; times do not go back."""
        key = (
            outcome.candidate,
            outcome.dimension,
            outcome.language,
            outcome.verifier,
            tuple(sorted(outcome.failed_before)),
        )
        known = self._sums.get(key) or Tally(
            candidate=key[0], dimension=key[1], language=key[2], verifier=key[3], failed_before=key[4]
        )
        self._now = outcome.time
        self._sums[key] = self._added(self._aged(key, known), outcome)
        self._at[key] = outcome.time
        self._handed = None

    def now(self) -> tuple[Tally, ...]:
        """All tallies: the same tuple until something changes, so that who reads it may keep what it made of
        it."""
        if self._handed is None:
            if self._half_life is None:
                self._handed = tuple(self._sums.values())
            else:
                self._handed = tuple(self._aged(key, known) for key, known in self._sums.items())
        return self._handed

    def _added(self, known: Tally, outcome: Outcome) -> Tally:
        gains = dict(known.gains)
        for voter, gain in self._gains(outcome).items():
            gains[voter] = gains.get(voter, 0.0) + gain
        return replace(
            known,
            passed=known.passed + (outcome.teaches and outcome.passed),
            failed=known.failed + (outcome.teaches and not outcome.passed),
            cost_usd=known.cost_usd + outcome.cost_usd,
            seconds=known.seconds + outcome.seconds,
            count=known.count + 1,
            outcomes=known.outcomes + 1,
            gains=tuple(sorted(gains.items())),
        )

    def _aged(self, key: _Key, known: Tally) -> Tally:
        age = self._now - self._at.get(key, self._now)
        if self._half_life is None or age <= 0:
            return known
        factor = exp2(-age / self._half_life)
        return replace(
            known,
            passed=known.passed * factor,
            failed=known.failed * factor,
            cost_usd=known.cost_usd * factor,
            seconds=known.seconds * factor,
            count=known.count * factor,
            gains=tuple((voter, gain * factor) for voter, gain in known.gains),
        )
