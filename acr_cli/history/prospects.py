"""The commits that may be tasks, newest first; why each of the others is none is said on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from acr_cli.history.commits import Walk, read
from acr_cli.history.division import divide, is_test, unfit, unreadable
from acr_cli.history.records import Change, Commit, Git, Prospect
from acr_cli.history.wording import task_text


def prospects(
    git: Git,
    walked: Walk,
    *,
    protected: Callable[[str], bool],
    command: frozenset[str],
    skip: Callable[[Commit, str], None],
) -> Iterator[Prospect]:
    """Commits that change tests and sources; `skip` hears of all others.

    `protected`: whether a path belongs to the tests for certain; `command`: files that the test command
    consists of. Raises: AcrError of git."""
    for commit in walked.commits:
        division = divide(commit, lambda path: path in command or protected(path))
        reason = unfit(
            commit,
            division,
            shallow=walked.shallow,
            is_test_file=lambda path: path in command or is_test(path),
        )
        if reason:
            skip(commit, reason)
            continue
        blobs = read(git, [name for each in commit.changes for name in (each.old, each.new) if name])
        if reason := unreadable(commit.changes, blobs):
            skip(commit, reason)
            continue

        def texts(changes: Iterable[Change], *, new: bool, known: dict[str, bytes] = blobs) -> list[str]:
            names = [each.new if new else each.old for each in changes]
            return [known[name].decode("utf-8", "replace") for name in names if name]

        hidden = (*division.sources, *division.others)
        seen = [*texts(hidden, new=False), *texts(division.tests, new=True)]
        text = task_text(commit.message, new=texts(hidden, new=True), seen=seen)
        yield Prospect(commit=commit, division=division, blobs=blobs, text=text)
