"""Memory under load, under kills and at size. `make bench-memory`, or:

    python -m tests.benchmarks.memory [storm|kills|faults|query ...] [--scale SHARE] [--seed N]

storm   four processes write 5,000 outcomes each while two read and one writer is killed every second
kills   1,000 kills at random moments of write, evict, migrate, reindex and import
faults  ENOSPC and EIO at each single call that writes
query   the ten nearest of 20,000 and 200,000 outcomes, in a warm process and as a whole cold one

Figures are ratios where the machine matters; `--scale 0.1` does a tenth.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from acr_cli.memory.collection import renew_snapshot
from acr_cli.memory.exchange import read, write
from acr_cli.memory.migrations import V1
from acr_cli.memory.store import Memory
from acr_cli.memory.sums import Decay
from acr_cli.records import Outcome
from tests.memory.outcomes import make_outcome, unit_vector

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "memory" / "fixtures" / "journal-v1.sqlite3"
HALF_LIFE = 180.0  # days, as the default setting

WRITE = """
import sys
from pathlib import Path
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome
memory = Memory(Path(sys.argv[1]), bound=int(sys.argv[2]))
for line in sys.stdin:
    memory.remember(make_outcome(line.strip()))
    print(line.strip(), flush=True)
"""
READ = """
import sys
from pathlib import Path
from acr_cli.memory.store import Memory
from tests.memory.outcomes import EMBEDDER, unit_vector
memory = Memory(Path(sys.argv[1]), bound=int(sys.argv[2]))
seen = looks = 0
while not Path(sys.argv[3]).exists():
    total = sum(tally.outcomes for tally in memory.tallies())
    assert total >= seen, (total, seen)
    seen, looks = total, looks + 1
    memory.neighbours(unit_vector(str(looks)), EMBEDDER)
    memory.list(5)
print(looks)
"""
REINDEX = """
import sys
from pathlib import Path
from acr_cli.memory.store import Memory
from tests.memory.outcomes import unit_vector
class New:
    key, size = sys.argv[2], 8
    def embed(self, texts):
        return [list(unit_vector(text + self.key)) for text in texts]
