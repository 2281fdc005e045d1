"""`acr bench` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import synthetic


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    return synthetic.write(synthetic.outcomes(1, tasks=40, splits=("test", "train")), tmp_path / "made.csv")


def test_a_replay_is_a_table_on_stdout(acr, matrix: Path) -> None:
    done = acr(
        "bench", "replay", "--matrix", matrix, "--policy", "acrouter,cascade,random", "--attempts", "2"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "made: 40 tasks; 4 models; 2 attempts; no knowledge; reported cost" in done.stdout
    for words in ("AvgPerf", "CumReg", "acrouter", "cascade", "at equal cost", "no sampling error"):
        assert words in done.stdout


def test_a_replay_is_one_line_of_json(acr, matrix: Path, tmp_path: Path) -> None:
    done = acr(
        *("bench", "replay", "--matrix", matrix, "--stream", "test", "--warm", "train", "--json"),
        *("--policy", "acrouter,ladder,always", "--attempts", "3", "--verifier-error", "0.1,0.05"),
        *("--shared-accepts", "0.5", "--seeds", "2", "--trace", tmp_path / "tries.jsonl"),
        *("-o", tmp_path / "kept.json"),
    )

    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["verifier_error"] == {"false_accept": 0.1, "false_reject": 0.05, "shared_accepts": 0.5}
    assert json.loads((tmp_path / "kept.json").read_text()) == result
    assert (tmp_path / "kept.parquet").is_file()
    first = json.loads((tmp_path / "tries.jsonl").read_text().partition("\n")[0])
    assert first["policy"] == "acrouter"


def test_results_are_compared_and_drawn(acr, matrix: Path, tmp_path: Path) -> None:
    for attempts in ("1", "2"):
        kept = ("-o", tmp_path / f"{attempts}.json")
        acr("bench", "replay", "--matrix", matrix, "--policy", "cascade", "--attempts", attempts, *kept)
    files = [tmp_path / "1.json", tmp_path / "2.json"]

    done = acr("bench", "compare", *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert "attempts: 1 | 2" in done.stdout
    assert "cascade:" in done.stdout
    assert json.loads(acr("bench", "compare", *files, "--json").stdout)["type"] == "bench_comparison"

    done = acr("bench", "figure", *files, "-o", tmp_path / "both.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "both.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--attempts", "0"], "--attempts must be a whole number"),
        (["--seeds", "many"], "--seeds must be a whole number"),
        (["--verifier-error", "0.1"], "--verifier-error takes two shares"),
        (["--verifier-error", "0.1,2"], "--verifier-error must be a number, from 0 to 1"),
        (["--dimension", "guess"], "--dimension must be given, inferred or none"),
        (["--cost", "low"], "--cost must be reported or floor"),
        (["--budget", "0"], "--budget must be more than 0"),
        (["--budget", "nan"], "--budget must be a number"),
        (["--half-life", "-1"], "--half-life must be a number"),
        (["--stream", "other"], "other"),
        (["--policy", "nobody"], "No policy is named 'nobody'"),
        (["-o", "no/such/folder/a.json"], "there is no folder"),
        (["--trace", "no/such/folder/a.jsonl"], "--trace"),
        (["--seeds", "1001"], "--seeds must be at most 1000"),
        (["--attempts", "9" * 5000], "--attempts must be at most"),
        (["--prices", "other.csv"], "names no model of"),
        (["--prices", "twice.csv"], "a model of its own"),
        (["--tasks", "other.jsonl"], "no text of any task"),
        (["-o", "a.parquet"], "that name is for the tasks"),
        (["-o", "a.json", "--trace", "a.json"], "would overwrite"),
        (["--tasks", "none.jsonl"], "There is no file none.jsonl"),
        (["--prices", "none.csv"], "There is no file none.csv"),
    ],
)
def test_a_mistake_is_one_sentence(acr, matrix: Path, flags: list[str], said: str) -> None:
    folder = matrix.parent
    (folder / "other.csv").write_text("model,input,output\nnobody,1,2\n")
    (folder / "twice.csv").write_text("model,input,output\nx,1,2\nx,2,3\n")
    (folder / "other.jsonl").write_text('{"task_id": "nothing", "prompt": "a text"}\n')
    flags = [str(folder / one) if one.startswith(("other.", "twice.")) else one for one in flags]
    done = acr("bench", "replay", "--matrix", matrix, "--policy", "cascade", *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("acr: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read as a matrix"),
        ("task_id,model\na,b\n", "has no column score"),
        ("task_id,model,score\na,b,2\n", "score of b on a is 2"),
        ("task_id,model,score\na,b,x\n", "no number"),
        ("task_id,model,score\na,b,1\na,b,0\n", "rows for a pair"),
        ("task_id,model,score,cost_usd\na,b,1,-1\n", "cost_usd of b on a is -1"),
        ("task_id,model,score,split\na,b,1,train\na,c,1,test\n", "more than one split: test, train"),
    ],
)
def test_a_bad_matrix_is_said_in_one_sentence(acr, tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    done = acr("bench", "replay", "--matrix", path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("made.csv", ["-o", "made.csv"]),
        ("made.csv", ["--trace", "made.csv"]),
        ("made.parquet", ["-o", "made.json"]),  # whose tasks would be made.parquet
        ("made.csv", ["--prices", "paid.csv", "-o", "paid.csv"]),
    ],
)
def test_what_is_read_is_never_overwritten(acr, matrix: Path, name: str, flags: list[str]) -> None:
    folder = matrix.parent
    outcomes = (
        matrix if name == "made.csv" else synthetic.write(synthetic.outcomes(1, tasks=9), folder / name)
    )
    (folder / "paid.csv").write_text("model,input,output\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    flags = [str(folder / one) if "." in one else one for one in flags]

    done = acr("bench", "replay", "--matrix", outcomes, "--policy", "cascade", "--seeds", "1", *flags)

    assert done.returncode == 2
    assert "would overwrite" in done.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("flag", ["--trace", "-o"])
def test_a_full_disk_is_said_in_one_sentence(acr, matrix: Path, flag: str) -> None:
    done = acr("bench", "replay", "--matrix", matrix, "--policy", "cascade", flag, "/dev/full")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_result_is_not_compared_with_itself(acr) -> None:
    done = acr("bench", "compare", "one.json", "one.json")
    assert done.returncode == 2
    assert "named twice" in done.stderr


def test_a_matrix_without_costs_is_free(acr, tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("task_id,model,score\na,x,1\na,y,0\nb,x,0\nb,y,1\n")
    result = json.loads(
        acr("bench", "replay", "--matrix", path, "--json", "--policy", "random,always").stdout
    )
    assert {one["total_usd"] for one in result["policies"]} == {0}
    assert result["oracle"] == {"avg_perf": 100, "total_usd": 0}


def test_one_result_is_nothing_to_compare(acr) -> None:
    done = acr("bench", "compare", "one.json")
    assert done.returncode == 2
    assert "two results" in done.stderr
