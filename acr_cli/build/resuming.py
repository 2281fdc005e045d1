"""`acr runs resume`: a run that was killed, interrupted or stopped goes on at its last finished step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acr_cli.build.asking import Asks
from acr_cli.build.checkpoints import BEGUN, REACHED, forget_what_followed, listed
from acr_cli.build.fixing import kept, logged
from acr_cli.build.job import Job
from acr_cli.build.pooling import usable
from acr_cli.build.reading import read
from acr_cli.build.recording import RECORDING, Recording
from acr_cli.errors import PatchConflict, UsageError
from acr_cli.events import Emit
from acr_cli.records import RunResult, Status, Task
from acr_cli.settings import Settings
from acr_cli.worktree.beginning import changed_since
from acr_cli.worktree.contents import kept_changes
from acr_cli.worktree.delivery import is_there
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder, sweep_runs
from acr_cli.worktree.tree import touched

_ENDS = (Status.FIXED, Status.NOT_FIXED, Status.NOTHING_TO_FIX, Status.CHANGED_UNVERIFIED, Status.PLANNED)


def ended(settings: Settings, run: RunFolder) -> Status | None:
    """How a run ended that is at its end; None for one that may go on. What dead runs left is cleaned up."""
    sweep_runs(settings.home)
    return _end(run)


def _end(run: RunFolder) -> Status | None:
    state = run.describe()
    if state.get("applied"):
        return Status.FIXED
    return next((status for status in _ENDS if status.value == state.get("status")), None)


def flags_of(run: RunFolder) -> dict[str, Any]:
    """The flags that a run was begun with, which count when it goes on.

    Raises: UsageError for a run that cannot go on."""
    begun = _begun(run)
    if secret := begun.get("secret_flags"):
        names = listed([f"--{name.replace('_', '-')}" for name in secret])
        raise UsageError(
            f"The run {run.id} cannot go on: {names} held a secret, which was not kept.",
            hint="Run `acr fix` again.",
        )
    return dict(begun.get("flags") or {})


def resume(settings: Settings, *, run: RunFolder, emit: Emit, asks: Asks | None = None) -> RunResult:
    """Go on with a run, with its own flags in `settings`. What its finished steps did is not done again, its
    outcomes are not remembered twice, and its money counts on.

    Raises: UsageError where it is at work, at its end or cannot go on, PatchConflict where the user's files
    changed."""
    begun = _begun(run)
    pool = usable(settings, emit)
    repository = open_repository(Path(str(run.describe().get("repository", ""))))
    with run.at_rest() as lock:
        if _end(run) is not None:
            raise UsageError(
                f"The run {run.id} has ended meanwhile.",
                hint=f"`acr runs show {run.id}` shows how.",
            )
        _refuse_changed(run, repository.root)
        forget_what_followed(run)
        run.update(status="running", pid=os.getpid())
        task = read(Task, begun["task"])
        job = Job(
            settings,
            pool,
            repository,
            run,
            logged(emit, run),
            where=str(begun.get("where") or ""),
            text=f"{task.text}\n{task.log}",
            asks=asks,
            recording=Recording(run.path / RECORDING),
            goes_on=True,
        )
        return kept(run, lock, emit, lambda: job.carry_out(task))


def _begun(run: RunFolder) -> Mapping[str, Any]:
    begun = run.kept(BEGUN)
    if not isinstance(begun, dict) or not begun.get("tree"):
        raise UsageError(
            f"The run {run.id} cannot go on: it ended before anything of it was kept.",
            hint="Run `acr fix` again.",
        )
    return begun


def _refuse_changed(run: RunFolder, root: Path) -> None:
    """Before anything is paid: the files that the steps so far have changed must be as they were."""
    changes = kept_changes(run.path)
    if changes and is_there(root, changes):
        return  # killed when its patch had just been applied
    reached = run.kept(REACHED)
    patch = str(reached.get("patch") or "") if isinstance(reached, dict) else ""
    if patch and (changed := changed_since(run.path, root, touched(patch))):
        raise PatchConflict(
            f"{listed(changed)} changed since the run {run.id} began, which changes it too.",
            hint=f"Bring it back, or take what the run has so far: `acr apply {run.id}`.",
        )
