"""What the tests of the gateway share: litellm imported once, a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.events import Event, ModelText, Notice
from acr_cli.models.gateway import LiteLLM, Patience, warm
from acr_cli.protocols import Message
from acr_cli.records import Candidate, Price
from acr_cli.worktree.tree import RunTree
from tests.agent.conftest import FILES

ASK = (Message(role="system", content="Be brief."), Message(role="user", content="Say hello."))


@pytest.fixture(scope="session")
def litellm_is_imported() -> None:
    warm()


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Line:
    """A gateway, and everything around it that a test may look at."""

    gateway: LiteLLM
    budget: RunBudget
    clock: Clock
    events: list[Event]

    def ask(self, candidate: Candidate, messages=ASK, tools=()):
        return self.gateway.complete(candidate, messages, tools=tools, budget=self.budget)

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ModelText))

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def line(
    environ: Mapping[str, str] | None = None,
    *,
    max_cost: float = 1.0,
    max_time: float = 900.0,
    stall: float = 5.0,
    tries: int = 3,
) -> Line:
    clock, events = Clock(), []
    gateway = LiteLLM(
        emit=events.append,
        environ=environ or {},
        rng=Random(0),
        sleep=clock.sleep,
        clock=clock,
        patience=Patience(connect=2.0, stall=stall, tries=tries),
    )
    budget = RunBudget(max_cost=max_cost, max_steps=20, max_time=max_time, clock=clock)
    return Line(gateway=gateway, budget=budget, clock=clock, events=events)


def candidate(base_url: str | None, name: str = "m", **fields: object) -> Candidate:
    """A priced model at a base URL: 1 USD a million tokens in, 10 out, 0.1 from the cache."""
    known = {
        "id": f"openai/{name}",
        "backend": "agent",
        "model": f"openai/{name}",
        "base_url": base_url,
        "price": Price(input=1.0, output=10.0, cached_input=0.1, source="config"),
    }
    return Candidate(**{**known, **fields})


@pytest.fixture
def tree(tmp_path) -> RunTree:
    (tmp_path / "source").mkdir()
    for name, content in FILES.items():
        (tmp_path / "source" / name).write_bytes(content)
    return RunTree.copy(tmp_path / "source", tuple(FILES), tmp_path / "run")
