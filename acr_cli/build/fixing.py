"""`acr fix`: one run from its settings to its result, kept in its folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from acr_cli.build.asking import Asks
from acr_cli.build.checkpoints import BEGUN
from acr_cli.build.delivering import AskUnasked
from acr_cli.build.job import Job
from acr_cli.build.keeping import correct_undone
from acr_cli.build.pooling import usable
from acr_cli.build.recording import RECORDING, Recording
from acr_cli.events import Emit, Event, ModelText, Notice, to_json
from acr_cli.interrupts import uninterrupted
from acr_cli.records import RunResult, Task
from acr_cli.settings import Settings
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import RunFolder, new_run, sweep_runs


def run(
    settings: Settings,
    *,
    where: Path,
    task: Task,
    emit: Emit,
    asks: Asks | None = None,
    ask_tests: Callable[[], str] | None = None,
    ask_unasked: AskUnasked | None = None,
) -> RunResult:
    """Carry out one task in the repository around `where`, and apply the patch if it is verified.

    `asks` answers what the setting `approve` says is to be asked; without it nothing is. `ask_tests` is asked
    for the test command where no tests are found; "" for none. `ask_unasked` is asked about a patch that
    changes files which tools run unasked; without it that patch is kept.

    Raises: AcrError before the run exists; afterwards every end is a result."""
    pool = usable(settings, emit)
    repository = open_repository(where)
    for dead in sweep_runs(settings.home):
        emit(Notice(level="info", text=obituary(dead)))
    correct_undone(settings, lambda text: emit(Notice(level="warning", text=text)))
    folder, lock = new_run(settings.home, repository=repository.root, task=task.text)
    stands = where.resolve().relative_to(repository.root.resolve()).as_posix()
    job = Job(
        settings,
        pool,
        repository,
        folder,
        logged(emit, folder),
        where="" if stands == "." else stands,
        text=f"{task.text}\n{task.log}",
        asks=asks,
        ask_tests=ask_tests,
        ask_unasked=ask_unasked,
        recording=Recording(folder.path / RECORDING),
    )
    return kept(folder, lock, emit, lambda: job.carry_out(task))


def kept(folder: RunFolder, lock: FileLock, emit: Emit, work: Callable[[], RunResult]) -> RunResult:
    """What `work` comes to, kept in the run's folder; its copies are gone then, and `lock` is let go of. An
    interrupt after `work` has ended comes too late."""
    try:
        result = work()
        with uninterrupted(heed=False):
            _ended(folder, emit, result)
    except BaseException as error:
        with uninterrupted():
            _broken_off(folder, emit, error)
        raise
    finally:
        lock.release()
    return result


def _ended(folder: RunFolder, emit: Emit, result: RunResult) -> None:
    with suppress(OSError):  # what cannot be removed now, a later sweep removes
        folder.drop_copies()
    try:
        folder.finish(result)
    except OSError as error:
        emit(Notice(level="warning", text=f"The run could not be kept: {(error.strerror or '').lower()}."))


def _broken_off(folder: RunFolder, emit: Emit, error: BaseException) -> None:
    """Clean up after a run that came to no result; say so where its patch was there already."""
    with suppress(OSError):  # on a full disk the error itself is what is to be heard of
        folder.update(status="interrupted" if isinstance(error, KeyboardInterrupt) else "error")
    with suppress(OSError):
        folder.drop_copies()
    if folder.describe().get("applied"):
        text = f"The patch had just been applied: `acr undo {folder.id}` takes it back."
        emit(Notice(level="warning", text=text))


def obituary(dead: RunFolder) -> str:
    said = f"The run {dead.id} had been killed; its working copy was removed."
    state = dead.describe()
    if state.get("applied"):
        commit = "; `git log` tells whether it is committed" if state.get("to_commit") else ""
        return f"{said} Its patch was being applied, and is applied{commit}."
    return f"{said} `acr runs resume {dead.id}` goes on with it." if dead.kept(BEGUN) else said


def logged(emit: Emit, folder: RunFolder) -> Emit:
    """Events to the run's log as well; a disk that takes no more of them does not end the run."""
    writable = True

    def both(event: Event) -> None:
        nonlocal writable
        if writable and not isinstance(event, ModelText):
            try:
                folder.log(to_json(event))
            except OSError as error:
                writable = False
                text = f"The run's log goes on no further: {(error.strerror or str(error)).lower()}."
                emit(Notice(level="warning", text=text))
        emit(event)

    return both
