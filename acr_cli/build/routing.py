"""`acr route`: what would be chosen, and why."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.build.keeping import memory
from acr_cli.build.pooling import candidates, policy_of, pool_of, run_budget
from acr_cli.build.sharing import embedder as embedder_of
from acr_cli.errors import AcrError, NoEligibleModel
from acr_cli.events import Emit
from acr_cli.progress import NEEDS_MODEL
from acr_cli.protocols import Budget
from acr_cli.records import Candidate, Choice, Context, Dimension
from acr_cli.settings import Settings
from acr_cli.worktree.repository import Repository, open_repository

if TYPE_CHECKING:
    from acr_cli.memory.store import Memory

NEWEST = 100  # own attempts of a candidate that its range of costs is taken from
FEWEST = 5  # attempts that make a range
_TAIL = 0.05  # on either side of a 90 % range


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """What a candidate's attempts take."""

    seconds: float  # expected of the next
    low_usd: float | None = None  # nine in ten of its attempts cost so, by today's prices; None: too few
    high_usd: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed:
    """A choice with all that it was made from."""

    settings: Settings
    context: Context
    choice: Choice
    candidates: tuple[Candidate, ...]  # among whom was chosen
    left_out: Mapping[str, str] = field(default_factory=dict)  # why others could not be, by their ids
    spending: Mapping[str, Spending] = field(default_factory=dict)  # by candidate


def route(
    settings: Settings, *, where: Path, task: str, ask: bool = False, emit: Emit = lambda _: None
) -> Routed:
    """What would be chosen for a task, and why; no backend is called, and the router model only with `ask`.

    Inside a repository the task is an edit there (agentic_programming), elsewhere a plain question. Repair
    takes part where the words speak of a failure, or where there is no model. So do models without a key or
    a price, where no other is there.

    Raises: NoEligibleModel, ConfigurationError."""
    from acr_cli.context.dimension import dimension_of, language_of

    asked = dimension_of(task)
    pool, left_out = _able(settings, of_failure=asked is Dimension.BUG_FIXING)
    repository = _repository(where)
    embedder = embedder_of(settings)
    store = memory(settings)
    vector = tuple(embedder.embed([task])[0])
    context = Context(
        text=task,
        vector=vector,
        embedder=embedder.key,
        dimension=Dimension.AGENTIC_PROGRAMMING if repository else asked,
        language=language_of(repository.files() if repository else (), task),
        repository=repository.identity if repository else "",
        size_tokens=len(task) // 4,
        attempts=settings.attempts,
        neighbours=store.neighbours(vector, embedder.key),
        tallies=store.tallies(),
    )
    budget = _budget(settings) if ask else None
    choice = policy_of(settings, budget=budget, emit=emit).choose(context, pool, None)
    if choice is None:
        raise NoEligibleModel("No model may take this task.", hint=NEEDS_MODEL)
    return Routed(
        settings=settings,
        context=context,
        choice=choice,
        candidates=pool,
        left_out=left_out,
        spending=_spending(store, context, pool),
    )


def _budget(settings: Settings) -> Budget:
    return run_budget(settings, max_steps=1)


def _able(settings: Settings, *, of_failure: bool) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Who can be chosen, and why the others cannot."""
    pool = pool_of(settings)
    left_out = {c.id: "not among those that allow, exclude and model name" for c in candidates(settings)}
    left_out = {name: why for name, why in left_out.items() if name not in {c.id for c in pool}}
    hindered = {c.id: why for c in pool if (why := _hindrance(settings, c))}
    left_out |= hindered
    able = tuple(c for c in pool if c.id not in hindered)
    if not any(c.model for c in able):  # say whom it would be, and what it lacks
        able = pool
    models = tuple(c for c in able if c.model)
    if not models or of_failure:
        return able, left_out
    idle = (c.id for c in pool if not c.model)
    return models, left_out | dict.fromkeys(idle, "repairs failing tests; the task speaks of no failure")


def _hindrance(settings: Settings, candidate: Candidate) -> str:
    """Why a run would leave a candidate out, "" if it would not."""
    from acr_cli.models.keys import missing_key

    if variable := missing_key(candidate, os.environ):
        return f"{variable} is not set"
    if not candidate.price.known and settings.cost_cap < float("inf"):
        return "no price is known, and a run has a cap on cost"
    return ""


def _spending(store: Memory, context: Context, pool: Sequence[Candidate]) -> dict[str, Spending]:
    from acr_cli.orchestrator.cost import Costs, Spent, today

    costs = Costs(context)
    known = {t.candidate for t in context.tallies if t.dimension == context.dimension}
    found = {}
    for candidate in pool:
        paid: list[float] = []
        if candidate.id in known:
            own = store.list(NEWEST, candidate=candidate.id, dimension=context.dimension)
            spent = (
                Spent(
                    usd=outcome.cost_usd,
                    input_tokens=outcome.usage.input_tokens,
                    output_tokens=outcome.usage.output_tokens,
                    count=1,
                    with_tokens=min(outcome.usage.input_tokens, 1),
                )
                for outcome in own
            )
            paid = sorted(today(each, candidate) for each in spent)
        low, high = _range(paid)
        found[candidate.id] = Spending(seconds=costs.seconds(candidate), low_usd=low, high_usd=high)
    return found


def _range(paid: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The 5th and 95th hundredth of sorted costs. Pure."""
    if len(paid) < FEWEST:
        return None, None
    last = len(paid) - 1
    return paid[round(_TAIL * last)], paid[round((1 - _TAIL) * last)]


def _repository(where: Path) -> Repository | None:
    try:
        return open_repository(where)
    except AcrError:
        return None
