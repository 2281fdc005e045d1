"""The sequential rule: equal to trying every order, and to Pandora's index where boxes are independent."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.orchestrator.sequence import MOST, Lots, Programme, Seen, programme, promising
from acr_cli.orchestrator.trait import NODES, WEIGHTS, Numbers, _sigma


def lots(
    passes: Numbers,
    price: Numbers,
    worth: float = 1.5,
    consolation: Numbers | None = None,
    right: float = 1.0,
) -> Lots:
    count = len(price)
    return Lots(
        passes=passes,
        proves=passes * right,
        price=np.array(price, dtype=float),
        worth=np.full(count, worth),
        consolation=np.zeros(count) if consolation is None else consolation,
    )


def level(chance: list[float]) -> Numbers:
    """The same chance at every difficulty: boxes that tell nothing of each other."""
    return np.repeat(np.array(chance)[:, None], len(NODES), axis=1)


def of_traits(abilities: list[float], spread: float = 2.0) -> Numbers:
    return np.stack([_sigma(a - spread * NODES) for a in abilities])


def walk(problem: Lots, order: tuple[int, ...]) -> float:
    """What it is worth to try these in this order until one passes, then to hand in the best."""
    value, weights = 0.0, WEIGHTS.copy()
    for place in order:
        value += weights @ problem.proves[place] * problem.worth[place] - weights.sum() * problem.price[place]
        weights = weights * (1 - problem.passes[place])
    stop = max((problem.consolation[place] for place in order), default=0.0)
    return float(value + weights.sum() * max(stop, 0.0))


def best_by_trial(problem: Lots, attempts: int) -> float:
    count = len(problem.price)
    lengths = range(min(attempts, count) + 1)
    return max(walk(problem, order) for n in lengths for order in permutations(range(count), n))


def followed(solution: Programme) -> tuple[int, ...]:
    order: list[int] = []
    failed = 0
    while (place := solution.best(failed)) is not None:
        order.append(place)
        failed |= 1 << place
    return tuple(order)


PROBLEMS = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-3, 3), min_size=n, max_size=n),
        st.lists(st.floats(0.001, 1.5), min_size=n, max_size=n),
        st.lists(st.floats(0, 0.3), min_size=n, max_size=n),
        st.integers(0, n),
        st.floats(0.5, 1.0),
    )
)


@given(PROBLEMS)
@settings(max_examples=60)
def test_it_is_worth_as_much_as_the_best_of_all_orders(
    drawn: tuple[list[float], list[float], list[float], int, float],
) -> None:
    abilities, price, consolation, attempts, right = drawn
    problem = lots(of_traits(abilities), np.array(price), consolation=np.array(consolation), right=right)
    solution = programme(problem, attempts)
    best = best_by_trial(problem, attempts)
    assert solution.value[0] == pytest.approx(best, abs=1e-9)
    assert walk(problem, followed(solution)[:attempts]) == pytest.approx(best, abs=1e-9)


@given(PROBLEMS)
@settings(max_examples=30)
def test_nobody_is_tried_twice_and_nobody_beyond_the_attempts(
    drawn: tuple[list[float], list[float], list[float], int, float],
) -> None:
    abilities, price, _, attempts, _ = drawn
    solution = programme(lots(of_traits(abilities), np.array(price), worth=1e9), attempts)
    order = followed(solution)
    assert len(set(order)) == len(order) == min(attempts, len(price))
    for failed in range(1 << len(price)):
        for place in range(len(price)):
            if failed >> place & 1:
                assert solution.gain[failed, place] == -np.inf


@given(st.lists(st.tuples(st.floats(0.05, 0.95), st.floats(0.01, 2.0)), min_size=2, max_size=6))
@settings(max_examples=60)
def test_of_independent_boxes_the_best_index_of_pandora_is_first(boxes: list[tuple[float, float]]) -> None:
    chance, price = (np.array(each) for each in zip(*boxes, strict=True))
    solution = programme(lots(level(list(chance)), price), len(boxes))
    index = 1.5 - price / chance
    worth_it = [place for place in np.argsort(-index, kind="stable") if index[place] > 1e-9]
    order = followed(solution)
    assert [index[place] for place in order if index[place] > 1e-9] == pytest.approx(
        [index[place] for place in worth_it]
    )


def test_it_stops_where_nobody_is_worth_its_price() -> None:
    solution = programme(lots(level([0.5, 0.1]), np.array([0.8, 0.2])), 2)
    assert solution.best(0) is None
    assert solution.value[0] == 0.0


def test_each_failure_makes_the_rest_less_worth() -> None:
    solution = programme(lots(of_traits([0.0, 0.5, 1.0]), np.array([0.1, 0.1, 0.9])), 3)
    assert solution.best(0b000) is not None
    assert solution.best(0b011) is None  # the dear one was worth it only before the others had failed
    assert solution.chance[0, 2] > solution.chance[1, 2] > solution.chance[3, 2]


def test_a_consolation_is_a_reason_to_stop() -> None:
    boxes = lots(level([0.4, 0.4]), np.array([0.1, 0.3]), consolation=np.array([1.2, 0.0]))
    solution = programme(boxes, 2)
    assert solution.best(0b01) is None
    assert solution.value[0b01] == pytest.approx(1.2)


def test_a_pass_that_proves_little_is_worth_little() -> None:
    weak = programme(lots(level([0.5]), np.array([0.5]), right=0.5), 1)
    assert weak.best(0) is None
    assert programme(lots(level([0.5]), np.array([0.5])), 1).best(0) == 0


def test_what_became_of_exactly_this_situation_corrects_what_is_expected() -> None:
    seen = Seen(
        after=np.array([0, 1]),
        who=np.array([0, 1]),
        passed=np.array([0.0, 180.0]),
        failed=np.array([20.0, 0.0]),
        strength=20.0,
    )
    solution = programme(lots(level([0.4, 0.5]), np.array([0.1, 0.1])), 2, (seen,))
    assert solution.chance[0b00, 0] == pytest.approx(0.2)
    assert solution.chance[0b01, 1] == pytest.approx(0.95)
    assert solution.chance[0b00, 1] == pytest.approx(0.5)


# --- which candidates it is run on ------------------------------------------------------------------------


def test_few_candidates_are_all_looked_at() -> None:
    chance = np.full(MOST, 0.5)
    assert promising(chance, chance, chance).tolist() == list(range(MOST))


def test_of_many_the_best_by_index_and_the_likeliest_are() -> None:
    count = 3 * MOST
    chance, price, worth = np.linspace(0.1, 0.9, count), np.full(count, 1.0), np.full(count, 1.5)
    price[:MOST] = 0.001  # cheap and bad
    chosen = promising(chance, price, worth).tolist()
    assert len(chosen) == MOST
    assert chosen == sorted(chosen)
    assert {count - 1, count - 2} <= set(chosen)  # the likeliest
    assert set(chosen) - {count - 1, count - 2} <= set(range(MOST))


def test_of_equals_the_first_is_taken_whatever_the_last_bit_says() -> None:
    chance = [0.5, 0.5 + 1e-15, 0.5 - 1e-15]
    assert programme(lots(level(chance), np.full(3, 0.1)), 3).best(0) == 0
    many = np.full(3 * MOST, 0.5) + np.linspace(0, 1e-14, 3 * MOST)
    assert promising(many, np.full_like(many, 0.1), np.ones_like(many)).tolist() == list(range(MOST))
