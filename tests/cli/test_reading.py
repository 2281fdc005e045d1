"""Commands that show what is kept: memory, runs, doctor, route."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from acr_cli.agent.ledger import Ledger, ledger_file
from acr_cli.cli.runs import day
from acr_cli.memory.store import Memory
from acr_cli.records import Outcome, Price, Signal, Usage
from acr_cli.worktree.repository import open_repository
from acr_cli.worktree.runs import new_run

PROGRAM = Path(sys.executable).parent / "acr"


def outcome(number: int, **changes: Any) -> Outcome:
    fields: dict[str, Any] = {
        "id": f"o{number}",
        "run": "r1",
        "step": f"s{number}",
        "attempt": 1,
        "time": 1_767_312_000.0 + number,
        "text": "fix the bound\x1b[2J of clamp",
        "vector": (1.0, 0.0),
        "embedder": "test:2",
        "kind": "edit",
        "dimension": "agentic_programming",
        "language": "python",
        "repository": "repo-1",
        "candidate": "openai/weak",
        "family": "weak",
        "price": Price(input=1.0, output=2.0, source="config"),
        "available": ("openai/weak", "openai/strong"),
        "failed_before": (),
        "policy": "acrouter",
        "propensity": 0.9,
        "verdict": "passed",
        "verifier": "tests",
        "u": 0.9,
        "signals": (Signal(name="targets", value=1.0, weight=1.0, note="all pass"),),
        "cost_usd": 0.01,
        "usage": Usage(input_tokens=100, output_tokens=20, calls=1),
        "seconds": 2.0,
    }
    return Outcome(**{**fields, **changes})


@pytest.fixture
def remembered(acr_home: Path) -> None:
    store = Memory(acr_home)
    store.remember(outcome(1))
    store.remember(outcome(2, candidate="openai/strong", verdict="failed", u=0.1, cost_usd=0.2))
    store.remember(outcome(3, dimension="algorithm"))
    store.close()


def test_memory_stats_of_an_empty_memory(acr, acr_home: Path) -> None:
    done = acr("memory", "stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 outcomes")
    assert not acr_home.exists()


def test_models_list_says_what_memory_says(acr, remembered: None, acr_home: Path) -> None:
    (acr_home / "config.toml").write_text(
        '[[model]]\nid = "openai/weak"\nbase_url = "http://127.0.0.1:9/v1"\nprice = {input = 1, output = 2}\n'
    )
    found = {
        m["model"]: m["memory"] for m in map(json.loads, acr("models", "list", "--json").stdout.splitlines())
    }
    assert found["openai/weak"] == {"outcomes": 2, "success_rate": 1.0, "mean_cost_usd": pytest.approx(0.01)}
    assert found["builtin/repair"] is None
    assert "2 tries, 100 % passed, $0.01 each" in acr("models", "list").stdout


def test_memory_stats_by_model_and_dimension(acr, remembered: None) -> None:
    text = acr("memory", "stats").stdout
    assert "3 outcomes of at most 20,000" in text
    assert "openai/strong" in text
    assert "100 % of 2" in text
    assert "success, raw" in text
    shape = json.loads(acr("memory", "stats", "--json").stdout)
    assert (shape["type"], shape["schema"], shape["outcomes"]) == ("memory_stats", 1, 3)
    assert set(shape["models"]["openai/weak"]) >= {"outcomes", "success_rate", "mean_u", "mean_cost_usd"}
    assert set(shape["saved_usd"]) >= {"estimate", "low", "high"}
    assert shape["dimensions"]["algorithm"]["outcomes"] == 1


def test_memory_stats_say_what_was_paid_for_nothing(acr, acr_home: Path) -> None:
    path = ledger_file(acr_home)
    path.parent.mkdir(exist_ok=True)
    ledger = Ledger(path)
    ledger.reserve(2.0)
    ledger.settle(0.62)
    assert "all runs paid $0.62 today, $0.62 this month" in acr("memory", "stats").stdout
    paid = json.loads(acr("memory", "stats", "--json").stdout)["paid_usd"]
    assert paid == {"day": pytest.approx(0.62), "month": pytest.approx(0.62)}
    assert json.loads(acr("memory", "stats", "--model", "a", "--json").stdout)["paid_usd"] is None
    path.write_bytes(b"no database" * 100)
    done = acr("memory", "stats")
    assert (done.returncode, "What was spent before is unknown" in done.stdout) == (0, True)


def test_memory_list_newest_first_and_filtered(acr, remembered: None) -> None:
    shapes = [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()]
    assert [shape["id"] for shape in shapes] == ["o3", "o2", "o1"]
    text = acr("memory", "list", "--model", "openai/strong").stdout
    assert "o2" in text
    assert "o1" not in text
    assert "\x1b" not in text
    assert "No outcome." in acr("memory", "list", "--verdict", "unverified").stdout


def test_memory_show_says_everything_but_the_vector(acr, remembered: None) -> None:
    text = acr("memory", "show", "o2").stdout
    for word in ("openai/strong", "failed", "repo-1", "targets 1.00 x 1", "100 in, 20 out"):
        assert word in text
    assert "\x1b" not in text
    shape = json.loads(acr("memory", "show", "o2", "--json").stdout)
    assert (shape["type"], shape["candidate"], shape["vector_size"]) == ("outcome", "openai/strong", 2)


def test_memory_forget(acr, remembered: None, acr_home: Path) -> None:
    assert acr("memory", "forget", "o1", "o3", "--yes").stdout == "Forgot 2 outcomes.\n"
    assert [kept.id for kept in Memory(acr_home).list()] == ["o2"]
    nothing = acr("memory", "forget", "--before", "2000-01-01")
    assert nothing.stdout == "Nothing was forgotten: there is no outcome older than 2000-01-01.\n"
    assert nothing.returncode == 0
    nobody = acr("memory", "forget", "o2", "nope", "--yes")
    assert (nobody.returncode, "There is no outcome 'nope'." in nobody.stderr) == (2, True)
    assert len(Memory(acr_home).list()) == 1
    (acr_home / "runs").mkdir()
    assert str(acr_home / "runs") in acr("memory", "forget", "o2", "--yes").stderr
    assert acr("memory", "forget", "--before", "soon", "--yes").returncode == 2


def test_forgetting_says_what_and_asks_first(acr_home: Path, remembered: None) -> None:
    child = pexpect.spawn(
        str(PROGRAM), ["memory", "forget", "--model", "openai/weak"], encoding="utf-8", timeout=60
    )
    child.expect_exact("Forget 2 outcomes of openai/weak, for good? [y/N] ")
    child.sendline("n")
    assert "Nothing was forgotten." in child.read()
    assert len(Memory(acr_home).list()) == 3


def test_a_repository_is_forgotten_by_its_folder(
    acr, acr_home: Path, remembered: None, git_repo: Callable[..., Path]
) -> None:
    repo = git_repo({"a.py": "x = 1\n"})
    store = Memory(acr_home)
    store.remember(outcome(4, repository=open_repository(repo).identity))
    store.close()
    done = acr("memory", "forget", "--repository", repo)
    assert f"Forgetting 1 outcome in {repo} cannot be undone" in done.stderr
    assert acr("memory", "forget", "--repository", repo, "--yes").stdout == "Forgot 1 outcome.\n"
    assert acr("memory", "forget", "--repository", "repo-1", "--yes").stdout == "Forgot 3 outcomes.\n"


def test_an_outcome_is_shown_by_the_beginning_of_its_id(acr, acr_home: Path, remembered: None) -> None:
    store = Memory(acr_home)
    store.remember(outcome(4, id="abc123"))
    store.close()
    assert "abc123" in acr("memory", "show", "ab").stdout
    done = acr("memory", "show", "o")
    assert (done.returncode, "several outcomes" in done.stderr) == (2, True)


def test_a_dimension_that_does_not_exist_is_a_mistake(acr) -> None:
    done = acr("memory", "list", "--dimension", "bug_fixin")
    assert (done.returncode, "bug_fixing" in done.stderr) == (2, True)


def test_completion_knows_outcomes(acr, remembered: None) -> None:
    assert acr("completion", "--values", "outcomes").stdout.split() == ["o3", "o2", "o1"]


# --- runs -------------------------------------------------------------------------------------------------


@pytest.fixture
def run(acr_home: Path, tmp_path: Path) -> str:
    folder, lock = new_run(acr_home, repository=tmp_path, task="fix \x1b[31mit")
    folder.update(status="fixed", applied=True, files=["a.py"], summary="Changed a.py.", cost_usd=0.25)
    folder.keep_patch("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n")
    folder.log({"type": "choice", "choice": {"candidate": "openai/weak", "reason": "cheap"}})
    lock.release()
    return folder.id


def test_runs_list(acr, run: str) -> None:
    text = acr("runs", "list").stdout
    for word in (run, "fixed", "$0.25", "fix it", "1 file"):
        assert word in text
    shape = json.loads(acr("runs", "list", "--json").stdout)
    assert (shape["type"], shape["run"], shape["applied"]) == ("run", run, True)


def test_a_time_that_no_calendar_holds_is_none() -> None:
    assert [day(time) for time in (0.0, 1e20, float("inf"), float("nan"))] == ["-"] * 4


def test_runs_list_without_any(acr) -> None:
    assert acr("runs", "list").stdout == "No run yet.\n"


@pytest.mark.parametrize("width", [60, 100])
def test_in_a_repository_its_own_runs_are_listed_and_ids_are_whole(
    acr_home: Path, git_repo: Callable[..., Path], run: str, width: int
) -> None:
    repo = git_repo({"a.py": "x = 1\n"}, name="mine")
    folder, lock = new_run(acr_home, repository=repo, task="make it faster " * 5)
    folder.update(status="changed_unverified", cost_usd=0.25)
    lock.release()

    def listed(*arguments: str) -> str:
        told = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        child = pexpect.spawn(
            str(PROGRAM),
            ["runs", "list", *arguments],
            cwd=str(repo),
            env=told,  # type: ignore[arg-type]
            dimensions=(24, width),
            timeout=60,
            encoding="utf-8",
        )
        return child.read()

    own, every = listed(), listed("--all")
    assert folder.id in own
    assert run not in own
    for word in (folder.id, run, "mine"):
        assert word in every
    assert max(map(len, every.splitlines())) <= width


def test_a_repository_without_runs_says_how_to_see_all(acr, run: str, git_repo: Callable[..., Path]) -> None:
    repo = git_repo({"a.py": "x = 1\n"})
    assert (
        acr("runs", "list", cwd=repo).stdout == f"No run of {repo}; --all lists those of all repositories.\n"
    )


def test_runs_show_by_the_beginning_of_its_id(acr, run: str) -> None:
    text = acr("runs", "show", run[:12]).stdout
    for word in (run, "Changed a.py.", "chose openai/weak: cheap", "+y"):
        assert word in text
    lines = [json.loads(line) for line in acr("runs", "show", run, "--json").stdout.splitlines()]
    assert [line["type"] for line in lines] == ["choice", "run"]
    assert lines[-1]["patch"].endswith("+y\n")


def test_a_run_that_was_cut_short_is_listed(acr, acr_home: Path) -> None:
    (acr_home / "runs" / "20260102-000000-dead").mkdir(parents=True)
    assert "unknown" in acr("runs", "list").stdout
    (acr_home / "runs" / "20260102-000000-dead" / "run.json").write_text("[]")
    assert acr("runs", "show", "20260102").returncode == 0


# --- doctor, route ----------------------------------------------------------------------------------------


def test_doctor_checks_and_changes_nothing(acr, acr_home: Path) -> None:
    checks = {c["name"]: c for c in map(json.loads, acr("doctor", "--json").stdout.splitlines())}
    assert checks["python"]["state"] == checks["git"]["state"] == "ok"
    assert checks["models"]["state"] == "note"
    assert not acr_home.exists()


def test_doctor_says_what_is_missing(acr, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = acr("doctor", env={"ACR_HOME": str(tmp_path / "file")})
    assert done.returncode == 4
    assert "cannot be written" in done.stdout
    assert "ACR_HOME" in done.stdout


def test_doctor_goes_by_the_sandbox_that_is_configured(acr) -> None:
    done = acr("doctor", env={"ACR_SANDBOX": "none"})
    assert done.stdout.splitlines()[0].startswith("python")
    assert "none, as configured" in done.stdout
    dead = {"ACR_SANDBOX": "docker", "DOCKER_HOST": "tcp://127.0.0.1:9"}
    done = acr("doctor", env=dead)
    assert (done.returncode, "docker, as configured, does not work" in done.stdout) == (4, True)


def test_doctor_warns_of_keys_that_others_may_read(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / ".env").write_text("A_KEY=1\n")
    (acr_home / ".env").chmod(0o644)
    assert "chmod 600" in acr("doctor").stdout


MODELS = """
[[model]]
id = "openai/weak-1"
base_url = "http://127.0.0.1:9/v1"
price = {input = 0.1, output = 0.4}

[[model]]
id = "openai/strong-1"
base_url = "http://127.0.0.1:9/v1"
price = {input = 5, output = 25}
"""


def test_route_explains_without_calling_any_model(acr, acr_home: Path, git_repo: Callable[..., Path]) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text(MODELS)
    repo = git_repo({"a.py": "x = 1\n"})
    done = acr("route", "the parser drops the last line", "--explain", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("openai/weak-1", "openai/strong-1", "agentic_programming", "propensity", "worth"):
        assert word in done.stdout
    shape = json.loads(acr("route", "the parser drops the last line", "--json", cwd=repo).stdout)
    assert shape["type"] == "route"
    assert shape["choice"] in {candidate["model"] for candidate in shape["candidates"]}
    assert 0 < shape["propensity"] <= 1
