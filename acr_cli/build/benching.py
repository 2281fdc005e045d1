"""`acr bench replay`: matrices, rules and players joined, and every stream played."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from acr_cli.build.players import Make, default_policies, expanded, make_player, subjects_of
from acr_cli.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from acr_cli.bench.metrics import Played
    from acr_cli.bench.replay import Record, Rules
    from acr_cli.matrix import Matrix
    from acr_cli.records import Price

Tick = Callable[[str, int, int], None]
"""(policy, tasks, all): how many were just played, of how many by all policies in all orders."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What `acr bench replay` is asked for."""

    matrix: Path
    tasks: Path | None = None
    stream: tuple[str, ...] = ()  # splits; empty: all that are not warm
    warm: tuple[str, ...] = ()
    only: str = "*"  # glob on task ids
    policies: tuple[str, ...] = ()  # empty: all that can take part
    attempts: int = 1
    false_accept: float = 0.0
    false_reject: float = 0.0
    shared_accepts: float = 0.0
    dimension: str = "given"  # "given" | "inferred" | "none"
    floor: bool = False
    prices: Path | None = None
    prices_hidden: bool = False  # the price list serves the floor alone
    drop_twins: bool = False
    seeds: int = 5
    budget: float = float("inf")
    all_attempts: bool = False
    embed: bool = False
    half_life: float | None = None  # in tasks
    jobs: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """What the players of a plan meet."""

    matrix: Matrix
    warm: Matrix | None
    rules: Rules


@dataclass(frozen=True, kw_only=True, eq=False)
class Replayed:
    """A plan that was carried out."""

    result: Mapping[str, Any]  # the JSON shape
    matrix: Matrix
    played: Sequence[Played]

    def write(self, path: Path) -> None:
        """The result as `path` and what happened on each task beside it. Raises: UsageError."""
        from acr_cli.bench import results

        results.write(path, self.result, results.table(self.matrix, self.played))


def set_up(plan: Plan, cache: Path) -> Stage:
    """Read and check what a plan names; vectors are kept below `cache`.

    Raises: UsageError, ConfigurationError."""
    from acr_cli.bench.replay import Rules
    from acr_cli.matrix import read_matrix, read_prices

    _check(plan)
    prices: Mapping[str, Price] = read_prices(plan.prices) if plan.prices else {}
    whole = read_matrix(plan.matrix, tasks=plan.tasks, floor=plan.floor, prices=prices)
    if prices and not prices.keys() & set(whole.models):
        raise UsageError(f"The price list {plan.prices} names no model of {plan.matrix}.")
    warm = whole.of_splits(plan.warm) if plan.warm else None
    matrix = _stream(plan, whole)
    if plan.drop_twins and warm is not None:
        matrix = matrix.without_twins(warm)
    if not matrix.tasks:
        raise UsageError(f"No task of {plan.matrix} is left to replay.")
    vectors, embedder = _vectors(matrix, warm, cache) if plan.embed else ({}, "")
    rules = Rules(
        attempts=plan.attempts,
        false_accept=plan.false_accept,
        false_reject=plan.false_reject,
        shared_accepts=plan.shared_accepts,
        dimension=plan.dimension,
        infer=_inferred if plan.dimension == "inferred" else None,
        prices={} if plan.prices_hidden else prices,
        budget=plan.budget,
        all_attempts=plan.all_attempts,
        vectors=vectors,
        embedder=embedder,
    )
    return Stage(matrix=matrix, warm=warm, rules=rules)


def replay(
    plan: Plan, cache: Path, *, trace: IO[str] | None = None, tick: Tick = lambda _policy, _tasks, _all: None
) -> Replayed:
    """Every policy of a plan on every order of its stream.

    A policy that was not named and cannot take part (it needs warm splits, or a library) is left out, with
    the reason. `trace` takes every attempt, as JSON Lines.

    Raises: UsageError, ConfigurationError."""
    from acr_cli.bench import metrics, results
    from acr_cli.bench.baselines import NOT_RUN

    stage = set_up(plan, cache)
    names = expanded(plan.policies, stage.matrix) or default_policies(stage.matrix, stage.warm)
    named = bool(plan.policies)
    played: list[Played] = []
    left_out: dict[str, str] = {} if named else dict(NOT_RUN)
    for name, streams in _all_streams(plan, stage, cache, names, tick):
        if isinstance(streams, (UsageError, ConfigurationError)):
            if named:
                raise streams
            left_out[name] = streams.message
            continue
        for one, record in streams:
            played.append(one)
            if trace is not None:
                _trace(trace, stage.matrix, one, record)
    if not played:
        raise UsageError("No policy can take part.", hint="; ".join(f"{n}: {w}" for n, w in left_out.items()))
    summaries = [metrics.summary([one for one in played if one.policy == name]) for name in _names(played)]
    result = results.shape(
        stage.matrix,
        _described(plan, stage),
        summaries,
        subjects=subjects_of(_names(played)),
        left_out=left_out,
    )
    return Replayed(result=result, matrix=stage.matrix, played=played)


Streams = list[tuple["Played", "Record"]]


def _all_streams(
    plan: Plan, stage: Stage, cache: Path, names: Sequence[str], tick: Tick
) -> Iterator[tuple[str, Streams | UsageError | ConfigurationError]]:
    """By policy, in the order of `names`: its streams by seed, or why it cannot take part."""
    if plan.jobs > 1:
        from acr_cli.build.bench_jobs import in_processes

        yield from in_processes(plan, stage, cache, names, tick)
        return
    ladders = {seed: ladders_of(stage, seed) for seed in range(plan.seeds)}
    total = len(names) * plan.seeds * stage.matrix.tasks
    for name in names:
        yield name, streams_of(plan, stage, ladders, name, partial(tick, name, 1, total))


