"""An older memory is brought up to date, whole or not at all; a newer one is left alone."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from acr_cli.memory import migrations
from acr_cli.memory.schema import VERSION, _migrated
from acr_cli.memory.store import Memory
from acr_cli.records import Tally
from tests.memory.outcomes import make_outcome

FIXTURES = Path(__file__).parent / "fixtures"
# What the journal of version 1 holds: outcomes o4 to o13, o9 of them damaged; o0 to o3 are in its checkpoint.
LIVE_1 = [f"o{i}" for i in (13, 12, 11, 10, 8, 7, 6, 5, 4)]


def journal(home: Path) -> Path:
    return home / "memory" / "journal.sqlite3"


@pytest.fixture(params=range(1, VERSION))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A home with the journal of each released version."""
    home = tmp_path / "home"
    journal(home).parent.mkdir(parents=True)
    shutil.copy(FIXTURES / f"journal-v{request.param}.sqlite3", journal(home))
    return home


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
    connection.close()
    return found


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(found)


def checked(memory: Memory) -> None:
    assert [outcome.id for outcome in memory.list(99)] == LIVE_1
    stats = memory.stats()
    assert (stats.outcomes, stats.evicted, stats.damaged) == (9, 4, 1)
    sums: dict[tuple[str, str], list[float]] = {}
    for tally in memory.tallies():
        entry = sums.setdefault((tally.candidate, tally.dimension), [0.0, 0.0, 0])
        for place, number in enumerate((tally.passed, tally.failed, tally.outcomes)):
            entry[place] += number
    # As version 1 counted them itself, less the damaged outcome (cheap, algorithm).
    assert sums == {
        ("cheap", "algorithm"): [0, 0, 1],
        ("local", "algorithm"): [1, 1, 2],
        ("strong", "algorithm"): [2, 1, 3],
        ("cheap", "bug_fixing"): [1, 0, 3],
        ("local", "bug_fixing"): [1, 1, 2],
        ("strong", "bug_fixing"): [1, 1, 2],
    }


def test_an_old_memory_is_read_whole(old: Path) -> None:
    memory = Memory(old, bound=10)
    checked(memory)
    assert version(journal(old)) == VERSION
    memory.remember(make_outcome("new"))
    assert memory.stats().outcomes == 9  # at the bound: the oldest left, the damaged one is not counted
    memory.close()


def test_what_is_now_told_apart_comes_from_the_records(old: Path) -> None:
    memory = Memory(old)
    live = {outcome.id: outcome for outcome in memory.list(99)}
    told: dict[str, Tally] = {t.candidate: t for t in memory.tallies() if t.verifier == "judge"}
    assert {t.language for t in memory.tallies()} == {"", "go", "python"}  # "": of the checkpoint
    assert set(told) == {live[id_].candidate for id_ in ("o4", "o8", "o12")}
    assert any(t.failed_before == ("cheap", "strong") for t in memory.tallies())
    assert sum(t.input_tokens for t in memory.tallies()) == 100 * len(LIVE_1)
    memory.close()


def test_a_migrated_journal_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    memory, fresh = Memory(old), Memory(tmp_path / "fresh")
    for each in (memory, fresh):
        each.remember(make_outcome("new"))
        each.close()
    assert tables(journal(old)) == tables(journal(tmp_path / "fresh"))


def steps_of(path: Path) -> int:
    """How many statements a migration of this journal runs, roughly."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    count = 0

    def counted() -> int:
        nonlocal count
        count += 1
        return 0

    copy = sqlite3.connect(":memory:", isolation_level=None)
    connection.backup(copy)
    copy.set_progress_handler(counted, 20)
    migrations.migrate(copy, VERSION)
    copy.close()
    connection.close()
    return count


def interrupted_at(path: Path, step: int) -> None:
    """Migrate, and break off in the middle."""
    connection = sqlite3.connect(path, isolation_level=None)
    left = [step]

    def break_off() -> int:
        left[0] -= 1
        return left[0] <= 0

    connection.set_progress_handler(break_off, 20)
    try:
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            migrations.migrate(connection, VERSION)
    finally:
        connection.close()


def test_an_interrupted_migration_is_taken_up_again(old: Path) -> None:
    total = steps_of(journal(old))
    before = version(journal(old))
    for step in range(1, total, max(1, total // 40)):
        interrupted_at(journal(old), step)
        assert version(journal(old)) == before
    memory = Memory(old)
    checked(memory)
    memory.close()


def test_an_old_memory_that_cannot_be_written_can_be_read(old: Path) -> None:
    connection = sqlite3.connect(f"file:{journal(old)}?mode=ro&immutable=1", uri=True, isolation_level=None)
    before = journal(old).read_bytes()
    copy = _migrated(connection)
    assert copy.execute("SELECT count(*) FROM outcomes WHERE failed_before <> '[]'").fetchone()[0] > 0
    copy.close()
    assert journal(old).read_bytes() == before


def test_every_released_version_has_a_fixture_and_a_step() -> None:
    versions = {int(path.stem.rpartition("-v")[2]) for path in FIXTURES.glob("journal-v*.sqlite3")}
    assert versions == set(range(1, VERSION))
    assert set(migrations.STEPS) == set(range(2, VERSION + 1))
