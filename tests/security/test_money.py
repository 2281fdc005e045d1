"""Caps per day and month hold across processes, kills, clocks that go back, and files that are damaged."""

from __future__ import annotations

import math
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from acr_cli.agent.budget import RunBudget, Shared
from acr_cli.agent.ledger import Ledger, ledger_file
from acr_cli.errors import BudgetExhausted, ProviderError
from acr_cli.models.gateway import LiteLLM, Patience
from acr_cli.protocols import Message
from acr_cli.records import Price, Usage
from acr_cli.testing.answers import Answer, Cut, Say, Stall
from acr_cli.testing.loopback import LoopbackServer
from tests.end_to_end.conftest import result_of
from tests.models.conftest import candidate
from tests.security.test_files_run_unasked import obeys

Acr = Callable[..., subprocess.CompletedProcess[str]]
NOON = time.mktime((2026, 5, 20, 12, 0, 0, 0, 0, -1))
DAY = 86400.0


def spend(ledger: Ledger, usd: float, really: float | None = None) -> None:
    ledger.reserve(usd)
    ledger.settle(usd if really is None else really)


def test_a_day_and_a_month_have_their_own_caps(tmp_path: Path) -> None:
    now = [NOON]
    ledger = Ledger(tmp_path / "l", day=1.0, month=1.5, now=lambda: now[0])
    spend(ledger, 0.9)
    with pytest.raises(BudgetExhausted, match=r"\$0.9000 of \$1 for this day") as caught:
        ledger.reserve(0.2)
    assert (caught.value.exit_code, "max_cost_day" in caught.value.hint) == (6, True)
    now[0] += DAY
    spend(ledger, 0.5)
    with pytest.raises(BudgetExhausted, match=r"\$1.5 for this month"):
        ledger.reserve(0.2)
    now[0] += 31 * DAY
    assert ledger.remaining() == 1.0


