"""Two people's memories meet on a real Chroma server, whatever happens on the way."""

from __future__ import annotations

import gc
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from acr_cli.errors import ConfigurationError
from acr_cli.memory.chroma import ServerFailed, close, open_server
from acr_cli.memory.store import Memory
from acr_cli.memory.team import Server, read_notes
from tests.memory.outcomes import EMBEDDER, make_outcome, unit_vector

# Those of Chroma and of what it stands on.
pytestmark = pytest.mark.filterwarnings("default")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Chroma:
    """A real server on a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(sys.executable).parent / "chroma"
        command = [program, "run", "--path", self._folder, "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(autouse=True)
def _leftovers() -> Iterator[None]:
    """A connection that was cut while Chroma made it is closed here, under this module's filter."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chroma]:
    server = Chroma(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(shared_server: Chroma) -> Server:
    """A database of its own on the shared server."""
    import chromadb

    name = f"db{time.monotonic_ns()}"
    admin = chromadb.AdminClient(
        chromadb.config.Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host="127.0.0.1",
            chroma_server_http_port=shared_server.port,
            anonymized_telemetry=False,
        )
    )
    admin.create_database(name)
    admin._server._session.close()
    return Server(url=f"http://127.0.0.1:{shared_server.port}", database=name)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    opened: list[Memory] = []

    def make(name: str, **options: object) -> Memory:
        opened.append(Memory(tmp_path / name, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()


def fill(memory: Memory, *ids: str, **changes: object) -> None:
    for id_ in ids:
        memory.remember(make_outcome(id_, **{"verdict": "passed", **changes}))


def ids(memory: Memory) -> set[str]:
    return {outcome.id for outcome in memory.outcomes()}


def test_two_people_learn_from_each_other(server: Server, member: Callable[..., Memory]) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, "a1", "a2", "a3", candidate="strong")
    fill(bob, "b1", "b2", candidate="cheap", votes=(("prior", 0.75),), p_success=0.5)
    sent = ada.synchronise(server)
    assert (sent.sent, sent.received, sent.waiting, sent.problem) == (3, 0, 0, "")
    done = bob.synchronise(server)
    assert (done.sent, done.received) == (2, 3)
    assert ada.synchronise(server).received == 2
    assert ids(ada) == ids(bob) == {"a1", "a2", "a3", "b1", "b2"}
    assert ada.tallies() == bob.tallies()
    near = bob.neighbours(unit_vector("a2"), EMBEDDER, k=1)
    assert (near[0].id, near[0].text) == ("a2", "The test of a2 fails")
    left, right = ada.get("b1"), bob.get("b1")
    assert left == right
    again = ada.synchronise(server)
    assert (again.sent, again.received) == (0, 0)


def test_an_empty_memory_is_filled(server: Server, member: Callable[..., Memory]) -> None:
    ada, new = member("ada"), member("new")
    fill(ada, *(f"a{i}" for i in range(250)))
    fill(ada, "bare", vector=(), embedder="")
    ada.synchronise(server)
    assert new.synchronise(server).received == 251
    assert ids(new) == ids(ada)
    bare = new.get("bare")
    assert bare is not None
    assert (bare.vector, bare.embedder) == ((), "")


def test_vectors_of_two_embedders_are_kept_apart(server: Server, member: Callable[..., Memory]) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, "a", embedder="one:8")
    fill(bob, "b", embedder="two:4", vector=unit_vector("b", 4))
    for memory in (ada, bob, ada):
        assert memory.synchronise(server).problem == ""
    assert [n.id for n in ada.neighbours(unit_vector("b", 4), "two:4")] == ["b"]
    assert ada.neighbours(unit_vector("b"), "two:4") == ()
    assert ada.stats().embedder == "one:8"  # its own


def test_offline_work_is_kept_and_sent_later(member: Callable[..., Memory], tmp_path: Path) -> None:
    chroma = Chroma(tmp_path / "chroma")
    server = Server(url=f"http://127.0.0.1:{chroma.port}")
    ada, bob = member("ada"), member("bob")
    fill(ada, "a1", "a2")
    told = ada.synchronise(server)
    assert (told.sent, told.waiting) == (0, 2)
    assert "did not take part" in told.problem
    assert "2 of yours wait" in told.line()
    assert read_notes(ada.folder) == told
    chroma.start()
    try:
        assert ada.synchronise(server).sent == 2
        assert bob.synchronise(server).received == 2
    finally:
        chroma.kill()


class Cut:
    """A way to a server that is cut after so many bytes."""

    def __init__(self, port: int, *, after: int) -> None:
        self._left = after
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2048):
                self._left -= len(data)
                if self._left < 0:
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.close()


def test_a_cut_in_the_middle_costs_nothing(
    server: Server, shared_server: Chroma, member: Callable[..., Memory]
) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, *(f"a{i}" for i in range(350)))
    fill(bob, *(f"b{i}" for i in range(150)))
    bob.synchronise(server)
    cuts = 0
    # The server is the same whatever way leads there, so that each try goes on where the last was cut.
    for after in range(20_000, 2_000_000, 90_000):
        way = Cut(shared_server.port, after=after)
        told = ada.synchronise(Server(url=f"http://127.0.0.1:{way.port}", database=server.database))
        way.close()
        cuts += bool(told.problem)
        if not told.problem:
            break
    assert cuts >= 2
    assert ada.synchronise(server).problem == ""
    bob.synchronise(server)
    assert ids(ada) == ids(bob) == {f"a{i}" for i in range(350)} | {f"b{i}" for i in range(150)}
    for memory in (ada, bob):
        assert sum(tally.outcomes for tally in memory.tallies()) == 500


