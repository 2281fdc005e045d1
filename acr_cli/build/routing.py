"""`acr route`: what would be chosen, and why."""

from __future__ import annotations

from pathlib import Path

from acr_cli.build.keeping import memory
from acr_cli.build.pooling import policy_of, pool_of
from acr_cli.build.sharing import embedder as embedder_of
from acr_cli.errors import AcrError, NoEligibleModel
from acr_cli.progress import NEEDS_MODEL
from acr_cli.records import Candidate, Choice, Context, Dimension
from acr_cli.settings import Settings
from acr_cli.worktree.repository import Repository, open_repository


def route(settings: Settings, *, where: Path, task: str) -> tuple[Context, Choice, tuple[Candidate, ...]]:
    """What would be chosen for a task, and why; no backend is called.

    Inside a repository the task is an edit there (agentic_programming), elsewhere a plain question. Repair
    takes part where the words speak of a failure, or where there is no model.

    Raises: NoEligibleModel, ConfigurationError."""
    from acr_cli.context.dimension import dimension_of, language_of

    pool = pool_of(settings)
    asked = dimension_of(task)
    models = tuple(c for c in pool if c.model or asked is Dimension.BUG_FIXING)
    pool = models if any(c.model for c in pool) else pool
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
    choice = policy_of(settings).choose(context, pool, None)
    if choice is None:
        raise NoEligibleModel("No model may take this task.", hint=NEEDS_MODEL)
    return context, choice, pool


def _repository(where: Path) -> Repository | None:
    try:
        return open_repository(where)
    except AcrError:
        return None
