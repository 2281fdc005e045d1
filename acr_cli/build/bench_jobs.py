"""The streams of a replay in several processes, with the numbers of one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from acr_cli.build import benching
from acr_cli.errors import ConfigurationError, UsageError


class _Worker:
    """What a process holds between its tasks."""

    plan: benching.Plan
    stage: benching.Stage
    ladders: dict[int, dict[float, tuple[float, float]]]


def in_processes(
    plan: benching.Plan, stage: benching.Stage, cache: Path, names: Sequence[str], tick: benching.Tick
) -> Iterator[tuple[str, benching.Streams | UsageError | ConfigurationError]]:
    """As one process would yield them: by policy, in the order of `names`."""
    # A process that is forked would inherit the locks of threads that it does not have.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.jobs, mp_context=spawn, initializer=_start, initargs=(plan, cache)) as pool:
        share = plan.seeds * stage.matrix.tasks
        waiting = [(name, pool.submit(_play, name)) for name in names]
        for name, future in waiting:
            yield name, future.result()
            tick(name, share, share * len(names))


def _start(plan: benching.Plan, cache: Path) -> None:
    _Worker.plan = plan
    _Worker.stage = benching.set_up(plan, cache)
    _Worker.ladders = {seed: benching.ladders_of(_Worker.stage, seed) for seed in range(plan.seeds)}


def _play(name: str) -> benching.Streams | UsageError | ConfigurationError:
    return benching.streams_of(_Worker.plan, _Worker.stage, _Worker.ladders, name, lambda: None)
