"""Which embedder serves, what it sees, and what is told after a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli import build
from acr_cli.build.sharing import Redacting, embedder, team
from acr_cli.cli.fix import carried_out
from acr_cli.cli.invocation import Invocation
from acr_cli.context.embedding import MiniLM
from acr_cli.errors import ConfigurationError
from acr_cli.events import AttemptFinished, Event, Notice, ToolCalled
from acr_cli.memory.store import Memory
from acr_cli.records import EXIT_CODES, Attempt, Receipt, RunResult, Status
from acr_cli.settings import Settings
from tests.memory.outcomes import make_outcome


@pytest.fixture
def settings(acr_home: Path) -> Settings:
    return Settings(home=acr_home)


class Listening:
    """An embedder that keeps what it was given."""

    key = "listening:2"
    size = 2

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        return [[1.0, 0.0] for _ in texts]


def test_the_embedder_sees_no_secret() -> None:
    inner = Listening()
    outer = Redacting(inner)
    assert (outer.key, outer.size, outer.embed(["password=hunter22"])) == ("listening:2", 2, [[1.0, 0.0]])
    assert inner.seen == ["password=[secret]"]


def test_a_new_memory_takes_the_embedder_that_is_set(settings: Settings) -> None:
    assert embedder(settings).key == MiniLM.key


def test_the_old_embedder_serves_until_memory_is_reindexed(settings: Settings) -> None:
    old = build.memory(settings)
    old.remember(make_outcome("a", embedder=MiniLM.key))
    old.close()
    # It is not installed here, and is not asked for while the old one serves.
    changed = replace(settings, embedder="sentence-transformers:none-such")
    assert embedder(changed).key == MiniLM.key


def test_an_old_embedder_that_is_gone_gives_way(settings: Settings) -> None:
    old = Memory(settings.home, embedder="sentence-transformers:gone")
    old.remember(make_outcome("a", embedder="gone:8"))
    old.close()
    assert embedder(settings).key == MiniLM.key


def test_a_memory_that_cannot_be_read_does_not_stop_the_embedder(settings: Settings) -> None:
    (settings.home / "memory").mkdir(parents=True)
    (settings.home / "memory" / "journal.sqlite3").write_bytes(b"no journal " * 100)
    assert embedder(settings).key == MiniLM.key


def test_no_team_unless_one_is_set(settings: Settings) -> None:
    assert team(settings) is None


def test_the_token_comes_from_the_variable_that_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_TOKEN", "abc")
    shared = replace(settings, memory_url="https://chroma.example.org", memory_token_env="TEAM_TOKEN")
    server = team(shared)
    assert server is not None
    assert (server.host, server.token) == ("chroma.example.org", "abc")
    assert "abc" not in repr(server)


def test_an_address_that_is_none_is_told_after_a_run_and_does_not_fail_it(settings: Settings) -> None:
    told = build.settle(replace(settings, memory_url="chroma"))
    assert told.startswith("memory.url must be an address")
    with pytest.raises(ConfigurationError):
        build.synchronise(replace(settings, memory_url="chroma"))


def test_a_damaged_collection_is_built_anew_in_one_line(settings: Settings) -> None:
    memory = build.memory(settings)
    memory.remember(make_outcome("a"))
    assert build.settle(settings) == ""
    for path in (settings.home / "memory" / "chroma").glob("*.sqlite3"):
        path.write_bytes(b"spoiled")
    memory.remember(make_outcome("b"))
    memory.close()
    assert build.settle(settings) == "2 outcomes in the Chroma collection, built anew"


def test_a_team_that_was_not_reached_is_told_after_the_next_run(settings: Settings) -> None:
    memory = build.memory(settings)
    memory.remember(make_outcome("a"))
    memory.close()
    alone = replace(settings, memory_url="http://127.0.0.1:9")
    assert build.synchronise(alone).waiting == 1
    told = build.settle(alone)
    assert told.startswith("The team memory at 127.0.0.1 did not take part")
    assert told.endswith("1 of yours wait.")


ENDED = AttemptFinished(step="s1", attempt=Attempt(candidate="weak"))
LOOKED, REFUSED, EDITED = (
    ToolCalled(name=name, argument="", ok=ok, result="")
    for name, ok in (("open", True), ("edit", False), ("edit", True))
)


def settlers() -> list[str]:
    """Commands of the children of this process that are to settle memory, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            command = stat.with_name("cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if parent == os.getpid() and "acr_cli.memory settle" in command:
            found.append(command.strip())
    return found


@pytest.mark.parametrize("event", [ENDED, EDITED])
def test_what_settles_is_started_once_when_tests_are_about_to_run(settings: Settings, event: Event) -> None:
    settings.home.mkdir(parents=True)
    heard: list[Event] = []
    with build.Settling(lambda: settings) as settling:
        emit = settling.hearing(heard.append)
        for early in (Notice(level="info", text="begins"), LOOKED, REFUSED):
            emit(early)
        before = settlers()
        emit(event)
        emit(ENDED)
        (command,) = settlers()
        build.memory(settings).remember(make_outcome("a"))
        told = settling.end()
    assert (before, settlers(), told) == ([], [], "")
    assert command.endswith("ahead")
    assert [each.type for each in heard] == ["notice", "tool", "tool", event.type, "attempt"]
    assert build.memory(settings).stats().collection.documents == 1


@pytest.mark.parametrize("changed", [{"plan_only": True}, {"memory_url": "http://127.0.0.1:9"}])
def test_nothing_is_started_ahead_of_a_plan_or_for_a_team(
    settings: Settings, changed: dict[str, object]
) -> None:
    settings.home.mkdir(parents=True)
    with build.Settling(lambda: replace(settings, **changed)) as settling:  # type: ignore[arg-type]
        settling.hearing(lambda _: None)(ENDED)
        assert settlers() == []


def test_what_settles_goes_with_a_run_that_comes_to_no_end(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    with build.Settling(lambda: settings) as settling:
        settling.hearing(lambda _: None)(ENDED)
        assert len(settlers()) == 1
    assert settlers() == []


def test_where_it_cannot_be_started_ahead_it_is_at_the_end(settings: Settings) -> None:
    with build.Settling(lambda: settings) as settling:
        settling.hearing(lambda _: None)(ENDED)  # there is no home yet
        assert settlers() == []
        build.memory(settings).remember(make_outcome("a"))
        assert settling.end() == ""
    assert build.memory(settings).stats().collection.documents == 1


@pytest.mark.parametrize(("status", "settled"), [(Status.INTERRUPTED, 0), (Status.NOT_FIXED, 1)])
def test_who_interrupts_a_run_does_not_wait_for_memory(
    settings: Settings, status: Status, settled: int
) -> None:
    build.memory(settings).remember(make_outcome("a"))
    result = RunResult(run="r", status=status, exit_code=EXIT_CODES[status], receipt=Receipt(paid_usd=0.0))
    code = carried_out(Invocation(quiet=True), None, lambda *_: result, lambda: settings)
    documents = build.memory(settings).stats().collection.documents
    assert (code, documents or 0) == (EXIT_CODES[status], settled)
