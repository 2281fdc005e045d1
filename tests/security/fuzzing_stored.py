"""What lies on the disk as numbers, tables and databases: damaged by a disk, or made by somebody else."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from acr_cli import matrix
from acr_cli.advisor import classifier
from acr_cli.agent.ledger import Ledger
from acr_cli.agent.repomap import graph
from acr_cli.agent.repomap.index import Index
from acr_cli.bench import results, vectors
from acr_cli.history.cache import Examinations
from acr_cli.history.records import Examined
from acr_cli.memory import exchange, team
from acr_cli.memory.pending import Pending
from acr_cli.memory.store import Memory
from acr_cli.repair import answers, backend
from tests.agent.conftest import step
from tests.memory.outcomes import make_outcome
from tests.security.fuzzing import Parser, encoded
from tests.security.fuzzing_files import _outcome
from tests.security.fuzzing_replies import beneath


def _bytes(text: str) -> bytes:
    """The bytes that a text stands for, one each. Pure."""
    return b"".join(bytes([ord(c)]) if ord(c) < 256 else encoded(c) for c in text)


def _file(name: str, read: Callable[[Path], object]) -> Callable[[str], object]:
    """Shows a reader a file of these bytes."""

    def feed(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_bytes(text))
            return read(place)

    return feed


def _arrays(**arrays: Any) -> str:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue().decode("latin-1")


def _table(**columns: Any) -> str:
    packed = io.BytesIO()
    pl.DataFrame(columns).write_parquet(packed, compression="zstd")
    return packed.getvalue().decode("latin-1")


def _kept(write: Callable[[Path], object], name: str) -> str:
    """What something writes to a file of this name."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return (Path(folder) / name).read_bytes().decode("latin-1")


# --- arrays -----------------------------------------------------------------------------------------------

_GRAPH = {each.name: np.array([0, 1, 1], np.int64) for each in fields(graph.Graph)} | {
    "weight": np.array([1.0, 0.5, 0.5]),
    "target": np.array([1, 0, 1], np.int64),
    "size": np.array(2),
    "key": np.array("k"),
}


def _graph(place: Path) -> object:
    found = graph.load(place, "k")
    if found is not None:
        found.rank({0: 1.0})
        found.used([1, 5])
        found.defining(1)
    return found


class _Fixed:
    """An embedder of two numbers."""

    key, size = "fixed", 2
    file = f"bench-vectors-{hashlib.sha256(b'fixed').hexdigest()[:16]}.npz"

    def embed(self, texts: Any) -> Any:
        return [(0.6, 0.8) for _ in texts]


def _vectors(place: Path) -> object:
    return vectors.embedded(["x", "y"], _Fixed(), place.parent)


def _embedded(folder: Path) -> None:
    vectors.embedded(["x"], _Fixed(), folder)


_CLASSIFIER = {
    "features": np.array(["a", "b"]),
    "idf": np.array([1.0, 2.0]),
    "weights": np.zeros((2, 1)),
    "candidates": np.array(["m"]),
    "temperature": np.array(1.0),
}


def _classifier(place: Path) -> object:
    return classifier.read(place.parent, ["m"]).chances("a b", "bug_fixing", "python")


_JOURNAL = "memory/journal.sqlite3"
_EXAMINED = f"c-{hashlib.sha256(b'k').hexdigest()[:8]}.json"


def _packed(text: str) -> str:
    return gzip.compress(text.encode()).decode("latin-1")


# --- tables -----------------------------------------------------------------------------------------------

_MATRIX = {"task_id": ["a", "b"], "model": ["m", "m"], "score": [1.0, 0.0], "cost_usd": [0.1, None]}


def _exported(place: Path) -> None:
    exchange.write(str(place / "x.parquet"), [make_outcome("1"), make_outcome("2")])


def _read_outcomes(place: Path) -> object:
    return list(exchange.read(str(place)))


# --- databases --------------------------------------------------------------------------------------------


def _spend(place: Path) -> object:
    ledger = Ledger(place, day=1.0, month=2.0, now=lambda: 1_700_000_000.0)
    ledger.reserve(0.1)
    ledger.settle(0.05)
    return ledger.spent()


def _spent(folder: Path) -> None:
    _spend(folder / "l")


def _map(place: Path) -> object:
    (place.parent / "a.py").write_text("def f():\n    return g()\n")
    index = Index(place.parent)
    try:
        found = index.scan(place.parent, ["a.py"])
        for digest in found.digests.values():
            index.definitions(digest)
        return list(index.names(found.digests.values()))
    except sqlite3.Error:  # which the map is drawn without
        return None
    finally:
        index.close()


