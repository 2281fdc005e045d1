"""`acr runs replay`: a run once more, from its recorded choices and replies, without any network.

The tests are run again in the sandbox, and builtin/repair searches again. Nothing is remembered, nothing is
applied and nothing is paid: what comes of it is whether the same patch does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from acr_cli.build.checkpoints import BEGUN, as_it_began
from acr_cli.build.job import Job
from acr_cli.build.reading import read
from acr_cli.build.recording import RECORDING, Diverged, Recorded, recorded_lines
from acr_cli.caf import Loop
from acr_cli.errors import UsageError
from acr_cli.events import Emit
from acr_cli.records import (
    Candidate,
    Context,
    Neighbour,
    Outcome,
    RunResult,
    Step,
    Tally,
    Task,
)
from acr_cli.settings import Settings
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder

_UNENDED = ("running", "killed", "interrupted")


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What a replay came to."""

    result: RunResult
    identical: bool  # the patches are the same, byte by byte
    why: str = ""  # what the replay could not do as the run did, where they are not


def replay(settings: Settings, *, run: RunFolder, emit: Emit) -> Replayed:
    """Do again what a run did; `settings` hold its own flags.

    What it could not do the same is the result's error. Raises: UsageError where it is at work, not at its
    end or not recorded; PatchConflict where the files that it began with are not to be had."""
    begun = run.kept(BEGUN)
    if not isinstance(begun, dict) or not begun.get("tree"):
        raise UsageError(f"The run {run.id} was not recorded, so that it cannot be replayed.")
    state = run.describe()
    repository = open_repository(Path(str(state.get("repository", ""))))
    task = read(Task, begun["task"])
    with run.at_rest():
        if state.get("status") in _UNENDED:
            raise UsageError(
                f"The run {run.id} is not at its end.", hint=f"`acr runs resume {run.id}` goes on with it."
            )
        recorded = Recorded(recorded_lines(run.path / RECORDING))
        try:
            with TemporaryDirectory(dir=run.path, prefix="apply-") as place:
                job = Job(
                    _as_then(settings, begun),
                    tuple(read(Candidate, each) for each in begun["candidates"]),
                    repository,
                    RunFolder(path=Path(place)),
                    emit,
                    where=str(begun.get("where") or ""),
                    text=f"{task.text}\n{task.log}",
                    recorded=recorded,
                )
                tree = job.copy()
                as_it_began(run, repository, tree)
                parts = job.parts(tree, replace(job, folder=run).sandbox(), Forgetful())
                result = Loop(run.id, replace(parts, observer=Unconcerned())).fix(task)
        finally:
            run.drop_copies()
        diverged = result.summary if result.error_id == Diverged.id else ""
        same = not diverged and result.patch == run.patch
        return Replayed(result=result, identical=same, why="" if same else diverged or recorded.missing)


def _as_then(settings: Settings, begun: dict[str, object]) -> Settings:
    """The settings that shape a run, as they were; no cap binds, since nothing is paid."""
    return replace(
        settings,
        attempts=read(int, begun["attempts"]),
        approve=str(begun["approve"]),
        plan_only=bool(begun["plan_only"]),
        max_cost=math.inf,
        max_cost_day=math.inf,
        max_cost_month=math.inf,
        max_time=max(settings.max_time, 3600.0),
    )


class Unconcerned:
    """An `Observer` that looks at nothing: the choices are made already."""

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        return Context(text="", kind=step.kind, failed=tuple(failed), unavailable=tuple(unavailable))


class Forgetful:
    """A `Store` that keeps nothing."""

    def remember(self, outcome: Outcome) -> None: ...

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        return ()

    def tallies(self) -> tuple[Tally, ...]:
        return ()

    def settle(self) -> None: ...
