"""Team memory: outcomes shared by way of a Chroma server, each member's own journal first.

A synchronisation sends the own outcomes that are not yet there, withdraws what was forgotten here, and
fetches what the others have sent. Each part goes on where it was cut off: an outcome is sent under its own
id, which to do twice changes nothing; how far the sending has come is noted after the server has answered;
what is known here already is not fetched. Vectors of one embedder share a collection, so that no two are
ever mixed.

The server stamps nothing, and its members' clocks may differ: what was sent since the last fetch, less a day,
is asked for by the senders' stamps, and every so often all ids are gone through.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acr_cli.errors import ConfigurationError, StoreError
from acr_cli.memory import chroma
from acr_cli.memory.encoding import Row, clean, decode, encode
from acr_cli.memory.exchange import checked, from_json, to_json
from acr_cli.memory.journal import Journal
from acr_cli.memory.schema import FILE_MODE, FOLDER_MODE
from acr_cli.memory.view import Selection
from acr_cli.redaction import without_keys

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

PREFIX = "acr-outcomes-"
BATCH = 100  # outcomes in one request
PAGE = 1_000  # ids in one request
SLACK = 86_400.0  # seconds by which members' clocks may differ
ALL_IDS = 20  # of so many fetches, one goes through all ids
NO_VECTOR = [1.0]  # Chroma keeps nothing without one
LOCAL = ("localhost", "127.0.0.1", "::1")
NOTES = "team.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """Where the team's memory is. The token is sent as a bearer token and as Chroma Cloud wants it."""

    url: str
    token: str = field(default="", repr=False)
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def mark(self) -> str:
        """Tells servers apart in notes."""
        told = json.dumps([self.url.rstrip("/"), self.tenant, self.database])
        return hashlib.blake2b(told.encode(), digest_size=6).hexdigest()

    def checked(self) -> Server:
        """Itself. Raises: ConfigurationError for an address that is none, or that would show the token."""
        try:
            parts = urlsplit(self.url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # no port, or no IPv6 address
            known = False
        if not known:
            raise ConfigurationError(
                "memory.url must be an address like https://chroma.example.org:8000, not "
                f"{without_keys(self.url)!r}."
            )
        if parts.username or parts.password:
            raise ConfigurationError(
                "memory.url must hold no password.",
                hint="Put the token into the variable of memory.token_env.",
            )
        if not (self.token.isascii() and self.token.isprintable()):
            raise ConfigurationError(
                "The token of the team memory has characters that none can have.",
                hint="Look at the variable that memory.token_env names; it may end with a line break.",
            )
        if self.token and parts.scheme == "http" and parts.hostname not in LOCAL:
            raise ConfigurationError(
                f"The token would go to {parts.hostname} unencrypted.", hint="Set memory.url to https://..."
            )
        return self

    def connect(self) -> Any:
        """A client of the server. Raises: ConfigurationError, ServerFailed."""
        parts = urlsplit(self.checked().url)
        tls = parts.scheme == "https"
        bearer = {"Authorization": f"Bearer {self.token}", "x-chroma-token": self.token}
        return chroma.open_server(
            host=self.host,
            port=parts.port or (443 if tls else 80),
            tls=tls,
            headers=bearer if self.token else {},
            tenant=self.tenant,
            database=self.database,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Synchronised:
    """What a synchronisation did."""

    sent: int = 0
    received: int = 0
    withdrawn: int = 0
    waiting: int = 0  # own outcomes that are not sent yet
    time: float = 0.0  # Unix time
    problem: str = ""  # why it ended early; what it did until then counts

    def line(self) -> str:
        """For people."""
        told = f"sent {self.sent}, received {self.received}"
        told += f", withdrew {self.withdrawn}" if self.withdrawn else ""
        return f"{self.problem} {self.waiting} of yours wait." if self.problem else f"team memory: {told}"


def synchronise(
    folder: Path, journal: Journal, server: Server, *, now: float, store_text: bool
) -> Synchronised:
    """Send, withdraw, fetch; one at a time on this machine. What fails is told, and goes on with the next.

    Raises: ConfigurationError; StoreError when the own journal fails."""
    from filelock import FileLock, Timeout

    server.checked()
    try:
        with FileLock(folder / "team.lock", timeout=0, mode=FILE_MODE):
            done = _Exchange(journal, server, now, store_text).run()
    except Timeout:
        return Synchronised(time=now, problem="Another acr is synchronising the team memory.")
    write_notes(folder, done)
    return done


def begin_apart(folder: Path, told: str) -> None:
    """Start `python -m acr_cli.memory team` and let it go; `told` is for its standard input."""
    # -P: the folder that acr was started in is the user's repository, and nothing is imported from there.
    command = [sys.executable, "-P", "-m", "acr_cli.memory", "team", str(folder.absolute())]
    with suppress(OSError):  # what is not sent goes with the next try
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert child.stdin is not None  # noqa: S101 - a pipe was asked for
        with child.stdin as pipe:
            pipe.write(told.encode())
        child.returncode = 0  # it is not waited for


def read_notes(folder: Path) -> Synchronised | None:
    """What the last synchronisation did, or None where there was none."""
    try:
        return Synchronised(**json.loads((folder / NOTES).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def write_notes(folder: Path, done: Synchronised) -> None:
    """Raises: StoreError."""
    path = folder / NOTES
    fresh = path.with_suffix(".new")
    try:
        fresh.touch(mode=FILE_MODE)
        fresh.write_text(json.dumps(asdict(done)), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error


class _Exchange:
    """One synchronisation."""

    def __init__(self, journal: Journal, server: Server, now: float, store_text: bool) -> None:
        self._journal = journal
        self._server = server
        self._now = now
        self._store_text = store_text
        self._done = Synchronised(time=now)

    def run(self) -> Synchronised:
        client = None
        self._journal.note("team", self._server.mark)  # makes the journal, which names the member
        try:
            client = self._server.connect()
            for part in (self._withdraw, self._send, self._fetch):
                with chroma.failures(self._server.host):
                    part(client)
        except chroma.ServerFailed as error:
            # What a server says may hold what it was sent.
            token = self._server.token
            problem = error.message.replace(token, "[token]") if token else error.message
            self._done = replace(self._done, problem=problem)
        finally:
            if client is not None:
                chroma.close(client)
        return replace(self._done, waiting=self._waiting())

    # --- to the team ------------------------------------------------------------------------------

    def _send(self, client: Any) -> None:
        while rows := self._unsent(BATCH):
            by_embedder: dict[str, list[Row]] = {}
            for row in rows:
                if row.sound and not row.origin:
                    by_embedder.setdefault(row.embedder if row.vector else "", []).append(row)
            for embedder, group in by_embedder.items():
                self._put(client, embedder, group)
            self._journal.note(self._sent_name, str(rows[-1].sequence))

    def _put(self, client: Any, embedder: str, rows: Sequence[Row]) -> None:
        collection = chroma.collection(client, _collection_name(embedder), {"embedder": embedder})
        outcomes = [decode(row) for row in rows]
        vectors: Any = [list(outcome.vector) or NO_VECTOR for outcome in outcomes]
        metadatas: Any = [self._metadata(outcome) for outcome in map(to_json, outcomes)]
        texts = [clean(outcome.text) if self._store_text else "" for outcome in outcomes]
        ids = [f"{self._member}:{row.id}" for row in rows]
        collection.upsert(ids=ids, embeddings=vectors, metadatas=metadatas, documents=texts)
        self._done = replace(self._done, sent=self._done.sent + len(rows))

    def _metadata(self, record: dict[str, Any]) -> dict[str, str | float]:
        told = {name: value for name, value in record.items() if name not in ("vector", "text")}
        if not self._store_text:
            told["signals"] = [signal | {"note": ""} for signal in told["signals"]]
        columns = {name: record[name] for name in ("candidate", "dimension", "repository", "verdict", "time")}
        return {**columns, "member": self._member, "sent": self._now, "record": json.dumps(told)}

    def _withdraw(self, client: Any) -> None:
        with self._journal.view() as view:
            selections = () if view is None else view.withdrawn()
        for selection in selections:
            for collection in _collections(client):
                before = collection.count()
                for arguments in _deletions(selection, self._member):
                    collection.delete(**arguments)
                gone = before - collection.count()
                self._done = replace(self._done, withdrawn=self._done.withdrawn + max(gone, 0))
            self._journal.told(selection)

    # --- from the team ----------------------------------------------------------------------------

    def _fetch(self, client: Any) -> None:
        name = f"fetched:{self._server.mark}"
        with self._journal.view() as view:
            fetched, _, times = ("" if view is None else view.noted(name)).partition(" ")
        everything = not fetched or int(times or 0) % ALL_IDS == 0
        since: Any = None if everything else {"sent": {"$gte": float(fetched) - SLACK}}
        for collection in _collections(client):
            for ids in self._unknown_ids(collection, since):
                self._take(collection, ids)
        self._journal.note(name, f"{self._now} {int(times or 0) + 1}")

    def _unknown_ids(self, collection: Collection, since: Any) -> Iterator[list[str]]:
        """Ids of the server that are not known here, a batch at a time."""
        offset, waiting = 0, list[str]()
        while True:
            page = collection.get(where=since, limit=PAGE, offset=offset, include=[])["ids"]
            with self._journal.view() as view:
                bare = {id_.partition(":")[2]: id_ for id_ in page}
                unknown = list(bare) if view is None else view.unknown(list(bare))
            waiting += [bare[id_] for id_ in unknown]
            while len(waiting) >= BATCH or (waiting and len(page) < PAGE):
                yield waiting[:BATCH]
                del waiting[:BATCH]
            if len(page) < PAGE:
                return
            offset += PAGE

    def _take(self, collection: Collection, ids: Sequence[str]) -> None:
        found: Any = collection.get(ids=list(ids), include=["embeddings", "metadatas", "documents"])
        rows = []
        for id_, vector, metadata, text in zip(
            found["ids"], found["embeddings"], found["metadatas"], found["documents"], strict=True
        ):
            try:
                rows.append(self._row(id_, vector, metadata, text))
            except (ValueError, TypeError, KeyError, RecursionError):
                continue  # no outcome, or one of a newer acr
        received = self._journal.take_in(rows) if rows else 0
        self._done = replace(self._done, received=self._done.received + received)

    def _row(self, id_: str, vector: Any, metadata: Mapping[str, Any], text: str | None) -> Row:
        """Raises: ValueError, TypeError, KeyError for what is no outcome."""
        record = json.loads(str(metadata["record"]))
        outcome = replace(
            from_json(record | {"vector": "", "text": text or ""}), vector=tuple(map(float, vector))
        )
        if outcome.id != id_.partition(":")[2]:
            raise ValueError("it is kept under another id than its own")
        if not outcome.embedder or tuple(outcome.vector) == tuple(NO_VECTOR):
            outcome = replace(outcome, vector=(), embedder="")
        member = id_.partition(":")[0]
        origin = "" if member == self._member else member
        return encode(checked(outcome), store_text=self._store_text, now=self._now, origin=origin)

    # --- where it stands --------------------------------------------------------------------------

    @property
    def _sent_name(self) -> str:
        return f"sent:{self._server.mark}"

    @property
    def _member(self) -> str:
        with self._journal.view() as view:
            return "" if view is None else view.span().journal

    def _unsent(self, limit: int) -> list[Row]:
        with self._journal.view() as view:
            if view is None:
                return []
            return list(view.rows(after=int(view.noted(self._sent_name) or 0), limit=limit))

    def _waiting(self) -> int:
        with self._journal.view() as view:
            return 0 if view is None else view.own(after=int(view.noted(self._sent_name) or 0))


def _collection_name(embedder: str) -> str:
    return PREFIX + hashlib.blake2b(embedder.encode(), digest_size=6).hexdigest()


def _collections(client: Any) -> Iterator[Collection]:
    for found in client.list_collections():
        if found.name.startswith(PREFIX):
            yield client.get_collection(found.name, embedding_function=None)


def _deletions(selection: Selection, member: str) -> Iterator[dict[str, Any]]:
    """Arguments of Chroma's `delete` that remove the own outcomes of a selection."""
    given = {name: getattr(selection, name) for name in ("candidate", "repository")}
    terms: list[dict[str, Any]] = [{"member": member}]
    terms += [{name: value} for name, value in given.items() if value is not None]
    if selection.before is not None:
        terms.append({"time": {"$lt": selection.before}})
    where: Any = terms[0] if len(terms) == 1 else {"$and": terms}
    if not selection.ids:
        yield {"where": where}
    for start in range(0, len(selection.ids), BATCH):
        ids = [f"{member}:{id_}" for id_ in selection.ids[start : start + BATCH]]
        yield {"ids": ids, "where": where}