def test_what_was_reserved_counts_until_it_is_known(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", day=1.0)
    ledger.reserve(0.8)
    with pytest.raises(BudgetExhausted):
        Ledger(tmp_path / "l", day=1.0).check(0.3)
    ledger.settle(0.1)
    assert ledger.remaining() == pytest.approx(0.9)
    ledger.settle(5.0)  # settles nothing: what goes on from an earlier process is not counted again
    assert ledger.remaining() == pytest.approx(0.9)


def test_a_clock_that_goes_back_opens_no_new_day(tmp_path: Path) -> None:
    now = [NOON]
    ledger = Ledger(tmp_path / "l", day=1.0, now=lambda: now[0])
    spend(ledger, 1.0)
    now[0] -= 3 * DAY
    with pytest.raises(BudgetExhausted):
        ledger.reserve(0.01)


def test_a_killed_process_leaves_the_most_that_its_call_could_cost(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from acr_cli.agent.ledger import Ledger;"
        " Ledger(Path(sys.argv[1]), day=1.0).reserve(0.7); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "l"], check=False)
    assert done.returncode < 0
    assert Ledger(tmp_path / "l", day=1.0).remaining() == pytest.approx(0.3)


def test_what_an_abandoned_attempt_has_reserved_is_settled_when_its_call_ends(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", day=1.0)
    budget = RunBudget(max_cost=1.0, max_steps=1, max_time=9.0, clock=lambda: 0.0, ledger=ledger)
    attempt, asked, left = Shared(budget, lambda: False), threading.Event(), threading.Event()

    def calls() -> None:
        attempt.reserve(0.8)
        asked.set()
        assert left.wait(30)
        attempt.charge(0.1)

    thread = threading.Thread(target=calls)
    thread.start()
    assert asked.wait(30)
    attempt.leave()
    assert (budget.spent_usd, ledger.spent()["day"]) == (0.8, 0.8)
    left.set()
    thread.join(30)
    assert budget.spent_usd == pytest.approx(0.1)
    assert ledger.spent()["day"] == pytest.approx(0.1)


@pytest.mark.parametrize("usd", [math.nan, math.inf, -1.0])
def test_what_is_no_amount_frees_nothing(tmp_path: Path, usd: float) -> None:
    ledger = Ledger(tmp_path / "l", day=1.0)
    spend(ledger, 0.7, usd)
    assert ledger.spent()["day"] == 0.7


def test_a_clock_that_is_years_ahead_for_a_moment_forgets_nothing(tmp_path: Path) -> None:
    now = [NOON]
    ledger = Ledger(tmp_path / "l", day=1.0, now=lambda: now[0])
    spend(ledger, 0.7)
    now[0] += 1000 * DAY
    spend(ledger, 0.1)
    now[0] = NOON
    assert ledger.remaining() == pytest.approx(0.2)


def _spender(path: str, done: multiprocessing.Queue[int]) -> None:
    ledger, made = Ledger(Path(path), day=1.0), 0
    for _ in range(20):
        try:
            ledger.reserve(0.1)
        except BudgetExhausted:
            break
        ledger.settle(0.1)
        made += 1
    done.put(made)


def test_many_processes_together_pass_no_cap(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    done: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=_spender, args=(str(tmp_path / "l"), done)) for _ in range(4)]
    for process in processes:
        process.start()
    made = sum(done.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert made in (9, 10)  # a tenth may be a rounding error too much
    assert Ledger(tmp_path / "l").spent()["day"] <= 1.0 + 1e-9


@pytest.mark.parametrize("damage", ["text", "folder"])
def test_a_ledger_that_cannot_be_used_refuses_where_it_must_bind(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "l"
    if damage == "text":
        path.write_text("no database " * 100)
    else:
        path.mkdir()
    with pytest.raises(BudgetExhausted, match="unknown"):
        Ledger(path, day=1.0).reserve(0.1)
    spend(Ledger(path), 0.1)  # without a cap it is as if there were none


def test_an_unknown_price_is_refused_where_a_day_has_a_cap(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", day=5.0)
    budget = RunBudget(max_cost=math.inf, max_steps=1, max_time=9.0, clock=lambda: 0.0, ledger=ledger)
    with pytest.raises(BudgetExhausted, match="no known price"):
        budget.affords(None)
    assert budget.remaining_usd == 5.0  # to which the length of replies is clamped


def test_runs_of_one_day_share_its_cap(
    acr: Acr, broken: Path, pool: Callable[..., None], acr_home: Path
) -> None:
    with LoopbackServer({"obedient": obeys}) as server:
        pool(server, {"obedient": 0.5}, max_cost_day=0.5)
        first = acr("fix", "--json", "--sandbox", "none", "--model", "openai/obedient", cwd=broken)
        paid = result_of(first.stdout)["cost_usd"]
        assert Ledger(ledger_file(acr_home)).spent()["day"] == pytest.approx(paid)
        pool(server, {"obedient": 0.5}, max_cost_day=paid)
        asked = len(server.requests_for("obedient"))
        second = acr("fix", "--json", "--sandbox", "none", "--model", "openai/obedient", cwd=broken)
        assert (second.returncode, result_of(second.stdout)["status"]) == (6, "budget")
        assert len(server.requests_for("obedient")) == asked


# --- what a provider reports, and what it does not --------------------------------------------------------

PRICE = Price(input=1.0, output=10.0)
ASK = (Message(role="user", content="Say hello. " * 400),)  # about 1,200 tokens, 0.0012 USD


@dataclass
class Till:
    """A gateway with patience for tests, and the budget that it charges."""

    gateway: LiteLLM
    budget: RunBudget

    def ask(self, server: LoopbackServer, price: Price = PRICE) -> None:
        with suppress(ProviderError):
            self.gateway.complete(candidate(server.base_url, price=price), ASK, tools=(), budget=self.budget)


def till(folder: Path, *, max_cost: float = 1.0, day: float = math.inf) -> Till:
    ledger = Ledger(folder / "l", day=day)
    budget = RunBudget(max_cost=max_cost, max_steps=9, max_time=90.0, clock=time.monotonic, ledger=ledger)
    patience = Patience(connect=2.0, stall=1.0, tries=1)
    return Till(LiteLLM(emit=lambda _: None, environ={}, patience=patience), budget)


def used(read: int, said: int, cached: int = 0) -> Say:
    """An answer of some 1,500 tokens whose usage is what the provider likes to say."""
    usage = Usage(input_tokens=read, output_tokens=said, cached_tokens=cached, calls=1)
    return Say(text="so many words of a reply " * 300, usage=usage)


TOLD = {
    "the truth": (used(1200, 1500), 0.016, 0.017),
    "nothing": (Say(text="so many words of a reply " * 300, report_usage=False), 0.014, 0.04),
    "zeros": (used(0, 0), 0.014, 0.04),
    "less than nothing": (used(-5000, -5000), 0.014, 0.04),
    "far too little": (used(3, 1), 0.014, 0.04),
    "that all was in its cache": (used(1200, 1500, cached=10**7), 0.015, 20.0),
    "more than there are numbers": (used(10**400, 10**400), 1.0, math.inf),
    "a stream that breaks off before it is told": (Cut(text="x" * 3000), 0.008, 0.02),
    "silence, once it has read": (Stall(), 0.0009, 0.002),
}


@pytest.mark.usefixtures("litellm_is_imported")
@pytest.mark.parametrize(("answer", "least", "most"), TOLD.values(), ids=TOLD)
def test_whatever_a_provider_reports_what_was_said_is_paid(
    tmp_path: Path, answer: Answer, least: float, most: float
) -> None:
    asked = till(tmp_path)
    with LoopbackServer({"m": [answer]}) as server:
        asked.ask(server)
    assert least <= asked.budget.spent_usd <= most
    assert Ledger(tmp_path / "l").spent()["day"] == pytest.approx(asked.budget.spent_usd)


@pytest.mark.usefixtures("litellm_is_imported")
def test_a_bill_that_is_too_high_is_noticed_before_the_next_call(tmp_path: Path) -> None:
    asked = till(tmp_path)
    with LoopbackServer({"m": [used(1200, 10**6), Say(text="never")]}) as server:
        asked.ask(server)
        with pytest.raises(BudgetExhausted, match="are spent"):
            asked.ask(server)
        assert len(server.requests) == 1


@pytest.mark.usefixtures("litellm_is_imported")
@pytest.mark.parametrize(("max_cost", "day"), [(0.01, math.inf), (1.0, 0.01), (0.01, 0.005)])
def test_a_reply_is_cut_to_what_the_caps_pay_for(tmp_path: Path, max_cost: float, day: float) -> None:
    asked = till(tmp_path, max_cost=max_cost, day=day)
    with LoopbackServer({"m": [Say(text="ok")]}) as server:
        asked.ask(server)
        sent = server.requests[0].body["max_tokens"]
    assert 0.003 < sent * 10 / 1e6 <= min(max_cost, day) - 0.0012  # the prompt


@pytest.mark.parametrize(
    ("price", "max_cost", "day"),
    [(PRICE, 0.0, math.inf), (PRICE, math.inf, 0.0), (Price(), 1.0, math.inf), (Price(), math.inf, 1.0)],
)
def test_nothing_is_asked_that_no_cap_pays_for(
    tmp_path: Path, price: Price, max_cost: float, day: float
) -> None:
    asked = till(tmp_path, max_cost=max_cost, day=day)
    with LoopbackServer({"m": [Say(text="never")]}) as server:
        with pytest.raises(BudgetExhausted):
            asked.ask(server, price)
        assert server.requests == []


def test_models_that_are_tried_are_within_the_caps(
    acr: Acr, pool: Callable[..., None], acr_home: Path, tmp_path: Path
) -> None:
    with LoopbackServer({"m": [Say(text="ready")]}) as server:
        pool(server, {"m": 0.5}, max_cost_day=0.05)
        assert acr("models", "test", "openai/m").returncode == 0
        assert server.requests[0].body["max_tokens"] <= 1024
        spent = Ledger(ledger_file(acr_home)).spent()["day"]
        assert 0 < spent < 0.001
        pool(server, {"m": 0.5}, max_cost_day=spent)
        refused = acr("models", "test", "openai/m")
        assert (refused.returncode, len(server.requests)) == (6, 1), refused.stderr
        assert "for this day" in refused.stderr
        (acr_home / "config.toml").write_text(
            f'max_cost_day = 1.0\n[[model]]\nid = "openai/m"\nbase_url = "{server.base_url}"\n'
            "price = {input = 1}\n"
        )
        unpriced = acr("models", "test", "openai/m")
        assert (unpriced.returncode, len(server.requests)) == (6, 1), unpriced.stderr
        assert "no known price" in unpriced.stderr
