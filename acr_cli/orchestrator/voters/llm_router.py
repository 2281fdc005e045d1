"""A language model that is asked whom to choose (arXiv 2606.22902): what it is told, and its vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.advisor.question import Example, Near, Question, Rate, gathered
from acr_cli.orchestrator.cost import Costs
from acr_cli.orchestrator.prior import Rates, published_rate
from acr_cli.orchestrator.voters.posterior import beta_parameters
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 1.0
"""Within the range of the released router's further voters, 0.82 to 1.3 (arXiv 2606.22902)."""

CONFIDENCE = 0.5
"""The share of the doubt about a candidate that being named takes away."""

EXAMPLES = 4


class RouterVoter:
    """Implements `protocols.Voter`; silent on everybody but the one that was named.

    Whoever asks the model sets `named`; the vote itself asks nobody."""

    name = "router"
    weight = WEIGHT

    def __init__(self, router: str, rates: Rates = published_rate) -> None:
        self.named: str | None = None
        self._router = router
        self._rates = rates

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        for candidate in candidates:
            if candidate.id == self.named:
                doubt = 1 - _rate(context, candidate, self._rates)
                value = 1 - (1 - CONFIDENCE) * doubt
                note = f"{self._router} names it"
                return {candidate.id: Vote(voter=self.name, value=value, weight=WEIGHT, note=note)}
        return {}


def question_for(style: str, context: Context, candidates: Sequence[Candidate]) -> Question:
    """What the model is asked. `style`: "zero-shot" names the candidates alone; "few-shot" adds similar tasks
    that somebody solved; "statistics" adds success rates, costs and what became of similar tasks. Pure."""
    left = [c for c in candidates if c.id not in {*context.failed, *context.unavailable}]
    rates = tuple(Rate(candidate=c.id) for c in left)
    near: tuple[Near, ...] = ()
    examples: tuple[Example, ...] = ()
    if style == "statistics":
        costs = Costs(context)
        rates = tuple(
            Rate(candidate=c.id, rate=_rate(context, c, published_rate), cost_usd=costs.usd(c)) for c in left
        )
        near = gathered([(n.candidate, n.passed) for n in context.neighbours])
    elif style == "few-shot":
        solved = [n for n in context.neighbours if n.passed and n.text]
        examples = tuple(Example(text=n.text, candidate=n.candidate) for n in solved[:EXAMPLES])
    return Question(
        text=context.text,
        dimension=context.dimension,
        language=context.language,
        candidates=rates,
        near=near,
        failed=context.failed,
        examples=examples,
    )


def _rate(context: Context, candidate: Candidate, rates: Rates) -> float:
    alpha, beta = beta_parameters(context, candidate, rates)
    return alpha / (alpha + beta)
