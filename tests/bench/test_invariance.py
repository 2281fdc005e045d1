"""No policy's decisions depend on names, on the order of rows, or on what it has not paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acr_cli.bench.baselines import BASELINES
from acr_cli.build.benching import Plan, set_up, streams_of
from acr_cli.orchestrator.policies import POLICIES
from tests.bench import synthetic

Decisions = list[tuple[str, str, bool, float]]  # task, model, passed, propensity
SLOW = {"litellm_bandit", "tfidf_mlp"}
CHEAP = ("thompson", "epsilon_greedy", "cascade", "random")
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
    for name in (*POLICIES, *BASELINES)
    if name != "always"
]


@pytest.fixture
def place(tmp_path: Path) -> Callable[[pl.DataFrame, dict[str, str]], Plan]:
    def put(frame: pl.DataFrame, texts: dict[str, str]) -> Plan:
        return Plan(
            matrix=synthetic.write(frame, tmp_path / "made.csv"),
            tasks=synthetic.write_texts(texts, tmp_path / "texts.jsonl"),
            stream=("test",),
            warm=("train",),
            attempts=3,
            false_accept=0.1,
            seeds=1,
        )

    return put


def decisions(plan: Plan, policy: str) -> Decisions:
    stage = set_up(plan, Path("unused"))
    streams = streams_of(plan, stage, {0: {}}, policy, lambda: None)
    assert isinstance(streams, list), streams
    ((_, record),) = streams
    tries = record.tries
    return [
        (stage.matrix.ids[each.task], stage.matrix.models[each.model], each.passed, each.propensity)
        for each in tries
    ]


def renamed(frame: pl.DataFrame, column: str, rng: Random) -> tuple[pl.DataFrame, dict[str, str]]:
    """Another name for everything in a column, in another order; and the way back."""
    names = frame[column].unique().sort().to_list()
    numbers = rng.sample(range(10**6), len(names))
    new = {name: f"{number}-{column}" for name, number in zip(names, numbers, strict=True)}
    return frame.with_columns(pl.col(column).replace_strict(new)), {n: name for name, n in new.items()}


def disguised(
    frame: pl.DataFrame, texts: dict[str, str], rng: Random
) -> tuple[pl.DataFrame, dict[str, str], Callable[[Decisions], Decisions]]:
    """The same outcomes under other names, in another order, without the benchmark; and the way back."""
    frame, tasks = renamed(frame, "task_id", rng)
    frame, models = renamed(frame, "model", rng)
    frame = frame.drop("source_benchmark").sample(fraction=1.0, shuffle=True, seed=rng.randrange(10**6))
    frame = frame.select(rng.sample(frame.columns, len(frame.columns)))
    known = {new: texts[old] for new, old in tasks.items() if old in texts}

    def back(made: Decisions) -> Decisions:
        return [(tasks[task], models[model], passed, chance) for task, model, passed, chance in made]

    return frame, known, back


def scrambled(frame: pl.DataFrame, paid: Decisions, rng: Random) -> pl.DataFrame:
    """Other scores and costs wherever the stream's tasks were not paid for. Void rows stay void."""
    pairs = {(task, model) for task, model, _, _ in paid}
    rows = frame.to_dicts()
    for row in rows:
        hidden = (row["task_id"], row["model"]) not in pairs and row["split"] == "test"
        if hidden and row["total_tokens"]:
            row |= {"score": rng.random(), "cost_usd": rng.random()}
    return pl.DataFrame(rows, schema=frame.schema)


@pytest.mark.parametrize("policy", NAMES)
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_decisions_do_not_depend_on_what_a_policy_must_not_know(place, policy: str, warm: bool) -> None:
    frame = synthetic.outcomes(1, tasks=80, splits=("test", "train"))
    texts = synthetic.texts(frame)

    def decided(frame: pl.DataFrame, texts: dict[str, str]) -> Decisions:
        plan = place(frame, texts)
        return decisions(plan if warm else replace(plan, warm=()), policy)

    try:
        made = decided(frame, texts)
    except AssertionError as error:
        if warm or "known beforehand" not in str(error):
            raise
        return  # it is fitted on warm rows, and says so
    assert made
    other, known, back = disguised(frame, texts, Random(2))
    assert back(decided(other, known)) == made
    assert decided(scrambled(frame, made, Random(3)), texts) == made


@pytest.mark.parametrize("policy", CHEAP)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_nor_on_any_disguise(place, policy: str, seed: int) -> None:
    frame = synthetic.outcomes(seed, tasks=16)
    texts = synthetic.texts(frame, seed)
    cold = replace(place(frame, texts), warm=())
    made = decisions(cold, policy)

    other, known, back = disguised(frame, texts, Random(seed))
    assert back(decisions(replace(place(other, known), warm=()), policy)) == made
    place(scrambled(frame, made, Random(seed)), texts)
    assert decisions(cold, policy) == made


def test_a_single_model_is_found_under_another_name(place) -> None:
    frame = synthetic.outcomes(1, splits=("test", "train"))
    made = decisions(place(frame, {frame["task_id"][0]: "fix it"}), "always:vendor/model-2")

    assert {model for _, model, _, _ in made} == {"vendor/model-2"}
