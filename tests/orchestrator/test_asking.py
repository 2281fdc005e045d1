"""The model that is asked whom to choose: when it is asked, how often, and what its answer does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from acr_cli.advisor.question import written
from acr_cli.orchestrator.acrouter import AcRouter
from acr_cli.orchestrator.asking import Asking
from acr_cli.orchestrator.learned import Learned
from acr_cli.orchestrator.ordered import Ordered
from acr_cli.orchestrator.prior import Prior
from acr_cli.orchestrator.voters.llm_router import RouterVoter, question_for
from acr_cli.orchestrator.voters.prior import PriorVoter
from acr_cli.protocols import Policy
from acr_cli.records import Candidate, Context, Neighbour, Price, Tally
from acr_cli.testing.voters import check_voter

POOL = tuple(
    Candidate(id=f"a/m{n}", backend="agent", model=f"a/m{n}", price=Price(input=1.0 + n, output=5.0 + 5 * n))
    for n in range(3)
)
CONTEXT = Context(text="the date is wrong", dimension="bug_fixing", language="python", size_tokens=1000)


def even(_candidate: Candidate, _dimension: str) -> Prior:
    return Prior(value=0.5, note="even")


class Asked:
    """Names whom it is told to, and counts."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.contexts: list[Context] = []

    def __call__(self, context: Context, candidates: Sequence[Candidate]) -> str | None:
        self.contexts.append(context)
        return self.name


def asking(kind: str, ask: Asked, rates: object = even) -> Asking:
    voter = RouterVoter("some/router", even)
    policy: Policy
    if kind == "learned":
        policy = Learned([voter], exploration=0.0, rates=even)
    elif kind == "acrouter":
        policy = AcRouter([PriorVoter(even), voter], exploration=0.0)
    else:
        policy = Ordered(kind, [PriorVoter(even), voter])
    return Asking(policy, voter, ask)


@pytest.mark.parametrize("kind", ["learned", "acrouter"])
@pytest.mark.parametrize("named", ["a/m1", "a/m2"])
def test_who_is_named_is_chosen_where_nothing_else_decides(kind: str, named: str) -> None:
    ask = Asked(named)

    choice = asking(kind, ask).choose(replace(CONTEXT, attempts=1), POOL, None)

    assert choice is not None
    assert choice.candidate == named
    votes = {vote.voter: vote for vote in choice.forecast(named).votes}  # type: ignore[union-attr]
    assert votes["router"].value == pytest.approx(0.75)  # half of the doubt is taken away
    assert votes["router"].note == "some/router names it"
    assert len(ask.contexts) == 1


def test_it_is_not_asked_where_one_candidate_is_left() -> None:
    ask = Asked("a/m1")
    policy = asking("learned", ask)

    policy.choose(CONTEXT, POOL[:1], None)
    policy.choose(replace(CONTEXT, failed=("a/m0",), unavailable=("a/m2",)), POOL, None)

    assert ask.contexts == []


@pytest.mark.parametrize("kind", ["fixed", "escalate"])
def test_it_is_not_asked_by_a_policy_that_does_not_go_by_votes(kind: str) -> None:
    ask = Asked("a/m1")

    choice = asking(kind, ask).choose(CONTEXT, POOL, None)

    assert choice is not None
    assert ask.contexts == []


def test_it_is_not_asked_where_the_vote_is_decided_beyond_its_weight() -> None:
    ask = Asked("a/m2")
    sure = tuple(
        Tally(
            candidate=name, dimension="bug_fixing", language="python", passed=passed, failed=200.0 - passed,
            cost_usd=0.2, outcomes=200, count=200.0,
        )
        for name, passed in (("a/m0", 199.0), ("a/m1", 1.0), ("a/m2", 1.0))
    )  # fmt: skip

    choice = asking("learned", ask).choose(replace(CONTEXT, tallies=sure), POOL, None)

    assert choice is not None
    assert choice.candidate == "a/m0"
    assert ask.contexts == []


def test_it_is_asked_once_a_step_and_again_after_a_failure() -> None:
    ask = Asked("a/m1")
    policy = asking("acrouter", ask)

    for _ in range(3):
        policy.choose(CONTEXT, POOL, None)
    policy.choose(replace(CONTEXT, failed=("a/m1",)), POOL, None)

    assert [context.failed for context in ask.contexts] == [(), ("a/m1",)]


def test_a_model_that_names_nobody_has_no_vote() -> None:
    choice = asking("acrouter", Asked(None)).choose(CONTEXT, POOL, None)

    assert choice is not None
    assert all(vote.voter != "router" for forecast in choice.forecasts for vote in forecast.votes)


def test_its_voter_keeps_to_what_a_voter_must() -> None:
    voter = RouterVoter("some/router")
    check_voter(voter)
    voter.named = "openai/gpt-5.4"
    check_voter(voter)


NEAR = tuple(
    Neighbour(
        id=str(n), similarity=0.9, candidate="a/m2", passed=n != 1, u=1.0, cost_usd=0.1, text=f"old task {n}"
    )
    for n in range(3)
)


@pytest.mark.parametrize(
    ("style", "there", "absent"),
    [
        ("zero-shot", ("Models: a/m0, a/m2",), ("old task", "Solved", " %")),
        ("few-shot", ("Best at 'old task 0': a/m2", "Best at 'old task 2': a/m2"), ("old task 1", "Solved")),
        ("statistics", ("Solved of this kind: a/m0 ", "Solved of similar tasks: a/m2 2 of 3"), ("old task",)),
    ],
)
def test_what_it_is_told_depends_on_the_style(
    style: str, there: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    context = replace(CONTEXT, neighbours=NEAR, failed=("a/m1",))

    prompt = written(question_for(style, context, POOL))

    assert "Have failed on it already: a/m1" in prompt
    assert all(text in prompt for text in there), prompt
    assert not any(text in prompt for text in absent), prompt
