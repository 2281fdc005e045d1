"""Caps per day and month hold across processes, kills, clocks that go back, and files that are damaged."""

from __future__ import annotations

import math
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.agent.ledger import Ledger, ledger_file
from acr_cli.errors import BudgetExhausted
from acr_cli.testing.loopback import LoopbackServer
from tests.end_to_end.conftest import result_of
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
