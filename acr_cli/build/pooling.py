"""Who may take a step, and the policy that chooses among them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from acr_cli.errors import AuthenticationFailed, ConfigurationError, StoreError
from acr_cli.events import Emit, Notice
from acr_cli.protocols import Budget, Policy, Reply, Voter
from acr_cli.records import Candidate, Price
from acr_cli.settings import Settings

if TYPE_CHECKING:
    from acr_cli.agent.budget import RunBudget
    from acr_cli.models.catalogue import Found
    from acr_cli.orchestrator.mistakes import Mistakes

REPAIR = "builtin/repair"


def candidates(settings: Settings) -> tuple[Candidate, ...]:
    """Everybody who could take a step: the accepted models, the built-in repair, installed backends."""
    from acr_cli.models.catalogue import candidates as models

    repair = Candidate(
        id=REPAIR,
        backend="repair",
        family="repair",
        price=Price(input=0.0, output=0.0, per_second=settings.time_price, source="builtin"),
        local=True,
    )
    installed = (replace(repair, id=name, backend=name, family=name) for name in settings.backends)
    return (*models(settings, os.environ), repair, *installed)


def detect(settings: Settings) -> tuple[Found, ...]:
    """Providers found by their keys, and an Ollama that answers; none of them is used unasked."""
    from acr_cli.models.catalogue import detect as found

    return found(os.environ, time_price=settings.time_price)


def probe(settings: Settings, candidate: str, budget: Budget | None = None) -> Reply:
    """One tiny real call; what the model answered, and what that cost. `budget` is that of several.

    A model without a price is asked all the same where no day and no month has a cap.

    Raises: ProviderError, ConfigurationError, BudgetExhausted."""
    from acr_cli.models.gateway import LiteLLM
    from acr_cli.models.rests import Rests, rests_file

    chosen = pool_of(replace(settings, model=candidate))[0]
    rests = Rests(rests_file(settings.home), heeded=False)
    if not chosen.price.known:
        budget = run_budget(settings, max_cost=inf)
    gateway = LiteLLM(emit=lambda _: None, environ=os.environ, rests=rests)
    return gateway.probe(chosen, budget or run_budget(settings))


def run_budget(
    settings: Settings, *, max_cost: float | None = None, max_steps: int | None = None
) -> RunBudget:
    """The caps of one run, and those of its day and month; what is given counts instead of the settings."""
    from acr_cli.agent.budget import RunBudget
    from acr_cli.agent.ledger import Ledger, ledger_file

    return RunBudget(
        max_cost=settings.max_cost if max_cost is None else max_cost,
        max_steps=settings.max_steps if max_steps is None else max_steps,
        max_time=settings.max_time,
        clock=time.monotonic,
        ledger=Ledger(ledger_file(settings.home), day=settings.max_cost_day, month=settings.max_cost_month),
    )


def pool_of(settings: Settings) -> tuple[Candidate, ...]:
    from acr_cli.orchestrator.pool import pool

    return pool(candidates(settings), model=settings.model, allow=settings.allow, exclude=settings.exclude)


def usable(settings: Settings, emit: Emit) -> tuple[Candidate, ...]:
    """The pool without those whose key is missing or whose cost no cap can bind, which is said.

    Raises: ConfigurationError when nobody is left."""
    from acr_cli.models.keys import key_for
    from acr_cli.orchestrator.pool import priced

    with_key: list[Candidate] = []
    keyless: list[AuthenticationFailed] = []
    for candidate in pool_of(settings):
        try:
            if candidate.model:
                key_for(candidate, os.environ)
        except AuthenticationFailed as error:
            keyless.append(error)
        else:
            with_key.append(candidate)
    if not with_key:
        raise ConfigurationError(keyless[0].message, hint=keyless[0].hint)
    for missing in keyless:
        emit(Notice(level="warning", text=f"Left out: {missing.message}"))
    left = priced(with_key, settings.cost_cap)
    if unpriced := [c.id for c in with_key if c not in left]:
        text = f"Left out, since no price is known and a run has a cap on cost: {', '.join(unpriced)}."
        emit(Notice(level="warning", text=text))
    return left


def policy_of(settings: Settings, *, budget: Budget | None = None, emit: Emit = lambda _: None) -> Policy:
    """The policy of these settings; `--model` leaves nothing to choose. The router model, if there is one,
    is asked on `budget`; without one it has no vote.

    Raises: ConfigurationError."""
    if settings.model:
        return _opened(settings, "fixed", ())
    from acr_cli.build.training import advisors

    trained = advisors(settings)
    if not settings.router or budget is None:
        return _opened(settings, settings.policy, trained)
    from acr_cli.build.router_model import asker
    from acr_cli.orchestrator.asking import Asking
    from acr_cli.orchestrator.voters.llm_router import RouterVoter

    voter = RouterVoter(settings.router)
    policy = _opened(settings, settings.policy, (*trained, voter))
    return Asking(policy, voter, asker(settings, budget, emit))


def _opened(settings: Settings, name: str, advisors: Sequence[Voter]) -> Policy:
    from acr_cli.orchestrator.policies import open_policy

    return open_policy(
        name,
        exploration=settings.exploration,
        voters=settings.voters,
        advisors=advisors,
        value_of_success=settings.value_of_success,
        value_of_hour=settings.value_of_hour,
        mistakes=_mistakes(settings),
    )


def _mistakes(settings: Settings) -> Callable[[str], Mistakes]:
    """The rates of a kind of verifier, with what memory knows of its mistakes, looked up once."""
    from acr_cli.build.keeping import memory
    from acr_cli.orchestrator.mistakes import seen

    @cache
    def accepted() -> Mapping[tuple[str, str], tuple[int, int]]:
        try:
            found = memory(settings).accepted()
        except StoreError:  # what cannot be read is said where outcomes are read
            return {}
        return {key: (counts.passed, counts.wrongly) for key, counts in found.items()}

    return lambda verifier: seen(verifier, accepted())
