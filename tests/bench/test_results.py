"""Results: what they hold, that they are the same again, how they are kept, compared and drawn."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from acr_cli.bench import results
from acr_cli.bench.comparing import compared
from acr_cli.bench.figures import draw
from acr_cli.build.benching import Plan, replay
from acr_cli.errors import UsageError
from acr_cli.matrix import read_matrix
from tests.bench import synthetic

CHEAP = ("acrouter", "cascade", "thompson", "always")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    frame = synthetic.outcomes(3, tasks=80, splits=("test", "train"))
    return Plan(
        matrix=synthetic.write(frame, tmp_path / "made.parquet"),
        tasks=synthetic.write_texts(synthetic.texts(frame), tmp_path / "texts.jsonl"),
        stream=("test",),
        policies=CHEAP,
        attempts=2,
        seeds=3,
    )


def untimed(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what a clock said."""
    copy: dict[str, Any] = json.loads(json.dumps(result))
    for one in copy["policies"]:
        del one["decision_ms"], one["spread"]["decision_ms"]
    return copy


def entry(result: Mapping[str, Any], policy: str) -> Mapping[str, Any]:
    return next(one for one in result["policies"] if one["policy"] == policy)


def test_a_result_has_the_promised_shape(plan: Plan, tmp_path: Path) -> None:
    result = replay(plan, tmp_path).result

    assert (result["type"], result["schema"], result["matrix"]) == ("bench", 1, "made")
    assert (result["tasks"], result["seeds"], result["attempts"]) == (40, 3, 2)
    metrics = {"avg_perf", "cum_reg", "total_usd", "perf_per_usd", "mean_attempts", "decision_ms"}
    for one in result["policies"]:
        assert metrics < set(one)
        assert metrics < set(one["spread"])
        assert {"min", "max", "sd"} == set(one["spread"]["avg_perf"])
    assert {"ladder_reg_0.1", "ladder_reg_1", "ladder_reg_10"} < set(entry(result, "cascade"))
    assert entry(result, "acrouter")["versus"]
    assert "versus" not in entry(result, "cascade")


def test_the_same_seeds_give_the_same_numbers(plan: Plan, tmp_path: Path) -> None:
    assert untimed(replay(plan, tmp_path).result) == untimed(replay(plan, tmp_path).result)


def test_processes_do_not_change_the_numbers(plan: Plan, tmp_path: Path) -> None:
    lines, in_one = io.StringIO(), io.StringIO()
    two = replay(replace(plan, jobs=2), tmp_path, trace=lines).result
    assert untimed(two) == untimed(replay(plan, tmp_path, trace=in_one).result)
    assert lines.getvalue() == in_one.getvalue()


def test_csv_and_parquet_give_the_same_numbers(plan: Plan, tmp_path: Path) -> None:
    frame = pl.read_parquet(plan.matrix)
    other = replace(plan, matrix=synthetic.write(frame, tmp_path / "made.csv"))
    assert untimed(replay(plan, tmp_path).result) == untimed(replay(other, tmp_path).result)


def test_a_single_model_costs_and_scores_what_its_column_says(plan: Plan, tmp_path: Path) -> None:
    result = replay(plan, tmp_path).result
    rows = pl.read_parquet(plan.matrix).filter(
        (pl.col("model") == "vendor/model-3") & (pl.col("split") == "test") & (pl.col("total_tokens") > 0)
    )
    one = entry(result, "always:vendor/model-3")
    assert one["avg_perf"] == pytest.approx(100 * rows["score"].sum() / 40, abs=1e-6)
    assert one["total_usd"] == pytest.approx(rows["cost_usd"].sum(), abs=1e-6)


