"""The classifier: who solves a task, by its words, after what it was trained on (`acr train policy`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acr_cli.advisor.card import Card
from acr_cli.advisor.classifier import Classifier
from acr_cli.orchestrator.voters.known import known_as
from acr_cli.records import Candidate, Context, Vote

WEIGHT = 1.0
"""Of the released router v4.5 (arXiv 2606.22902)."""


class ClassifierVoter:
    """Implements `protocols.Voter`; silent on candidates that were not in its training."""

    weight = WEIGHT

    def __init__(self, card: Card, classifier: Classifier) -> None:
        self.name = card.voter
        self._classifier = classifier
        self._note = f"the words of {card.tasks} tasks ({card.name})"

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        told = {c.id: known_as(c, self._classifier.candidates) for c in candidates}
        if not any(told.values()):
            return {}
        chances = self._classifier.chances(context.text, context.dimension, context.language)
        return {
            id_: Vote(voter=self.name, value=chances[name], weight=WEIGHT, note=self._note)
            for id_, name in told.items()
            if name is not None
        }
