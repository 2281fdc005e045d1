"""The streams of a replay in several processes, with the numbers of one."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from acr_cli.build import benching
from acr_cli.errors import ConfigurationError, UsageError

PATIENCE = 0.2  # seconds


class _Worker:
    """What a process holds between its tasks."""

    plan: benching.Plan
    stage: benching.Stage
    ladders: dict[int, dict[float, tuple[float, float]]]


def in_processes(
    plan: benching.Plan, stage: benching.Stage, cache: Path, names: Sequence[str], tick: benching.Tick
) -> Iterator[tuple[str, benching.Streams | UsageError | ConfigurationError]]:
    """As one process would yield them: by policy, in the order of `names`.

    Raises: UsageError when a process was killed, for want of memory as a rule."""
    # A process that is forked would inherit the locks of threads that it does not have.
    spawn = multiprocessing.get_context("spawn")
    share = plan.seeds * stage.matrix.tasks
    with ProcessPoolExecutor(plan.jobs, mp_context=spawn, initializer=_start, initargs=(plan, cache)) as pool:
        try:
            waiting = [(name, pool.submit(_play, name)) for name in names]
            for name, future in waiting:
                # A wait without an end may sleep through a Ctrl-C that another thread was given.
                while not wait([future], timeout=PATIENCE).done:
                    pass
                yield name, future.result()
                tick(name, share, share * len(names))
        except BrokenProcessPool as error:
            raise UsageError(
                "A process of the replay was killed.", hint="--jobs 1 takes less memory."
            ) from error
        except BaseException:  # an interrupt: what they would still do, nobody waits for
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _start(plan: benching.Plan, cache: Path) -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # Ctrl-C reaches every process; only the first one reports it
    _Worker.plan = plan
    _Worker.stage = benching.set_up(plan, cache)
    _Worker.ladders = {seed: benching.ladders_of(_Worker.stage, seed) for seed in range(plan.seeds)}


def _play(name: str) -> benching.Streams | UsageError | ConfigurationError:
    return benching.streams_of(_Worker.plan, _Worker.stage, _Worker.ladders, name, lambda: None)
