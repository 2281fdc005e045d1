"""What a policy learns from: sums that tell enough apart, forget by age, and are the same however counted."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acr_cli.memory.store import Memory
from acr_cli.records import Outcome, Tally, Usage
from tests.memory.outcomes import make_outcome

DAY = 86_400.0
NOW = 1_800_000_000.0


def close(left: Sequence[Tally], right: Sequence[Tally]) -> bool:
    """Equal to 1e-9, relative or absolute."""
    return len(left) == len(right) and all(map(alike, left, right))


def alike(left: Tally, right: Tally) -> bool:
    numbers = ("passed", "failed", "cost_usd", "seconds", "input_tokens", "output_tokens", "count")
    bare: dict[str, Any] = {**dict.fromkeys(numbers, 0.0), "gains": ()}
    gains = dict(left.gains), dict(right.gains)
    return (
        replace(left, **bare) == replace(right, **bare)
        and all(near(getattr(left, name), getattr(right, name)) for name in numbers)
        and gains[0].keys() == gains[1].keys()
        and all(near(gains[0][voter], gains[1][voter]) for voter in gains[0])
    )


def near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)


def by_hand(outcomes: Iterable[Outcome], now: float, half_life_days: float | None) -> list[Tally]:
    """The definition, outcome by outcome."""
    groups: dict[tuple[Any, ...], list[Outcome]] = defaultdict(list)
    for o in outcomes:
        groups[o.dimension, o.candidate, o.language, o.verifier, tuple(sorted(o.failed_before))].append(o)
    told = []
    for (dimension, candidate, language, verifier, failed_before), group in sorted(groups.items()):
        weight = {
            o.id: 2 ** (-(now - o.time) / DAY / half_life_days) if half_life_days else 1.0 for o in group
        }
        gains: dict[str, float] = {}
        for o in group:
            if o.teaches and o.p_success is not None:
                for voter, vote in o.votes:
                    gain = weight[o.id] * (log(vote, o.passed) - log(o.p_success, o.passed))
                    gains[voter] = gains.get(voter, 0.0) + gain
        told.append(
            Tally(
                candidate=candidate,
                dimension=dimension,
                language=language,
                verifier=verifier,
                failed_before=failed_before,
                passed=sum(weight[o.id] for o in group if o.teaches and o.passed),
                failed=sum(weight[o.id] for o in group if o.teaches and not o.passed),
                cost_usd=sum(weight[o.id] * o.cost_usd for o in group),
                seconds=sum(weight[o.id] * o.seconds for o in group),
                input_tokens=sum(weight[o.id] * o.usage.input_tokens for o in group),
                output_tokens=sum(weight[o.id] * o.usage.output_tokens for o in group),
                count=sum(weight.values()),
                outcomes=len(group),
                gains=tuple(sorted(gains.items())),
            )
        )
    return told


def log(p: float, passed: bool) -> float:
    p = min(max(p, 0.01), 0.99)
    return math.log(p if passed else 1 - p)


outcome_changes = st.fixed_dictionaries(
    {
        "candidate": st.sampled_from(["cheap", "strong"]),
        "language": st.sampled_from(["python", "go", ""]),
        "verifier": st.sampled_from(["tests", "judge"]),
        "failed_before": st.sampled_from([(), ("strong", "cheap"), ("cheap", "strong"), ("cheap",)]),
        "verdict": st.sampled_from(["passed", "failed", "unverified"]),
        "shared_credit": st.booleans(),
        "repository": st.sampled_from(["here", "there"]),
        "time": st.floats(NOW - 2000 * DAY, NOW),
        "cost_usd": st.floats(0, 10),
        "usage": st.builds(Usage, input_tokens=st.integers(0, 10**6), output_tokens=st.integers(0, 10**5)),
        "p_success": st.none() | st.floats(0, 1),
        "votes": st.lists(
            st.tuples(st.sampled_from(["prior", "neighbours", "price"]), st.floats(0, 1)),
            max_size=3,
            unique_by=lambda vote: vote[0],
        ).map(tuple),
    }
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bound=st.integers(1, 6),
    half_life=st.sampled_from([None, 1.0, 30.0, 180.0]),
    changes=st.lists(outcome_changes, max_size=20),
)
def test_online_rebuilt_and_evicted_are_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    bound: int,
    half_life: float | None,
    changes: list[dict[str, Any]],
) -> None:
    folder = tmp_path_factory.mktemp("learning")

    def opened(name: str, **options: Any) -> Memory:
        return Memory(folder / name, half_life_days=half_life, clock=lambda: NOW, **options)

    narrow, wide = opened("narrow", bound=bound), opened("wide")
    outcomes = [make_outcome(f"o{i}", **change) for i, change in enumerate(changes)]
    for outcome in outcomes:
        for memory in (narrow, wide):
            memory.remember(outcome)
            memory.tallies()  # learns as it goes
    truth = by_hand(outcomes, NOW, half_life)
    rebuilt = opened("narrow"), opened("wide")
    for memory in (narrow, wide, *rebuilt):
        assert close(memory.tallies(), truth)
        memory.close()


def test_an_outcome_counts_half_after_a_half_life(tmp_path: Path) -> None:
    now = [NOW]
    memory = Memory(tmp_path, half_life_days=10, clock=lambda: now[0])
    memory.remember(make_outcome("a", verdict="passed", time=NOW, cost_usd=2.0))
    for days, weight in ((0, 1.0), (10, 0.5), (30, 0.125)):
        now[0] = NOW + days * DAY
        (tally,) = memory.tallies()
        assert (tally.passed, tally.cost_usd, tally.count) == pytest.approx((weight, 2 * weight, weight))
        assert tally.outcomes == 1
    stats = memory.stats()
    assert (stats.total_usd, stats.models[tally.candidate].passed) == (2.0, 1)  # people read plain numbers
    memory.close()


@pytest.mark.parametrize("days", [None, 0, 0.0])
def test_without_a_half_life_nothing_is_forgotten(tmp_path: Path, days: float | None) -> None:
    memory = Memory(tmp_path, half_life_days=days, clock=lambda: NOW + 10_000 * DAY)
    memory.remember(make_outcome("a", time=NOW))
    assert memory.tallies()[0].count == 1.0
    memory.close()


def test_a_clock_that_went_wrong_does_not_outweigh_all_others(tmp_path: Path) -> None:
    memory = Memory(tmp_path, half_life_days=10, clock=lambda: NOW)
    memory.remember(make_outcome("a", candidate="c", dimension="d", time=NOW + 20_000 * DAY))
    memory.remember(make_outcome("b", candidate="c", dimension="d", time=NOW))
    assert memory.tallies()[0].count == pytest.approx(2.0)
    kept = memory.get("a")
    assert kept is not None
    assert kept.time == NOW + 20_000 * DAY
    memory.close()


def test_a_voter_gains_what_it_knew_better_than_all_together(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    common = {"candidate": "c", "dimension": "d"}
    votes = (("prior", 0.9), ("price", 0.0))
    memory.remember(make_outcome("a", verdict="passed", votes=votes, p_success=0.5, **common))
    memory.remember(make_outcome("b", verdict="failed", votes=(("prior", 0.9),), p_success=0.5, **common))
    memory.remember(make_outcome("c", verdict="unverified", votes=votes, p_success=0.5, **common))
    memory.remember(make_outcome("d", verdict="passed", votes=votes, p_success=None, **common))
    (tally,) = memory.tallies()
    assert dict(tally.gains) == pytest.approx(
        {"price": math.log(0.01 / 0.5), "prior": math.log(0.9 / 0.5) + math.log(0.1 / 0.5)}
    )
    memory.close()


def test_who_failed_before_is_told_apart_in_any_order(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    common = {"candidate": "c", "dimension": "d"}
    for i, before in enumerate([("b", "a"), ("a", "b"), ("a",), ()]):
        memory.remember(make_outcome(f"o{i}", failed_before=before, **common))
    told = [(t.failed_before, t.outcomes) for t in memory.tallies()]
    assert told == [
        ((), 1),
        (("a",), 1),
        (("a", "b"), 2),
    ]
    memory.close()


def test_what_came_and_left_unseen_is_counted(tmp_path: Path) -> None:
    writer, reader = Memory(tmp_path, bound=3), Memory(tmp_path, bound=3)
    for i in range(20):
        writer.remember(make_outcome(f"o{i}"))
        if i in (0, 9, 10):
            reader.tallies()
    assert sum(tally.outcomes for tally in reader.tallies()) == 20
    assert close(reader.tallies(), writer.tallies())
    writer.close()
    reader.close()
