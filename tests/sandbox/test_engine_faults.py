"""What befalls the engine while a run is under way: the run says so, leaves nothing, and is resumed."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.protocols import Recipe
from acr_cli.sandbox.caches import home_of
from acr_cli.sandbox.containers import HOME_LABEL
from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.conftest import DOCKER_IMAGE
from tests.end_to_end.conftest import RIGHT, _interpreter, broken, pool, result_of
from tests.end_to_end.test_interruptions import copies_left
from tests.sandbox.conftest import Opener
from tests.sandbox.test_leftovers import Relay, left_in_engine

__all__ = ["_interpreter", "broken", "pool"]

Acr = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.docker
OPTIONS = ("--json", "--sandbox", "docker", "--image", DOCKER_IMAGE, "--model", "openai/writer")


class Happening:
    """A model that is right; before its first answer something happens."""

    def __init__(self) -> None:
        self.then: Callable[[], None] | None = None

    def __call__(self, _: Request) -> Answer:
        happens, self.then = self.then, None
        if happens is not None:
            happens()
        return Say(text=f"slug.py\n```\n{RIGHT}```\n")


@pytest.fixture
def model(pool: Callable[..., None]) -> Iterator[Happening]:
    model = Happening()
    with LoopbackServer({"writer": model}) as server:
        pool(server, {"writer": 1.0})
        yield model


@pytest.fixture
def relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Relay]]:
    """Makes lines to the engine, one after the other at the same place, where acr looks for it."""
    if not Path("/var/run/docker.sock").exists():
        pytest.skip("the engine is not at the usual socket")
    place = tmp_path / "relay.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
    with ExitStack() as lines:

        def connect() -> Relay:
            made = Relay(place)
            lines.callback(made.cut)
            return made

        yield connect


def test_an_engine_that_stops_and_comes_back_ends_the_run_which_goes_on(
    acr: Acr, acr_home: Path, broken: Path, model: Happening, relay: Callable[[], Relay]
) -> None:
    model.then = relay().cut
    done = acr("fix", *OPTIONS, cwd=broken)
    result = result_of(done.stdout)
    assert (done.returncode, result["status"]) == (4, "error")
    assert "engine went away" in result["error"]["message"]
    assert "acr runs resume" in result["error"]["hint"]
    relay()
    resumed = acr("runs", "resume", result["run"], "--json", cwd=broken)
    assert (resumed.returncode, result_of(resumed.stdout)["status"]) == (0, "fixed"), resumed.stdout
    assert (left_in_engine(result["run"]), copies_left(acr_home)) == ([], [])


def test_an_image_that_is_removed_meanwhile_ends_the_run_which_goes_on(
    acr: Acr, acr_home: Path, broken: Path, model: Happening, docker_engine: Any
) -> None:
    def remove() -> None:
        chosen: dict[str, Any] = {"label": f"{HOME_LABEL}={home_of(acr_home)}"}
        for image in docker_engine.images.list(filters=chosen):
            docker_engine.images.remove(image.id, force=True)

    model.then = remove
    done = acr("fix", *OPTIONS, cwd=broken)
    result = result_of(done.stdout)
    assert (done.returncode, result["status"]) == (4, "error")
    assert "has been removed" in result["error"]["message"]
    assert "acr runs resume" in result["error"]["hint"]
    resumed = acr("runs", "resume", result["run"], "--json", cwd=broken)
    assert (resumed.returncode, result_of(resumed.stdout)["status"]) == (0, "fixed"), resumed.stdout
    assert (left_in_engine(result["run"]), copies_left(acr_home)) == ([], [])


class Stopping(Relay):
    """An engine that is gone as soon as somebody wants to know whether it is there."""

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if b"/_ping" in data.partition(b"\r\n")[0]:
                    self.cut()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_a_command_that_ends_with_its_engine_has_no_result(
    opener: Opener, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/relay.sock")
    relay = Stopping(tmp_path / "relay.sock")
    opened = opener("docker")
    opened.sandbox.prepare(Recipe(language="python"), tree)
    with opened.sandbox.open(tree) as session, pytest.raises(SandboxBroken, match="engine went away"):
        session.run("kill -TERM $$")
    relay.cut()
    monkeypatch.delenv("DOCKER_HOST")
    forget(opened.run_id)
    assert left_in_engine(opened.run_id) == []


def forget(run_id: str) -> None:
    """Remove what a living owner could not."""
    for name in left_in_engine(run_id):
        for kind in ("rm", "volume rm"):
            subprocess.run(["docker", *kind.split(), "--force", name], capture_output=True, check=False)
