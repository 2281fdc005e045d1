"""Attempts side by side, each in a place of its own: the first verified success ends the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Event as Flag

from acr_cli.course import Bid
from acr_cli.errors import AcrError, Cancelled
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


Beside = Callable[[str, int, Callable[[], bool]], AbstractContextManager[Place]]
"""A place for a candidate that is one of so many; once the function says True, all that it does there ends
with Cancelled at its next call or command. What the place took is gone when the context is left."""

Try = Callable[[Bid, Place], Trial]


def side_by_side(bids: Sequence[Bid], beside: Beside, attempt: Try) -> list[Trial]:
    """All trials that were not cancelled, the best last. Returns once every place is gone, also on Ctrl-C.

    Raises: the first error of an attempt, where none has succeeded."""
    stop = Flag()

    def work(bid: Bid) -> Trial | None:
        try:
            if stop.is_set():
                return None
            with beside(bid.candidate.id, len(bids), stop.is_set) as place:
                trial = attempt(bid, place)
        except Cancelled:
            return None
        except AcrError:
            raise  # the others may succeed yet
        except BaseException:
            stop.set()
            raise
        if isinstance(trial.verdict, Passed):
            stop.set()
        return trial

    with ThreadPoolExecutor(max_workers=len(bids), thread_name_prefix="acr-attempt") as pool:
        futures = [pool.submit(work, bid) for bid in bids]
        try:
            left: set[Future[Trial | None]] = set(futures)
            while left:
                _, left = wait(left, return_when=FIRST_COMPLETED)
        except BaseException:
            stop.set()
            raise
    errors = [error for future in futures if (error := future.exception()) is not None]
    trials = [trial for future in futures if not future.exception() and (trial := future.result())]
    trials.sort(key=_rank)
    if errors and not (trials and isinstance(trials[-1].verdict, Passed)):
        raise _first(errors)
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


def _first(errors: Sequence[BaseException]) -> BaseException:
    """An error that is no user's business goes before one that is."""
    return next((error for error in errors if not isinstance(error, AcrError)), errors[0])
