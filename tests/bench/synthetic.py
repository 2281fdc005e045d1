"""Made-up outcomes for the tests of `acr bench`: difficult and easy tasks, able and dear models."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import polars as pl

DIMENSIONS = ("algorithm", "bug_fixing", "code_refactoring")
LANGUAGES = ("python", "go")
WORDS = ("sort", "parse", "cache", "retry", "merge", "graph", "date", "token", "queue", "index")


def outcomes(
    seed: int = 0, *, tasks: int = 60, models: int = 4, splits: tuple[str, ...] = ("test",)
) -> pl.DataFrame:
    """A long table with every known column. No two tasks have the same tokens, and no cost is missing."""
    rng = Random(seed)
    rows = []
    for task in range(tasks):
        difficulty = rng.gauss(0, 1)
        dimension, language = rng.choice(DIMENSIONS), rng.choice(LANGUAGES)
        for model in range(models):
            solved = rng.gauss(0.6 * model, 1) > difficulty
            void = rng.random() < 0.05
            rows.append(
                {
                    "task_id": f"made-{task:03}",
                    "split": splits[task % len(splits)],
                    "dimension": dimension,
                    "source_benchmark": rng.choice(("one", "two")),
                    "language": language,
                    "model": f"vendor/model-{model}",
                    "score": 0.0 if void else float(solved) if rng.random() < 0.7 else round(rng.random(), 2),
                    "cost_usd": round(0.001 * (1 + model) ** 2 * (0.5 + rng.random()), 6),
                    "total_tokens": 0 if void else rng.randrange(100, 10**7),
                }
            )
    return pl.DataFrame(rows)


def texts(frame: pl.DataFrame, seed: int = 0) -> dict[str, str]:
    """A text for most tasks."""
    rng = Random(seed)
    ids = frame["task_id"].unique().sort().to_list()
    return {id_: " ".join(rng.choices(WORDS, k=12)) for id_ in ids if rng.random() < 0.8}


def write(frame: pl.DataFrame, path: Path) -> Path:
    """The table in the form that the name asks for."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path


def write_texts(known: dict[str, str], path: Path) -> Path:
    lines = (json.dumps({"task_id": id_, "prompt": text}) for id_, text in known.items())
    path.write_text("\n".join(lines) + "\n")
    return path
