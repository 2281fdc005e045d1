"""What is kept: memory, and the runs with their patches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acr_cli.errors import StoreError, UsageError
from acr_cli.settings import Settings
from acr_cli.worktree.contents import kept_changes
from acr_cli.worktree.delivery import Change
from acr_cli.worktree.kept import Carried, apply_kept, can_undo, is_kept_back, is_to_be_corrected, undo
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder, find_run, list_runs, newest_run, sweep_runs
from acr_cli.worktree.tree import touched
from acr_cli.worktree.unasked import unasked

if TYPE_CHECKING:
    from acr_cli.memory.stats import MemoryStats
    from acr_cli.memory.store import Memory


def memory(settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Memory:
    """The store of outcomes; `tell` takes a line for the user when it cannot be written."""
    from acr_cli.memory.store import Memory

    return Memory(
        settings.home,
        bound=settings.memory_bound,
        store_text=settings.store_text,
        half_life_days=settings.half_life_days,
        clock=time.time,
        tell=tell,
        embedder=settings.embedder,
    )


def statistics(
    settings: Settings,
    *,
    candidate: str | None = None,
    dimension: str | None = None,
    repository: str | None = None,
    since: float | None = None,
) -> MemoryStats:
    """What memory holds, of the outcomes for which all that is given holds. Raises: StoreError."""
    from acr_cli.orchestrator.forecaster import adjusted_success
    from acr_cli.orchestrator.mistakes import usual
    from acr_cli.orchestrator.prior import published_rate

    store = memory(settings)
    return store.stats(
        candidate=candidate,
        dimension=dimension,
        repository=repository,
        since=since,
        adjusted=adjusted_success(store.tallies(), mistakes=usual, rates=published_rate),
    )


def paid(settings: Settings) -> dict[str, float]:
    """USD that all runs together paid, also for what came to nothing, since this "day" and "month" began.

    Raises: BudgetExhausted where that is unknown."""
    from acr_cli.agent.ledger import Ledger, ledger_file

    path = ledger_file(settings.home)
    return Ledger(path).spent() if path.exists() else {"day": 0.0, "month": 0.0}


def identity(where: Path) -> str:
    """How memory names the repository around `where`. Raises: RepositoryRefused."""
    return open_repository(where).identity


def runs(settings: Settings) -> tuple[RunFolder, ...]:
    """All runs, newest first."""
    return list_runs(settings.home)


def run_to_apply(settings: Settings, *, where: Path, run_id: str | None) -> RunFolder:
    """The run that `acr apply` means: the named one, or the newest here whose patch was kept back.

    Raises: UsageError, RepositoryRefused."""
    none = "No run here has kept a patch back."
    return _run_here(settings, where, run_id, is_kept_back, none, by="time")


def run_to_undo(settings: Settings, *, where: Path, run_id: str | None) -> RunFolder:
    """The run that `acr undo` means: the named one, or the one here whose patch was applied last.

    Raises: UsageError, RepositoryRefused."""
    return _run_here(settings, where, run_id, can_undo, "There is nothing here to undo.", by="applied_at")


def run_unasked(folder: RunFolder, *, allowed: Sequence[str] = ()) -> dict[str, str]:
    """What the patch of a run changes that tools run unasked, by path; without what is allowed.

    Raises: PatchConflict where the patch cannot be read."""
    changes: Mapping[str, Change | None] | None = kept_changes(folder.path)
    return unasked(changes or dict.fromkeys(touched(folder.patch)), allowed=allowed)


def apply_run(folder: RunFolder, *, where: Path) -> Carried:
    """Apply the patch of a run that kept it back.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    return apply_kept(open_repository(where), folder)


def undo_run(
    settings: Settings, folder: RunFolder, *, where: Path, tell: Callable[[str], None] = lambda _: None
) -> Carried:
    """Reverse exactly the patch of a run. What was taken for a success counts as a failure then, and as a
    mistake of the verifier; `tell` takes a line for the user where memory cannot be corrected.

    Raises: UsageError, PatchConflict, RepositoryRefused."""
    done = undo(open_repository(where), folder)
    if correct_undone(settings, tell):
        memory(settings).settle()
    return done


def correct_undone(settings: Settings, tell: Callable[[str], None]) -> bool:
    """Correct memory of runs that were taken back, also by a process that was killed before it could do that,
    or while memory could not be written; `tell` takes a line for the user. Whether memory was changed."""
    store, changed = memory(settings), 0
    for run in filter(is_to_be_corrected, list_runs(settings.home)):
        try:
            changed += store.correct(run.id, because="the user took the patch back")
            run.update(corrected=True)
        except StoreError as error:
            tell(f"Memory still takes the run {run.id} for a success: {error.message}")
        except OSError:  # it is looked at again by the next one, and changes nothing then
            pass
    return changed > 0


def _run_here(
    settings: Settings,
    where: Path,
    run_id: str | None,
    fits: Callable[[RunFolder], bool],
    none: str,
    *,
    by: str,
) -> RunFolder:
    sweep_runs(settings.home)  # what was killed may have applied a patch
    if run_id:
        return find_run(settings.home, run_id)
    found = newest_run(settings.home, open_repository(where).root, fits, by=by)
    if found is None:
        raise UsageError(none, hint="`acr runs list` shows all runs.")
    return found