def _mapped(folder: Path) -> None:
    _map(folder / "maps.sqlite")
    with sqlite3.connect(folder / "maps.sqlite") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def _remember(place: Path) -> object:
    memory = Memory(place.parents[1], clock=lambda: 1_700_000_000.0)
    try:
        memory.remember(make_outcome("3"))
        list(memory.list(limit=5))
        return memory.stats(), memory.tallies(), memory.neighbours(make_outcome("3").vector, "x", k=3)
    finally:
        memory.close()


def _remembered(folder: Path) -> None:
    _remember(folder / "memory" / "journal.sqlite3")


# --- what the driver of repair answers --------------------------------------------------------------------

_SEEN = {
    "outcome": "failed",
    "seconds": 0.1,
    "lines": {"a.py": [1, 2]},
    "frames": [["a.py", 2]],
    "exception": "ValueError",
    "message": "1 == 2",
}
_SURVEY = {
    "runner": "pytest",
    "folders": ["/s/1"],
    "targets": {"t": "t"},
    "failing": {"t": _SEEN},
    "others": {"u": {**_SEEN, "outcome": "passed"}, "h": {**_SEEN, "late": {"a.py": [2]}, "outcome": "hung"}},
    "collected": 3,
    "imported": {"a.py": [1]},
    "types": {"a.py:1": {"x": ["int"]}},
    "errors": [{"collect_error": "t", "frames": [["a.py", 1]], "message": "x"}],
    "modules": ["json"],
    "seconds": 0.5,
    "everything": 1.0,
    "peak": 1000,
}


def _survey(text: str) -> object:
    """As far as it is used without the driver."""
    found = answers.surveyed(encoded(text))
    goal = backend._goal(found, 60.0)
    backend._no_goal(found)
    backend._suspicion(found)
    backend._hints(found, step())
    backend._types(found, "a.py")
    return goal is None or (math.isfinite(goal.full_timeout) and 0 < goal.timeout <= 20.0)


def _waiting(folder: Path) -> object:
    waiting = list(Pending(folder / "memory").waiting())
    return [path.name for path, _ in waiting], team.read_notes(folder / "memory")


_STORED = (
    ("graph of a map", "g.npz", _graph, _arrays(**_GRAPH)),
    ("kept vectors", _Fixed.file, _vectors, _kept(_embedded, _Fixed.file)),
    ("classifier", classifier.FILE, _classifier, _arrays(**_CLASSIFIER)),
    ("matrix in Parquet", "m.parquet", matrix.read_matrix, _table(**_MATRIX)),
    ("rows of a replay", "r.parquet", results.read_rows, _table(a=[1.0, 2.0], b=["x", "y"])),
    ("exported memory in Parquet", "x.parquet", _read_outcomes, _kept(_exported, "x.parquet")),
    ("exported memory, packed", "x.jsonl.gz", _read_outcomes, _packed(_outcome())),
    ("ledger of money", "l", _spend, _kept(_spent, "l")),
    ("names of a map", "maps.sqlite", _map, _kept(_mapped, "maps.sqlite")),
    ("journal of memory", _JOURNAL, _remember, _kept(_remembered, _JOURNAL)),
)
PARSERS = (
    *(
        Parser(
            name=name,
            feed=_file(file, read),
            samples=(sample,),
            shape="bytes",
            dear=name in ("names of a map", "journal of memory") or file.endswith(".parquet"),
        )
        for name, file, read, sample in _STORED
    ),
    Parser(
        name="survey of repair",
        feed=_survey,
        samples=(json.dumps(_SURVEY),),
        shape="json",
        sound=lambda bound: bound is not False,
    ),
    Parser(
        name="results of repair",
        feed=lambda text: list(answers.tried(encoded(text), {1})),
        samples=('{"n": 1, "passed": ["t"], "full": true, "how": "ok"}',),
        shape="json",
    ),
    Parser(
        name="outcome that waits",
        feed=beneath("memory/pending/x.json", _waiting),
        samples=(_outcome(),),
        shape="json",
    ),
    Parser(
        name="notes of a team",
        feed=beneath("memory/team.json", _waiting),
        samples=('{"time": 1.0, "sent": 1, "received": 2, "withdrawn": 0, "waiting": 0, "problem": ""}',),
        shape="json",
    ),
    Parser(
        name="examined commit",
        feed=beneath(_EXAMINED, lambda folder: Examinations(folder, "k").get("c")),
        samples=(_kept(lambda folder: Examinations(folder, "k").keep(Examined(commit="c")), _EXAMINED),),
        shape="json",
    ),
)
