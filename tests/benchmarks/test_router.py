"""The benchmark of policies runs every setting on matrices of the form that it asks for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from tests.bench import synthetic
from tests.benchmarks import router


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    single = synthetic.outcomes(1, tasks=30, splits=("train", "val", "test"))
    part = pl.when(pl.col("task_id") < "made-010").then(pl.lit("old112::")).otherwise(pl.lit("new64::"))
    agentic = synthetic.outcomes(2, tasks=20).with_columns((part + pl.col("task_id")).alias("task_id"))
    place = tmp_path / "matrices"
    place.mkdir()
    for name, frame in (("id", single), ("ood176", agentic)):
        (place / f"{name}.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
        lines = [json.dumps({"task_id": id_, "prompt": id_}) for id_ in frame["task_id"].unique().sort()]
        (place / f"{name}_tasks.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    prices = "".join(f"vendor/model-{number},1,2\n" for number in range(4))
    (place / "prices.csv").write_text(f"model,input,output\n{prices}")
    monkeypatch.setenv(router.VARIABLE, str(place))
    return place


def test_every_setting_is_replayed_under_both_costs(folder: Path, tmp_path: Path, capsys) -> None:
    kept = tmp_path / "kept"
    code = router.main(["--seeds", "1", "--policy", "cascade", "--policy", "random", "-o", str(kept)])

    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    names = {f"{one.name}-{cost}" for one in router.SETTINGS for cost in router.COSTS}
    assert {path.stem for path in kept.glob("*.json")} == names
    assert all(name in shown.out for name in names)
    results = {path.stem: json.loads(path.read_text()) for path in kept.glob("*.json")}
    assert results["old112-5-cold-floor"]["tasks"] == results["new64-5-cold-floor"]["tasks"] == 10
    assert results["id-1-warm-reported"]["warm"] == ["train", "val"]
    assert results["ood176-5-wrong-shared-floor"]["verifier_error"]["shared_accepts"] == 0.5
    assert not any(each["prices"] for each in results.values())


@pytest.mark.parametrize("named", [None, "", "elsewhere"])
def test_without_matrices_it_says_where_they_are_to_be_had(
    named: str | None, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.delenv(router.VARIABLE, raising=False)
    if named is not None:
        monkeypatch.setenv(router.VARIABLE, named)
    assert router.main([]) == 2
    assert "ACR_MATRICES must name a folder" in capsys.readouterr().err
