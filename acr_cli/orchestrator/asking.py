"""A policy with a language model among its voters, which is asked only where that can change the choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from acr_cli.orchestrator.voters.llm_router import RouterVoter
from acr_cli.protocols import Policy
from acr_cli.records import Candidate, Choice, Context

Ask = Callable[[Context, Sequence[Candidate]], str | None]
"""(context, candidates) -> the id of the candidate that the model names, None where it names none."""


class Asking:
    """Implements `protocols.Policy` around one whose voters include `voter`.

    The model costs money: it is asked once a step and again after a verified failure, and not at all where
    one candidate is left or where every answer would leave the choice as it is."""

    def __init__(self, policy: Policy, voter: RouterVoter, ask: Ask) -> None:
        self.name = policy.name
        self._policy, self._voter, self._ask = policy, voter, ask
        self._answers: dict[tuple[str, tuple[str, ...], tuple[str, ...]], str | None] = {}

    def choose(self, context: Context, candidates: Sequence[Candidate], rng: Random | None) -> Choice | None:
        key = (context.text, context.failed, context.unavailable)
        if key not in self._answers:
            asks = self._can_change(context, candidates)
            self._answers[key] = self._ask(context, candidates) if asks else None
        self._voter.named = self._answers[key]
        return self._policy.choose(context, candidates, rng)

    def _can_change(self, context: Context, candidates: Sequence[Candidate]) -> bool:
        gone = {*context.failed, *context.unavailable}
        left = [c.id for c in candidates if c.id not in gone]
        if len(left) < 2:
            return False
        choices = {self._choice(context, candidates, named) for named in (None, *left)}
        return len(choices) > 1

    def _choice(self, context: Context, candidates: Sequence[Candidate], named: str | None) -> str | None:
        self._voter.named = named
        choice = self._policy.choose(context, candidates, None)
        return None if choice is None else choice.candidate