def test_what_cannot_take_part_is_left_out_with_the_reason(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dimension_best"):
        replay(replace(plan, policies=("dimension_best",)), tmp_path)
    all_ = replay(replace(plan, policies=(), seeds=1), tmp_path).result
    assert "beforehand" in all_["left_out"]["dimension_best"]
    assert "OpenAI" in all_["left_out"]["routellm_mf"]
    assert {"acrouter", "escalate", "random"} < {one["policy"] for one in all_["policies"]}


def test_a_trace_tells_every_attempt(plan: Plan, tmp_path: Path) -> None:
    lines = io.StringIO()
    done = replay(replace(plan, policies=("cascade",), seeds=1), tmp_path, trace=lines)
    tries = [json.loads(line) for line in lines.getvalue().splitlines()]

    assert sum(one["cost_usd"] for one in tries) == pytest.approx(done.result["policies"][0]["total_usd"])
    assert {"policy", "seed", "position", "task_id", "model", "verdict", "cost_usd", "propensity"} < set(
        tries[0]
    )
    assert [one["position"] for one in tries] == sorted(one["position"] for one in tries)


def test_a_glob_chooses_tasks_by_their_ids(plan: Plan, tmp_path: Path) -> None:
    assert replay(replace(plan, only="made-00*"), tmp_path).result["tasks"] == 5
    with pytest.raises(UsageError, match="No task's id fits --only 'other"):
        replay(replace(plan, only="other*"), tmp_path)


def test_twins_of_warm_tasks_can_be_left_out(plan: Plan, tmp_path: Path) -> None:
    frame = pl.read_parquet(plan.matrix)
    known = synthetic.texts(frame)
    twin, warm = min(set(known) & set(frame.filter(pl.col("split") == "test")["task_id"])), "made-001"
    known[warm] = known[twin]
    tasks = synthetic.write_texts(known, tmp_path / "twins.jsonl")
    with_warm = replace(plan, tasks=tasks, warm=("train",), policies=("cascade",))
    assert replay(with_warm, tmp_path).result["tasks"] == 40
    assert replay(replace(with_warm, drop_twins=True), tmp_path).result["tasks"] == 39


def test_a_floor_lifts_costs_and_its_prices_can_be_hidden(plan: Plan, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("model,input,output\nvendor/model-0,1000,1\n")
    one = replace(plan, policies=("always:vendor/model-0",), floor=True, prices=prices)
    floored, hidden = (replay(replace(one, prices_hidden=h), tmp_path).result for h in (False, True))

    reported = replay(replace(one, floor=False, prices=None), tmp_path).result
    assert floored["policies"][0]["total_usd"] > 100 * reported["policies"][0]["total_usd"]
    assert floored["policies"][0]["total_usd"] == hidden["policies"][0]["total_usd"]
    assert (floored["prices"], hidden["prices"]) == (True, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"floor": True}, "--cost floor needs a price list"),
        ({"drop_twins": True}, "--drop-twins compares texts"),
        ({"tasks": None, "embed": True}, "--embed needs the texts"),
        ({"tasks": None, "dimension": "inferred"}, "--dimension inferred needs the texts"),
        ({"warm": ("test",)}, "cannot be warm and replayed at once"),
        ({"stream": ("other",)}, "other"),
        ({"policies": ("nobody",)}, "No policy is named 'nobody'"),
        ({"policies": ("routellm_mf",)}, "OpenAI client"),
        ({"policies": ("always:nobody",)}, "The matrix has no model 'nobody'"),
    ],
)
def test_what_does_not_go_together_is_said(
    plan: Plan, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        replay(replace(plan, **changes), tmp_path)


@pytest.mark.parametrize("dimension", ["inferred", "none"])
def test_dimensions_may_be_inferred_or_hidden(plan: Plan, tmp_path: Path, dimension: str) -> None:
    assert replay(replace(plan, dimension=dimension, seeds=1), tmp_path).result["dimension"] == dimension


def test_neighbours_vote_where_texts_are_embedded(plan: Plan, tmp_path: Path) -> None:
    one = replace(plan, policies=("acrouter",), seeds=1)
    without, lines = io.StringIO(), io.StringIO()
    replay(one, tmp_path, trace=without)
    replay(replace(one, embed=True), tmp_path / "cache", trace=lines)
    assert without.getvalue() != lines.getvalue()
    (kept,) = (tmp_path / "cache").iterdir()
    before = kept.stat().st_mtime_ns
    replay(replace(one, embed=True), tmp_path / "cache")
    assert kept.stat().st_mtime_ns == before


# --- kept, compared, drawn --------------------------------------------------------------------------------


@pytest.fixture
def kept(plan: Plan, tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    replay(plan, tmp_path).write(first)
    replay(replace(plan, attempts=1), tmp_path).write(second)
    return first, second


def test_a_result_is_kept_with_what_happened_on_each_task(kept: tuple[Path, Path]) -> None:
    result, rows = results.read(kept[0]), results.read_rows(kept[0])
    assert rows is not None
    for one in result["policies"]:
        mine = rows.filter(pl.col("policy") == one["policy"])
        assert mine.height == 40 * 3
        assert 100 * mine["score"].mean() == pytest.approx(one["avg_perf"], abs=1e-5)
        assert mine["regret"].sum() / 3 == pytest.approx(one["cum_reg"], abs=1e-5)


def test_results_are_compared_policy_by_policy(kept: tuple[Path, Path]) -> None:
    found = compared(kept)
    assert found["settings"] == {"attempts": [2, 1]}
    by_name = {each["policy"]: each["metrics"] for each in found["policies"]}
    assert {"acrouter", "cascade", "thompson"} < set(by_name)
    same = by_name["always:vendor/model-0"]["avg_perf"]
    assert (same["difference"], same["low"], same["high"], same["word"]) == (0, 0, 0, "tie")
    fewer = by_name["cascade"]["total_usd"]
    assert fewer["low"] <= fewer["difference"] < 0
    assert fewer["word"] == "better"


def test_without_kept_tasks_there_is_no_interval(kept: tuple[Path, Path]) -> None:
    results.beside(kept[1]).unlink()
    found = compared(kept)
    assert "low" not in found["policies"][0]["metrics"]["avg_perf"]
    assert "no interval" in found["notes"][0]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"type": "result", "schema": 1}'])
def test_what_is_no_result_is_said(tmp_path: Path, content: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(UsageError, match="no result of `acr bench replay`"):
        results.read(path)


@pytest.mark.parametrize("policies", ["", ', "policies": 1', ', "policies": [{"policy": "random"}]'])
def test_an_incomplete_result_is_said(tmp_path: Path, policies: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(f'{{"type": "bench", "schema": 1{policies}}}')
    with pytest.raises(UsageError, match="damaged result"):
        results.read(path)


@pytest.mark.parametrize(("place", "value"), [(32, 0), (126, 0), (35, 111), (204, 111)])
def test_a_damage_at_which_the_reader_panics_or_ends_its_process_is_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], place: int, value: int
) -> None:
    path = tmp_path / "matrix.parquet"
    columns = {"task_id": ["a", "b"], "model": ["m", "m"], "score": [1.0, 0.0]}
    pl.DataFrame(columns).write_parquet(path, compression="uncompressed")
    data = bytearray(path.read_bytes())
    data[place] = value
    path.write_bytes(bytes(data))

    with pytest.raises(UsageError, match="cannot be read as a matrix") as caught:
        read_matrix(path)

    assert (caught.value.exit_code, capfd.readouterr().err) == (2, "")


def test_damaged_rows_are_said(kept: tuple[Path, Path]) -> None:
    results.beside(kept[0]).write_bytes(b"odd")
    with pytest.raises(UsageError, match="cannot be read"):
        compared(kept)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_figure_is_drawn_the_same_again(kept: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    draw(kept, first)
    draw(kept, second)
    assert first.read_bytes() == second.read_bytes()
    if kind == "svg":
        text = first.read_text()
        for words in ("acrouter", "Cumulative regret", "USD for the whole stream", "vendor/model-3"):
            assert words in text


def test_a_figure_can_be_drawn_of_some(kept: tuple[Path, Path], tmp_path: Path) -> None:
    draw(kept[:1], tmp_path / "a.svg", policies=("acrouter",))
    assert "cascade" not in (tmp_path / "a.svg").read_text()
    with pytest.raises(UsageError, match="holds none of the policies nobody"):
        draw(kept[:1], tmp_path / "a.svg", policies=("nobody",))


def test_a_figure_of_another_kind_is_refused(kept: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not 'a\.gif'"):
        draw(kept, tmp_path / "a.gif")


def test_without_matplotlib_a_figure_says_what_to_install(kept: tuple[Path, Path], tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from acr_cli.cli.main import main\n"
        "raise SystemExit(main(['bench', 'figure', sys.argv[1], '-o', sys.argv[2]]))"
    )
    command = [sys.executable, "-c", code, str(kept[0]), str(tmp_path / "a.svg")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "matplotlib" in done.stderr
    assert "pip install 'acr-cli[bench]'" in done.stderr
