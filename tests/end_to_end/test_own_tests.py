"""The built program where no test covers the task: a test of its own, else a second model's opinion."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from acr_cli.verifier.opinion import RUBRIC
from tests.end_to_end.conftest import result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]

REPOSITORY = {"a.py": "x = 1\n", "test_a.py": "import a\n\n\ndef test_x():\n    assert a.x == 1\n"}
TEST = "import a\n\n\ndef test_y():\n    assert a.y == 2\n"
EDIT = "x = 1\ny = 2\n"
FIX = ("fix", "a.py should have y, which is 2", "--json", "--sandbox", "none")


def file(path: str, content: str) -> Answer:
    return Say(text=f"{path}\n```\n{content}```\n")


def asked_for(request: Request) -> str:
    """What kind of answer a request asks for: "test", "edit" or "opinion"."""
    system = str(request.messages[0]["content"])
    if "Write one small test" in system:
        return "test"
    return "opinion" if "You judge two versions" in system else "edit"


def events_of(stdout: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in map(json.loads, stdout.splitlines()) if event["type"] == kind]


def test_a_wish_is_proved_by_a_test_that_acr_writes_first(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    repo = git_repo(REPOSITORY)

    def answer(request: Request) -> Answer:
        return file("test_y.py", TEST) if asked_for(request) == "test" else file("a.py", EDIT)

    with LoopbackServer({"weak": answer}) as server:
        pool(server, {"weak": 0.5})
        done = acr(*FIX, cwd=repo)
    result = result_of(done.stdout)

    assert (done.returncode, result["status"], result["verified"]) == (0, "fixed", True), done.stderr
    assert "1 test that acr wrote (test_y.py::test_y) fails without the change" in result["summary"]
    assert result["evidence"]["fixed"] == ["test_y.py::test_y"]
    assert result["evidence"]["verifier"] == "own_test"
    assert (repo / "a.py").read_text() == EDIT
    assert (repo / "test_y.py").read_text() == TEST
    assert [asked_for(request) for request in server.requests] == ["test", "edit"]
    first, second = (str(request.messages[1]["content"]) for request in server.requests)
    assert "test_a.py shows how tests are written here." in first
    assert "test_y.py::test_y" in second
    known = [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()]
    assert {(o["kind"], o["verdict"], o["verifier"]) for o in known} == {
        ("test", "passed", "own_test"),
        ("edit", "passed", "own_test"),
    }
    server.assert_clean()


def opinion(better: str) -> Answer:
    worse = "A" if better == "B" else "B"
    grades = {better: dict.fromkeys(RUBRIC, 4), worse: dict.fromkeys(RUBRIC, 1)}
    return Say(text=json.dumps({**grades, "better": better, "why": "It has y."}))


def test_what_no_test_can_show_is_judged_by_another_model_and_kept_back(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    repo = git_repo(REPOSITORY)

    def author(request: Request) -> Answer:
        return Say(text="NO TEST: it is a name.") if asked_for(request) == "test" else file("a.py", EDIT)

    def judge(request: Request) -> Answer:
        return opinion("B" if "+y = 2" in str(request.messages[1]["content"]) else "A")

    with LoopbackServer({"weak": author, "strong": judge}) as server:
        pool(server, {"weak": 0.5, "strong": 8.0}, policy="escalate")
        done = acr(*FIX, cwd=repo)
        applied = acr("apply", result_of(done.stdout)["run"], "--yes", cwd=repo)
    result = result_of(done.stdout)

    assert (done.returncode, result["status"]) == (8, "changed_unverified"), done.stderr
    assert "openai/strong holds it for an improvement" in result["summary"]
    assert result["evidence"]["u"] < 0.71
    assert [asked_for(r) for r in server.requests_for("weak")] == ["test", "edit"]
    assert [asked_for(r) for r in server.requests_for("strong")] == ["opinion", "opinion"]
    assert result["cost_usd"] > 0
    verdict = events_of(done.stdout, "verdict")[-1]["verdict"]
    assert (verdict["kind"], verdict["verifier"]) == ("unverified", "judge")
    assert applied.returncode == 0, applied.stderr
    assert (repo / "a.py").read_text() == EDIT
    server.assert_clean()


def test_nobody_is_asked_for_an_opinion_where_the_user_wants_none(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    with LoopbackServer({"weak": lambda _: file("a.py", EDIT), "strong": ()}) as server:
        pool(server, {"weak": 0.5, "strong": 8.0}, policy="escalate", judge=False, own_tests=False)
        done = acr(*FIX, cwd=git_repo(REPOSITORY))

    assert done.returncode == 8, done.stderr
    assert [asked_for(request) for request in server.requests] == ["edit"]
    server.assert_clean()