def streams_of(
    plan: Plan,
    stage: Stage,
    ladders: Mapping[int, Mapping[float, tuple[float, float]]],
    name: str,
    tick: Callable[[], None],
) -> Streams | UsageError | ConfigurationError:
    """All streams of one policy, or why it cannot take part."""
    from acr_cli.bench.metrics import measured
    from acr_cli.bench.replay import replay as play

    try:
        make: Make = make_player(name, half_life=plan.half_life)
        streams: Streams = []
        for seed in range(plan.seeds):
            player = make(stage.matrix, seed)
            record = play(player, stage.matrix, stage.rules, seed=seed, warm=stage.warm, tick=tick)
            streams.append((measured(name, seed, record, stage.matrix, ladders[seed]), record))
    except (UsageError, ConfigurationError) as error:
        return error
    return streams


def ladders_of(stage: Stage, seed: int) -> dict[float, tuple[float, float]]:
    """By lambda, what the best ladder in hindsight reaches under this seed's verdicts: (score, USD)."""
    from acr_cli.bench.ladders import attempts_allowed, ladders
    from acr_cli.bench.metrics import LAMBDAS
    from acr_cli.bench.replay import Verifier

    attempts = stage.rules.attempts
    limits = None if stage.rules.all_attempts else attempts_allowed(stage.matrix, attempts)
    passed = Verifier(stage.matrix, stage.rules, seed).passed
    found = ladders(stage.matrix, passed, attempts, lams=LAMBDAS, limits=limits)
    best = {lam: int((found.score - lam * found.cost).argmax()) for lam in LAMBDAS}
    return {lam: (float(found.score[at]), float(found.cost[at])) for lam, at in best.items()}


def _names(played: Sequence[Played]) -> list[str]:
    return list(dict.fromkeys(one.policy for one in played))


def _check(plan: Plan) -> None:
    """Raises: UsageError for options that do not go together."""
    if plan.floor and plan.prices is None:
        raise UsageError("--cost floor needs a price list.", hint="Name one with --prices.")
    if plan.drop_twins and not (plan.warm and plan.tasks):
        raise UsageError(
            "--drop-twins compares texts with those of the warm splits.", hint="It needs --warm and --tasks."
        )
    if plan.tasks is None and (plan.embed or plan.dimension == "inferred"):
        flag = "--embed" if plan.embed else "--dimension inferred"
        raise UsageError(f"{flag} needs the texts of the tasks.", hint="Name their file with --tasks.")
    if both := sorted(set(plan.stream) & set(plan.warm)):
        raise UsageError(f"The split {both[0]} cannot be warm and replayed at once.")


def _stream(plan: Plan, whole: Matrix) -> Matrix:
    if plan.stream:
        matrix = whole.of_splits(plan.stream)
    else:
        matrix = whole.take((~whole.splits.is_in(list(plan.warm))).to_numpy())
    if plan.only == "*":
        return matrix
    matrix = matrix.take([fnmatchcase(id_, plan.only) for id_ in matrix.ids])
    if not matrix.tasks:
        raise UsageError(f"No task's id fits --only {plan.only!r}.")
    return matrix


@lru_cache(maxsize=200_000)
def _inferred(text: str) -> str:
    from acr_cli.context.dimension import dimension_of

    return dimension_of(text).value


def _vectors(matrix: Matrix, warm: Matrix | None, cache: Path) -> tuple[dict[str, tuple[float, ...]], str]:
    """Vectors by text, by acr's own embedder; each text is embedded once and for all."""
    from acr_cli.bench.vectors import embedded
    from acr_cli.context.embedding import open_embedder

    texts = [*matrix.texts, *(warm.texts if warm is not None else ())]
    embedder = open_embedder("minilm")
    return embedded(sorted(set(filter(None, texts))), embedder, cache), embedder.key


def _described(plan: Plan, stage: Stage) -> dict[str, Any]:
    """The setting of a replay, for its result. Pure."""
    return {
        "seeds": plan.seeds,
        "attempts": plan.attempts,
        "stream": list(plan.stream),
        "warm": list(plan.warm),
        "warm_tasks": stage.warm.tasks if stage.warm is not None else 0,
        "only": plan.only,
        "dimension": plan.dimension,
        "cost": "floor" if plan.floor else "reported",
        "prices": bool(stage.rules.prices),
        "verifier_error": {
            "false_accept": plan.false_accept,
            "false_reject": plan.false_reject,
            "shared_accepts": plan.shared_accepts,
        },
        "drop_twins": plan.drop_twins,
        "all_attempts": plan.all_attempts,
        "budget_usd": plan.budget,
        "embed": plan.embed,
        "half_life_tasks": plan.half_life,
    }


def _trace(file: IO[str], matrix: Matrix, one: Played, record: Record) -> None:
    for number, attempt in enumerate(record.tries):
        line = {
            "policy": one.policy,
            "seed": one.seed,
            "try": number,
            "position": int(one.position[attempt.task]),
            "task_id": matrix.ids[attempt.task],
            "model": matrix.models[attempt.model],
            "verdict": "passed" if attempt.passed else "failed",
            "cost_usd": attempt.cost_usd,
            "propensity": attempt.propensity,
        }
        file.write(json.dumps(line) + "\n")
