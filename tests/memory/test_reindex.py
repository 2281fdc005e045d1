"""Another embedder takes over all at once, goes on where it was, and is never mixed with the old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from acr_cli.memory.reindex import BATCH
from acr_cli.memory.store import Memory
from tests.memory.outcomes import EMBEDDER, make_outcome, unit_vector

NEW = "new:4"


class New:
    """An embedder of another size; it can break down after some texts."""

    key = NEW
    size = 4

    def __init__(self, *, texts: int = 10**9) -> None:
        self.left = texts
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.left < len(texts):
            raise KeyboardInterrupt
        self.left -= len(texts)
        self.seen += texts
        return [list(unit_vector(text, 4)) for text in texts]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path, embedder="old")
    for i in range(3 * BATCH):
        opened.remember(make_outcome(f"o{i}", verdict="passed"))
    yield opened
    opened.close()


def found(memory: Memory, seed: str, embedder: str) -> list[str]:
    size = 4 if embedder == NEW else 8
    return [n.id for n in memory.neighbours(unit_vector(seed, size), embedder, k=5, threshold=-1)]


def test_the_new_vectors_take_over(memory: Memory, tmp_path: Path) -> None:
    before = memory.tallies()
    watcher = Memory(tmp_path)
    assert len(found(watcher, "query", EMBEDDER)) == 5
    told = memory.reindex(New(), "new")
    assert (told.embedded, told.without_text) == (3 * BATCH, 0)
    for each in (memory, watcher, Memory(tmp_path)):
        assert found(each, "The test of o7 fails", NEW)[0] == "o7"
        assert found(each, "query", EMBEDDER) == []
        assert each.tallies() == before
        each.close()
    kept = memory.get("o7")
    assert kept is not None
    assert (kept.embedder, len(kept.vector), memory.stats().damaged) == (NEW, 4, 0)


def test_an_interrupted_one_goes_on_and_the_old_vectors_serve_meanwhile(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        memory.reindex(New(texts=2 * BATCH), "new")
    assert memory.follows() == "old"
    assert len(found(memory, "query", EMBEDDER)) == 5
    assert found(memory, "query", NEW) == []
    memory.close()
    again = New()
    fresh = Memory(tmp_path)
    fresh.remember(make_outcome("late", verdict="passed"))
    assert fresh.reindex(again, "new").embedded == 3 * BATCH + 1
    assert len(again.seen) == BATCH + 1
    assert fresh.follows() == "new"
    fresh.close()


def test_an_outcome_that_comes_in_the_middle_is_not_left_behind(memory: Memory, tmp_path: Path) -> None:
    other = Memory(tmp_path)

    class Meanwhile(New):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if not self.seen:
                other.remember(make_outcome("meanwhile", verdict="passed"))
            return super().embed(texts)

    assert memory.reindex(Meanwhile(), "new").embedded == 3 * BATCH + 1
    assert found(memory, "The test of meanwhile fails", NEW)[0] == "meanwhile"
    other.close()


def test_an_outcome_without_text_keeps_its_vector(tmp_path: Path) -> None:
    memory = Memory(tmp_path, store_text=False)
    memory.remember(make_outcome("bare", verdict="passed"))
    told = memory.reindex(New(), "new")
    assert (told.embedded, told.without_text) == (0, 1)
    assert found(memory, "bare", EMBEDDER) == ["bare"]
    assert found(memory, "bare", NEW) == []
    memory.close()


def test_it_can_be_interrupted_for_another_embedder(memory: Memory) -> None:
    class Third(New):
        key = "third:4"

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(Third(texts=BATCH), "third")
    memory.reindex(New(), "new")
    assert {o.embedder for o in memory.outcomes()} == {NEW}


def test_to_do_it_twice_embeds_nothing_more(memory: Memory) -> None:
    memory.reindex(New(), "new")
    again = New()
    assert memory.reindex(again, "new").embedded == 0
    assert again.seen == []


def test_progress_is_told(memory: Memory) -> None:
    steps: list[tuple[int, int]] = []
    memory.reindex(New(), "new", progress=lambda done, whole: steps.append((done, whole)))
    assert steps[0] == (0, 3 * BATCH)
    assert (3 * BATCH, 3 * BATCH) in steps


def test_which_setting_the_vectors_follow_is_noted_once(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(make_outcome("a"))
    assert memory.follows() == ""
    Memory(tmp_path, embedder="one").remember(make_outcome("b"))
    Memory(tmp_path, embedder="two").remember(make_outcome("c"))
    assert memory.follows() == "one"
    memory.close()
