"""A learnable rule: one word of a task decides which of three models is the only one that solves it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl

from acr_cli.advisor.card import Card
from acr_cli.matrix import Matrix
from acr_cli.training.tasks import Tasks, divided, rates

MODELS = ("alpha-large", "beta", "beta-mini")
KINDS = ("parser", "socket", "matrix")
FILL = "fix the broken thing in our module when it is called twice with an empty list".split()  # noqa: SIM905


def rule_matrix(tasks: int = 400, held: int = 80, *, seed: int = 0) -> Matrix:
    """`held` of the tasks are the split val, the others train."""
    rng = np.random.default_rng(seed)
    best = rng.integers(len(MODELS), size=tasks)
    texts: list[str] = []
    for kind in best:
        text = ""
        while text in {"", *texts}:
            words = list(rng.choice(FILL, 3))
            words.insert(2, KINDS[kind])
            text = " ".join(words)
        texts.append(text)
    return Matrix(
        name="rule",
        models=MODELS,
        ids=pl.Series("id", [f"t{number}" for number in range(tasks)]),
        texts=pl.Series("text", texts),
        splits=pl.Series("split", ["train"] * (tasks - held) + ["val"] * held),
        dimensions=pl.Series("dimension", ["bug_fixing"] * tasks),
        languages=pl.Series("language", ["python"] * tasks),
        score=(np.arange(len(MODELS))[None] == best[:, None]).astype(float),
        cost=np.full((tasks, len(MODELS)), 0.01),
    )


def rule_tasks(tasks: int = 400, held: int = 80) -> Tasks:
    return divided(rule_matrix(tasks, held), train=["train"], held=["val"], source="the rule")


def rule_card(tasks: Tasks, *, kind: str = "lora", fingerprint: str = "abcdef") -> Card:
    return Card(
        name="rule",
        kind=kind,
        made=0.0,
        acr_version="0",
        candidates=tasks.train.models,
        source=tasks.source,
        fingerprint=fingerprint,
        tasks=tasks.train.tasks,
        held_out=tasks.held.tasks,
        rates=rates(tasks.train),
    )


def write_files(folder: Path, matrix: Matrix) -> tuple[Path, Path]:
    """The matrix and its texts, as a user has them."""
    outcomes, texts = folder / "outcomes.csv", folder / "texts.jsonl"
    with outcomes.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task_id", "split", "dimension", "language", "model", "score", "cost_usd"])
        for row in range(matrix.tasks):
            same = [matrix.ids[row], matrix.splits[row], matrix.dimensions[row], matrix.languages[row]]
            for column, model in enumerate(matrix.models):
                writer.writerow([*same, model, matrix.score[row, column], matrix.cost[row, column]])
    lines = [json.dumps({"task_id": i, "prompt": t}) for i, t in zip(matrix.ids, matrix.texts, strict=True)]
    texts.write_text("\n".join(lines) + "\n")
    return outcomes, texts
