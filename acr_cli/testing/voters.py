"""What a voter must keep to, also one from another package: `check_voter(YourVoter())` in a test of yours."""

from __future__ import annotations

from dataclasses import replace

from acr_cli.protocols import Voter
from acr_cli.records import Candidate, Context, Dimension, Neighbour, Price, Tally

CANDIDATES = (
    Candidate(
        id="openai/gpt-5.4", backend="agent", model="openai/gpt-5.4", price=Price(input=2.5, output=15.0)
    ),
    Candidate(id="local/unknown", backend="agent", model="local/unknown", price=Price(input=0.0, output=0.0)),
    Candidate(id="some/unpriced", backend="agent", model="some/unpriced"),
    Candidate(id="builtin/repair", backend="repair", price=Price(input=0.0, output=0.0, per_second=0.0005)),
)


def contexts() -> tuple[Context, ...]:
    """Contexts that a voter may meet: nothing known, much known, failures before, every dimension."""
    tallies = [
        Tally(
            candidate=c.id,
            dimension=d.value,
            passed=n,
            failed=5.0,
            cost_usd=1.0,
            seconds=60.0,
            outcomes=n + 5,
        )
        for d in Dimension
        for n, c in enumerate(CANDIDATES[:3])
    ]
    near = [
        Neighbour(id=str(n), similarity=1.0 - n / 20, candidate=c, passed=n % 2 == 0, u=0.5, cost_usd=0.1)
        for n, c in enumerate((*(c.id for c in CANDIDATES), "no/longer-here"))
    ]
    plain = [
        Context(text="the tests fail", dimension=dimension, size_tokens=1_000) for dimension in Dimension
    ]
    known = [replace(c, tallies=tuple(tallies), neighbours=tuple(near)) for c in plain]
    failed = replace(known[0], failed=(CANDIDATES[0].id,), unavailable=(CANDIDATES[1].id,))
    empty = replace(plain[0], text="", vector=(), size_tokens=0)
    return (*plain, *known, failed, empty)


def check_voter(voter: Voter) -> None:
    """Raises AssertionError, with the reason, where the voter breaks a rule."""
    assert voter.name, "a voter has a name"
    assert voter.weight >= 0, "a weight is not negative"
    for context in contexts():
        votes = dict(voter.vote(context, CANDIDATES))
        assert votes == dict(voter.vote(context, CANDIDATES)), "the same question has the same answer"
        unknown = set(votes) - {candidate.id for candidate in CANDIDATES}
        assert not unknown, f"votes for {unknown}, whom nobody asked about"
        for name, vote in votes.items():
            assert 0.0 <= vote.value <= 1.0, f"{name}: {vote.value} is no vote in [0, 1]"
            assert vote.voter == voter.name, f"{name}: signed by {vote.voter!r}"
            assert vote.weight >= 0, f"{name}: a weight is not negative"
            assert vote.note, f"{name}: people are told where a vote comes from"
        for candidate in CANDIDATES:
            alone = voter.vote(context, [candidate])
            assert set(alone) <= {candidate.id}, "a voter speaks of those it is asked about"
    assert dict(voter.vote(contexts()[0], ())) == {}, "without candidates there are no votes"
