"""The statistics count all that was learnt, and claim no saving that the records do not show."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path, bound=50, clock=lambda: 2_000_000_000.0)
    yield opened
    opened.close()


def add(memory: Memory, run: str, candidate: str, cost: float, **changes: object) -> None:
    number = len(memory.list(10_000))
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


def test_a_saving_is_what_the_dearest_model_would_have_cost_more(memory: Memory) -> None:
    for i, cost in enumerate([0.8, 0.9, 1.0, 1.1, 1.2]):  # mean 1.0
        add(memory, f"strong{i}", "strong", cost)
    for i in range(10):
        add(memory, f"cheap{i}", "cheap", 0.1)
    add(memory, "escalated", "cheap", 0.1)
    add(memory, "escalated", "strong", 1.0)
    saved = memory.stats().saved
    # Ten cheap steps saved 0.9 each; the escalated one paid 0.1 for nothing.
    assert saved.estimate == pytest.approx(10 * 0.9 - 0.1)
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low < 7.5 < saved.estimate < saved.high
    assert (saved.reference, saved.steps, saved.reason) == ("strong", 16, "")


def test_a_loss_is_told_as_one(memory: Memory) -> None:
    for i in range(6):
        add(memory, f"r{i}", "cheap", 0.4)
        add(memory, f"r{i}", "strong", 1.0)
    assert memory.stats().saved.estimate == pytest.approx(-2.4)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("strong", 1.0)] * 4 + [("cheap", 0.1)] * 4, "no model has 5 outcomes yet"),
        ([("strong", 1.0)] * 9, "only one model was used"),
        ([("local", 0.0)] * 5 + [("other", 0.0)] * 5, "nothing was paid"),
    ],
)
def test_without_evidence_there_is_a_reason_and_no_estimate(
    memory: Memory, rows: list[tuple[str, float]], reason: str
) -> None:
    for i, (candidate, cost) in enumerate(rows):
        add(memory, f"r{i}", candidate, cost)
    saved = memory.stats().saved
    assert (saved.estimate, saved.low, saved.high) == (None, None, None)
    assert saved.reason.startswith(reason)


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
