"""How far a run has come, kept in its folder after each step without secrets, and read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import Any

from acr_cli.build.reading import read, read_fields
from acr_cli.build.recording import RECORDING, Recording
from acr_cli.errors import PatchConflict, ProviderError, SandboxUnavailable
from acr_cli.events import plain
from acr_cli.progress import Checkpoint, Progress
from acr_cli.records import SCHEMA, Baseline, Candidate, Outcome, RunResult, Status, Step, Task
from acr_cli.redaction import redacted
from acr_cli.settings import Settings, given_flags
from acr_cli.worktree.beginning import bring_back
from acr_cli.worktree.repository import Repository
from acr_cli.worktree.runs import RunFolder
from acr_cli.worktree.tree import RunTree

BEGUN, REACHED, BASELINE = "begun.json", "checkpoint.json", "baseline.json"


class Keeper:
    """Writes the checkpoints of one run. A disk that takes none ends no run."""

    def __init__(self, folder: RunFolder, recording: Recording, surroundings: str) -> None:
        """`surroundings`: where the tests run and what runs them; a baseline holds as long as they are the
        same."""
        self._folder = folder
        self._recording = recording
        self._surroundings = surroundings
        self._baseline: Baseline | None = None
        self._work: Thread | None = None

    def meanwhile(self, work: Callable[[], None]) -> None:
        """Do this in a thread; it has ended before the first checkpoint is kept."""
        self._work = Thread(target=work, name="acr-beginning")
        self._work.start()

    def close(self) -> None:
        """Wait for what is done meanwhile."""
        if self._work is not None:
            self._work.join()

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep it in the place of the one before; it is on the disk afterwards."""
        self.close()
        baseline = checkpoint.baseline
        with suppress(OSError):
            if baseline is not None and baseline is not self._baseline:
                known = plain(baseline)
                names = [baseline.targets, [case.id for case in baseline.report.cases]]
                # A test whose name holds a secret cannot be told apart later.
                kept = _without_secrets(known) if redacted(names) == [list(each) for each in names] else None
                self._folder.keep(BASELINE, kept)
                self._baseline = baseline
            self._folder.sync()
            reached = {**plain(replace(checkpoint, baseline=None)), "surroundings": self._surroundings}
            self._folder.keep(
                REACHED, {**_without_secrets(reached), "schema": SCHEMA, "recorded": self._recording.sync()}
            )


def note_beginning(
    folder: RunFolder, *, task: Task, settings: Settings, pool: Sequence[Candidate], where: str, tree: str
) -> None:
    """Keep what a run was asked for, with which flags and candidates; `where`: the folder that the user stood
    in, relative to the root; `tree`: its first checkpoint."""
    flags = given_flags(settings)
    secret = [name for name, value in flags.items() if redacted(value) != value]
    begun = {
        "task": redacted(plain(task)),
        "flags": {name: value for name, value in flags.items() if name not in secret},
        "secret_flags": secret,
        "candidates": [{**plain(each), "base_url": redacted(each.base_url)} for each in pool],
        "attempts": settings.attempts,
        "approve": settings.approve,
        "plan_only": settings.plan_only,
        "where": where,
        "tree": tree,
    }
    with suppress(OSError):
        folder.keep(BEGUN, {"schema": SCHEMA, **begun})


def noted_test(folder: RunFolder, ask: Callable[[], str]) -> str:
    """The test command that the user types when asked, which counts as a flag when the run goes on."""
    command = ask()
    begun: Any = folder.kept(BEGUN)
    if command and isinstance(begun, dict):
        flags, secret = dict(begun["flags"]), list(begun["secret_flags"])
        if redacted(command) == command:
            flags["test"] = command
        else:
            secret.append("test")
        with suppress(OSError):
            folder.keep(BEGUN, {**begun, "flags": flags, "secret_flags": secret})
    return command


def reached(folder: RunFolder, surroundings: str) -> Checkpoint | None:
    """Where the run was when it was kept last; without its baseline where that was measured elsewhere."""
    kept = folder.kept(REACHED)
    if not isinstance(kept, dict):
        return None
    same = kept.get("surroundings") == redacted(surroundings)
    try:
        return Checkpoint(
            tree=str(kept["tree"]),
            patch=str(kept["patch"]),
            baseline=read(Baseline, known) if (known := folder.kept(BASELINE)) and same else None,
            queue=tuple(read(Step, step) for step in kept["queue"]),
            plan=read(Step, kept["plan"]) if kept["plan"] else None,
            spent_usd=float(kept["spent_usd"]),
            seconds=float(kept["seconds"]),
            progress=read_fields(Progress, kept["progress"]),
            shared=tuple(read(Outcome, outcome) for outcome in kept["shared"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def forget_what_followed(folder: RunFolder) -> None:
    """What was recorded after the last checkpoint is done again; what it had cost stays paid."""
    kept: Any = folder.kept(REACHED)
    name = REACHED if isinstance(kept, dict) else BEGUN
    about = kept if isinstance(kept, dict) else folder.kept(BEGUN) or {}
    recording = Recording(folder.path / RECORDING)
    size = int(about.get("recorded") or 0)
    if lost := recording.paid_after(size):
        folder.keep(name, {**about, "spent_usd": float(about.get("spent_usd") or 0.0) + lost})
    recording.cut(size)


def as_it_began(folder: RunFolder, repository: Repository, tree: RunTree) -> None:
    """Make the tree, a copy of the user's files as they are now, what it was when the run began.

    Raises: PatchConflict, naming files, where that cannot be."""
    missing = bring_back(folder.path, repository, tree)
    begun: Any = folder.kept(BEGUN) or {}
    if missing or tree.checkpoint() != begun.get("tree"):
        names = listed(missing) if missing else "Files"
        raise PatchConflict(
            f"{names} changed since the run {folder.id} began, and what it began with was not kept.",
            hint="Bring the files back, or run `acr fix` again.",
        )


def may_go_on(folder: RunFolder, result: RunResult) -> RunResult:
    """The result of a run that is not at its end says how to go on."""
    cut_short = result.status in (Status.INTERRUPTED, Status.BUDGET) or result.exit_code in (
        ProviderError.exit_code,
        SandboxUnavailable.exit_code,
    )
    begun = folder.kept(BEGUN)
    if not cut_short or not isinstance(begun, dict) or begun.get("secret_flags"):
        return result
    if folder.kept(REACHED) is not None:
        how = "goes on at the last finished step"
    elif result.status is Status.INTERRUPTED:
        how = "begins it again, as you began it"
    else:
        return result
    hint = f"{result.hint} `acr runs resume {folder.id}` {how}."
    return replace(result, hint=hint.lstrip())


def going_on(checkpoint: Checkpoint | None) -> str:
    """Where a run goes on, for the user. Pure."""
    if checkpoint is None:
        return "The run begins again: nothing of it was finished."
    steps = checkpoint.progress.get("steps") or ()
    baseline = "" if checkpoint.baseline else " The tests are run once more, since they run elsewhere now."
    count = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"The run goes on after {count}; ${checkpoint.spent_usd:.4g} was spent.{baseline}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence. Pure."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _without_secrets(value: Any) -> Any:
    """All but the patches, which are what the run is for, and the ids of trees."""
    match value:
        case dict():
            kept = ("patch", "tree")
            return {k: each if k in kept else _without_secrets(each) for k, each in value.items()}
        case list():
            return [_without_secrets(each) for each in value]
        case _:
            return redacted(value)
