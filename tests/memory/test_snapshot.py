"""The snapshot saves reading, and is never believed more than the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acr_cli.memory import snapshot
from acr_cli.memory.collection import renew_snapshot
from acr_cli.memory.store import Memory
from acr_cli.memory.sums import Decay
from acr_cli.records import Neighbour
from tests.memory.outcomes import EMBEDDER, make_outcome, unit_vector

NOW = 1_800_000_000.0
DECAY = Decay.of_days(100)


def opened(home: Path, bound: int = 40) -> Memory:
    return Memory(home, bound=bound, half_life_days=100, clock=lambda: NOW)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Sixty outcomes, of which twenty have left, and their snapshot."""
    memory = opened(tmp_path)
    for i in range(60):
        memory.remember(make_outcome(f"o{i}", verdict="passed", embedder=EMBEDDER if i % 7 else "other:8"))
    assert renew_snapshot(memory.folder, memory._journal, DECAY)
    yield memory
    memory.close()


def near(memory: Memory, k: int = 50) -> tuple[Neighbour, ...]:
    return memory.neighbours(unit_vector("query"), EMBEDDER, k=k, threshold=-1)


def same(memory: Memory) -> None:
    """A new process learns the same as one without a snapshot."""
    fresh = opened(memory.folder.parent)
    told = near(fresh), fresh.tallies()
    snapshot.remove(memory.folder)
    bare = opened(memory.folder.parent)
    assert told[0] == near(bare)
    for left, right in zip(told[1], bare.tallies(), strict=True):
        assert (left.candidate, left.outcomes) == (right.candidate, right.outcomes)
        assert (left.passed, left.cost_usd) == pytest.approx((right.passed, right.cost_usd), rel=1e-12)
    fresh.close()
    bare.close()


def test_it_is_as_good_as_the_journal(memory: Memory) -> None:
    same(memory)


def test_it_is_followed_by_what_came_after(memory: Memory) -> None:
    for i in range(15):
        memory.remember(make_outcome(f"late{i}", verdict="failed"))
    fresh = opened(memory.folder.parent)
    assert fresh.tallies()
    assert fresh._learned._span.last == 75
    fresh.close()
    same(memory)


def test_it_is_of_no_use_when_rows_came_and_left_since(memory: Memory) -> None:
    for i in range(90):
        memory.remember(make_outcome(f"late{i}", verdict="failed"))
    same(memory)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:0],
        lambda data: b"no snapshot\n" + data,
        lambda data: data.replace(b'"passed"', b'"failed"', 1),
        lambda data: data.replace(b"o", b"p", 1),
    ],
)
def test_a_damaged_one_is_ignored(memory: Memory, spoil: Callable[[bytes], bytes]) -> None:
    path = memory.folder / snapshot.FILE
    path.write_bytes(spoil(path.read_bytes()))
    same(memory)


def test_a_damaged_vector_is_found_out(memory: Memory) -> None:
    path = memory.folder / snapshot.FILE
    data = bytearray(path.read_bytes())
    data[-8 * 4 :] = data[-16 * 4 : -8 * 4]  # the last vector becomes that of the row before it
    path.write_bytes(data)
    fresh, bare = opened(memory.folder.parent), opened(memory.folder.parent)
    found = fresh.neighbours(unit_vector("query"), "other:8", k=50, threshold=-1)
    assert not path.exists()
    assert found == bare.neighbours(unit_vector("query"), "other:8", k=50, threshold=-1)
    for each in (fresh, bare):
        each.close()


def test_another_half_life_does_not_use_it(memory: Memory) -> None:
    assert snapshot.read(memory.folder, DECAY) is not None
    assert snapshot.read(memory.folder, Decay()) is None


def test_what_is_forgotten_is_not_in_it(memory: Memory) -> None:
    memory.forget(ids=["o59"])
    assert "o59" not in {neighbour.id for neighbour in near(opened(memory.folder.parent))}
    kept = snapshot.read(memory.folder, DECAY)
    assert kept is None or kept.span.revision == 1


def test_it_is_renewed_only_when_much_has_changed(memory: Memory) -> None:
    assert not renew_snapshot(memory.folder, memory._journal, DECAY)
    for i in range(200):
        memory.remember(make_outcome(f"late{i}"))
    assert renew_snapshot(memory.folder, memory._journal, DECAY)
    same(memory)


def test_only_the_user_can_read_it(memory: Memory) -> None:
    assert (memory.folder / snapshot.FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in memory.folder.glob("snapshot*")] == [snapshot.FILE]
