"""The voters' weights: earned by what they said of what then happened."""

from __future__ import annotations

import math
from random import Random

import pytest

from acr_cli.orchestrator.voters.neighbours import NeighbourVoter
from acr_cli.orchestrator.voters.prior import PriorVoter
from acr_cli.orchestrator.weights import starts, weights

START = {"trait": 1.5, "neighbours": 1.2, "prior": 0.9}


def lived(chances: dict[str, dict[bool, float]], outcomes: int, *, seed: int = 0) -> dict[str, float]:
    """Weights after so many outcomes; a voter says this of what will pass and of what will fail."""
    rng, gains = Random(seed), dict.fromkeys(chances, 0.0)
    for _ in range(outcomes):
        passed = rng.random() < 0.5
        shares = weights(list(chances), gains, START)
        said = {name: chance[passed] for name, chance in chances.items()}
        together = sum(shares[name] * p for name, p in said.items())
        for name, p in said.items():
            gains[name] += math.log(p if passed else 1 - p) - math.log(together if passed else 1 - together)
    return weights(list(chances), gains, START)


def test_the_start_is_the_published_weights() -> None:
    assert starts([NeighbourVoter(), PriorVoter()]) == START
    shares = weights(["trait", "neighbours", "prior"], {}, START)
    assert shares["trait"] / shares["prior"] == pytest.approx(1.5 / 0.9)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_another_voter_starts_at_its_own_weight() -> None:
    class Fortune:
        name = "fortune"
        weight = 0.4

    assert starts([Fortune()]) == {"fortune": 0.4, "trait": 1.5}  # type: ignore[list-item]


def test_one_that_is_right_ends_near_one_and_noise_near_zero() -> None:
    shares = lived(
        {
            "trait": {True: 0.5, False: 0.5},
            "prior": {True: 0.8, False: 0.2},
            "neighbours": {True: 0.2, False: 0.8},
        },
        50,
    )
    assert shares["prior"] > 0.99
    assert shares["neighbours"] < 0.01


def test_the_published_weights_do_not_hold_a_better_voter_down() -> None:
    shares = lived({"trait": {True: 0.55, False: 0.45}, "prior": {True: 0.75, False: 0.25}}, 60)
    assert shares["prior"] > 0.9


def test_a_silent_voter_keeps_its_share_of_the_others() -> None:
    shares = weights(["trait", "neighbours", "prior"], {"trait": 2.0, "prior": 2.0}, START)
    before = weights(["trait", "prior"], {}, START)
    assert shares["trait"] / shares["prior"] == pytest.approx(before["trait"] / before["prior"])
    assert 0 < shares["neighbours"] < shares["prior"]


def test_nobody_is_silenced_for_ever_and_no_sum_is_too_large() -> None:
    shares = weights(["trait", "prior"], {"trait": 5_000.0, "prior": -5_000.0}, START)
    assert shares["trait"] == pytest.approx(1.0, abs=1e-5)
    assert shares["prior"] > 0
    assert sum(shares.values()) == pytest.approx(1.0)
