"""The built program where providers fail: who rests is not asked, and what was done by then is kept."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.answers import Answer, Cut, Refuse, Reset, Say, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import RIGHT, result_of
from tests.end_to_end.test_interruptions import running

Acr = Callable[..., subprocess.CompletedProcess[str]]
FIX = ("fix", "--json", "--sandbox", "none", "--exclude", "builtin/repair")


def test_a_model_that_rests_is_not_asked_and_the_list_says_so(
    acr: Acr, broken: Path, acr_home: Path, pool: Callable[..., None]
) -> None:
    (acr_home / "cache").mkdir(parents=True)
    rest = {
        "until": time.time() + 300,
        "seconds": 300,
        "reason": "its last 3 requests failed: too many requests",
    }
    (acr_home / "cache" / "rests.json").write_text(json.dumps([{"name": "openai/weak", **rest}]))
    with LoopbackServer({"weak": [], "strong": [Say(text=f"slug.py\n```\n{RIGHT}```\n")]}) as server:
        pool(server, {"weak": 0.5, "strong": 8.0})
        done = acr(*FIX, cwd=broken)
        listed = acr("models", "list", cwd=broken).stdout
        server.assert_clean()

    assert result_of(done.stdout)["status"] == "fixed", done.stdout
    told = " ".join(listed.split())
    assert re.search(r"openai/weak rests for about \d+ min, since its last 3 requests failed", told)
    assert "openai/weak 0.5 2.5 - - resting" in told


def test_all_providers_failing_is_exit_five_and_keeps_the_work_so_far(
    acr: Acr, broken: Path, acr_home: Path
) -> None:
    edit = call(
        "edit", {"path": "slug.py", "search": "    return text\n", "replace": "    return text.lower()\n"}
    )
    scripts = {
        "first": [Say(tool_calls=(edit,)), Refuse(status=401, message="expired")],
        "second": [Reset()] * 3,
    }
    with LoopbackServer(scripts) as server:
        acr_home.mkdir()
        (acr_home / "config.toml").write_text(
            "exploration = 0.0\n"
            + "".join(
                f'[[model]]\nid = "openai/{name}"\nbase_url = "{server.base_url}"\ntools = true\n'
                f"price = {{input = {price}, output = {price}}}\n"
                for name, price in (("first", 1), ("second", 2))
            )
        )
        done = acr(*FIX, "--policy", "escalate", cwd=broken)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"], result["error"]["id"]) == (5, "error", "provider"), done.stdout
    assert "+    return text.lower()" in result["patch"]
    assert "the key was refused: expired" in result["error"]["message"]
    assert (broken / "slug.py").read_text().endswith("return text\n")
    shown = acr("apply", result["run"], "--yes", cwd=broken)
    assert shown.returncode == 0, shown.stderr
    assert (broken / "slug.py").read_text().endswith("return text.lower()\n")
    assert acr("memory", "list", "--json").stdout == ""


@pytest.mark.parametrize("how", ["dies in mid-stream", "has no name", "takes no connection, and no TLS"])
def test_a_run_whose_provider_went_away_is_resumed_when_it_is_back(
    acr: Acr, broken: Path, acr_home: Path, pool: Callable[..., None], how: str
) -> None:
    up = False

    def answers(_: Request) -> Answer:
        if up:
            return Say(text=f"slug.py\n```\n{RIGHT}```\n")
        return Cut(text="slug.py\n```\nimp", abrupt=True)

    with LoopbackServer({"one": answers, "two": answers}) as server:
        pool(server, {"one": 1.0, **({"two": 2.0} if "TLS" in how else {})})
        config = acr_home / "config.toml"
        right = config.read_text()
        if how == "has no name":
            config.write_text(right.replace(server.base_url, "https://nobody.invalid/v1"))
        elif "TLS" in how:
            one, _, two = right.partition('id = "openai/two"')
            one = one.replace(server.base_url, "http://127.0.0.1:1/v1")
            config.write_text(f'{one}id = "openai/two"{two.replace("http:", "https:")}')
        done = acr(*FIX, cwd=broken)
        result = result_of(done.stdout)
        left = [*acr_home.glob("runs/*/tree"), *acr_home.glob("runs/*/sandbox")]
        listed = acr("runs", "list", cwd=broken).stdout
        up = True
        config.write_text(right)
        again = acr("runs", "resume", result["run"], "--json", cwd=broken)
    assert (done.returncode, result["status"], result["error"]["id"]) == (5, "error", "provider"), done.stderr
    assert left == []
    assert result["run"] in listed
    assert result_of(again.stdout)["status"] == "fixed", again.stderr
    assert (broken / "slug.py").read_text() == RIGHT


def test_a_machine_that_sleeps_while_a_model_answers_asks_again_when_it_wakes(
    broken: Path, pool: Callable[..., None]
) -> None:
    """The connection was cut meanwhile."""
    asked: list[subprocess.Popen[str]] = []

    def answers(_: Request) -> Answer:
        asked.append(process)
        if len(asked) == 1:
            process.send_signal(signal.SIGSTOP)
            return Cut(text="slug.py\n```\nimp", abrupt=True)
        return Say(text=f"slug.py\n```\n{RIGHT}```\n")

    with LoopbackServer({"one": answers}) as server:
        pool(server, {"one": 1.0})
        with running(broken, *FIX[2:]) as process:
            until = time.monotonic() + 100
            while not asked and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.3)
            process.send_signal(signal.SIGCONT)
            output, errors = process.communicate(timeout=100)
        server.assert_clean()
    assert (process.returncode, result_of(output)["status"]) == (0, "fixed"), errors
    assert len(asked) == 2
