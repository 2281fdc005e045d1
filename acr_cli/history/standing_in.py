"""Parts of the loop as a past task needs them: each passes on to the part that a run of `acr fix` has.

The loop itself is the same. What differs: which tests are to pass is known, who has failed before is known,
and an outcome is named after the commit and the candidate, so that none is paid for twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from acr_cli.errors import BaselineCannotStart
from acr_cli.protocols import Observer, Store, Tree, Verifier
from acr_cli.records import Attempt, Baseline, Context, Neighbour, Outcome, Step, Tally, Task, Verdict


def outcome_id(repository: str, commit: str, candidate: str) -> str:
    """How memory names what a candidate came to on a commit of a repository (its identity). Pure."""
    return f"warm.{repository}.{commit[:16]}.{hashlib.sha256(candidate.encode()).hexdigest()[:8]}"


class KnownTargets:
    """A `Verifier` that knows which tests are to pass; the words of a task do not choose among them."""

    def __init__(self, verifier: Verifier, targets: Sequence[str]) -> None:
        self._verifier = verifier
        self._targets = tuple(targets)

    def baseline(self, task: Task, tree: Tree) -> Baseline:
        """Raises: BaselineCannotStart, also where one of the tests passes already; SandboxUnavailable."""
        found = self._verifier.baseline(replace(task, text="", log=""), tree)
        failing = set(found.report.failing())
        if passing := [test for test in self._targets if test not in failing]:
            raise BaselineCannotStart(f"{passing[0]} failed when the commit was examined and does not now.")
        return replace(found, targets=self._targets)

    def take_up(self, task: Task, tree: Tree, baseline: Baseline) -> bool:
        return self._verifier.take_up(task, tree, baseline)

    def check(self, step: Step, baseline: Baseline, attempt: Attempt, tree: Tree, since: str) -> Verdict:
        return self._verifier.check(step, baseline, attempt, tree, since)


class KnownFailures:
    """An `Observer` that knows who failed on the task in an earlier call, and whose provider is down."""

    def __init__(self, observer: Observer, *, failed: Sequence[str], resting: Collection[str]) -> None:
        self._observer = observer
        self._failed = tuple(failed)
        self._resting = resting

    def observe(self, step: Step, *, failed: Sequence[str], unavailable: Sequence[str]) -> Context:
        gone = tuple(dict.fromkeys((*unavailable, *self._resting)))
        return self._observer.observe(step, failed=(*self._failed, *failed), unavailable=gone)


class Ledger:
    """A `Store` that names the outcomes of one commit after it: memory itself says what has been paid."""

    def __init__(self, store: Store, *, commit: str) -> None:
        self._store = store
        self._commit = commit
        self.names: dict[str, str] = {}  # as the loop names an outcome -> as memory does

    def remember(self, outcome: Outcome) -> None:
        """Raises: StoreError."""
        name = outcome_id(outcome.repository, self._commit, outcome.candidate)
        self._store.remember(replace(outcome, id=name))
        self.names[outcome.id] = name

    def neighbours(
        self, vector: Sequence[float], embedder: str, *, k: int = 10, threshold: float = 0.5
    ) -> tuple[Neighbour, ...]:
        return self._store.neighbours(vector, embedder, k=k, threshold=threshold)

    def tallies(self) -> tuple[Tally, ...]:
        return self._store.tallies()

    def settle(self) -> None:
        self._store.settle()
