"""What was accepted wrongly: it counts as a failure, and as a mistake of the verifier that let it pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from acr_cli.memory.view import Accepted
from acr_cli.orchestrator.mistakes import seen, usual
from tests.memory.outcomes import make_outcome


def test_a_run_that_was_taken_back_counts_as_failed_and_its_verifier_as_mistaken(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for run, verdict in (("r1", "passed"), ("r2", "passed"), ("r3", "failed")):
        memory.remember(
            make_outcome(f"{run}.s1.1", run=run, verdict=verdict, candidate="a", verifier="tests")
        )
    before = memory.tallies()  # learnt by this process before the correction
    assert sum(tally.passed for tally in before) == pytest.approx(2)

    assert memory.correct("r1", because="the user took the patch back") == 1
    assert memory.correct("r1", because="twice") == 0
    assert memory.correct("unknown", because="no such run") == 0

    for store in (memory, Memory(tmp_path)):
        assert sum(tally.passed for tally in store.tallies()) == pytest.approx(1)
        assert sum(tally.failed for tally in store.tallies()) == pytest.approx(2)
        assert store.accepted() == {("tests", "a"): Accepted(passed=2, wrongly=1)}
    corrected = memory.get("r1.s1.1")
    assert corrected is not None
    assert (corrected.verdict, corrected.signals[-1].name) == ("failed", "wrongly_accepted")
    assert corrected.signals[-1].note == "the user took the patch back"


def test_mistakes_are_counted_also_once_their_outcomes_have_left(tmp_path: Path) -> None:
    memory = Memory(tmp_path, bound=2)
    memory.remember(make_outcome("r1.s1.1", run="r1", verdict="passed", candidate="a"))
    memory.correct("r1", because="a test that was held out disagrees")
    for number in range(4):
        memory.remember(make_outcome(f"n{number}", run="n", verdict="passed", candidate="a"))
    assert list(memory.accepted().values()) == [Accepted(passed=5, wrongly=1)]


def test_an_empty_memory_has_nothing_to_correct_and_makes_no_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    assert (memory.correct("r1", because="x"), memory.accepted()) == (0, {})
    assert not (tmp_path / "memory" / "journal.db").exists()
    assert list(tmp_path.rglob("*.db")) == []


def test_the_orchestrator_trusts_a_mistaken_verifier_less_and_nobody_more_than_is_known() -> None:
    known = usual("tests")
    assert seen("tests", {}) == known
    assert seen("tests", {("tests", "a"): (500, 0)}) == known  # that nobody took it back proves nothing
    rates = [
        seen("tests", {("tests", "a"): (20, wrong), ("own_test", "a"): (9, 9)}) for wrong in (0, 5, 10, 20)
    ]
    accepts = [rate.false_accept for rate in rates]
    assert accepts == sorted(set(accepts))
    assert accepts[0] == known.false_accept
    assert accepts[-1] == pytest.approx((20 * 0.08 + 20) / 40)
    assert rates[1].by_candidate["builtin/repair"] >= known.by_candidate["builtin/repair"]
    assert rates[1].by_candidate["a"] > rates[1].false_accept
    assert seen("own_test", {}).false_accept > known.false_accept
