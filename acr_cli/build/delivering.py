"""The way of a verified patch into the user's files, and into a commit where that is wanted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from acr_cli.errors import PatchConflict
from acr_cli.events import Emit, Notice, PatchApplied
from acr_cli.records import EXIT_CODES, RunResult, Status
from acr_cli.redaction import without_keys
from acr_cli.worktree.contents import keep_changes
from acr_cli.worktree.delivery import Change, is_there
from acr_cli.worktree.hardened_git import GitFailed
from acr_cli.worktree.repository import Repository
from acr_cli.worktree.runs import RunFolder

AskUnasked = Callable[[Mapping[str, str], str], bool]
"""Shown files that tools run unasked, by path, and the patch: whether it is to be applied."""


def told(unasked: Mapping[str, str]) -> str:
    """What a patch changes that tools run unasked, in one sentence. Pure."""
    shown = [f"{path} ({why})" for path, why in unasked.items()]
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return f"The patch changes what tools run without being asked: {', '.join(shown[:8])}{more}."


def held_back(result: RunResult, unasked: Mapping[str, str]) -> RunResult:
    """The result of a patch that was kept, since tests do not show what such files do. Pure."""
    status = Status.CHANGED_UNVERIFIED
    return replace(
        result,
        status=status,
        exit_code=EXIT_CODES[status],
        summary=f"{told(unasked)} No test shows what that does, so it was kept and not applied.",
        hint=f"`acr apply {result.run}` shows it and asks; --allow-path GLOB allows such paths beforehand.",
    )


def delivered(
    result: RunResult,
    changes: Mapping[str, Change],
    *,
    folder: RunFolder,
    repository: Repository,
    emit: Emit,
    commit: bool,
    again: bool,
) -> RunResult:
    """The result once its changes are in the user's files; those that cannot be applied are kept in the run,
    and stay verified: its exit code says that the user's files are not fixed.

    `again`: the run may have been killed when they had just been applied."""
    try:
        folder.keep_patch(result.patch)
        keep_changes(folder.path, changes)
        note: dict[str, Any] = {"applied": True, "applied_at": time.time(), "to_commit": commit}
        if again and is_there(repository.root, changes):
            folder.update(**note)
        else:
            folder.deliver(repository.root, changes, **note)
    except (PatchConflict, OSError) as error:
        problem = error if isinstance(error, PatchConflict) else _unwritable(folder, error)
        return replace(
            result,
            exit_code=problem.exit_code,
            summary=f"The patch is verified, but was not applied: {problem.message}",
            hint=problem.hint if folder.patch != result.patch else _later(result.run),
            error_id=problem.id,
        )
    made = ""
    if commit:
        try:
            made = repository.commit(result.files, _commit_message(result))
        except (GitFailed, KeyboardInterrupt) as error:
            reason = error.reason if isinstance(error, GitFailed) else "interrupted"
            emit(Notice(level="warning", text=f"The fix is applied but not committed: {reason}."))
        with suppress(OSError):
            folder.update(to_commit=False)
    with suppress(KeyboardInterrupt):  # too late: the patch is there
        emit(PatchApplied(files=result.files, commit=made))
    return replace(result, applied=True)


def _later(run: str) -> str:
    return f"`acr apply {run}` applies it, once it fits: its lines must be as they were when the run began."


def _unwritable(folder: RunFolder, error: OSError) -> PatchConflict:
    why = (error.strerror or str(error)).lower()
    return PatchConflict(
        f"{folder.path} cannot be written: {why}.",
        hint="Free space there and run it again, or take the patch from the output.",
    )


def _commit_message(result: RunResult) -> str:
    fixed = result.evidence.fixed if result.evidence else ()
    subject = f"fix: {fixed[0]} passes" if len(fixed) == 1 else f"fix: {len(fixed)} failing tests pass"
    model = result.steps[-1].model if result.steps else "acr"
    subject = " ".join(subject.split())
    text = f"{subject}\n\n{result.summary}\n\nAssisted-by: acr ({model})\nAcr-Run: {result.run}\n"
    # A model's words, and the names of tests: others will read them, and on a terminal.
    return without_keys(_CONTROLS.sub("", text))


_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
