"""A run's patch, applied later (`acr apply`) or taken back (`acr undo`), on the user's tree as it is now."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from acr_cli.errors import PatchConflict, SandboxUnavailable, UsageError
from acr_cli.worktree.contents import keep_changes, kept_changes
from acr_cli.worktree.delivery import Change, Content, content_of
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.repository import Repository
from acr_cli.worktree.reversal import reverse
from acr_cli.worktree.runs import RunFolder
from acr_cli.worktree.tree import RunTree, touched

_TAKEN_BACK = {"undone": True, "corrected": False}
"""Of a run whose patch was taken back, before memory knows it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """A run's patch that was applied or taken back."""

    run: str
    files: tuple[str, ...]
    patch: str


def can_apply(run: RunFolder) -> bool:
    """Whether a run has a patch that is not in the user's tree."""
    state = run.describe()
    return bool(run.patch) and (not state.get("applied") or bool(state.get("undone")))


def is_kept_back(run: RunFolder) -> bool:
    """Whether a run has a patch that has never been in the user's tree."""
    return bool(run.patch) and not run.describe().get("applied")


def can_undo(run: RunFolder) -> bool:
    """Whether a run's patch is in the user's tree."""
    state = run.describe()
    return bool(run.patch) and bool(state.get("applied")) and not state.get("undone")


def is_to_be_corrected(run: RunFolder) -> bool:
    """Whether a run's patch was taken back, and memory may still take it for a success."""
    state = run.describe()
    return bool(state.get("undone")) and state.get("corrected") is False


def apply_kept(repository: Repository, run: RunFolder) -> Carried:
    """Apply the patch of a run that kept it back.

    Raises: UsageError without such a patch, PatchConflict when it does not fit the tree as it is now."""
    _check_belongs(repository, run)
    with run.at_rest():
        if not can_apply(run):
            raise UsageError(f"The patch of {run.id} is applied already.", hint="`acr undo` takes it back.")
        files = _carry_over(repository, run, reverse=False)
    return Carried(run=run.id, files=files, patch=run.patch)


def undo(repository: Repository, run: RunFolder) -> Carried:
    """Reverse exactly the patch of a run; later edits elsewhere are kept.

    Raises: UsageError when there is nothing to undo; PatchConflict when lines of it were changed since, which
    names them, and nothing is written then."""
    _check_belongs(repository, run)
    with run.at_rest():
        if not can_undo(run):
            raise UsageError(
                f"{run.id} has changed nothing that is still there.", hint="`acr runs list` shows runs."
            )
        changes = kept_changes(run.path)
        if changes is None:
            files = _carry_over(repository, run, reverse=True)
        else:
            files = tuple(sorted(changes))
            run.deliver(repository.root, _reversed(repository.root, run, changes), **_TAKEN_BACK)
    return Carried(run=run.id, files=files, patch=run.patch)


def changes_since(tree: RunTree, start: str) -> dict[str, Change]:
    """What a run did to its copy, file by file."""
    return {
        name: Change(before=_at(tree, start, name), after=content_of(tree.root / name))
        for name in tree.changed(start)
    }


def _carry_over(repository: Repository, run: RunFolder, *, reverse: bool) -> tuple[str, ...]:
    """The patch on a small copy of the files that it touches, and that copy's changes on the user's tree."""
    with _room(run) as folder:
        names = touched(run.patch)
        tree = RunTree.copy(repository.root, names, folder)
        start = tree.checkpoint()
        try:
            tree.apply(run.patch, reverse=reverse)
        except PatchConflict as error:
            raise PatchConflict(
                error.message,
                hint=f"Its lines were changed since; `acr runs show {run.id}` prints the patch.",
            ) from error
        changes = changes_since(tree, start)
        if reverse:
            run.deliver(repository.root, changes, **_TAKEN_BACK)
        else:
            keep_changes(run.path, changes)
            run.deliver(repository.root, changes, applied=True, applied_at=time.time(), undone=False)
    return names


@contextmanager
def _room(run: RunFolder) -> Iterator[Path]:
    """An empty folder in the run's, gone afterwards.

    Raises: SandboxUnavailable when the disk does not take what is put there."""
    try:
        folder = Path(tempfile.mkdtemp(dir=run.path, prefix="apply-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # what is left, the next sweep removes
    except (OSError, GitFailed) as error:
        why = error.reason if isinstance(error, GitFailed) else (error.strerror or str(error)).lower()
        raise SandboxUnavailable(
            f"The patch was not applied, since {run.path} cannot be written: {why}.",
            hint="Free space there, and do it again; your files are as they were.",
        ) from error


def _reversed(root: Path, run: RunFolder, changes: Mapping[str, Change]) -> dict[str, Change]:
    """What to write so that each file is without the run's changes. Raises: PatchConflict, naming what cannot
    be taken back."""
    wanted: dict[str, Change] = {}
    refused: list[str] = []
    hunks = 0
    for name, change in changes.items():
        now = content_of(root / name)
        if now in (change.after, change.before):
            hunks += 1
            wanted[name] = Change(before=now, after=change.before)
        elif now is None or change.before is None or change.after is None or not _are_texts(now, change):
            hunks += 1
            refused.append(f"{name} ({_fate(now, change)})")
        else:
            reversal = reverse(change.before.data, change.after.data, now.data)
            hunks += reversal.total
            if reversal.refused:
                refused += [f"{name} {hunk.place}" for hunk in reversal.refused]
            mode = change.before.mode if now.mode == change.after.mode else now.mode
            wanted[name] = Change(before=now, after=Content(mode=mode, data=reversal.content))
    if refused:
        raise PatchConflict(
            f"{len(refused)} of {hunks} hunks cannot be taken back, since what is there was edited later:"
            f" {_listed(refused)}; nothing was written.",
            hint=f"Take them back by hand; `acr runs show {run.id}` prints the patch.",
        )
    return {name: change for name, change in wanted.items() if change.before != change.after}


def _are_texts(now: Content, change: Change) -> bool:
    """Whether all three contents are files with lines."""
    contents = [each for each in (now, change.before, change.after) if each is not None]
    return all(each.mode != "120000" and b"\0" not in each.data for each in contents)


def _fate(now: Content | None, change: Change) -> str:
    if now is None:
        return "is not there any more"
    if change.after is None:
        return "is there again"
    return "was made by the run, and edited since" if change.before is None else "is no text"


def _listed(things: Sequence[str], most: int = 8) -> str:
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more


def _check_belongs(repository: Repository, run: RunFolder) -> None:
    if not run.patch:
        raise UsageError(f"{run.id} has no patch.", hint="`acr runs list` shows which runs have one.")
    home = run.describe().get("repository")
    if not isinstance(home, str):
        raise UsageError(
            f"{run.path / 'run.json'} is damaged: it does not say which repository {run.id} was made in.",
            hint=f"`acr runs show {run.id}` prints its patch.",
        )
    if home != str(repository.root):
        raise UsageError(f"{run.id} was made in {home}.", hint=f"Use acr -C {home} instead.")


def _at(tree: RunTree, checkpoint: str, name: str) -> Content | None:
    found = tree.read(checkpoint, name)
    return Content(mode=found[0], data=found[1]) if found else None
