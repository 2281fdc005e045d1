"""Nothing stays behind: after a session, an error, Ctrl-C, kill -9, or an engine that goes away."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.protocols import Recipe
from acr_cli.sandbox import owner
from acr_cli.sandbox.engine import broken
from tests.sandbox.conftest import EVERY, IMAGE, WALLED, Opened, Opener

ROOT = Path(__file__).parents[2]
RUNNER = """\
import os, sys, threading
from pathlib import Path
from acr_cli.protocols import Limits, Recipe
from acr_cli.sandbox.choose import open_sandbox

name, run_id, home, tree, image, marker, started = sys.argv[1:]
sandbox = open_sandbox(
    name, run_id=run_id, home=Path(home), image=image if name == "docker" else None,
    limits=Limits(seconds=120), emit=lambda event: None, environ=os.environ,
)
sandbox.prepare(Recipe(language="python"), Path(tree))
try:
    with sandbox.open(Path(tree)) as session:
        print("open", flush=True)
        program = f"import time; open('/tmp/{marker}', 'w'); time.sleep(100)  # {marker}"
        if started == "idle":
            sys.stdin.read()
        session.run(["python", "-c", program])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def left_in_engine(run_id: str) -> list[str]:
    import docker

    client = docker.from_env()
    try:
        chosen: dict[str, Any] = {"label": f"acr.run={run_id}"}
        found = [*client.containers.list(all=True, filters=chosen), *client.volumes.list(filters=chosen)]
        return [str(one.name) for one in found]
    finally:
        client.close()


def left(opened: Opened) -> list[str]:
    if opened.sandbox.name == "docker":
        return left_in_engine(opened.run_id)
    return [str(path) for path in opened.home.glob(f"runs/{opened.run_id}/sandbox/*")]


