"""Attempts side by side, each in a place of its own: the first verified success ends the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Thread
from typing import Protocol

from acr_cli.course import Bid
from acr_cli.errors import AcrError, Cancelled, Interrupted
from acr_cli.events import Emit
from acr_cli.progress import Trial
from acr_cli.protocols import Backend, Budget, Sandbox, Tree, Verifier
from acr_cli.records import Passed, Unverified


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where an attempt is made and judged."""

    tree: Tree
    sandbox: Sandbox
    verifier: Verifier
    backends: Mapping[str, Backend]
    budget: Budget
    emit: Emit


class Beside(Protocol):
    """Makes places."""

    def place(self, name: str, number: int, stopped: Callable[[], bool]) -> AbstractContextManager[Place]:
        """A place for a candidate that is one of so many; once `stopped`, all that it does there ends with
        Cancelled at its next call or command. What the place took is gone when the context is left."""
        ...

    def leave(self) -> None:
        """Take back what places hold whose attempts do not end: they wait for a model or a command. What a
        call of theirs may cost is counted."""
        ...


Try = Callable[[Bid, Place], Trial]
PATIENCE = 5.0
"""Seconds that attempts get to end by themselves once they are not needed any more."""


def side_by_side(
    bids: Sequence[Bid], beside: Beside, attempt: Try, *, patience: float = PATIENCE
) -> list[Trial]:
    """All trials that were not cancelled, the best last. When it returns every place is gone, also on Ctrl-C.

    Raises: the first error of an attempt, where none has succeeded."""
    stop, ends = Flag(), SimpleQueue[Trial | BaseException]()
    for bid in bids:
        work = Thread(
            target=_work,
            args=(bid, beside.place(bid.candidate.id, len(bids), stop.is_set), attempt, stop, ends),
            name=f"acr-attempt-{bid.candidate.id}",
            daemon=True,  # one that waits for a model does not keep the program from ending
        )
        work.start()
    found: list[Trial | BaseException] = []
    try:
        while len(found) < len(bids) and not stop.is_set():
            found.append(ends.get())
        _wait(found, ends, len(bids), patience)
    except BaseException:
        stop.set()
        with suppress(KeyboardInterrupt):  # a second one: nothing is waited for any more
            _wait(found, ends, len(bids), patience)
        raise
    finally:
        if len(found) < len(bids):
            beside.leave()
    return _sorted(found)


def _work(
    bid: Bid,
    own: AbstractContextManager[Place],
    attempt: Try,
    stop: Flag,
    ends: SimpleQueue[Trial | BaseException],
) -> None:
    """The whole life of a thread: it always tells how it ended."""
    try:
        with own as place:
            trial = attempt(bid, place)
    except BaseException as error:  # noqa: BLE001  it is raised where the thread was begun
        if not isinstance(error, AcrError) or isinstance(error, Interrupted):
            stop.set()
        ends.put(error)
    else:
        if isinstance(trial.verdict, Passed):
            stop.set()
        ends.put(trial)


def _wait(
    found: list[Trial | BaseException], ends: SimpleQueue[Trial | BaseException], number: int, patience: float
) -> None:
    """For those that were told to stop."""
    until = time.monotonic() + patience
    while len(found) < number and (left := until - time.monotonic()) > 0:
        with suppress(Empty):
            found.append(ends.get(timeout=left))


def _sorted(found: Sequence[Trial | BaseException]) -> list[Trial]:
    trials = sorted((end for end in found if isinstance(end, Trial)), key=_rank)
    errors = [end for end in found if not isinstance(end, Trial | Cancelled)]
    if errors and not (trials and isinstance(trials[-1].verdict, Passed)):
        raise next((error for error in errors if not isinstance(error, AcrError)), errors[0])
    return trials


def _rank(trial: Trial) -> tuple[int, float]:
    """Failures first, then what nothing speaks against, then what passed."""
    match trial.verdict:
        case Passed(evidence=evidence):
            return (2, evidence.u)
        case Unverified(evidence=evidence):
            return (1, evidence.u)
        case _:
            return (0, 0.0)
