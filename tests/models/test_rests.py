"""A provider's rest outlasts the process that found it down, and never the user's own doing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from acr_cli.errors import AuthenticationFailed, ProviderUnavailable, RateLimited
from acr_cli.models.breaker import FAILURES, Breaker
from acr_cli.models.rests import Rests, resting, rests_file
from tests.models.conftest import Clock, candidate

HOSTED = candidate("https://llm.example.org/v1")
DOWN = ProviderUnavailable("openai/m: the provider failed with status 503.")


@dataclass
class Machine:
    """Processes that share a home; each has a monotonic clock of its own."""

    path: Path
    now: float = 1_000_000.0

    def process(self, *, heeded: bool = True) -> Breaker:
        return Breaker(Clock(), Rests(self.path, now=lambda: self.now, heeded=heeded))

    @property
    def rests(self) -> Rests:
        return Rests(self.path, now=lambda: self.now)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(rests_file(tmp_path))


def fail(breaker: Breaker, who=HOSTED, error=DOWN, times: int = FAILURES) -> str:
    return [breaker.failed(who, error) for _ in range(times)][-1]


def test_another_process_does_not_ask_an_endpoint_that_rests(machine: Machine) -> None:
    assert "rests for 60 s" in fail(machine.process())
    machine.now += 20
    with pytest.raises(
        ProviderUnavailable, match=r"rests for another 40 s, since its last 3 requests failed"
    ):
        machine.process().check(HOSTED)
    machine.process().check(candidate("https://other.example.org/v1", "n"))
    machine.now += 41
    machine.process().check(HOSTED)


def test_after_its_rest_one_failure_in_another_process_doubles_it(machine: Machine) -> None:
    fail(machine.process())
    machine.now += 61
    later = machine.process()
    later.check(HOSTED)
    assert "rests for 2 min" in fail(later, times=1)
    machine.now += 3600 + 121
    assert fail(machine.process(), times=1) == ""


def test_an_answer_ends_the_rest_for_all(machine: Machine) -> None:
    fail(machine.process())
    machine.process(heeded=False).recovered(HOSTED)
    machine.process().check(HOSTED)
    assert machine.rests.all() == ()


def test_a_single_model_is_asked_in_any_case(machine: Machine) -> None:
    fail(machine.process())
    machine.process(heeded=False).check(HOSTED)


@pytest.mark.parametrize(
    ("who", "error"),
    [
        (HOSTED, AuthenticationFailed("openai/m: the key was refused.")),
        (candidate("http://127.0.0.1:11434"), DOWN),
    ],
    ids=["a key that the user renews", "a server that the user starts"],
)
def test_what_the_user_mends_is_not_kept(machine: Machine, who, error) -> None:
    assert fail(machine.process(), who, error)
    machine.process().check(who)
    assert not machine.path.exists()


def test_a_limit_rests_the_model_alone_as_long_as_it_asks(machine: Machine) -> None:
    fail(machine.process(), error=RateLimited("openai/m: too many requests.", retry_after=300))
    (rest,) = machine.rests.all()
    assert (rest.name, machine.rests.left(rest)) == ("openai/m", 300)
    machine.process().check(candidate(HOSTED.base_url, "n"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, null, {}]",
        '{"a": 1}',
        json.dumps([{"name": HOSTED.base_url, "until": "soon", "seconds": 1, "reason": ""}]),
        json.dumps([{"name": HOSTED.base_url, "until": 9e99, "seconds": 60, "reason": ""}]),
        '[{"name": "x", "until": NaN, "seconds": 60, "reason": ""}]',
    ],
)
def test_a_damaged_file_is_as_if_there_were_none(machine: Machine, text: str) -> None:
    machine.path.parent.mkdir(parents=True)
    machine.path.write_text(text)
    machine.process().check(HOSTED)
    fail(machine.process())
    assert [rest.name for rest in machine.rests.all()] == [HOSTED.base_url]


def test_a_folder_that_cannot_be_made_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    broken = Machine(rests_file(tmp_path))
    assert "rests for 60 s" in fail(broken.process())
    broken.process().check(HOSTED)
    assert resting(tmp_path) == ()