def alive(marker: str) -> bool:
    """Whether a process with this word in its command line is there."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in process.read_bytes():
                return True
    return False


def wait_until(true: Any, *, patience: float = 30.0) -> None:
    until = time.monotonic() + patience
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)


@contextlib.contextmanager
def running(opened: Opened, tree: Path, marker: str, started: str) -> Iterator[subprocess.Popen[str]]:
    """Another program that holds a session open: at a command ("busy"), or waiting for input ("idle")."""
    arguments = [opened.sandbox.name, opened.run_id, str(opened.home), str(tree), IMAGE, marker, started]
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "open\n"
        if started == "busy":
            wait_until(lambda: alive(f"# {marker}"))
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_session_that_is_left_leaves_nothing(opened: Opened, tree: Path) -> None:
    opened.sandbox.prepare(Recipe(language="python"), tree)
    with opened.sandbox.open(tree) as session:
        session.run("mkdir locked; echo x > locked/x; chmod 000 locked")
        assert left(opened)
    assert left(opened) == []


def test_a_session_that_ends_with_an_error_leaves_nothing(opened: Opened, tree: Path) -> None:
    opened.sandbox.prepare(Recipe(language="python"), tree)
    with pytest.raises(KeyError), opened.sandbox.open(tree):
        raise KeyError
    assert left(opened) == []


@pytest.mark.parametrize("name", EVERY)
def test_an_interrupted_command_leaves_nothing(opener: Opener, name: str, tree: Path) -> None:
    opened = opener(name)
    with running(opened, tree, f"marker-{opened.run_id}", "busy") as process:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert left(opened) == []
    assert not alive(f"# marker-{opened.run_id}")


@pytest.mark.parametrize("name", WALLED)
def test_what_a_killed_run_leaves_is_swept(opener: Opener, name: str, tree: Path) -> None:
    opened = opener(name)
    with running(opened, tree, f"marker-{opened.run_id}", "busy") as process:
        process.kill()
        process.wait()
        assert left(opened)
        assert opened.sandbox.sweep()
    assert left(opened) == []
    wait_until(lambda: not alive(f"# marker-{opened.run_id}"))
    assert opened.sandbox.sweep() == ()


def test_copies_of_a_killed_run_on_the_host_are_swept(opener: Opener, tree: Path) -> None:
    opened = opener("none")
    with running(opened, tree, "marker", "idle") as process:
        process.kill()
        process.wait()
        assert len(opened.sandbox.sweep()) == 1
    assert left(opened) == []


@pytest.mark.parametrize("name", EVERY)
def test_a_live_run_of_another_program_is_not_swept(opener: Opener, name: str, tree: Path) -> None:
    opened = opener(name)
    with running(opened, tree, "marker", "idle"):
        before = left(opened)
        opened.sandbox.sweep()
        assert left(opened) == before != []
    opened.sandbox.sweep()
    assert left(opened) == []


def test_an_owner_is_its_pid_and_its_start() -> None:
    mine = owner.current()
    assert owner.parse(f"{mine}.7") == mine
    assert not mine.dead()
    later = owner.Owner(host=mine.host, boot=mine.boot, pid=mine.pid, started=mine.started + 1)
    assert later.dead(), "another process has had this number"
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert owner.Owner(host=mine.host, boot=mine.boot, pid=ended.pid, started=1).dead()
    elsewhere = owner.Owner(host="elsewhere", boot="0", pid=ended.pid, started=1)
    assert not elsewhere.dead(), "nobody here can know"
    assert owner.Owner(host=mine.host, boot="before", pid=mine.pid, started=mine.started).dead()
    assert owner.parse("something else") is None


class Relay:
    """A socket in front of the engine's, which can be cut like a cable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect("/var/run/docker.sock")
                self._ends += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        self.path.unlink(missing_ok=True)
        for end in (self._server, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.mark.docker
def test_an_engine_that_goes_away_is_a_broken_sandbox(opener: Opener, tree: Path, tmp_path: Path) -> None:
    if not Path("/var/run/docker.sock").exists():
        pytest.skip("the engine is not at the usual socket")
    relay = Relay(tmp_path / "relay.sock")
    opened = opener("docker", environ={**os.environ, "DOCKER_HOST": f"unix://{relay.path}"})
    opened.sandbox.prepare(Recipe(language="python"), tree)
    cable = threading.Timer(0.7, relay.cut)
    with opened.sandbox.open(tree) as session:
        cable.start()
        with pytest.raises(SandboxBroken, match="went away") as caught:
            session.run("sleep 20")
    cable.join()
    assert caught.value.exit_code == 4
    assert "--sandbox bubblewrap" in caught.value.hint
    assert left(opened), "an engine that is out of reach cannot be cleaned"
    import docker

    client = docker.from_env()
    try:
        for container in client.containers.list(all=True, filters={"label": f"acr.run={opened.run_id}"}):
            container.remove(force=True)
        for volume in client.volumes.list(filters={"label": f"acr.run={opened.run_id}"}):
            volume.remove(force=True)
    finally:
        client.close()


@pytest.mark.docker
def test_a_container_that_somebody_else_removes_is_no_failed_command(opener: Opener, tree: Path) -> None:
    import docker

    opened = opener("docker")
    opened.sandbox.prepare(Recipe(language="python"), tree)
    client = docker.from_env()

    def remove() -> None:
        running: dict[str, Any] = {"label": f"acr.run={opened.run_id}"}
        wait_until(lambda: client.containers.list(filters=running))
        for container in client.containers.list(filters=running):
            container.remove(force=True)

    somebody = threading.Thread(target=remove)
    with contextlib.closing(client), opened.sandbox.open(tree) as session:
        somebody.start()
        with pytest.raises(SandboxBroken, match="Somebody else has removed the container") as caught:
            session.run("sleep 20")
        somebody.join()
        assert session.run("echo alive").output == "alive\n"
    assert caught.value.exit_code == 4
    assert left(opened) == []


def test_an_engine_without_space_says_what_to_do() -> None:
    import docker.errors

    with (
        pytest.raises(SandboxBroken, match=r"could not take files: .*no space left") as caught,
        broken("take files"),
    ):
        raise docker.errors.APIError("500", explanation="write /acr/x: no space left on device")
    assert "docker system df" in caught.value.hint
    assert caught.value.exit_code == 4