print("ready", flush=True)
Memory(Path(sys.argv[1])).reindex(New(), New.key)
print("done", flush=True)
"""
IMPORT = """
import sys
from pathlib import Path
from acr_cli.memory.exchange import read
from acr_cli.memory.store import Memory
print("ready", flush=True)
print(Memory(Path(sys.argv[1]), bound=int(sys.argv[3])).take_in(read(sys.argv[2])).added, flush=True)
"""


def python(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def total_of(memory: Memory) -> int:
    return sum(tally.outcomes for tally in memory.tallies())


# --- storm ----------------------------------------------------------------------------------------


class Writer:
    """A process that writes its share; when it is killed, another goes on after what was acknowledged."""

    def __init__(self, home: Path, bound: int, ids: Sequence[str]) -> None:
        self.left = list(ids)
        self.acknowledged: list[str] = []
        self._arguments = (home, bound)
        self._start()

    def _start(self) -> None:
        self._file = tempfile.TemporaryFile("w+")  # noqa: SIM115  open as long as the process runs
        self._file.write("\n".join(self.left) + "\n")
        self._file.seek(0)
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115
        command = [sys.executable, "-c", WRITE, *map(str, self._arguments)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=self._file, stdout=self._out)

    def _collect(self) -> None:
        self._out.seek(0)
        told = [line.strip() for line in self._out if line.endswith("\n")]
        self.acknowledged += told
        self.left = self.left[len(told) :]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._collect()
        if self.left:
            self._start()

    def done(self) -> bool:
        if self.process.poll() is None:
            return False
        if self.left:
            assert self.process.returncode == 0
            self._collect()
        return not self.left


def storm(folder: Path, scale: float, seed: int) -> None:
    each, bound, rng = max(1, round(5_000 * scale)), max(1, round(15_000 * scale)), Random(seed)
    home, stop = folder / "storm", folder / "stop"
    ids = [f"o{i}" for i in range(4 * each)]
    writers = [Writer(home, bound, ids[i::4]) for i in range(4)]
    readers = [python(READ, home, bound, stop) for _ in range(2)]
    began, kills, last = time.monotonic(), 0, time.monotonic()
    while not all(list(map(Writer.done, writers))):
        time.sleep(0.05)
        if time.monotonic() - last >= 1.0:
            last = time.monotonic()
            busy = [writer for writer in writers if writer.process.poll() is None]
            if busy:
                rng.choice(busy).kill()
                kills += 1
    seconds = time.monotonic() - began
    stop.touch()
    looks = [int(reader.communicate()[0]) for reader in readers]
    memory = Memory(home, bound=bound)
    total, stats = total_of(memory), memory.stats()
    live = {outcome.id for outcome in memory.outcomes()}
    acknowledged = {id_ for writer in writers for id_ in writer.acknowledged}
    assert acknowledged == set(ids)
    assert total == len(ids), f"{total} counted of {len(ids)}"
    assert (stats.outcomes, stats.evicted, stats.damaged) == (bound, len(ids) - bound, 0)
    assert len(live) == bound
    assert all(reader.returncode == 0 for reader in readers)
    memory.close()
    print(
        f"storm   {len(ids):,} outcomes by 4 writers, {kills} kills, {sum(looks):,} looks by 2 readers, "
        f"{len(ids) / seconds:,.0f} outcomes a second: nothing missing, nothing double, bound exact"
    )


# --- kills ----------------------------------------------------------------------------------------


def kills(folder: Path, scale: float, seed: int) -> None:
    rounds, rng = max(5, round(1_000 * scale)), Random(seed)
    works: dict[str, Callable[[Path, Random], bool]] = {
        "write": lambda f, r: _killed_write(f, r, bound=10**6),
        "evict": lambda f, r: _killed_write(f, r, bound=7),
        "migrate": _killed_migration,
        "reindex": _killed_reindex,
        "import": _killed_import,
    }
    told = []
    for name, work in works.items():
        hits = 0
        for number in range(rounds // len(works)):
            place = folder / f"{name}{number}"
            hits += work(place, rng)
            shutil.rmtree(place, ignore_errors=True)
        told.append(f"{name} {rounds // len(works)} ({hits} in the middle)")
    print(f"kills   {', '.join(told)}: each opened, nothing acknowledged lost")


def _kill_after(process: subprocess.Popen[str], seconds: float) -> list[str]:
    """Kill a process that has said its first line; all whole lines that it said. It may have ended."""
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    return [line.strip() for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]


def _killed_write(folder: Path, rng: Random, *, bound: int) -> bool:
    ids = folder.parent / "ids"
    ids.write_text("".join(f"o{i}\n" for i in range(500)))
    with ids.open() as given:
        acknowledged = _kill_after(python(WRITE, folder, bound, stdin=given), rng.uniform(0, 0.15))
    memory = Memory(folder, bound=bound)
    total, live = total_of(memory), {outcome.id for outcome in memory.outcomes()}
    assert len(acknowledged) <= total <= len(acknowledged) + 1
    assert set(acknowledged[-bound + 1 :]) <= live or bound == 1
    assert len(live) == min(bound, total)
    _is_whole(memory)
    return len(acknowledged) < 500


def _killed_migration(folder: Path, rng: Random) -> bool:
    path = folder / "memory" / "journal.sqlite3"
    path.parent.mkdir(parents=True)
    _many_of_version_1(path)
    code = "print('ready', flush=True)\n" + READ_ONCE
    told = _kill_after(python(code, folder), rng.uniform(0, 0.3))
    memory = Memory(folder, bound=10**6)
    assert memory.stats().outcomes == 9 * COPIES
    assert total_of(memory) == 9 * COPIES + 4
    _is_whole(memory, damaged=1)
    return "done" not in told


COPIES = 100
READ_ONCE = """
import sys
from pathlib import Path
from acr_cli.memory.store import Memory
Memory(Path(sys.argv[1])).list(1)
print("done", flush=True)
"""


def _many_of_version_1(path: Path) -> None:
    """The fixture of version 1, its sound rows many times over."""
    shutil.copy(FIXTURE, path)
    connection = sqlite3.connect(path)
    query = f"SELECT {V1}, checksum, record, vector FROM outcomes"  # noqa: S608
    rows = connection.execute(query).fetchall()
    for copy in range(1, COPIES):
        for id_, *covered, checksum, record, vector in rows:
            cells = (id_, *covered)
            if checksum != zlib.crc32(vector, zlib.crc32(record.encode(), zlib.crc32(repr(cells).encode()))):
                continue
            fresh = (f"{id_}-{copy}", *covered)
            told = record.replace(f'"id":"{id_}"', f'"id":"{id_}-{copy}"')
            mark = zlib.crc32(vector, zlib.crc32(told.encode(), zlib.crc32(repr(fresh).encode())))
            connection.execute(
                f"INSERT INTO outcomes ({V1}, checksum, record, vector) VALUES ({', '.join('?' * 16)})",  # noqa: S608
                (*fresh, mark, told, vector),
            )
    connection.commit()
    connection.close()


def _killed_reindex(folder: Path, rng: Random) -> bool:
    memory = Memory(folder)
    memory.take_in([make_outcome(f"o{i}", verdict="passed") for i in range(300)])
    memory.close()
    told = _kill_after(python(REINDEX, folder, "new:8"), rng.uniform(0, 0.25))
    memory = Memory(folder)
    embedders = {outcome.embedder for outcome in memory.outcomes()}
    assert len(embedders) == 1
    key = embedders.pop()
    assert len(memory.neighbours(unit_vector("x"), key, threshold=-1)) == 10
    assert total_of(memory) == 300
    _is_whole(memory)
    return "done" not in told


def _killed_import(folder: Path, rng: Random) -> bool:
    file = folder.parent / "import.jsonl"
    if not file.exists():
        write(str(file), [make_outcome(f"o{i}") for i in range(3_000)])
    told = _kill_after(python(IMPORT, folder, file, 1_000), rng.uniform(0, 0.8))
    memory = Memory(folder, bound=1_000)
    total = total_of(memory)
    assert total % 500 == 0  # whole transactions
    assert memory.take_in(read(str(file))).added == 3_000 - total
    assert total_of(memory) == 3_000
    assert memory.stats().outcomes == 1_000
    _is_whole(memory)
    return len(told) < 2


def _is_whole(memory: Memory, damaged: int = 0) -> None:
    assert memory.stats().damaged == damaged
    memory.close()
    connection = sqlite3.connect(memory.folder / "journal.sqlite3")
    assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    connection.close()


# --- faults ---------------------------------------------------------------------------------------


def faults(_folder: Path, _scale: float, _seed: int) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "tests/memory/test_faults.py"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "ACR_FAULTS": "all"}, check=False, capture_output=True
    )
    print(f"faults  {done.stdout.decode().strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout.decode()


# --- query ----------------------------------------------------------------------------------------


def query(folder: Path, scale: float, seed: int) -> None:
    for number in (20_000, 200_000):
        size = max(100, round(number * scale))
        home = folder / f"query{number}"
        _filled(home, size, seed)
        memory = Memory(home, bound=size, half_life_days=HALF_LIFE)
        began = time.perf_counter()
        memory.tallies()
        memory.neighbours(unit_vector("x", 384), "bench:384")
        first = time.perf_counter() - began
        took = []
        for i in range(200):
            began = time.perf_counter()
            memory.neighbours(unit_vector(str(i), 384), "bench:384", k=10, threshold=0.0)
            took.append(time.perf_counter() - began)
        memory.close()
        median, p99 = statistics.median(took), sorted(took)[int(0.99 * len(took))]
        reference = _process([sys.executable, "-c", "import chromadb"])
        cold = _route(home, size)
        told = f"warm {1e3 * median:.1f} ms (p99 {1e3 * p99:.1f}), first {first:.2f} s"
        whole = f"cold acr route --explain {cold:.2f} s = {cold / reference:.2f} x `import chromadb`"
        print(f"query   {size:,} outcomes: {told}; {whole}")
        if number == 20_000:
            _chroma(folder / "chroma", size, seed)


def _filled(home: Path, number: int, seed: int) -> None:
    """A memory of so many outcomes with vectors of 384 numbers, and its snapshot."""
    import numpy as np

    generator, rng = np.random.default_rng(seed), Random(seed)
    candidates = [f"provider/model-{i}" for i in range(8)]

    def outcomes() -> Iterator[Outcome]:
        for i in range(number):
            vector = generator.standard_normal(384).astype(np.float32)
            yield replace(
                make_outcome(
                    f"20260102-150405-{i:06}abcd.s1.1",
                    text="The test of the basket fails: " + "word " * 40,
                    dimension=f"dimension-{i % 10}",
                    candidate=rng.choice(candidates),
                    failed_before=tuple(rng.sample(candidates, rng.choice((0, 0, 0, 1, 2)))),
                    votes=(("prior", rng.random()), ("neighbours", rng.random())),
                    p_success=rng.random(),
                ),
                vector=tuple((vector / np.linalg.norm(vector)).tolist()),
                embedder="bench:384",
            )

    memory = Memory(home, bound=number, half_life_days=HALF_LIFE)
    memory.take_in(outcomes())
    renew_snapshot(memory.folder, memory._journal, Decay.of_days(HALF_LIFE))
    memory.close()


def _process(command: Sequence[object], **environment: str) -> float:
    """The least of several whole runs, in seconds."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(
            list(map(str, command)),
            check=True,
            capture_output=True,
            cwd=tempfile.gettempdir(),
            env={**os.environ, **environment},
        )
        took.append(time.perf_counter() - began)
    return min(took)


