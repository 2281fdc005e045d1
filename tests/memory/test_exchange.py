"""Outcomes travel between machines whole, once, and past what is no outcome."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import UsageError
from acr_cli.memory.exchange import LONGEST, Refused, content_of, from_json, read, to_json, write
from acr_cli.memory.store import Memory
from acr_cli.records import Outcome
from tests.memory.outcomes import make_outcome

NAMES = ("out.jsonl", "out.jsonl.gz", "out.parquet")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(tmp_path / "here")
    yield opened
    opened.close()


def samples(number: int = 5) -> list[Outcome]:
    """Outcomes with everything in them that a file could get wrong."""
    strange = {
        "text": 'naïve "quoted"\nline \u2028 \x00',
        "votes": (("prior", 0.25), ("price", 1.0)),
        "p_success": 0.5,
        "failed_before": ("strong",),
        "vector": (0.5, -0.25, 0.125),
    }
    return [make_outcome(f"o{i}", **(strange if i == 1 else {})) for i in range(number)]


def rounded(outcomes: list[Outcome]) -> list[Outcome]:
    """As they are after their vectors were float32."""
    return [from_json(json.loads(json.dumps(to_json(outcome)))) for outcome in outcomes]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_back_what_was_written(tmp_path: Path, name: str) -> None:
    outcomes = samples(1203)
    assert write(str(tmp_path / name), outcomes) == 1203
    assert list(read(str(tmp_path / name))) == rounded(outcomes)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_memory_makes_an_empty_file(tmp_path: Path, name: str) -> None:
    assert write(str(tmp_path / name), []) == 0
    assert list(read(str(tmp_path / name))) == []


def test_names_from_a_file_system_pass_through_parquet(tmp_path: Path) -> None:
    write(str(tmp_path / "x.parquet"), [make_outcome("a", repository="caf\udce9")])
    (found,) = read(str(tmp_path / "x.parquet"))
    assert isinstance(found, Outcome)
    assert found.repository == "caf\\udce9"


def test_parquet_can_be_queried_by_others(tmp_path: Path) -> None:
    import polars as pl

    write(str(tmp_path / "x.parquet"), samples())
    frame = pl.read_parquet(tmp_path / "x.parquet")
    assert frame.schema["cost_usd"] == pl.Float64
    assert frame.schema["vector"] == pl.Binary
    assert frame["id"].to_list() == [f"o{i}" for i in range(5)]


@pytest.mark.parametrize("name", NAMES)
def test_to_import_twice_changes_nothing_more(tmp_path: Path, memory: Memory, name: str) -> None:
    for outcome in samples(30):
        memory.remember(outcome)
    write(str(tmp_path / name), memory.outcomes())
    there = Memory(tmp_path / "there")
    first = there.take_in(read(str(tmp_path / name)))
    assert (first.added, first.known, first.refused) == (30, 0, ())
    before = there.tallies()
    again = there.take_in(read(str(tmp_path / name)))
    assert (again.added, again.known) == (0, 30)
    assert there.tallies() == before
    assert list(there.outcomes()) == list(memory.outcomes())
    there.close()


def test_two_machines_merge_without_duplicates(tmp_path: Path, memory: Memory) -> None:
    other = Memory(tmp_path / "other")
    for i in range(20):
        (memory if i < 15 else other).remember(make_outcome(f"o{i}"))
        if i < 10:
            other.remember(make_outcome(f"o{i}"))
    # The same id, by accident, for something else.
    memory.remember(make_outcome("same", cost_usd=1.0))
    other.remember(make_outcome("same", cost_usd=2.0))
    for _ in range(2):
        write(str(tmp_path / "a.jsonl"), memory.outcomes())
        write(str(tmp_path / "b.jsonl"), other.outcomes())
        memory.take_in(read(str(tmp_path / "b.jsonl")))
        other.take_in(read(str(tmp_path / "a.jsonl")))
    for each in (memory, other):
        costs = sorted((o.id.partition("~")[0], o.cost_usd) for o in each.outcomes())
        assert len(costs) == 22
        assert [cost for id_, cost in costs if id_ == "same"] == [1.0, 2.0]
    other.close()


def test_models_of_another_pool_are_kept_and_counted(tmp_path: Path, memory: Memory) -> None:
    stranger = make_outcome(
        "a", candidate="elsewhere/model", verdict="failed", available=("elsewhere/model",)
    )
    memory.take_in([stranger])
    (tally,) = memory.tallies()
    assert (tally.candidate, tally.failed) == ("elsewhere/model", 1.0)


def test_an_evicted_outcome_does_not_come_back(tmp_path: Path) -> None:
    narrow = Memory(tmp_path, bound=5)
    outcomes = samples(20)
    assert narrow.take_in(outcomes).added == 20
    assert narrow.stats().outcomes == 5
    assert narrow.take_in(outcomes).added == 0
    assert sum(tally.outcomes for tally in narrow.tallies()) == 20
    narrow.close()


def broken(**changes: Any) -> str:
    return json.dumps(to_json(make_outcome("x")) | changes)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is no JSON"),
        ("[1]", "it is no outcome"),
        ('{"type": "memory_stats", "schema": 1}', "it is no outcome"),
        (broken(schema=99), "a newer acr wrote it"),
        (broken(cost_usd="1"), "its cost_usd cannot be read"),
        (broken(cost_usd=True), "its cost_usd cannot be read"),
        (broken(vector="!"), "its vector cannot be read"),
        (broken(vector="AAA="), "its vector cannot be read"),
        (broken(votes=[["prior"]]), "its votes cannot be read"),
        (broken(signals=[{"name": 1}]), "its signals cannot be read"),
        (broken(usage=[]), "its usage cannot be read"),
        (broken(available="cheap"), "its available cannot be read"),
        ('{"type": "outcome", "schema": 1, "id": "x"}', "it lacks run, step, attempt"),
        (broken(u=1e999), "its u is not within"),
        ("[" * 100_000, "recursion"),
        (broken(schema=None), "it names no schema"),
        (broken(schema=True), "it names no schema"),
        (broken(usage={"input_tokens": 10**30}), "too large a number"),
        (broken(usage={"input_tokens": -1}), "it counts less than nothing"),
        (broken(attempt=10**30), "its attempt cannot be read"),
        (broken(id=""), "its id must have"),
        (broken(id="x" * 1001), "its id must have"),
        (broken(verdict="won"), "its verdict is none of passed, failed, unverified"),
        (broken(u=1e308), "its u is not within 0 and 1"),
        (broken(u=-1), "its u is not within"),
        (broken(cost_usd=1e308), "its cost_usd is not within"),
        (broken(cost_usd=-0.5), "its cost_usd is not within"),
        (broken(seconds=-1), "its seconds is not within"),
        (broken(time=1e300), "its time is not within"),
        (broken(time=float("nan")), "its time is not within"),
        ("x" * (LONGEST + 1), "it is longer than 32 MiB"),
        ("x" * (2 * LONGEST + 1), "it is longer than 32 MiB"),
    ],
    ids=lambda text: text[-30:],
)
def test_what_is_no_outcome_is_refused_and_the_rest_kept(
    tmp_path: Path, memory: Memory, line: str, reason: str
) -> None:
    good = json.dumps(to_json(make_outcome("good")))
    path = tmp_path / "x.jsonl"
    path.write_text(f"{good}\n{line}\n\n{good.replace('good', 'better')}\n")
    taken = memory.take_in(read(str(path)))
    assert taken.added == 2
    (refused,) = taken.refused
    assert refused.place == 2
    assert reason in refused.reason


def test_a_field_of_a_newer_version_is_left_out() -> None:
    assert from_json(json.loads(broken(mood="good"))).id == "x"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "no known format"),
        ("x.jsonl", None, "cannot be read: No such file"),
        ("x.jsonl.gz", b"no gzip", "cannot be read"),
        ("x.jsonl.gz", gzip.compress(b"{}" * 5000)[:30], "cannot be read"),
        ("x.jsonl.gz", gzip.compress(b"{}" * 5000)[:12] + b"\xff" * 100, "cannot be read"),
        ("x.parquet", b"no parquet", "cannot be read|is no Parquet"),
        ("x.parquet", None, "cannot be read|is no Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_says_so(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        list(read(str(tmp_path / name)))


def test_a_foreign_parquet_file_has_no_outcomes(tmp_path: Path) -> None:
    import polars as pl

    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    found = list(read(str(tmp_path / "x.parquet")))
    assert all(isinstance(each, Refused) for each in found)


def test_the_name_of_a_parquet_file_is_no_pattern(tmp_path: Path) -> None:
    write(str(tmp_path / "a[1].parquet"), samples(3))
    write(str(tmp_path / "a1.parquet"), samples(5))
    assert len(list(read(str(tmp_path / "a[1].parquet")))) == 3


def test_a_score_may_be_off_by_a_rounding(tmp_path: Path) -> None:
    write(str(tmp_path / "x.jsonl"), [make_outcome("a", u=1.0 + 2e-16), make_outcome("b", u=-1e-17)])
    assert all(isinstance(each, Outcome) for each in read(str(tmp_path / "x.jsonl")))


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write(str(tmp_path / "none" / "x.jsonl"), [])


def test_a_broken_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("old")

    def outcomes() -> Iterator[Outcome]:
        yield make_outcome("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(str(path), outcomes())
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]


def test_the_content_is_the_same_with_another_vector_or_without_text() -> None:
    outcome = make_outcome("a")
    assert content_of(outcome) == content_of(replace(outcome, vector=(), embedder="", text=""))
    assert content_of(outcome) != content_of(replace(outcome, cost_usd=9.0))
