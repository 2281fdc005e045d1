"""`acr train policy`, and who then votes: on files, in a process, against a server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from acr_cli.cli.main import main
from acr_cli.memory.store import Memory
from acr_cli.testing.answers import Refuse, Say
from acr_cli.testing.loopback import LoopbackServer
from tests.memory.outcomes import make_outcome
from tests.training.rule import KINDS, rule_matrix, write_files

Acr = Callable[..., Any]
Pool = Callable[..., None]
PRICES = {"alpha-large": 1.0, "beta": 1.0, "beta-mini": 1.0, "gamma": 1.0}


def voters(route: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By voter, its votes by model."""
    found: dict[str, dict[str, float]] = {}
    for each in route["candidates"]:
        for voter, vote in each["votes"].items():
            found.setdefault(voter, {})[each["model"]] = vote["vote"]
    return found


def test_a_classifier_is_trained_votes_and_is_described(
    acr: Acr, acr_home: Path, tmp_path: Path, pool: Pool
) -> None:
    outcomes, texts = write_files(tmp_path, rule_matrix(200, 40))
    with LoopbackServer(dict.fromkeys(PRICES, ())) as server:
        pool(server, PRICES)

        trained = acr("train", "policy", "--matrix", outcomes, "--tasks", texts, "--name", "mine", "--json")
        before = acr("route", "the socket is closed twice", "--json")
        acr("config", "set", "policy_models", "mine")
        after = acr("route", "the socket is closed twice", "--json")
        shown = acr("route", "the socket is closed twice", "--explain")

    assert trained.returncode == 0, trained.stderr
    card = json.loads(trained.stdout)
    assert (card["type"], card["kind"]) == ("policy_model", "classifier")
    assert (card["tasks"], card["held_out"]) == (160, 40)
    assert card["candidates"] == ["alpha-large", "beta", "beta-mini"]
    assert card["figures"]["alone"]["accuracy"] == 1.0
    assert len(card["fingerprint"]) == 64
    kept = json.loads((acr_home / "policies" / "mine" / "card.json").read_text())
    assert kept["fingerprint"] == card["fingerprint"]
    name = f"classifier.{card['fingerprint'][:4]}"
    assert name not in voters(json.loads(before.stdout))
    votes = voters(json.loads(after.stdout))[name]
    assert set(votes) == {"openai/alpha-large", "openai/beta", "openai/beta-mini"}  # it never saw gamma
    assert max(votes, key=votes.__getitem__) == f"openai/{rule_matrix(3, 0).models[KINDS.index('socket')]}"
    assert json.loads(after.stdout)["choice"] == max(votes, key=votes.__getitem__)
    assert f"{name}: the words of 160 tasks (mine)" in " ".join(shown.stdout.split())


def test_a_classifier_learns_from_memory_alone(acr: Acr, acr_home: Path) -> None:
    matrix = rule_matrix(120, 0)
    store = Memory(acr_home)
    for row in range(matrix.tasks):
        column = row % 3
        store.remember(
            make_outcome(
                f"o{row}", run=f"r{row}", step="1", candidate=f"openai/{matrix.models[column]}",
                text=matrix.texts[row], dimension="bug_fixing", language="python",
                verdict="passed" if matrix.score[row, column] else "failed", time=time.time(),
            )
        )  # fmt: skip
    store.close()

    done = acr("train", "policy", "--memory", "--json")

    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card["source"] == "memory (120 steps)"
    assert card["candidates"] == [f"openai/{model}" for model in sorted(matrix.models)]
    assert card["tasks"] + card["held_out"] == 120


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        ((), "There is nothing to train on.", 2),
        (("--memory",), "Memory holds no verified outcome.", 2),
        (("--matrix", "absent.csv"), "There is no file absent.csv.", 2),
        (("--matrix", "outcomes.csv", "--train", "early"), "no split 'early'", 2),
        (("--matrix", "outcomes.csv", "--name", "../x"), "'../x' is no name of a policy model.", 2),
        (("--matrix", "outcomes.csv", "--kind", "forest"), "--kind must be classifier or lora", 2),
        (("--matrix", "outcomes.csv", "--kind", "lora"), "needs a language model", 2),
        (("--matrix", "outcomes.csv", "--steps", "0"), "--steps must be a whole number of at least 1", 2),
        (("--tasks", "texts.jsonl", "--memory"), "--tasks holds the texts of a matrix.", 2),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str, code: int
) -> None:
    write_files(tmp_path, rule_matrix(100, 20))

    done = main(["-C", str(tmp_path), "train", "policy", *arguments])

    said = capsys.readouterr()
    assert done == code, said.err
    assert says in said.err
    assert "Traceback" not in said.err
    assert not said.out


def test_a_policy_model_that_is_gone_or_damaged_is_said(acr: Acr, acr_home: Path, pool: Pool) -> None:
    with LoopbackServer(dict.fromkeys(PRICES, ())) as server:
        pool(server, PRICES, policy_models=["mine"])
        gone = acr("route", "the socket is closed twice")
        folder = acr_home / "policies" / "mine"
        folder.mkdir(parents=True)
        (folder / "card.json").write_text('{"schema": 1, "kind": "classifier"}')
        damaged = acr("route", "the socket is closed twice")

    assert (gone.returncode, damaged.returncode) == (3, 3)
    assert "No policy model is named 'mine'" in gone.stderr
    assert "card.json lacks" in damaged.stderr
    assert "acr train policy" in damaged.stderr