def _route(home: Path, bound: int) -> float:
    program = Path(sys.executable).parent / "acr"
    (home / "config.toml").write_text(f"[memory]\nbound = {bound}\n")
    return _process([program, "route", "the basket fails", "--explain"], ACR_HOME=str(home))


def _chroma(folder: Path, number: int, seed: int) -> None:
    """The same search by Chroma's client alone."""
    import numpy as np

    code = """
import sys, chromadb
client = chromadb.PersistentClient(path=sys.argv[1])
client.get_collection("outcomes", embedding_function=None).query(query_embeddings=[[1.0] * 384], n_results=10)
"""
    import chromadb

    generator = np.random.default_rng(seed)
    client = chromadb.PersistentClient(path=str(folder))
    collection = client.create_collection("outcomes", embedding_function=None)
    for start in range(0, number, 1_000):
        ids = [str(i) for i in range(start, min(start + 1_000, number))]
        collection.add(ids=ids, embeddings=generator.standard_normal((len(ids), 384)).astype(np.float32))
    took = []
    for _ in range(100):
        began = time.perf_counter()
        collection.query(
            query_embeddings=generator.standard_normal((1, 384)).astype(np.float32), n_results=10
        )
        took.append(time.perf_counter() - began)
    cold = _process([sys.executable, "-c", code, folder])
    print(
        f"query   {number:,} in Chroma alone: warm {1e3 * statistics.median(took):.1f} ms, cold {cold:.2f} s"
    )


# --- all ------------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[Path, float, int], None]] = {
    "storm": storm,
    "kills": kills,
    "faults": faults,
    "query": query,
}


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="acr-bench-memory-") as name, suppress(OSError):
        yield Path(name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory under load, under kills and at size.")
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all unless named")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for name in given.sections or SECTIONS:
        with _folder() as folder:
            SECTIONS[name](folder, given.scale, given.seed)


if __name__ == "__main__":
    main()
