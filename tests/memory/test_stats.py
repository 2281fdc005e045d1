"""The statistics count all that was learnt, and claim no saving that the records do not show."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

from acr_cli.memory.savings import saved
from acr_cli.memory.steps import Routed, routed
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path, bound=50, clock=lambda: 2_000_000_000.0)
    yield opened
    opened.close()


def add(memory: Memory, run: str, candidate: str, cost: float, **changes: object) -> None:
    number = sum(tally.outcomes for tally in memory.tallies())
    memory.remember(
        make_outcome(
            f"o{number}", run=run, candidate=candidate, cost_usd=cost, **{"dimension": "d", **changes}
        )
    )


def test_the_json_has_the_shape_of_the_contract(memory: Memory) -> None:
    add(memory, "r1", "cheap", 0.25, verdict="passed", u=1.0, time=10.0, seconds=3.0)
    add(memory, "r2", "cheap", 0.75, verdict="failed", u=0.5, time=20.0, seconds=4.0)
    add(memory, "r3", "strong", 2.0, verdict="unverified", u=0.25, time=30.0, seconds=5.0, dimension="e")
    record = json.loads(json.dumps(memory.stats().as_json()))
    assert record["bytes"] > 0
    assert record["collection"] == {"state": "absent", "documents": 0, "behind": 3}
    cheap = {
        "outcomes": 2,
        "success_rate": 0.5,
        "mean_u": 0.75,
        "mean_cost_usd": 0.5,
        "passed": 1,
        "failed": 1,
    }
    strong = {
        "outcomes": 1,
        "success_rate": None,
        "mean_u": 0.25,
        "mean_cost_usd": 2.0,
        "passed": 0,
        "failed": 0,
    }
    assert record["models"] == {"cheap": cheap, "strong": strong}
    assert record["dimensions"] == {"d": cheap, "e": strong}
    assert record["pairs"] == [
        {"model": "cheap", "dimension": "d", **cheap},
        {"model": "strong", "dimension": "e", **strong},
    ]
    expected = {
        "type": "memory_stats",
        "schema": 1,
        "outcomes": 3,
        "evicted": 0,
        "damaged": 0,
        "bound": 50,
        "embedder": "test:8",
        "total_usd": 3.0,
        "total_seconds": 12.0,
        "oldest": 10.0,
        "newest": 30.0,
        "now": 2_000_000_000.0,
    }
    assert {name: record[name] for name in expected} == expected


def test_an_empty_memory_has_statistics(memory: Memory) -> None:
    record = memory.stats().as_json()
    assert (record["outcomes"], record["total_usd"], record["models"], record["oldest"]) == (0, 0.0, {}, None)
    assert record["saved_usd"]["estimate"] is None
    assert record["saved_usd"]["reason"] == "no outcome yet"


def test_shared_credit_counts_its_cost_and_no_quality(memory: Memory) -> None:
    add(memory, "r1", "strong", 0.5, verdict="passed", shared_credit=True, u=1.0)
    group = memory.stats().models["strong"]
    assert (group.outcomes, group.success_rate, group.mean_u, group.mean_cost_usd) == (1, None, None, 0.5)


# --- what other ways would have cost --------------------------------------------------------------


def step(i: int, candidate: str, cost: float, **changes: Any) -> Routed:
    values: dict[str, Any] = {
        "time": float(i),
        "dimension": "d",
        "candidate": candidate,
        "propensity": 0.5,
        "available": ("cheap", "strong"),
        "first_passed": True,
        "passed": True,
        "first_usd": cost,
        "cost_usd": cost,
    }
    return Routed(**values | changes)


def simulated(seed: int, number: int = 400) -> list[Routed]:
    """Steps of two kinds; the policy likes the strong model for the dear kind, so that plain means lie."""
    rng, steps = Random(seed), []
    for i in range(number):
        hard = rng.random() < 0.5
        likes_strong = 0.8 if hard else 0.2
        strong = rng.random() < likes_strong
        cost = (1.0 if strong else 0.1) * (3.0 if hard else 1.0) * rng.uniform(0.5, 1.5)
        chance = (0.9 if strong else 0.5) - (0.3 if hard else 0.0)
        steps.append(
            step(
                i,
                "strong" if strong else "cheap",
                cost,
                # Both kinds look the same to the fitted mean: only the propensities put it right.
                dimension="d",
                propensity=likes_strong if strong else 1 - likes_strong,
                first_passed=rng.random() < chance,
            )
        )
    return steps


def test_what_always_the_strongest_would_have_cost_is_found_where_plain_means_lie() -> None:
    """Truth: (1 + 3) / 2 = 2 USD and a success of (0.9 + 0.6) / 2 a step; the plain mean is 2.6 USD."""
    costs, rates, covered = [], [], 0
    for seed in range(60):
        steps = simulated(seed)
        told = saved(steps, "strong")
        assert told.estimate is not None
        assert told.low is not None
        assert told.high is not None
        assert told.success is not None
        own = sum(each.cost_usd for each in steps)
        costs.append((told.estimate + own) / len(steps))
        rates.append(told.success)
        expected = 2.0 * len(steps) - own
        covered += told.low <= expected <= told.high
    assert mean(costs) == pytest.approx(2.0, abs=0.03)
    assert mean(rates) == pytest.approx(0.75, abs=0.01)
    assert covered >= 54


def test_a_right_mean_makes_up_for_wrong_propensities() -> None:
    steps = [
        step(i, "strong" if i % 2 else "cheap", 2.0 if i % 2 else 0.5, propensity=0.9, dimension=f"d{i % 4}")
        for i in range(200)
    ]
    told = saved(steps, "strong")
    assert told.estimate == pytest.approx(100 * 1.5, rel=1e-6)


def test_a_step_that_escalated_costs_all_its_attempts(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "wide")
    half = {"propensity": 0.5}
    for i in range(40):
        add(memory, f"r{i}", "cheap", 0.25, verdict="failed", time=float(i), **half)
        add(memory, f"r{i}", "strong", 1.0, attempt=2, verdict="passed", propensity=1.0, time=i + 0.5)
    for i in range(40, 80):
        add(memory, f"r{i}", "strong", 1.0, verdict="passed", time=float(i), **half)
    stats = memory.stats()
    memory.close()
    assert (stats.saved.reference, stats.saved_cheapest.reference) == ("strong", "cheap")
    # A strong attempt at each of 80 steps, against 40 x 1.25 + 40 x 1.00.
    assert stats.saved.estimate == pytest.approx(80 - 90)
    assert (stats.saved.success, stats.saved.own_success) == (1.0, 1.0)
    assert stats.saved_cheapest.estimate == pytest.approx(20 - 90)
    assert stats.saved_cheapest.success == pytest.approx(0.0)
    assert [b.first_success for b in stats.curve] == [0.0] * 5 + [1.0] * 5
    assert [b.cost_usd for b in stats.curve] == [1.25] * 5 + [1.0] * 5


def test_known_difficulty_decides_who_is_the_strongest(memory: Memory) -> None:
    for i in range(8):
        verdict = "passed" if i % 2 else "failed"
        add(memory, f"r{i}", "cheap" if i % 2 else "strong", 0.5, verdict=verdict)
    assert memory.stats().saved.reference == "cheap"
    adjusted = {"strong": (0.9, 0.8, 0.95), "cheap": (0.3, 0.2, 0.5)}
    stats = memory.stats(adjusted=adjusted)
    assert stats.saved.reference == "strong"
    assert stats.as_json()["adjusted"]["strong"] == {"mean": 0.9, "low": 0.8, "high": 0.95}


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([step(i, "cheap", 1.0) for i in range(99)], "not enough evidence"),
        ([step(i, "strong", 1.0, propensity=1.0) for i in range(29)], "not enough evidence"),
        # Forty first choices, one of which weighs as much as all others.
        (
            [step(i, "strong", 1.0) for i in range(40)] + [step(40, "strong", 1.0, propensity=0.001)],
            "not enough evidence",
        ),
        ([step(i, "strong", 1.0, available=("strong",)) for i in range(99)], "only one model was used"),
        ([], "no outcome yet"),
    ],
)
def test_without_evidence_there_is_a_reason_and_no_estimate(steps: list[Routed], reason: str) -> None:
    told = saved(steps, "strong")
    assert (told.estimate, told.low, told.high, told.reason) == (None, None, None, reason)


def test_a_step_whose_first_attempt_has_left_is_not_judged() -> None:
    late = [make_outcome("b", attempt=2), make_outcome("c", attempt=3)]
    assert routed([replace(o, run="r") for o in late]) == ()


def test_statistics_of_a_part(memory: Memory) -> None:
    for i in range(60):  # ten leave
        dimension = "d" if i % 3 else "e"
        add(memory, f"r{i}", "cheap" if i % 2 else "strong", 1.0, dimension=dimension, time=float(i))
    assert (memory.stats().outcomes, memory.stats().evicted) == (50, 10)
    cheap = memory.stats(candidate="cheap")
    assert (cheap.outcomes, cheap.evicted, list(cheap.models)) == (25, 5, ["cheap"])
    assert cheap.saved.reason.startswith("a step may hold")
    late = memory.stats(since=50.0, dimension="e")
    assert (late.outcomes, late.evicted, late.oldest) == (3, 0, 51.0)
    assert (late.narrowed, memory.stats().narrowed) == (True, False)


def test_statistics_load_neither_chroma_nor_numpy(memory: Memory, tmp_path: Path) -> None:
    add(memory, "r1", "cheap", 0.25)
    program = (
        "import sys\nfrom pathlib import Path\nfrom acr_cli.memory.store import Memory\n"
        "stats = Memory(Path(sys.argv[1])).stats()\n"
        "print(stats.outcomes, sorted({'chromadb', 'numpy', 'onnxruntime', 'filelock'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "1 []"
