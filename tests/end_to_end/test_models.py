"""The built program with language models on a loopback server: escalation, memory, faults of providers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acr_cli.protocols import ToolCall
from acr_cli.testing.answers import Answer, Cut, Garbage, Refuse, Say, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import RIGHT, SLUG, WRONG, result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]
FIX = ("fix", "--json", "--sandbox", "none", "--exclude", "builtin/repair")
PRICES = {"weak": 0.5, "strong": 8.0}


def writes(source: str, path: str = "slug.py") -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        return Say(text=f"{path}\n```\n{source}```\n")

    return answer


def down(request: Request) -> Answer:
    return Refuse(status=401, message="Incorrect API key provided.")


def models_tried(result: dict[str, Any]) -> int:
    return sum(step["attempts"] for step in result["steps"])


def outcomes(acr: Acr) -> list[dict[str, Any]]:
    return [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()]


def test_a_weak_model_that_fails_is_followed_by_a_strong_one_and_both_are_remembered(
    acr: Acr, broken: Path, pool: Pool
) -> None:
    with LoopbackServer({"weak": writes(WRONG), "strong": writes(RIGHT)}) as server:
        pool(server, PRICES)
        done = acr(*FIX, cwd=broken)

    result = result_of(done.stdout)
    assert (result["status"], result["steps"][-1]["model"]) == ("fixed", "openai/strong"), done.stderr
    assert (broken / "slug.py").read_text() == RIGHT
    assert [(o["candidate"], o["verdict"]) for o in reversed(outcomes(acr))] == [
        ("openai/weak", "failed"),
        ("openai/strong", "passed"),
    ]
    assert result["cost_usd"] > 0
    assert "hello, big world!" in server.requests_for("strong")[0].messages[-1]["content"]
    server.assert_clean()


def test_a_weak_model_that_passes_is_followed_by_nothing_and_stays_first(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    with LoopbackServer({"weak": writes(RIGHT), "strong": ()}) as server:
        pool(server, PRICES)
        for number in range(3):
            result = result_of(acr(*FIX, cwd=git_repo(SLUG, name=f"repo{number}")).stdout)
            assert (result["status"], result["steps"][0]["model"]) == ("fixed", "openai/weak")

    assert server.requests_for("strong") == []
    server.assert_clean()


def test_after_a_handful_of_failures_the_strong_one_is_preferred_and_the_reason_says_so(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    with LoopbackServer({"weak": writes(WRONG), "strong": writes(RIGHT)}) as server:
        pool(server, PRICES)
        first = json.loads(acr("route", "slugify joins words", "--json", cwd=git_repo(SLUG)).stdout)
        for number in range(4):
            acr(*FIX, cwd=git_repo(SLUG, name=f"repo{number}"))
        where = git_repo(SLUG, name="last")
        route = json.loads(acr("route", "slugify joins words", "--json", cwd=where).stdout)
        shown = acr("route", "slugify joins words", "--explain", cwd=where).stdout

    assert first["choice"] == "openai/weak"
    assert route["choice"] == "openai/strong"
    assert route["reason"].startswith("best value: ")
    assert route["reason"] in shown
    assert "solved 0 of " in shown
    assert "solved 4 of 4, " in shown
    assert {"model", "p_success", "p_low", "p_high", "cost_usd", "votes", "score"} <= set(
        route["candidates"][0]
    )
    assert {"p_cumulative", "cost_cumulative_usd"} <= set(route["ladder"][0])


def test_the_flag_for_one_model_uses_it_alone(acr: Acr, broken: Path, pool: Pool) -> None:
    with LoopbackServer({"weak": writes(WRONG), "strong": writes(RIGHT)}) as server:
        pool(server, PRICES)
        done = acr("fix", "--json", "--sandbox", "none", "--model", "openai/weak", cwd=broken)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], models_tried(result)) == (1, "not_fixed", 1)
    assert {request.model for request in server.requests} == {"weak"}


def edit(search: str, replace: str) -> ToolCall:
    return call("edit", {"path": "slug.py", "search": search, "replace": replace})


def test_a_model_with_tools_reads_edits_tests_and_finishes(acr: Acr, broken: Path, acr_home: Path) -> None:
    script = [
        Say(tool_calls=(call("open", {"path": "slug.py"}),)),
        Say(tool_calls=(call("edit", {"path": "../outside.py", "search": "a", "replace": "b"}), call("fly"))),
        Say(
            tool_calls=(
                call(
                    "edit",
                    {"path": "slug.py", "search": "    return text\n", "replace": RIGHT.split("\n", 4)[-1]},
                ),
                call(
                    "edit",
                    {"path": "slug.py", "search": "def slugify", "replace": "import re\n\n\ndef slugify"},
                ),
            )
        ),
        Say(tool_calls=(call("run"),)),
        Say(tool_calls=(call("finish", {"summary": "Words are joined."}),)),
    ]
    with LoopbackServer({"handy": script}) as server:
        acr_home.mkdir()
        (acr_home / "config.toml").write_text(
            f'[[model]]\nid = "openai/handy"\nbase_url = "{server.base_url}"\ntools = true\n'
        )
        done = acr(*FIX, cwd=broken)

    result = result_of(done.stdout)
    assert (result["status"], result["cost_usd"]) == ("fixed", 0), done.stdout
    assert len(server.requests) == len(script)
    assert not (broken.parent / "outside.py").exists()
    server.assert_clean()


def test_a_call_of_a_tool_that_nobody_offered_is_no_fault_of_the_provider(
    acr: Acr, broken: Path, pool: Pool
) -> None:
    script = [Say(tool_calls=(call("run", {"command": "ls"}),)), Say(text=f"slug.py\n```\n{RIGHT}```\n")]
    with LoopbackServer({"weak": script}) as server:
        pool(server, {"weak": 0.5})
        result = result_of(acr(*FIX, cwd=broken).stdout)

    assert result["status"] == "fixed"
    server.assert_clean()


def test_edits_to_tests_are_undone_and_prove_nothing(acr: Acr, broken: Path, pool: Pool) -> None:
    cheat = writes("def test_words_are_joined():\n    pass\n", path="test_slug.py")
    with LoopbackServer({"weak": cheat}) as server:
        pool(server, {"weak": 0.5})
        result = result_of(acr(*FIX, cwd=broken).stdout)

    assert result["status"] == "not_fixed"
    assert (broken / "test_slug.py").read_text() == SLUG["test_slug.py"]


def test_a_wish_that_nothing_proves_is_kept_back_until_it_is_applied(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    repo = git_repo({"a.py": "x = 1\n", "test_a.py": "import a\n\n\ndef test_a():\n    assert a.x == 1\n"})
    with LoopbackServer({"weak": writes("x = 1\ny = 2\n", path="a.py")}) as server:
        pool(server, {"weak": 0.5})
        done = acr("fix", "add y", "--json", "--sandbox", "none", cwd=repo)
    result = result_of(done.stdout)
    untouched = (repo / "a.py").read_text()
    applied = acr("apply", result["run"], "--yes", cwd=repo)

    assert (done.returncode, result["status"], result["verified"]) == (8, "changed_unverified", False)
    assert untouched == "x = 1\n"
    assert applied.returncode == 0, applied.stderr
    assert (repo / "a.py").read_text() == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("broken_answers", "requests"),
    [
        ([Refuse(status=429, retry_after=0.1)], 2),
        ([Refuse(status=500)], 2),
        ([Cut()], 2),
        ([Garbage()], 2),
    ],
    ids=["rate limited", "server error", "half a stream", "bad JSON"],
)
def test_a_provider_that_stumbles_is_asked_again(
    acr: Acr, broken: Path, pool: Pool, broken_answers: list[Answer], requests: int
) -> None:
    script = [*broken_answers, Say(text=f"slug.py\n```\n{RIGHT}```\n")]
    with LoopbackServer({"weak": script}) as server:
        pool(server, {"weak": 0.5})
        done = acr(*FIX, cwd=broken)

    assert result_of(done.stdout)["status"] == "fixed", done.stdout
    assert len(server.requests) == requests
    server.assert_clean()


def test_a_provider_that_is_down_is_void_and_the_next_candidate_takes_over(
    acr: Acr, broken: Path, pool: Pool
) -> None:
    with LoopbackServer({"weak": down, "strong": writes(RIGHT)}) as server:
        pool(server, PRICES)
        result = result_of(acr(*FIX, cwd=broken).stdout)

    assert result["status"] == "fixed"
    assert [o["candidate"] for o in outcomes(acr)] == ["openai/strong"]


def test_models_without_their_keys_are_known_before_anything_runs(acr: Acr, broken: Path) -> None:
    done = acr("fix", "--allow", "openai/gpt-5.4,anthropic/claude-opus-4-6", cwd=broken)

    assert done.returncode == 3
    assert "OPENAI_API_KEY, which is not set" in done.stderr
    assert "running the tests" not in done.stderr


def test_all_providers_down_is_exit_five_and_nothing_is_remembered(
    acr: Acr, broken: Path, pool: Pool
) -> None:
    def down(request: Request) -> Answer:
        return Refuse(status=401, message="Incorrect API key provided.")

    with LoopbackServer({"weak": down, "strong": down}) as server:
        pool(server, PRICES)
        done = acr(*FIX, cwd=broken)

    assert (done.returncode, result_of(done.stdout)["status"]) == (5, "error")
    assert outcomes(acr) == []


def test_no_call_is_made_that_the_cap_cannot_pay(acr: Acr, broken: Path, pool: Pool) -> None:
    with LoopbackServer({"strong": writes(RIGHT)}) as server:
        pool(server, {"strong": 9000.0})
        done = acr(*FIX, "--max-cost", "0.0001", cwd=broken)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], result["cost_usd"]) == (6, "budget", 0)
    assert server.requests == []
