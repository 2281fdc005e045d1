"""The language model that is asked whom to choose: found in the settings, asked, its answer read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from acr_cli.advisor.question import written
from acr_cli.advisor.reply import chosen
from acr_cli.build.pooling import candidates, pool_of
from acr_cli.errors import BudgetExhausted, ConfigurationError, ProviderError
from acr_cli.events import Emit, Notice
from acr_cli.orchestrator.asking import Ask
from acr_cli.protocols import Budget, Message
from acr_cli.records import Candidate, Context
from acr_cli.redaction import redact
from acr_cli.settings import Settings

SHARE = 0.1
"""Of the money that is left, the most that one question may take: the rest is for the work."""

REPLY, SILENCE = 90.0, 45.0  # seconds that its reply may take, and may pause


class _Share:
    """A `Budget`: a part of another, out of which it is paid."""

    def __init__(self, whole: Budget, share: float) -> None:
        self._whole = whole
        self._cap = whole.spent_usd + share * whole.remaining_usd
        self.check, self.reserve = whole.check, whole.reserve
        self.charge, self.count_step = whole.charge, whole.count_step

    def affords(self, usd: float | None) -> None:
        self._whole.affords(usd)
        if usd and usd > self.remaining_usd:
            raise BudgetExhausted(
                f"It may cost ${usd:.4f}, and only ${self.remaining_usd:.4f} of what is left is for it.",
                hint="Raise --max-cost, or choose a cheaper router.",
            )

    @property
    def spent_usd(self) -> float:
        return self._whole.spent_usd

    @property
    def remaining_usd(self) -> float:
        return max(0.0, min(self._cap - self._whole.spent_usd, self._whole.remaining_usd))

    @property
    def remaining_seconds(self) -> float:
        return self._whole.remaining_seconds


def asker(settings: Settings, budget: Budget, emit: Emit) -> Ask:
    """Asks the model that `router` names, once and not for long; its cost goes to `budget`. One that does not
    answer, or that takes more than its share of the budget, names nobody, and that is said.

    Raises: ConfigurationError where there is no such model."""
    router = _router(settings)

    def ask(context: Context, everybody: Sequence[Candidate]) -> str | None:
        from acr_cli.models.gateway import LiteLLM, Patience
        from acr_cli.orchestrator.voters.llm_router import question_for

        question = question_for(settings.router_prompt, context, everybody)
        message = Message(role="user", content=redact(written(question)))
        patience = Patience(stall=SILENCE, piece=SILENCE, reply=REPLY, tries=1)
        gateway = LiteLLM(emit=lambda _: None, environ=os.environ, patience=patience)
        try:
            reply = gateway.complete(router, [message], tools=(), budget=_Share(budget, SHARE))
        except (ProviderError, BudgetExhausted) as error:
            emit(Notice(level="warning", text=f"The router {router.id} has no vote: {error.message}"))
            return None
        name, _ = chosen(reply.content, [rate.candidate for rate in question.candidates])
        said = f"names {name}" if name else "names none of the models"
        emit(Notice(level="info", text=f"The router {router.id} {said} (${reply.cost_usd:.4f})."))
        return name

    return ask


def _router(settings: Settings) -> Candidate:
    """One of the pool, or a model on this machine, which may be left out of the pool: it only routes then."""
    from acr_cli.orchestrator.pool import matches

    name = settings.router or ""
    everybody = candidates(settings)
    found = [c for c in (*pool_of(settings), *(c for c in everybody if c.local)) if matches(c, name)]
    if found and found[0].model:
        return found[0]
    known = ", ".join(c.id for c in everybody if c.model) or "none"
    raise ConfigurationError(
        f"The router {name!r} is none of the models that may be used.",
        hint=f"Known: {known}. `acr models add` adds one; `acr config unset router` asks nobody.",
    )
