"""The latent trait: truths that raw rates hide are recovered, from whatever order things were tried in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.trait import (
    NODES,
    WEIGHTS,
    Beliefs,
    Evidence,
    Trait,
    _fit,
    _score,
    _sigma,
    difficulty,
    fit,
    scale,
)
from tests.orchestrator.worlds import World, beliefs, chances, shown, tally

CASCADE = World(ability=(-1.5, -0.5, 0.8), spread=3.0)


def fitted(world: World, tasks: int, mistakes: Mistakes = Mistakes(), **how: float) -> Trait:  # noqa: B008
    evidence = shown(world.tried(tasks, **how), world.names, mistakes)  # type: ignore[arg-type]
    return fit(evidence, beliefs(len(world.names)))


# --- recovery ---------------------------------------------------------------------------------------------


def test_who_sees_only_what_all_others_failed_is_not_taken_for_weak() -> None:
    tallies = CASCADE.tried(3_000)
    last = next(t for t in tallies if t.candidate == "c2")
    raw, truth = last.passed / (last.passed + last.failed), CASCADE.truth()[2]
    estimate = chances(fit(shown(tallies, CASCADE.names), beliefs(3)))[2]

    assert raw < truth - 0.15
    assert abs(estimate - truth) < 0.08


@pytest.mark.parametrize("shuffled", [False, True])
def test_abilities_are_recovered_in_any_order_of_trying(shuffled: bool) -> None:
    world = World(ability=(-2.0, -0.5, 0.5, 1.5), spread=1.7)
    trait = fitted(world, 4_000, shuffled=shuffled)
    assert chances(trait) == pytest.approx(world.truth(), abs=0.1)


@pytest.mark.parametrize("spread", [1.0, 5.0])
def test_how_far_tasks_lie_apart_is_found(spread: float) -> None:
    trait = fitted(World(ability=(-0.5, 0.0, 0.5), spread=spread), 3_000, shuffled=True)
    assert trait.spread == spread


def test_errors_shrink_with_evidence_and_hold_the_truth() -> None:
    few, many = fitted(CASCADE, 30, shuffled=True), fitted(CASCADE, 3_000, shuffled=True)
    assert (many.error / scale(many.spread) < few.error / scale(few.spread)).all()

    inside = []
    for seed in range(20):
        world = replace(CASCADE, seed=seed, spread=3.0)
        evidence = shown(world.tried(200, shuffled=True), world.names)
        trait = fit(evidence, beliefs(3), 3.0)
        inside += list(np.abs(trait.ability - np.array(world.ability)) < 1.96 * trait.error)
    assert np.mean(inside) > 0.8


def test_without_outcomes_the_prior_is_left_as_it_is() -> None:
    known = replace(beliefs(2), mean=np.array([0.3, -1.0]))
    trait = fit(shown([], ("a", "b")), known)
    assert trait.marginal() == pytest.approx(known.mean)


# --- the same from any form of the evidence ---------------------------------------------------------------


def test_one_fit_on_counts_equals_one_on_single_outcomes() -> None:
    together = fit(shown(CASCADE.tried(200), CASCADE.names), beliefs(3))
    names, place = CASCADE.names, {name: index for index, name in enumerate(CASCADE.names)}
    single = CASCADE.attempts(200)
    situations = np.array([[1.0 if n in t.failed_before else 0.0 for n in names] for t in single])
    one_by_one = Evidence(
        names=names,
        situations=situations,
        situation=np.arange(len(single)),
        who=np.array([place[t.candidate] for t in single]),
        passed=np.array([t.passed for t in single]),
        failed=np.array([t.failed for t in single]),
        false_accept=np.zeros(3),
    )
    apart = fit(one_by_one, beliefs(3))
    assert together.ability == pytest.approx(apart.ability, abs=1e-9)
    assert together.error == pytest.approx(apart.error, abs=1e-9)
    assert together.spread == apart.spread


def test_the_order_of_candidates_means_nothing() -> None:
    tallies = CASCADE.tried(200)
    there, back = (fit(shown(tallies, names), beliefs(3)) for names in (CASCADE.names, CASCADE.names[::-1]))
    assert there.ability == pytest.approx(back.ability[::-1], abs=1e-9)


# --- kin, strangers, level --------------------------------------------------------------------------------


def test_kin_share_ability() -> None:
    outcomes = [tally("a@high", 60, 5), tally("b", 30, 30)]
    names = ("a@high", "a@low", "b", "c")
    trait = fit(shown(outcomes, names), beliefs(4, kin=(0, 0, 1, 2)))
    high, low, _, stranger = trait.marginal()

    assert high > low > stranger
    assert low - stranger > high - low  # most of what is known of one is known of the other
    assert trait.error[1] < trait.error[3]


def test_what_all_have_in_common_is_learned_too() -> None:
    trait = fit(shown([tally("a", 90, 10), tally("b", 90, 10)], ("a", "b", "c")), beliefs(3))
    assert 0.5 < trait.marginal()[2] < trait.marginal()[0]


def test_candidates_who_have_left_still_count_for_difficulty() -> None:
    names = ("new", "gone")
    hard = [tally("gone", 90, 10), tally("new", 5, 5, after=["gone"])]
    easy = [tally("gone", 90, 10), tally("new", 5, 5)]
    after, before = (fit(shown(each, names), beliefs(2)) for each in (hard, easy))
    assert chances(after)[0] > chances(before)[0] + 0.1


# --- the verifier's errors --------------------------------------------------------------------------------


def test_false_accepts_are_taken_off() -> None:
    weak = Mistakes(false_accept=0.4)
    world = World(ability=(-2.0, 0.5), spread=1.7)
    tried = world.tried(4_000, accepts=0.4, shuffled=True)
    naive, knowing = (fit(shown(tried, world.names, m), beliefs(2)) for m in (Mistakes(), weak))

    assert chances(naive)[0] > world.truth()[0] + 0.2
    assert chances(knowing) == pytest.approx(world.truth(), abs=0.07)


def test_false_rejects_are_added() -> None:
    world = World(ability=(0.0, 1.5), spread=1.7)
    tried = world.tried(4_000, rejects=0.3, shuffled=True)
    naive, knowing = (
        fit(shown(tried, world.names, m), beliefs(2)) for m in (Mistakes(), Mistakes(false_reject=0.3))
    )
    assert chances(naive)[1] < world.truth()[1] - 0.1
    assert chances(knowing) == pytest.approx(world.truth(), abs=0.07)


def test_of_one_candidate_alone_the_verifier_may_accept_more() -> None:
    searching = Mistakes(by_candidate={"a": 0.3})
    trait = fit(shown([tally("a", 40, 60), tally("b", 40, 60)], ("a", "b"), searching), beliefs(2))
    assert chances(trait)[0] < chances(trait)[1] - 0.1


# --- the arithmetic ---------------------------------------------------------------------------------------


def _log_likelihood(evidence: Evidence, ability: np.ndarray, weights: np.ndarray, spread: float) -> float:
    """At fixed difficulties of the situations: what an attempt says of the one who made it."""
    accept = evidence.false_accept[:, None]
    passes = accept + (1 - accept - evidence.false_reject) * _sigma(ability[:, None] - spread * NODES)
    chance = (weights @ passes.T)[evidence.situation, evidence.who]
    return float((evidence.passed * np.log(chance) + evidence.failed * np.log(1 - chance)).sum())


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_gradient_is_that_of_the_likelihood(spread: float) -> None:
    known = Mistakes(false_accept=0.1, false_reject=0.05)
    evidence = shown(CASCADE.tried(100, accepts=0.1), CASCADE.names, known)
    ability = np.array([-1.0, 0.2, 0.7])
    gradient, information, likelihood = _score(evidence, ability, spread, evidence.false_accept, 0.05)

    accept = evidence.false_accept[:, None]
    passes = accept + (1 - accept - 0.05) * _sigma(ability[:, None] - spread * NODES)
    weights = difficulty(passes, evidence.situations)
    assert likelihood == pytest.approx(_log_likelihood(evidence, ability, weights, spread))
    for place in range(3):
        up, down = ability.copy(), ability.copy()
        up[place] += 1e-5
        down[place] -= 1e-5
        slope = [_log_likelihood(evidence, each, weights, spread) for each in (up, down)]
        assert gradient[place] == pytest.approx((slope[0] - slope[1]) / 2e-5, rel=1e-4, abs=1e-6)
    assert (information > 0).all()


@pytest.mark.parametrize("kin", [(0, 1, 2), (0, 0, 1), (0, 0, 0)])
@pytest.mark.parametrize("tasks", [1, 10, 1_000])
def test_the_fit_ends_where_evidence_and_prior_pull_alike(tasks: int, kin: tuple[int, ...]) -> None:
    evidence = shown(CASCADE.tried(tasks), CASCADE.names)
    known = beliefs(3, kin=kin)
    trait, _ = _fit(evidence, known, 1.7)
    gradient, information, _ = _score(evidence, trait.ability, 1.7, evidence.false_accept, 0.0)
    ratio = scale(1.7) / 1.4
    between, within = (0.8 * ratio) ** 2, (0.3 * ratio) ** 2
    alike = np.equal.outer(kin, kin)
    covariance = within * np.eye(3) + (between - within) * alike + 1.5**2
    precision = np.linalg.inv(covariance)
    pull = gradient - precision @ trait.ability
    assert np.linalg.solve(precision + np.diag(information), pull) == pytest.approx(0, abs=2e-3)


def test_difficulty_is_sharpened_by_each_failure() -> None:
    passes = np.stack([_sigma(a - 2.0 * NODES) for a in (-1.0, 1.0)])
    nobody, weak, both = difficulty(passes, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))
    assert nobody == pytest.approx(WEIGHTS)
    assert nobody @ NODES < weak @ NODES < both @ NODES
    assert both == pytest.approx(
        WEIGHTS * (1 - passes).prod(axis=0) / (WEIGHTS * (1 - passes).prod(axis=0)).sum()
    )


def test_a_marginal_logit_is_about_the_chance_on_a_task_that_nothing_is_known_of() -> None:
    trait = fitted(CASCADE, 500)
    assert list(1 / (1 + np.exp(-trait.marginal()))) == pytest.approx(chances(trait), abs=0.03)


def test_doubt_widens_errors_and_moves_nothing() -> None:
    evidence = shown([tally("a", 10, 5)], ("a",))
    plain = Beliefs(mean=np.zeros(1), spread=0.5, kin=np.arange(1), among_kin=0.5)
    doubted = replace(plain, doubt=np.ones(1))
    assert fit(evidence, doubted).ability == pytest.approx(fit(evidence, plain).ability)
    assert fit(evidence, doubted).error[0] > fit(evidence, plain).error[0]
