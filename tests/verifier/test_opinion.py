"""A model's opinion: strictly read, heard in both orders, and never worth what execution is worth."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.agent.budget import RunBudget
from acr_cli.errors import BadReply, ProviderUnavailable
from acr_cli.events import Event, Notice
from acr_cli.records import JUDGE, Candidate, Choice, Evidence, Forecast, Price, Signal, Task
from acr_cli.testing.scripted import Line, ScriptedModel
from acr_cli.verifier import score
from acr_cli.verifier.opinion import DIFF, RUBRIC, Opinion, cheapest_capable, read_ruling, reversed_diff

PATCH = """\
diff --git a/a.py b/a.py
index 57f89ed..67be85f 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@ def f():
-x = 1
+x = 2
 y = 1
diff --git a/b.py b/b.py
new file mode 100644
index 0000000..67be85f
--- /dev/null
+++ b/b.py
@@ -0,0 +1 @@
+z = 1
"""
SEEN = Evidence(
    u=0.9,
    reason="2 tests pass as before.",
    signals=(Signal(name="visible_tests", value=1.0, weight=0.4),),
)


def model(name: str, price: float, *, family: str = "") -> Candidate:
    return Candidate(
        id=name, backend="agent", model=name, family=family or name, price=Price(input=price, output=price)
    )


AUTHOR, CHEAP, DEAR = model("author", 1.0), model("cheap", 0.1), model("dear", 9.0)


def grades(a: int, b: int, better: str, **others: Any) -> str:
    said = {"A": dict.fromkeys(RUBRIC, a), "B": dict.fromkeys(RUBRIC, b), "better": better, "why": "Because."}
    return json.dumps({**said, **others})


def heard(
    script: Sequence[Line],
    *,
    pool: Sequence[Candidate] = (AUTHOR, DEAR),
    patch: str = PATCH,
    cap: float = 1.0,
) -> tuple[Evidence | None, ScriptedModel, RunBudget, list[Event]]:
    events: list[Event] = []
    gateway = ScriptedModel(script, cost=0.01)
    budget = RunBudget(max_cost=cap, max_steps=9, max_time=1e9, clock=lambda: 0.0)
    judge = Opinion(gateway=gateway, candidates=pool, emit=events.append)
    found = judge.review(
        Task(text="Make x two."), patch, SEEN, authors=["author"], choice=None, budget=budget
    )
    return (found[0] if found else None), gateway, budget, events


def test_a_change_that_is_preferred_in_both_orders_is_worth_less_than_any_proof() -> None:
    evidence, gateway, budget, _ = heard([grades(1, 4, "B"), grades(4, 1, "A")])
    assert evidence is not None
    assert evidence.verifier == JUDGE
    assert evidence.u == pytest.approx(
        0.7
    )  # at most; a verified change has 0.65 at least by tests of its own
    assert "dear holds it for an improvement, 100% by the rubric: Because." in evidence.reason
    assert evidence.reason.startswith("2 tests pass as before.")
    assert score.u(evidence.signals) == evidence.u
    assert budget.spent_usd == pytest.approx(0.02)
    first, second = (call.messages[1].content for call in gateway.calls)
    assert "-x = 1\n+x = 2" in first
    assert "+x = 1\n-x = 2" in second


@pytest.mark.parametrize(
    ("replies", "verdict"),
    [
        (
            [grades(1, 4, "B"), grades(1, 4, "B")],
            "is undecided",
        ),  # the second place is preferred, not a change
        ([grades(4, 1, "A"), grades(1, 4, "B")], "does not hold it for an improvement"),
        ([grades(2, 2, "neither"), grades(2, 2, "neither")], "is undecided"),
    ],
)
def test_a_change_that_is_not_preferred_in_both_orders_is_worth_half_its_grades(
    replies: list[Line], verdict: str
) -> None:
    evidence, *_ = heard(replies)
    assert evidence is not None
    assert f"dear {verdict}" in evidence.reason
    assert evidence.u < 0.51


def test_a_reply_that_cannot_be_read_gets_one_more_try_and_no_third() -> None:
    evidence, gateway, *_ = heard(["I like B.", grades(1, 4, "B"), grades(4, 1, "A")])
    assert evidence is not None
    assert "no JSON" in gateway.calls[1].last
    evidence, gateway, _, events = heard(["I like B.", "Still B."])
    assert (evidence, len(gateway.calls)) == (None, 2)
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert notice.text.startswith("No opinion was given")


def test_a_judge_that_cannot_be_heard_or_paid_leaves_the_verdict_as_it_is() -> None:
    evidence, _, budget, _ = heard([ProviderUnavailable("It is down.")])
    assert evidence is None
    assert budget.spent_usd == pytest.approx(0.01)
    evidence, gateway, *_ = heard([], cap=0.001)
    assert (evidence, gateway.calls) == (None, [])


@pytest.mark.parametrize(
    ("pool", "patch"), [((AUTHOR,), PATCH), ((AUTHOR, DEAR), ""), ((AUTHOR, DEAR), "+" * (DIFF + 1))]
)
def test_nobody_is_asked_where_only_the_author_could_judge_or_there_is_too_much_to_read(
    pool: tuple[Candidate, ...], patch: str
) -> None:
    evidence, gateway, *_ = heard([], pool=pool, patch=patch)
    assert (evidence, gateway.calls) == (None, [])


@pytest.mark.parametrize(
    "reply",
    [
        "", "null", "[]", "{}", grades(1, 2, "C"), grades(5, 1, "A"), grades(-1, 1, "A"),
        grades(1, 2, "B", why=""), grades(1, 2, "B", A={"task": 1}), grades(1, 2, "B", A=None),
        grades(1, 2, "B").replace("1", "true"), grades(1, 2, "B") + " and that is it", "[" * 100_000,
    ],
)  # fmt: skip
def test_only_the_exact_shape_is_a_ruling(reply: str) -> None:
    with pytest.raises(BadReply):
        read_ruling(reply)


def test_a_ruling_may_stand_in_a_fence() -> None:
    ruling = read_ruling(f"```json\n{grades(2, 4, 'B')}\n```")
    assert (ruling.grades["A"], ruling.grades["B"]) == (0.5, pytest.approx(1.0))


def test_the_judge_is_the_cheapest_of_another_family_that_is_about_as_able() -> None:
    twin = model("author-mini", 0.01, family="author")
    unpriced = replace(model("unpriced", 0.0), price=Price())
    repair = replace(model("repair", 0.0), model="")
    pool = [AUTHOR, twin, unpriced, repair, CHEAP, DEAR]

    def choice(**rates: float) -> Choice:
        forecasts = tuple(
            Forecast(candidate=name, p_success=p, p_low=0.0, p_high=1.0, cost_usd=0.1, score=p)
            for name, p in rates.items()
        )
        return Choice(candidate="author", propensity=1.0, policy="p", reason="", forecasts=forecasts)

    assert cheapest_capable(pool, ["author"], None) is CHEAP
    assert cheapest_capable(pool, ["author"], choice(author=0.8, cheap=0.7, dear=0.9)) is CHEAP
    assert cheapest_capable(pool, ["author"], choice(author=0.8, cheap=0.2, dear=0.9)) is DEAR
    assert cheapest_capable(pool, ["author"], choice(author=0.8, cheap=0.2, dear=0.2)) is None
    assert cheapest_capable(pool, ["author", "cheap"], None) is DEAR


def test_a_reversed_diff_takes_back_what_the_diff_did(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 1\n")

    def apply(diff: str) -> None:
        subprocess.run(["git", "apply", "--unsafe-paths"], cwd=tmp_path, input=diff, text=True, check=True)

    apply(PATCH)
    assert (tmp_path / "b.py").read_text() == "z = 1\n"
    apply(reversed_diff(PATCH))
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 1\n"
    assert not (tmp_path / "b.py").exists()
    assert reversed_diff(reversed_diff(PATCH)) == PATCH
