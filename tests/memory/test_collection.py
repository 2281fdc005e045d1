"""The Chroma collection follows the journal, and is built anew whenever it is not what it should be."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from acr_cli.memory.collection import settle
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome, unit_vector

ROOT = Path(__file__).parents[2]

# Those of Chroma and of what it stands on.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path, bound=100)
    yield opened
    opened.close()


@contextmanager
def opened(memory: Memory) -> Iterator[Any]:
    """The collection as another tool would open it."""
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings

    client: Any = chromadb.PersistentClient(
        path=str(memory.folder / "chroma"), settings=Settings(anonymized_telemetry=False)
    )
    try:
        yield client.get_collection("outcomes", embedding_function=None)
    finally:
        client.close()
        SharedSystemClient.clear_system_cache()


def held(memory: Memory) -> set[str]:
    """Ids that the collection holds, each found by its own vector."""
    with opened(memory) as collection:
        ids: list[str] = collection.get(include=[])["ids"]
        for id_ in ids:
            found = collection.query(query_embeddings=[list(unit_vector(id_))], n_results=1)
            assert found["ids"] == [[id_]]
        return set(ids)


def fill(memory: Memory, *ids: str, **changes: object) -> None:
    for id_ in ids:
        memory.remember(make_outcome(id_, **changes))


def test_other_tools_can_query_it(memory: Memory) -> None:
    outcome = make_outcome("a", verdict="passed", candidate="cheap", language="python", repository="here")
    memory.remember(outcome)
    fill(memory, "b", "c", candidate="strong")
    memory.settle()
    assert memory.settled == "3 outcomes in the Chroma collection"
    with opened(memory) as collection:
        found = collection.get(ids=["a"], include=["documents", "metadatas"])
        assert found["documents"] == [outcome.text]
        (metadata,) = found["metadatas"]
        expected = {"candidate": "cheap", "verdict": "passed", "language": "python", "repository": "here"}
        expected |= {"u": outcome.u, "cost_usd": outcome.cost_usd, "time": outcome.time}
        expected |= {"dimension": outcome.dimension, "teaches": True, "run": "run-a", "step": "s1"}
        assert {name: metadata[name] for name in expected} == expected
        near = collection.query(
            query_embeddings=[list(unit_vector("a"))], where={"candidate": "strong"}, n_results=5
        )
        assert set(near["ids"][0]) == {"b", "c"}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (memory.folder / "chroma").rglob("*")}
    assert modes <= {0o600, 0o700}


def test_it_follows_what_is_added_evicted_and_forgotten(memory: Memory, tmp_path: Path) -> None:
    fill(memory, "a", "b", "c")
    assert settle(memory.folder) == "3 outcomes in the Chroma collection"
    fill(memory, "d")
    assert memory.stats().collection.state == "behind"
    assert settle(memory.folder) == "4 outcomes in the Chroma collection"
    narrow = Memory(tmp_path, bound=2)
    fill(narrow, "e")
    assert settle(memory.folder) == "2 outcomes in the Chroma collection"
    assert held(memory) == {"d", "e"}
    narrow.forget(ids=["d"])
    assert narrow.settled == "1 outcomes in the Chroma collection"
    assert held(memory) == {"e"}
    assert (memory.stats().collection.state, memory.stats().collection.documents) == ("current", 1)
    narrow.close()


def test_many_outcomes_are_added_over_several_runs(memory: Memory) -> None:
    ids = [f"o{i}" for i in range(25)]
    fill(memory, *ids)
    assert settle(memory.folder, limit=10) == "10 outcomes in the Chroma collection, more with the next run"
    assert memory.stats().collection.behind == 15
    settle(memory.folder, limit=10)
    assert settle(memory.folder, limit=10) == "25 outcomes in the Chroma collection"
    assert held(memory) == set(ids)


def test_outcomes_without_a_vector_are_left_out(memory: Memory) -> None:
    fill(memory, "a", vector=(), embedder="")
    assert settle(memory.folder) == "nothing to index yet"
    fill(memory, "b")
    settle(memory.folder)
    assert held(memory) == {"b"}
    assert memory.stats().collection.state == "current"


def test_a_text_that_is_not_valid_unicode_is_no_obstacle(memory: Memory) -> None:
    """Names of files, and what is typed, may hold bytes that are no characters."""
    fill(memory, "1", text="rename caf\udce9.py")
    settle(memory.folder)
    assert held(memory) == {"1"}
    with opened(memory) as collection:
        assert collection.get(ids=["1"])["documents"] == ["rename caf\\udce9.py"]


def test_another_embedder_has_another_collection(memory: Memory) -> None:
    fill(memory, "a", embedder="old", vector=unit_vector("a", 4))
    settle(memory.folder)
    fill(memory, "b")
    assert memory.stats().collection.state == "stale"
    settle(memory.folder)
    assert held(memory) == {"b"}


def test_another_journal_has_another_collection(memory: Memory) -> None:
    fill(memory, "a", "b")
    settle(memory.folder)
    memory.close()
    for path in memory.folder.glob("journal*"):
        path.unlink()
    fill(memory, "c", "d")
    settle(memory.folder)
    assert held(memory) == {"c", "d"}


def files_of_the_index(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*-*-*-*-*/*") if path.is_file()]


def truncate(folder: Path) -> None:
    path = folder / "chroma.sqlite3"
    path.write_bytes(path.read_bytes()[:5000])


def forge_headers(folder: Path) -> None:
    for path in [folder / "chroma.sqlite3", *files_of_the_index(folder)]:
        path.write_bytes(b"\xff" * 200 + path.read_bytes()[200:])


def lose_index(folder: Path) -> None:
    assert files_of_the_index(folder)
    for path in folder.glob("*-*-*-*-*"):
        shutil.rmtree(path)


def lose_sqlite(folder: Path) -> None:
    (folder / "chroma.sqlite3").unlink()


def empty_sqlite(folder: Path) -> None:
    (folder / "chroma.sqlite3").write_bytes(b"")


def lose_notes(folder: Path) -> None:
    (folder / "synced.json").unlink()


def garble_notes(folder: Path) -> None:
    (folder / "synced.json").write_text('{"journal": 3, "surprise": []}')


def wrong_count(folder: Path) -> None:
    notes = json.loads((folder / "synced.json").read_text())
    (folder / "synced.json").write_text(json.dumps(notes | {"count": 7}))


def lose_all(folder: Path) -> None:
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "damage",
    [
        *(truncate, forge_headers, lose_sqlite, empty_sqlite),
        *(lose_notes, garble_notes, wrong_count, lose_all),
    ],
)
def test_a_damaged_collection_is_built_anew(memory: Memory, damage: Callable[[Path], None]) -> None:
    fill(memory, "a", "b", "c")
    settle(memory.folder)
    damage(memory.folder / "chroma")
    fill(memory, "d")
    memory.settle()
    assert memory.settled.startswith("4 outcomes in the Chroma collection")
    assert held(memory) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("damage", [forge_headers, lose_index])
def test_a_damaged_index_is_built_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    # Chroma writes its index to files of its own only above a thousand outcomes.
    memory = Memory(tmp_path)
    fill(memory, *(f"o{i}" for i in range(1100)))
    settle(memory.folder)
    damage(memory.folder / "chroma")
    memory.settle()
    assert memory.settled == "1100 outcomes in the Chroma collection, built anew"
    with opened(memory) as collection:
        found = collection.query(query_embeddings=[list(unit_vector("o5"))], n_results=1)
    assert found["ids"] == [["o5"]]
    memory.close()


@pytest.mark.parametrize("notes", [{"sequence": 2, "count": 2, "adding": 2}, {"removing": 3, "count": 5}])
def test_an_interrupted_settling_is_taken_up_again(memory: Memory, notes: dict[str, object]) -> None:
    fill(memory, "a", "b", "c")
    settle(memory.folder)
    path = memory.folder / "chroma" / "synced.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | notes))
    fill(memory, "d")
    assert settle(memory.folder) == "4 outcomes in the Chroma collection"
    assert held(memory) == {"a", "b", "c", "d"}


def test_a_busy_collection_is_left_alone(memory: Memory) -> None:
    fill(memory, "a")
    with FileLock(memory.folder / "collection.lock"):
        memory.settle()
    assert memory.settled == "another acr is filling the Chroma collection"
    assert not (memory.folder / "chroma").exists()


def test_several_processes_may_settle_while_others_write(memory: Memory, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom acr_cli.memory.collection import settle\n"
        "from acr_cli.memory.store import Memory\nfrom tests.memory.outcomes import make_outcome\n"
        "memory = Memory(Path(sys.argv[1]), bound=100)\n"
        "for i in range(40):\n"
        "    memory.remember(make_outcome(f'{sys.argv[2]}{i}'))\n"
        "    if i % 4 == 0: settle(memory.folder)\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], cwd=ROOT) for name in "abc"
    ]
    assert [child.wait(timeout=200) for child in children] == [0, 0, 0]
    memory.settle()
    assert memory.settled == "100 outcomes in the Chroma collection"
    assert held(memory) == {outcome.id for outcome in memory.list(999)}


def test_nothing_is_imported_from_the_folder_that_acr_is_started_in(memory: Memory, tmp_path: Path) -> None:
    fill(memory, "a")
    program = (
        "import sys\nfrom pathlib import Path\nfrom acr_cli.memory.store import Memory\n"
        "memory = Memory(Path(sys.argv[1]))\nmemory.settle()\nprint(memory.settled)"
    )
    repository = tmp_path / "repository"
    repository.mkdir()
    for name in ("chromadb", "filelock", "json", "acr_cli"):
        (repository / f"{name}.py").write_text("raise SystemExit('foreign code ran')\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(tmp_path)],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "1 outcomes in the Chroma collection", done.stderr


def test_a_folder_that_cannot_be_filled_is_told_and_harms_nothing(memory: Memory) -> None:
    fill(memory, "a")
    (memory.folder / "chroma").write_text("in the way")
    (memory.folder / "collection.lock").mkdir()
    memory.settle()
    assert memory.settled.startswith("the Chroma collection could not be built")
    assert memory.settled.endswith("memory itself is unharmed")
    assert memory.get("a") is not None


def test_what_is_forgotten_leaves_the_collection_even_while_it_is_filled(memory: Memory) -> None:
    told: list[str] = []
    memory = Memory(memory.folder.parent, tell=told.append)
    fill(memory, "a", "b", text="the well hidden sentence")
    memory.settle()
    lock = FileLock(memory.folder / "collection.lock", thread_local=False)
    lock.acquire()
    threading.Timer(1.0, lock.release).start()
    memory.forget(ids=["a", "b"])
    assert told == []
    assert not any(
        b"hidden sentence" in path.read_bytes() for path in memory.folder.rglob("*") if path.is_file()
    )
    memory.close()