# --- the model that is asked ----------------------------------------------------------------------


def test_the_router_is_asked_on_demand_and_its_vote_counts(acr: Acr, pool: Pool) -> None:
    models = {"one": 1.0, "two": 1.0, "router": 1.0}
    script = {"one": (), "two": (), "router": [Say(text='Sure. {"model": "openai/two"}')]}
    with LoopbackServer(script) as server:
        pool(server, models, router="openai/router", router_prompt="zero-shot", allow=["one", "two"])

        silent = acr("route", "the socket is closed twice", "--explain")
        heard = acr("route", "the socket is closed twice", "--ask", "--json")

    assert "openai/router was not asked; --ask asks it" in silent.stdout
    assert heard.returncode == 0, heard.stderr
    assert "The router openai/router names openai/two" in heard.stderr
    route = json.loads(heard.stdout)
    assert route["choice"] == "openai/two"
    assert set(voters(route)["router"]) == {"openai/two"}
    assert [request.model for request in server.requests] == ["router"]
    assert "Models: openai/one, openai/two" in str(server.requests[0].messages[0]["content"])
    assert server.violations == []


def test_a_router_that_fails_has_no_vote_and_ends_nothing(acr: Acr, pool: Pool) -> None:
    script = {"one": (), "two": (), "router": [Refuse(status=503)] * 3}
    with LoopbackServer(script) as server:
        pool(server, {"one": 1.0, "two": 1.0, "router": 1.0}, router="router", allow=["one", "two"])

        done = acr("route", "the socket is closed twice", "--ask", "--json")

    assert done.returncode == 0, done.stderr
    assert "The router openai/router has no vote:" in done.stderr
    assert "router" not in voters(json.loads(done.stdout))
    assert len(server.requests) == 1  # the work does not wait for it


def test_a_router_takes_no_more_than_its_share_of_the_money(acr: Acr, pool: Pool) -> None:
    script = {"one": (), "two": (), "router": [Say(text='{"model": "two"}')]}
    with LoopbackServer(script) as server:
        models = {"one": 1.0, "two": 1.0, "router": 100.0}
        pool(server, models, router="router", allow=["one", "two"], max_cost=0.2)

        done = acr("route", "the socket is closed twice", "--ask", "--json")

    assert done.returncode == 0, done.stderr
    assert "The router openai/router has no vote: It may cost $0.1" in done.stderr
    assert server.requests == []


def test_in_a_run_the_router_is_paid_from_the_budget(
    acr: Acr, pool: Pool, git_repo: Callable[..., Path]
) -> None:
    repo = git_repo(
        {
            "slug.py": "def slugify(text):\n    return text\n",
            "test_slug.py": "from slug import slugify\n\n\ndef test_it():\n    assert slugify('A') == 'a'\n",
        }
    )
    edit = "slug.py\n```python\ndef slugify(text):\n    return text.lower()\n```\n"
    script = {
        "one": lambda _: Say(text=edit),
        "two": lambda _: Say(text=edit),
        "router": [Say(text='{"model": "openai/two"}')] * 3,
    }
    with LoopbackServer(script) as server:
        models = {"one": 1.0, "two": 1.0, "router": 50.0}
        pool(server, models, router="openai/router", allow=["one", "two"], attempts=1, sandbox="none")
        done = acr("fix", "slugify must lower", "--json", cwd=repo)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    asked = [request for request in server.requests if request.model == "router"]
    assert len(asked) == 1, done.stdout
    told = [line for line in lines if "names openai/two" in str(line.get("text", ""))]
    assert len(told) == 1
    assert lines[-1]["cost_usd"] > 0.005  # fifty USD a million tokens: the question alone
    assert any(request.model == "two" for request in server.requests)
    assert not any(request.model == "one" for request in server.requests)


def test_the_router_must_be_there(acr: Acr, pool: Pool) -> None:
    with LoopbackServer(dict.fromkeys(PRICES, ())) as server:
        pool(server, PRICES, router="openai/absent")
        done = acr("route", "the socket is closed twice", "--ask")

    assert done.returncode == 3
    assert "The router 'openai/absent' is none of the models that may be used." in done.stderr


def test_texts_without_words_are_no_obstacle(acr: Acr, tmp_path: Path) -> None:
    matrix = rule_matrix(100, 20)
    mute = replace(matrix, texts=pl.Series("text", [""] * 99 + ["?!"]))
    outcomes, texts = write_files(tmp_path, mute)

    done = acr("train", "policy", "--matrix", outcomes, "--tasks", texts)

    assert done.returncode == 0, done.stderr
    assert "It votes once it is chosen: acr config set policy_models classifier" in done.stdout


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, acr_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes, _ = write_files(tmp_path, rule_matrix(100, 20))
    acr_home.mkdir()
    (acr_home / "policies").write_text("no folder")

    done = main(["train", "policy", "--matrix", str(outcomes)])

    said = capsys.readouterr()
    assert done == 3
    assert "cannot be kept in" in said.err
    assert "Free space there" in said.err
    assert not said.out
