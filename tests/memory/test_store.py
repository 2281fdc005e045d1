"""Memory keeps what it acknowledged, within its bound, and counts what it no longer keeps."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acr_cli.errors import StoreError, UsageError
from acr_cli.memory.encoding import decode, encode
from acr_cli.memory.journal import HELD_SECONDS
from acr_cli.memory.store import Memory
from acr_cli.memory.view import Selection
from acr_cli.records import Outcome, Tally
from tests.memory.outcomes import EMBEDDER, make_outcome, unit_vector

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    opened = Memory(home)
    yield opened
    opened.close()


def journal(home: Path) -> Path:
    return home / "memory" / "journal.sqlite3"


def fill(memory: Memory, number: int, **changes: object) -> list[Outcome]:
    outcomes = [make_outcome(f"o{i}", **changes) for i in range(number)]
    for outcome in outcomes:
        memory.remember(outcome)
    return outcomes


def counted(memory: Memory) -> int:
    return sum(tally.outcomes for tally in memory.tallies())


def same(left: tuple[Tally, ...], right: tuple[Tally, ...]) -> bool:
    """Equal, sums of floats but for the order in which they were added."""
    return [replace(t, cost_usd=0, seconds=0) for t in left] == [
        replace(t, cost_usd=0, seconds=0) for t in right
    ] and all(
        a.cost_usd == pytest.approx(b.cost_usd) and a.seconds == pytest.approx(b.seconds)
        for a, b in zip(left, right, strict=True)
    )


# --- what is kept ---------------------------------------------------------------------------------


def test_an_outcome_comes_back_as_it_was(memory: Memory) -> None:
    outcome = make_outcome("a", repository="caf\udce9", text="naïve \ud800", failed_before=("cheap",))
    memory.remember(outcome)
    found = memory.get("a")
    assert found is not None
    assert found.vector == pytest.approx(outcome.vector, abs=1e-7)
    assert replace(found, vector=outcome.vector) == outcome
    assert memory.get("b") is None


@given(
    text=st.text(max_size=50),
    numbers=st.lists(st.floats(0, 1e6), min_size=5, max_size=5),
    shared=st.booleans(),
    names=st.lists(st.text(max_size=8), max_size=3),
)
def test_encoding_and_decoding_an_outcome_changes_nothing(
    text: str, numbers: list[float], shared: bool, names: list[str]
) -> None:
    time, u, cost, seconds, propensity = numbers
    outcome = make_outcome(
        "id",
        text=text,
        time=time,
        u=u,
        cost_usd=cost,
        seconds=seconds,
        propensity=propensity,
        shared_credit=shared,
        available=tuple(names),
        vector=(0.5, -0.25, 0.0),
    )
    row = encode(outcome, store_text=True)
    assert row.sound
    assert decode(row) == outcome


@pytest.mark.parametrize(
    "changes",
    [{"vector": (float("nan"),)}, {"vector": (1e300,)}, {"u": float("inf")}, {"cost_usd": float("nan")}],
)
def test_a_number_that_is_not_finite_is_refused(memory: Memory, changes: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="not a finite number") as caught:
        memory.remember(make_outcome("a", **changes))
    assert caught.value.exit_code == 1


def test_the_same_id_is_kept_once(memory: Memory) -> None:
    for _ in range(3):
        memory.remember(make_outcome("a"))
    assert [outcome.id for outcome in memory.list()] == ["a"]
    assert counted(memory) == 1


def test_an_evicted_id_is_not_counted_again(home: Path) -> None:
    memory = Memory(home, bound=2)
    fill(memory, 5)
    before = memory.tallies()
    memory.remember(make_outcome("o0"))
    assert memory.tallies() == before
    memory.close()


def test_without_text_none_reaches_the_disk(home: Path) -> None:
    memory = Memory(home, store_text=False)
    memory.remember(make_outcome("a", text="a very secret wish"))
    memory.close()
    kept = Memory(home).get("a")
    assert kept is not None
    assert kept.text == ""
    assert kept.signals[0].note == ""
    assert all(b"secret wish" not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_the_list_is_newest_first_and_can_be_narrowed(memory: Memory) -> None:
    outcomes = fill(memory, 30)
    assert [o.id for o in memory.list(3)] == ["o29", "o28", "o27"]
    cheap = [o.id for o in reversed(outcomes) if o.candidate == "cheap" and o.verdict == "failed"]
    assert [o.id for o in memory.list(99, candidate="cheap", verdict="failed")] == cheap


# --- bound and checkpoint -------------------------------------------------------------------------


def test_the_oldest_leave_first(home: Path) -> None:
    memory = Memory(home, bound=10)
    fill(memory, 25)
    assert [o.id for o in memory.list(99)] == [f"o{i}" for i in range(24, 14, -1)]
    assert (memory.stats().outcomes, memory.stats().evicted) == (10, 15)
    memory.close()


def test_a_lower_bound_takes_effect_with_the_next_outcome(home: Path) -> None:
    wide = Memory(home)
    fill(wide, 1200)
    before = wide.tallies()
    narrow = Memory(home, bound=5)
    assert narrow.stats().outcomes == 1200
    narrow.remember(make_outcome("o0"))
    assert narrow.stats().outcomes == 1200  # nothing was added
    narrow.remember(make_outcome("last", verdict="unverified", cost_usd=0.0, seconds=0.0))
    assert [o.id for o in narrow.list(99)] == ["last", "o1199", "o1198", "o1197", "o1196"]
    assert sum(t.passed + t.failed for t in narrow.tallies()) == sum(t.passed + t.failed for t in before)
    assert same(narrow.tallies(), wide.tallies())
    for memory in (wide, narrow):
        memory.close()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bound=st.integers(1, 6),
    kinds=st.lists(
        st.tuples(
            st.sampled_from(["cheap", "strong", "builtin/repair"]),
            st.sampled_from(["bug_fixing", "algorithm"]),
            st.sampled_from(["passed", "failed", "unverified"]),
            st.sampled_from(["here", "there"]),
            st.booleans(),
            st.floats(0, 10),
        ),
        max_size=20,
    ),
)
def test_folding_what_is_evicted_equals_counting_all(
    tmp_path_factory: pytest.TempPathFactory, bound: int, kinds: list[tuple[str, str, str, str, bool, float]]
) -> None:
    folder = tmp_path_factory.mktemp("fold")
    narrow, wide = Memory(folder / "narrow", bound=bound), Memory(folder / "wide")
    for i, (candidate, dimension, verdict, repository, shared, cost) in enumerate(kinds):
        outcome = make_outcome(
            f"o{i}",
            candidate=candidate,
            dimension=dimension,
            verdict=verdict,
            repository=repository,
            shared_credit=shared,
            cost_usd=cost,
        )
        narrow.remember(outcome)
        wide.remember(outcome)
    assert same(narrow.tallies(), wide.tallies())
    assert same(narrow.tallies(), Memory(folder / "narrow").tallies())  # online or rebuilt
    live, all_ = narrow.stats(), wide.stats()
    assert live.outcomes == min(bound, len(kinds))
    assert live.total_usd == pytest.approx(all_.total_usd)
    assert {m: g.mean_u for m, g in live.models.items()} == pytest.approx(
        {m: g.mean_u for m, g in all_.models.items()}
    )
    narrow.close()
    wide.close()


def test_quality_is_counted_of_verified_outcomes_with_credit_of_their_own(memory: Memory) -> None:
    common = {"candidate": "c", "dimension": "d", "cost_usd": 1.0, "seconds": 2.0}
    for i, (verdict, shared) in enumerate(
        [("passed", False), ("failed", False), ("unverified", False), ("passed", True), ("failed", True)]
    ):
        memory.remember(make_outcome(f"o{i}", verdict=verdict, shared_credit=shared, **common))
    (tally,) = memory.tallies()
    assert tally == Tally(
        candidate="c",
        dimension="d",
        language="python",
        passed=1,
        failed=1,
        cost_usd=5.0,
        seconds=10.0,
        input_tokens=500,
        output_tokens=50,
        count=5,
        outcomes=5,
    )


# --- crashes and company --------------------------------------------------------------------------


def writer(home: Path, bound: int, ids: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.memory.outcomes", str(home), str(bound), *ids]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("bound", [1000, 20])
def test_kill_9_loses_nothing_that_was_acknowledged(home: Path, bound: int) -> None:
    acknowledged: list[str] = []
    for round_ in range(5):
        child = writer(home, bound, [f"r{round_}-{i}" for i in range(1000)])
        assert child.stdout is not None
        acknowledged += [child.stdout.readline().strip() for _ in range(7 + 13 * round_)]
        child.kill()
        acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
        child.wait()
        child.stdout.close()
        memory = Memory(home, bound=bound)
        # One more per round may have been written without a chance to say so.
        assert len(acknowledged) <= counted(memory) <= len(acknowledged) + round_ + 1
        live = [outcome.id for outcome in memory.list(5000)]
        assert len(live) == len(set(live)) <= bound
        assert set(acknowledged[-bound // 2 :]) <= set(live)
        assert bound < 1000 or set(acknowledged) <= set(live)
        assert memory.stats().damaged == 0
        memory.close()
    connection = sqlite3.connect(journal(home))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_four_writers_at_once_lose_and_double_nothing(home: Path) -> None:
    bound = 150
    # Each id is given to two writers.
    ids = [f"o{i}" for i in range(600)]
    shares = [ids[:300], ids[300:], ids[::2], ids[1::2]]
    children = [writer(home, bound, share) for share in shares]
    reader, seen = Memory(home, bound=bound), 0
    while any(child.poll() is None for child in children):
        now = counted(reader)
        assert seen <= now <= 600
        seen = now
        assert reader.stats().outcomes <= bound
        for neighbour in reader.neighbours(unit_vector("o7"), EMBEDDER, threshold=-1):
            assert neighbour.id in ids
    for child in children:
        assert child.stdout is not None
        child.stdout.read()
        child.stdout.close()
        assert child.wait() == 0
    stats = reader.stats()
    assert (stats.outcomes, stats.evicted, stats.damaged) == (bound, 450, 0)
    assert len({outcome.id for outcome in reader.list(999)}) == bound
    alone = Memory(home.with_name("alone"))
    for id_ in ids:
        alone.remember(make_outcome(id_))
    assert same(reader.tallies(), alone.tallies())
    for memory in (reader, alone):
        memory.close()


def test_threads_may_share_one_memory(memory: Memory) -> None:
    def work(name: int) -> None:
        for i in range(20):
            memory.remember(make_outcome(f"t{name}-{i}"))
            memory.neighbours(unit_vector("x"), EMBEDDER)

    threads = [Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted(memory) == 80


# --- damage and refusal ---------------------------------------------------------------------------


def spoil(home: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(journal(home))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        "record = replace(record, 'python', 'cobol')",
        "record = 'not json'",
        "record = x'00ff'",
        "vector = zeroblob(3)",
        "candidate = 'forged'",
        "u = 'a word'",
        "checksum = 'a word'",
    ],
)
def test_a_damaged_row_is_set_aside(home: Path, damage: str) -> None:
    memory = Memory(home, bound=4)
    fill(memory, 4, verdict="passed", candidate="c", dimension="d")
    memory.close()
    spoil(home, f"UPDATE outcomes SET {damage} WHERE id = 'o1'")  # noqa: S608
    assert memory.get("o1") is None
    assert [o.id for o in memory.list()] == ["o3", "o2", "o0"]
    assert {n.id for n in memory.neighbours(unit_vector("o1"), EMBEDDER, threshold=-1)} == {"o0", "o2", "o3"}
    assert (counted(memory), memory.stats().damaged) == (3, 1)
    for name in "abcd":  # it leaves in its turn, and is not counted then either
        memory.remember(make_outcome(name, verdict="passed", candidate="c", dimension="d"))
    assert (counted(memory), memory.stats().damaged, memory.stats().outcomes) == (7, 1, 4)
    memory.close()


def waiting(home: Path) -> list[str]:
    """Ids of the outcomes that wait beside the journal."""
    found = (home / "memory" / "pending").glob("*.json")
    return sorted(json.loads(path.read_text())["id"] for path in found)


def test_a_newer_schema_is_refused_unharmed(home: Path, memory: Memory) -> None:
    fill(memory, 2)
    memory.close()
    spoil(home, "PRAGMA user_version = 99")
    before = journal(home).read_bytes()
    for use in (
        memory.tallies,
        memory.stats,
        lambda: memory.neighbours(unit_vector("x"), EMBEDDER),
        lambda: memory.forget(ids=["o1"]),
    ):
        with pytest.raises(StoreError, match="newer acr") as caught:
            use()
        assert "Upgrade acr" in caught.value.hint
    told: list[str] = []
    Memory(home, tell=told.append).remember(make_outcome("x"))
    assert "newer acr" in told[0]
    assert waiting(home) == ["x"]
    assert journal(home).read_bytes() == before


@pytest.mark.parametrize("content", [b"This is no database. " * 100, None])
def test_a_foreign_file_is_refused_unharmed(home: Path, memory: Memory, content: bytes | None) -> None:
    journal(home).parent.mkdir(parents=True)
    if content is None:
        spoil(home, "CREATE TABLE recipes (name TEXT)")
    else:
        journal(home).write_bytes(content)
    before = journal(home).read_bytes()
    memory.remember(make_outcome("x"))
    assert waiting(home) == ["x"]
    with pytest.raises(StoreError) as caught:
        memory.stats()
    assert caught.value.hint
    assert journal(home).read_bytes() == before


def _zeroed(start: int, end: int) -> Callable[[Path], None]:
    def spoil_(home: Path) -> None:
        content = bytearray(journal(home).read_bytes())
        content[start:end] = bytes(len(content[start:end]))
        journal(home).write_bytes(content)

    return spoil_


def _cut_off(home: Path) -> None:
    with journal(home).open("r+b") as file:
        file.truncate(journal(home).stat().st_size // 2)


def _without_counts(home: Path) -> None:
    with sqlite3.connect(journal(home)) as database:
        database.execute("DELETE FROM meta WHERE name <> 'journal'")
    database.close()


def _no_text(home: Path) -> None:
    """The words of SQLite's own error are then none."""
    content = journal(home).read_bytes()
    journal(home).write_bytes(content.replace(b"CREATE TABLE outcomes", b"CREATE TABL\xb8 outcomes", 1))