def test_a_server_killed_in_the_middle_is_gone_on_with(member: Callable[..., Memory], tmp_path: Path) -> None:
    chroma = Chroma(tmp_path / "chroma")
    server = Server(url=f"http://127.0.0.1:{chroma.port}")
    ada, bob = member("ada"), member("bob")
    fill(ada, *(f"a{i}" for i in range(600)))
    chroma.start()
    try:
        threading.Timer(0.4, chroma.kill).start()
        ada.synchronise(server)
        time.sleep(0.6)
        chroma.start()
        assert ada.synchronise(server).problem == ""
        bob.synchronise(server)
        assert ids(bob) == ids(ada)
    finally:
        chroma.kill()


def test_what_is_forgotten_leaves_the_server_and_does_not_come_back(
    server: Server, member: Callable[..., Memory]
) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, "a1", "a2", candidate="c")
    fill(ada, "a3", candidate="d")
    fill(bob, "b1", candidate="c")
    for memory in (ada, bob, ada):
        memory.synchronise(server)
    ada.forget(candidate="c")
    assert ids(ada) == {"a3"}
    done = ada.synchronise(server)
    assert (done.withdrawn, done.received) == (2, 0)  # b1 is bob's, and stays forgotten here
    assert ids(ada) == {"a3"}
    new = member("new")
    new.synchronise(server)
    assert ids(new) == {"a3", "b1"}
    ada.forget(ids=["a3"])
    assert ada.synchronise(server).withdrawn == 1


def test_without_text_none_leaves_the_machine(server: Server, member: Callable[..., Memory]) -> None:
    ada, bob = member("ada", store_text=False), member("bob")
    fill(ada, "a1", text="a very private wish")
    ada.synchronise(server)
    bob.synchronise(server)
    kept = bob.get("a1")
    assert kept is not None
    assert (kept.text, kept.signals[0].note) == ("", "")


def test_what_is_no_outcome_on_the_server_is_left_there(
    server: Server, member: Callable[..., Memory]
) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, "a1")
    ada.synchronise(server)
    client = server.connect()
    (found,) = client.list_collections()
    collection = client.get_collection(found.name, embedding_function=None)
    kept = collection.get(limit=1, include=["metadatas"])["metadatas"][0]
    for number, record in enumerate(['{"id": "x"}', "no json", "[" * 9999, kept["record"]]):
        collection.upsert(
            ids=[f"mallory:x{number}"],
            embeddings=[list(unit_vector("x"))],
            metadatas=[{**kept, "record": record}],
            documents=["text"],
        )
    close(client)
    told = bob.synchronise(server)
    assert (told.received, told.problem) == (1, "")
    assert ids(bob) == {"a1"}


def test_it_goes_on_in_a_process_of_its_own(server: Server, member: Callable[..., Memory]) -> None:
    ada, bob = member("ada"), member("bob")
    fill(ada, "a1")
    ada.synchronise_apart(server)
    for _ in range(600):
        if (notes := read_notes(ada.folder)) is not None:
            break
        time.sleep(0.05)
    assert notes is not None
    assert (notes.sent, notes.problem) == (1, "")
    assert bob.synchronise(server).received == 1


@pytest.mark.parametrize(
    ("url", "token", "message"),
    [
        ("chroma.example.org:8000", "", "must be an address"),
        ("ftp://chroma.example.org", "", "must be an address"),
        ("http://127.0.0.1:99999", "", "must be an address"),
        ("http://127.0.0.1:x", "", "must be an address"),
        ("http://[::1", "", "must be an address"),
        ("https://chroma.example.org", "sec\nret", "characters that none can have"),
        ("https://chroma.example.org", "sécret", "characters that none can have"),
        ("https://me:secret@chroma.example.org", "", "must hold no password"),
        ("http://chroma.example.org", "secret", "unencrypted"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(
    member: Callable[..., Memory], url: str, token: str, message: str
) -> None:
    server = Server(url=url, token=token)
    with pytest.raises(ConfigurationError, match=message) as caught:
        member("ada").synchronise(server)
    assert caught.value.exit_code == 3
    assert "secret" not in repr(server) or "me:secret" in url


def test_a_server_that_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServerFailed, match="timed out"):
        open_server(
            host="127.0.0.1",
            port=silent.getsockname()[1],
            tls=False,
            headers={},
            tenant="t",
            database="d",
            seconds=0.2,
        )


def test_a_server_that_repeats_the_token_does_not_show_it(member: Callable[..., Memory]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as echoing:
        url = f"http://127.0.0.1:{echoing.getsockname()[1]}"

        def answer() -> None:
            with suppress(OSError):  # it is closed at the end
                while True:
                    with echoing.accept()[0] as line:
                        line.recv(65536)
                        said = b"no sekret-token-1 here"
                        line.sendall(b"HTTP/1.1 403 No\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))

        threading.Thread(target=answer, daemon=True).start()
        memory = member("ada")
        done = memory.synchronise(Server(url=url, token="sekret-token-1"))
    assert "no [token] here" in done.problem
    assert "sekret" not in (memory.folder / "team.json").read_text()


def test_chroma_brings_its_server() -> None:
    assert shutil.which("chroma", path=str(Path(sys.executable).parent))
