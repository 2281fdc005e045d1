"""The built program with several attempts at a step side by side."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.answers import Answer, Say, Stall
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.conftest import DOCKER_IMAGE
from tests.end_to_end.conftest import RIGHT, WRONG, result_of
from tests.end_to_end.test_interruptions import copies_left, running, snapshot, wait_for

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]
FIX = ("fix", "--json", "--exclude", "builtin/repair", "--parallel", "2")
PRICES = {"weak": 0.5, "strong": 8.0}


def writes(source: str) -> Answer:
    return Say(text=f"slug.py\n```\n{source}```\n")


@pytest.mark.parametrize("sandbox", ["none", pytest.param("docker", marks=pytest.mark.docker)])
def test_two_attempts_are_made_at_the_same_time_and_the_right_one_wins(
    acr: Acr, broken: Path, pool: Pool, acr_home: Path, sandbox: str
) -> None:
    def answer(request: Request) -> Answer:
        return writes(RIGHT if "strong" in request.model else WRONG)

    image = ["--image", DOCKER_IMAGE] if sandbox == "docker" else []
    with LoopbackServer({"weak": answer, "strong": answer}) as server:
        pool(server, PRICES)
        done = acr(*FIX, "--sandbox", sandbox, *image, cwd=broken)

    result = result_of(done.stdout)
    assert (done.returncode, result["status"]) == (0, "fixed"), done.stderr
    assert result["steps"][-1]["model"] == "openai/strong"
    assert (broken / "slug.py").read_text() == RIGHT
    events = [json.loads(line) for line in done.stdout.splitlines()]
    order = [event["type"] for event in events if event["type"] in ("choice", "attempt")]
    assert order[:3] == ["choice", "choice", "attempt"]
    tools = {event["beside"] for event in events if event["type"] == "tool"}
    assert "openai/strong" in tools
    assert "" not in tools
    assert list(acr_home.glob("runs/*/beside-*")) == []
    known = [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()]
    assert ("openai/strong", "passed") in {(o["candidate"], o["verdict"]) for o in known}
    server.assert_clean()


def test_ctrl_c_side_by_side_leaves_nothing_behind(broken: Path, pool: Pool, acr_home: Path) -> None:
    def stall(_: Request) -> Answer:
        return Stall(text="thinking", seconds=120.0)

    with LoopbackServer(dict.fromkeys(PRICES, stall)) as server:
        pool(server, PRICES)
        before = snapshot(broken)
        with running(broken, *FIX[1:], "--sandbox", "bubblewrap") as process:
            wait_for(process, "choice")
            until = time.monotonic() + 60
            while len(server.requests) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)

    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert result_of(output)["status"] == "interrupted"
    assert snapshot(broken) == before
    assert copies_left(acr_home) == []
    assert list(acr_home.glob("runs/*/beside-*")) == []