@pytest.mark.parametrize(
    "damage",
    [_cut_off, _zeroed(0, 2**30), _zeroed(100, 4096), _zeroed(8192, 32768), _without_counts, _no_text],
    ids=str,
)
def test_a_damaged_journal_costs_no_later_outcome(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """What its hint says leaves what waits where it is found."""
    home = tmp_path / "a home"
    memory = Memory(home)
    fill(memory, 20)
    memory.close()
    damage(home)
    told: list[str] = []
    broken = Memory(home, tell=told.append)
    broken.remember(make_outcome("x"))
    with pytest.raises(StoreError, match="is damaged") as caught:
        broken.stats()
    broken.close()
    assert (len(told), waiting(home)) == (1, ["x"])
    subprocess.run(["sh", "-c", caught.value.hint.partition(": ")[2]], check=True)
    memory.remember(make_outcome("y"))
    assert {outcome.id for outcome in memory.list()} == {"x", "y"}
    memory.close()


@pytest.mark.parametrize("where", ["memory", "."])
def test_a_file_in_the_place_of_a_folder_costs_no_outcome(
    home: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(home.parent))
    place = home / where
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    told: list[str] = []
    memory = Memory(home, tell=told.append)
    memory.remember(make_outcome("x"))
    assert (len(told), place.read_text(), memory.tallies()) == (1, "mine", ())
    place.unlink()
    memory.remember(make_outcome("y"))
    assert {outcome.id for outcome in memory.list()} == {"x", "y"}
    assert not list(home.parent.rglob("*.json"))
    memory.close()


HOLD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in (f"PRAGMA locking_mode = {sys.argv[2]}", "BEGIN EXCLUSIVE", "DELETE FROM withdrawn"):
    held.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_a_journal_that_another_process_holds_is_waited_for_once(
    home: Path, memory: Memory, mode: str
) -> None:
    fill(memory, 2)
    memory.close()
    command = [sys.executable, "-c", HOLD, str(journal(home)), mode]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    told: list[str] = []
    other = Memory(home, tell=told.append, patience=1.5)
    other.remember(make_outcome("x"))
    assert other._journal.patience == HELD_SECONDS
    other.remember(make_outcome("y"))
    with pytest.raises(StoreError, match="is held by another process"):
        other.correct("run-o1", because="it was wrong")
    assert (len(told), waiting(home)) == (2, ["x", "y"])
    holder.communicate()
    other.remember(make_outcome("z"))
    assert {outcome.id for outcome in other.list()} == {"o0", "o1", "x", "y", "z"}
    assert waiting(home) == []
    other.close()


def test_reading_makes_no_file(home: Path, memory: Memory) -> None:
    assert memory.stats().outcomes == 0
    assert memory.tallies() == ()
    assert memory.neighbours(unit_vector("x"), EMBEDDER) == ()
    assert memory.get("x") is None
    assert memory.forget(ids=["x"]).outcomes == 0
    memory.settle()
    assert memory.settled == "nothing to index yet"
    assert not home.exists()


def test_only_the_user_can_read_what_is_kept(home: Path, memory: Memory) -> None:
    old = os.umask(0)
    try:
        fill(memory, 2)
    finally:
        os.umask(old)
    modes = {path.relative_to(home).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    assert modes.pop("memory") == stat.S_IMODE(home.stat().st_mode) == 0o700
    assert set(modes) == {
        f"memory/journal.{end}" for end in ("lock", "sqlite3", "sqlite3-shm", "sqlite3-wal")
    }
    assert set(modes.values()) == {0o600}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can enter; pytest's own are closed."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for path in Path(folder).rglob("*"):
            path.chmod(0o700)


AS_ANOTHER_USER = """
import json, os, sys
from pathlib import Path
import filelock
from acr_cli.errors import AcrError
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome
if os.getuid() == 0:
    os.setgroups([]); os.setgid(1000); os.setuid(1000)
told, lines = [], []
memory = Memory(Path(sys.argv[1]), tell=lines.append)
for use in (lambda: memory.remember(make_outcome("x")), lambda: memory.stats().outcomes):
    try:
        told.append(use())
    except AcrError as error:
        told.append([error.exit_code, error.message, error.hint])
places = [place.exists() for place in memory._pending.places]
print(json.dumps([*told, lines, places]))
"""


@pytest.mark.parametrize("filled", [False, True])
def test_a_home_that_cannot_be_written_says_so_and_can_be_read(open_folder: Path, filled: bool) -> None:
    home = open_folder / "home"
    home.mkdir()
    if filled:
        memory = Memory(home)
        fill(memory, 3)
        memory.close()
    spare = open_folder / "spare"
    spare.mkdir()
    spare.chmod(0o777)
    for path in [*home.rglob("*"), home]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = subprocess.run(
        [sys.executable, "-c", AS_ANOTHER_USER, str(home)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(spare)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    kept, read, (line,), places = json.loads(done.stdout)
    assert kept is None  # it did not raise
    assert line.startswith(f"The memory at {home}")
    assert f"waits in {spare}" in line
    assert places == [False, True]
    assert read == (3 if filled else 0)


def test_a_full_disk_costs_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, spare = tmp_path / "disk", tmp_path / "spare"
    disk.mkdir()
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    command = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        told: list[str] = []
        memory, number = Memory(disk / "home", tell=told.append), 0
        while not list(spare.rglob("*.json")) and number < 2000:
            memory.remember(make_outcome(f"o{number}", text="x y " * 500))
            number += 1
        assert number > 10
        assert "the disk is full" in told[0]
        assert counted(memory) < number
        memory.close()
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)  # some space is freed
        fresh = Memory(disk / "home")
        fresh.remember(make_outcome("last"))
        assert counted(fresh) == number + 1
        assert not list(tmp_path.rglob("pending*/*.json"))
        fresh.close()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_what_waits_and_is_damaged_is_set_aside(home: Path, memory: Memory) -> None:
    spoiled = home / "memory" / "pending" / "1.json"
    spoiled.parent.mkdir(parents=True, mode=0o700)
    spoiled.parent.chmod(0o700)
    spoiled.write_text('{"type": "outcome", "schema": 1, "id": "half')
    memory.remember(make_outcome("a"))
    assert counted(memory) == 1
    assert [path.name for path in spoiled.parent.iterdir()] == ["1.damaged"]


def test_what_waits_can_be_forgotten(home: Path, memory: Memory) -> None:
    memory._pending.hold(make_outcome("a", candidate="c"))
    memory._pending.hold(make_outcome("b", candidate="d"))
    assert memory.forget(candidate="c").outcomes == 1
    assert [o.id for o in memory.list()] == ["b"]
    assert not list(home.rglob("pending/*"))


def test_a_bound_below_one_is_refused(home: Path) -> None:
    with pytest.raises(UsageError):
        Memory(home, bound=0)


# --- forgetting -----------------------------------------------------------------------------------


def test_what_is_forgotten_is_gone_from_the_disk(home: Path, memory: Memory) -> None:
    fill(memory, 20)
    memory.remember(make_outcome("secret", text="the well hidden sentence"))
    watcher = Memory(home)
    assert counted(watcher) == 21
    assert memory.forget(ids=["secret"]).outcomes == 1
    assert memory.get("secret") is None
    assert counted(memory) == counted(watcher) == 20
    assert "secret" not in {n.id for n in watcher.neighbours(unit_vector("secret"), EMBEDDER, threshold=-1)}
    assert all(b"well hidden" not in path.read_bytes() for path in home.rglob("*") if path.is_file())
    watcher.close()


@pytest.mark.parametrize("bound", [1_000, 40])
def test_what_is_forgotten_leaves_free_places_too(home: Path, bound: int) -> None:
    """Trees of pages leave copies behind as they grow, and evicted rows stay until they are overwritten."""
    memory = Memory(home, bound=bound)
    for i in range(120):
        memory.remember(make_outcome(f"o{i}", text=f"<PLANTED{i}>", candidate="c", repository=f"r{i % 2}"))
    memory.forget(repository="r1")
    memory.close()
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert [i for i in range(1, 120, 2) if f"<PLANTED{i}>".encode() in kept] == []
    with Memory(home)._journal.view() as view:
        assert view is not None
        assert view.noted("remnants") == ""


def test_free_places_that_could_not_be_overwritten_are_after_the_next_run(home: Path) -> None:
    memory = Memory(home)
    fill(memory, 60)
    # As if the process had been killed before it was done.
    memory._journal.forget(Selection(candidate="cheap"))
    with memory._journal.view() as view:
        assert view is not None
        assert view.noted("remnants")
    memory.close()
    later = Memory(home)
    later.settle()
    assert later._journal.overwrite()
    with later._journal.view() as view:
        assert view is not None
        assert view.noted("remnants") == ""
    later.close()


def test_a_candidate_is_forgotten_after_its_eviction_too(home: Path) -> None:
    memory = Memory(home, bound=5)
    outcomes = fill(memory, 30)
    strong = sum(o.candidate == "strong" for o in outcomes)
    live = sum(o.candidate == "strong" for o in outcomes[-5:])
    forgotten = memory.forget(candidate="strong")
    assert (forgotten.outcomes, forgotten.evicted, forgotten.mixed) == (live, strong - live, 0)
    assert {t.candidate for t in memory.tallies()} == {"cheap"}
    assert counted(memory) == 30 - strong
    memory.close()


def test_a_repository_and_a_time_select_together(home: Path) -> None:
    memory = Memory(home, bound=2)
    for i in range(6):
        changes = {"candidate": "c", "dimension": "d", "repository": "here" if i % 2 else "there"}
        memory.remember(make_outcome(f"o{i}", time=float(i), **changes))
    # Live: 4 (there) and 5 (here); evicted: 0, 2 (there) and 1, 3 (here).
    forgotten = memory.forget(repository="here", before=2.0)
    assert (forgotten.outcomes, forgotten.evicted, forgotten.mixed) == (0, 0, 2)
    forgotten = memory.forget(repository="here", before=4.0)
    assert (forgotten.outcomes, forgotten.evicted, forgotten.mixed) == (0, 2, 0)
    assert counted(memory) == 4
    memory.forget(before=1e12)
    assert memory.tallies() == ()
    memory.close()


def test_to_forget_needs_a_selection(memory: Memory) -> None:
    with pytest.raises(UsageError, match="forgotten") as caught:
        memory.forget()
    assert caught.value.exit_code == 2
