"""The product's policies as players: what they are handed, and what they hand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from acr_cli.bench.adapted import Adapted
from acr_cli.bench.replay import Rules, anonymous, replay
from acr_cli.bench.tallies import Tallies
from acr_cli.build.players import make_player, rates_of
from acr_cli.matrix import Matrix
from acr_cli.records import Candidate, Choice, Context, Forecast, Outcome
from tests.bench.test_replay import made
from tests.memory.outcomes import make_outcome


class Recording:
    """A policy that tries candidates in their order and keeps what it was handed."""

    name = "recording"

    def __init__(self, expects: Mapping[str, float] | None = None) -> None:
        self.expects = expects or {}
        self.seen: list[Context] = []

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        self.seen.append(context)
        names = [c.id for c in candidates if c.id not in context.failed]
        forecasts = [
            Forecast(candidate=n, p_success=p, p_low=p, p_high=p, cost_usd=None, score=p)
            for n, p in self.expects.items()
        ]
        if not names:
            return None
        return Choice(
            candidate=names[0], propensity=1.0, policy=self.name, reason="", forecasts=tuple(forecasts)
        )


class Answering(Recording):
    def answer(self, context: Context, candidates: Sequence[Candidate]) -> str:
        assert {candidate.id for candidate in candidates} >= set(context.failed)
        return context.failed[0]


def play(policy: Recording, matrix: Matrix, **rules: object) -> list[int]:
    player = Adapted("recording", lambda _: policy)
    return replay(player, matrix, Rules(**rules), seed=0).answer.tolist()


def test_a_policy_is_handed_its_own_outcomes_as_tallies() -> None:
    policy = Recording()
    play(policy, made([[0.0, 1.0]] * 3), attempts=2)

    assert policy.seen[0].tallies == ()
    last = policy.seen[-1].tallies
    assert sum(t.outcomes for t in last) == sum(t.passed + t.failed for t in last) > 0
    second = [t for t in last if t.failed_before]
    assert {t.candidate for t in second} != {t.candidate for t in last if not t.failed_before}


def test_of_rejected_attempts_the_likeliest_is_handed_in() -> None:
    matrix = made([[0.0, 0.1, 0.2]])
    names = {column: name for name, column in anonymous(matrix, 0).items()}
    policy = Recording({names[0]: 0.2, names[1]: 0.9, names[2]: 0.4})
    assert play(policy, matrix, attempts=3) == [1]


def test_without_forecasts_the_last_attempt_is_handed_in() -> None:
    matrix = made([[0.0, 0.0, 0.0]])
    policy = Recording()
    answer = play(policy, matrix, attempts=2)
    assert answer == [anonymous(matrix, 0)["m1"]]


def test_a_policy_that_can_says_itself_what_it_hands_in() -> None:
    matrix = made([[0.0, 0.0, 0.0]])
    assert play(Answering(), matrix, attempts=2) == [anonymous(matrix, 0)["m0"]]


@pytest.mark.parametrize("rows", [True, False])
def test_warm_rows_are_tallies_where_they_are_wanted(rows: bool) -> None:
    matrix, policy = made([[0.0, 0.0]] * 2), Recording()
    player = Adapted("recording", lambda _: policy, rows=rows)
    replay(player, matrix, Rules(), seed=0, warm=made([[1.0, 0.0]] * 7))

    passed = {t.candidate: t.passed for t in policy.seen[0].tallies if not t.failed_before}
    by_column = {column: passed.get(name) for name, column in anonymous(matrix, 0).items()}
    assert by_column == ({0: 7, 1: 0} if rows else {0: None, 1: None})
    assert sum(t.outcomes for t in policy.seen[1].tallies if t.verifier == "tests") == 1


def test_neighbours_are_the_nearest_past_outcomes_and_warm_rows() -> None:
    matrix, warm = made([[1.0, 0.0]] * 2), made([[0.6, 0.4]])
    warm = replace(warm, texts=matrix.texts[:1])
    vectors = {"text 0": (1.0, 0.0), "text 1": (0.8, 0.6)}
    policy = Recording()
    player = Adapted("recording", lambda _: policy)
    replay(player, matrix, Rules(vectors=vectors, embedder="e"), seed=0, warm=warm, order=[0, 1])

    first, second = policy.seen
    assert [(n.similarity, n.passed, n.u) for n in first.neighbours] == [
        (1.0, n.passed, n.u) for n in first.neighbours
    ]
    assert sorted(n.u for n in first.neighbours) == [0.4, 0.6]
    assert len(second.neighbours) == 3  # the warm row's two, and the first outcome
    assert all(n.similarity == pytest.approx(0.8) for n in second.neighbours)


def test_a_neighbour_that_is_too_far_is_none() -> None:
    matrix = made([[1.0, 0.0]] * 2)
    policy = Recording()
    vectors = {"text 0": (1.0, 0.0), "text 1": (0.4, 0.92)}
    replay(Adapted("r", lambda _: policy), matrix, Rules(vectors=vectors), seed=0, order=[0, 1])
    assert policy.seen[1].neighbours == ()


def test_the_prior_of_a_warm_replay_is_the_mean_of_its_dimension() -> None:
    warm = made([[1.0, 0.2], [0.5, 0.4]])
    rates = rates_of(warm)

    def rate(name: str, dimension: str) -> float:
        return rates(Candidate(id=name, backend="agent"), dimension).value

    assert rate("model-0", "algorithm") == pytest.approx(0.75)
    assert rate("model-1", "unheard-of") == pytest.approx(0.3)
    assert rate("stranger", "algorithm") == rates_of(None)(Candidate(id="x", backend="agent"), "").value


@pytest.mark.parametrize("name", ["acrouter", "escalate", "fixed"])
def test_the_product_s_policies_play_a_foreign_dimension(name: str) -> None:
    matrix = made([[0.0, 1.0], [1.0, 0.0]], dimension="of-somebody-else")
    make = make_player(name, half_life=None)
    record = replay(make(matrix, 0), matrix, Rules(attempts=2), seed=0)
    assert record.score.tolist() == [1.0, 1.0]


def test_acrouter_follows_the_warm_rows() -> None:
    matrix, warm = made([[0.0, 1.0]] * 20), made([[0.1, 0.9]] * 5)
    make = make_player("acrouter", half_life=None)
    record = replay(make(matrix, 0), matrix, Rules(), seed=0, warm=warm)
    assert record.score.mean() > 0.85


def test_escalate_goes_by_the_costs_that_it_has_seen() -> None:
    matrix = made([[1.0, 1.0, 1.0]] * 30)
    make = make_player("escalate", half_life=None)
    record = replay(make(matrix, 0), matrix, Rules(attempts=3), seed=0)
    assert record.attempts.tolist() == [1] * 30


# --- tallies ----------------------------------------------------------------------------------------------


def outcome(number: int, **changes: object) -> Outcome:
    same = {"candidate": "c", "language": "python", "dimension": "bug_fixing", "verifier": "tests"}
    same |= {"failed_before": (), "shared_credit": False, "verdict": "passed"}
    return make_outcome(str(number), **{"time": 60.0 * number, **same, **changes})


def test_tallies_tell_apart_what_memory_tells_apart() -> None:
    tallies = Tallies()
    for number, changes in enumerate(
        [
            {},
            {"language": "go"},
            {"dimension": "algorithm"},
            {"failed_before": ("b", "a")},
            {"candidate": "x"},
        ]
    ):
        tallies.count(
            outcome(number, **{"candidate": "c", "language": "python", "failed_before": (), **changes})
        )
    assert len(tallies.now()) == 5
    assert ("a", "b") in {t.failed_before for t in tallies.now()}


def test_the_same_tuple_is_handed_out_until_something_changes() -> None:
    tallies = Tallies()
    tallies.count(outcome(0))
    assert tallies.now() is tallies.now()
    before = tallies.now()
    tallies.count(outcome(1))
    assert tallies.now() is not before


def test_with_a_half_life_an_outcome_counts_half_after_it() -> None:
    tallies = Tallies(half_life=60.0, gains=lambda _: {"prior": 1.0})
    for number in range(3):
        tallies.count(outcome(number, candidate="c", verdict="passed", cost_usd=1.0, failed_before=()))
    (one,) = tallies.now()
    assert one.passed == pytest.approx(1 + 0.5 + 0.25)
    assert one.cost_usd == one.count == one.passed
    assert one.gains == (("prior", pytest.approx(1.75)),)
    assert one.outcomes == 3


def test_what_is_not_touched_ages_with_the_others() -> None:
    tallies = Tallies(half_life=60.0)
    tallies.count(outcome(0, candidate="old", verdict="failed"))
    tallies.count(outcome(2, candidate="new", verdict="failed"))
    failed = {t.candidate: t.failed for t in tallies.now()}
    assert failed == {"old": pytest.approx(0.25), "new": 1.0}
