"""The fine-tuned language model: how likely it is to name each candidate as the best, as chances of success.

A share of being the best is no chance to solve the task: where all solve it, somebody has an eighth. The card
of the model holds what turns the one into the other, fitted on held-out tasks (`training.calibration`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from acr_cli.advisor.card import Card
from acr_cli.advisor.question import Question, gathered
from acr_cli.orchestrator.voters.known import known_as
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 1.5
"""Of the released router v4.5 (arXiv 2606.22902)."""


class Scorer(Protocol):
    def shares(self, question: Question) -> Mapping[str, float]:
        """By candidate of the question, how likely it is to be named; they sum to 1. None of them where the
        question cannot be read."""
        ...


class PolicyModelVoter:
    """Implements `protocols.Voter`; silent on candidates that were not in its training.

    The question is about all that the model knows, whoever may take the step: a share does not depend on who
    else is asked about."""

    weight = WEIGHT

    def __init__(self, card: Card, scorer: Scorer) -> None:
        self.name = card.voter
        self._card = card
        self._scorer = scorer

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        card = self._card
        told = {c.id: known_as(c, card.candidates) for c in candidates}
        if not any(told.values()):
            return {}
        question = self._question(context)
        shares = self._scorer.shares(question)
        rates = {rate.candidate: rate.rate for rate in question.candidates}
        return {
            id_: Vote(
                voter=self.name,
                value=chance(shares[name], rates[name], len(shares), card.chances),
                weight=WEIGHT,
                note=f"share of being the best, as a chance ({card.name})",
            )
            for id_, name in told.items()
            if name is not None and name in shares
        }

    def _question(self, context: Context) -> Question:
        return question_of(self._card, context)


def question_of(card: Card, context: Context) -> Question:
    """The question of a context, as it was laid out in training. Pure."""
    found = []
    for neighbour in context.neighbours:
        asked = Candidate(id=neighbour.candidate, backend="", model=neighbour.candidate.split("@")[0])
        if name := known_as(asked, card.candidates):
            found.append((name, neighbour.passed))
    return Question(
        text=context.text,
        dimension=context.dimension,
        language=context.language,
        candidates=card.known(context.dimension),
        near=gathered(found),
    )


def chance(share: float, rate: float | None, count: int, fitted: tuple[float, float, float]) -> float:
    """(a, b, c): logit chance = a + b logit rate + c log(share x count). Pure."""
    a, b, c = fitted
    known = min(max(0.5 if rate is None else rate, 0.01), 0.99)
    logit = a + b * math.log(known / (1 - known)) + c * math.log(max(share * count, 1e-6))
    return 1 / (1 + math.exp(-min(max(logit, -30), 30)))
