"""Search is exact, follows other processes, and never compares vectors of two embedders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.memory.encoding import pack
from acr_cli.memory.search import VectorIndex
from acr_cli.memory.store import Memory
from tests.memory.outcomes import EMBEDDER, make_outcome, unit_vector


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path)
    yield opened
    opened.close()


def cosine(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def ids(memory: Memory, seed: str, **options: float) -> list[str]:
    found = memory.neighbours(unit_vector(seed), EMBEDDER, **{"threshold": -1.0, **options})  # type: ignore[arg-type]
    return [neighbour.id for neighbour in found]


def test_the_nearest_come_first(memory: Memory) -> None:
    names = [f"o{i}" for i in range(200)]
    for name in names:
        memory.remember(make_outcome(name, verdict="passed"))
    query = unit_vector("query")
    best = sorted(names, key=lambda name: -cosine(unit_vector(name), query))
    assert ids(memory, "query") == best[:10]
    assert ids(memory, "query", k=3) == best[:3]
    near = [name for name in best if cosine(unit_vector(name), query) >= 0.5]
    found = memory.neighbours(query, EMBEDDER, k=200, threshold=0.5)
    assert [neighbour.id for neighbour in found] == near
    assert found[0].similarity == pytest.approx(cosine(unit_vector(near[0]), query), abs=1e-5)


def test_a_neighbour_carries_what_the_voters_read(memory: Memory) -> None:
    outcome = make_outcome("a", verdict="failed", candidate="cheap", u=0.25, cost_usd=0.5, text="the text")
    memory.remember(outcome)
    (found,) = memory.neighbours(outcome.vector, EMBEDDER)
    assert (found.id, found.candidate, found.passed, found.u, found.cost_usd, found.text) == (
        *("a", "cheap", False, 0.25, 0.5),
        "the text",
    )
    assert found.similarity == pytest.approx(1.0, abs=1e-6)


def test_equal_vectors_are_found_newest_first(memory: Memory) -> None:
    for i in range(30):
        memory.remember(make_outcome(f"o{i}", verdict="passed", vector=unit_vector("same")))
    assert ids(memory, "same", k=4) == ["o29", "o28", "o27", "o26"]


@pytest.mark.parametrize("changes", [{"verdict": "unverified"}, {"verdict": "passed", "shared_credit": True}])
def test_what_teaches_no_quality_is_no_neighbour(memory: Memory, changes: dict[str, object]) -> None:
    memory.remember(make_outcome("a", **changes))
    assert ids(memory, "a") == []


def test_vectors_of_two_embedders_never_meet(memory: Memory) -> None:
    memory.remember(make_outcome("a", verdict="passed", embedder="one"))
    memory.remember(make_outcome("b", verdict="passed", embedder="two"))
    memory.remember(make_outcome("c", verdict="passed", embedder="two", vector=unit_vector("c", 16)))
    memory.remember(make_outcome("d", verdict="passed", embedder="", vector=()))
    for embedder, expected in (("one", "a"), ("two", "b")):
        found = memory.neighbours(unit_vector("x"), embedder, threshold=-1)
        assert [neighbour.id for neighbour in found] == [expected]
    assert memory.neighbours(unit_vector("x"), "three", threshold=-1) == ()
    assert memory.neighbours((), "", threshold=-1) == ()


@pytest.mark.parametrize("query", [(0.0,) * 8, (math.nan,) * 8, (math.inf,) * 8])
def test_a_query_without_a_direction_has_no_neighbours(memory: Memory, query: tuple[float, ...]) -> None:
    memory.remember(make_outcome("a", verdict="passed"))
    assert memory.neighbours(query, EMBEDDER, threshold=-1) == ()


def test_what_another_process_appends_and_evicts_is_seen(memory: Memory, tmp_path: Path) -> None:
    other = Memory(tmp_path, bound=3)
    for i in range(3):
        other.remember(make_outcome(f"o{i}", verdict="passed"))
    assert set(ids(memory, "x")) == {"o0", "o1", "o2"}
    other.remember(make_outcome("o3", verdict="passed"))
    assert set(ids(memory, "x")) == {"o1", "o2", "o3"}
    other.forget(ids=["o2"])
    assert set(ids(memory, "x")) == {"o1", "o3"}
    other.close()


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "drop", "ask"]), st.integers(0, 40)), max_size=60),
    k=st.integers(0, 5),
    threshold=st.sampled_from([-1.0, 0.0, 0.4]),
)
def test_the_index_equals_a_plain_search(steps: list[tuple[str, int]], k: int, threshold: float) -> None:
    index, live, sequence = VectorIndex(), dict[int, tuple[float, ...]](), 0
    for verb, number in steps:
        query = unit_vector(f"query{number}", 4)
        if verb == "add":
            sequence += 1 + number % 3
            live[sequence] = unit_vector(str(number), 4)
            index.add(sequence, "e", pack(live[sequence]))
        elif verb == "drop":
            first = max(sequence - number, 0)
            live = {s: v for s, v in live.items() if s >= first}
            index.drop_before(first)
        else:
            found = index.nearest(query, "e", k=k, threshold=threshold)
            near = sorted((-cosine(v, query), -s) for s, v in live.items())
            expected = [(-s, -c) for c, s in near if -c >= threshold][:k]
            assert [hit.sequence for hit in found] == [s for s, _ in expected]
            assert [hit.similarity for hit in found] == pytest.approx([c for _, c in expected], abs=1e-5)
