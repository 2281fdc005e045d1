"""An interrupt at the worst of moments leaves nothing: while something is made, while all is removed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import Recipe, Session
from tests.sandbox.conftest import EVERY, IMAGE, Opener
from tests.sandbox.test_leftovers import (
    ROOT,
    RUNNER,
    Relay,
    alive,
    left,
    left_in_engine,
    running,
    wait_until,
)


@pytest.mark.parametrize("name", EVERY)
def test_who_interrupts_again_and_again_leaves_nothing(opener: Opener, name: str, tree: Path) -> None:
    opened = opener(name)
    with running(opened, tree, f"marker-{opened.run_id}", "busy") as process:
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)  # the first one is being answered
        process.communicate(timeout=60)
    assert left(opened) == []
    assert not alive(f"# marker-{opened.run_id}")


@pytest.mark.parametrize("name", EVERY)
def test_a_session_that_ends_kills_what_another_thread_runs_in_it(
    opener: Opener, name: str, tree: Path
) -> None:
    opened = opener(name)
    opened.sandbox.prepare(Recipe(language="python"), tree)
    marker = f"marker-{opened.run_id}"
    with opened.sandbox.open(tree) as session:
        thread = threading.Thread(target=_quietly, args=(session, f"sleep 100 # {marker}"))
        thread.start()
        wait_until(lambda: alive(f"# {marker}"))
    thread.join(20)
    assert not thread.is_alive()
    assert left(opened) == []
    wait_until(lambda: not alive(f"# {marker}"))
    with pytest.raises(SandboxBroken):
        session.run("true")
    assert left(opened) == []


def _quietly(session: Session, command: str) -> None:
    with contextlib.suppress(SandboxBroken):
        session.run(["sh", "-c", command])


class Treacherous(Relay):
    """A line to the engine: the request that is named brings an interrupt before it is answered."""

    def __init__(self, path: Path, request: str, which: int) -> None:
        self.pid = 0
        self.seen = 0
        self._request = re.compile(request.encode())
        self._which = which
        super().__init__(path)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            missing = -1  # bytes of the request's body; -1 where it is another request
            while data := source.recv(1 << 16):
                if self.pid and self._request.match(data):
                    self.seen += 1
                    if self.seen == self._which:
                        head, _, body = data.partition(b"\r\n\r\n")
                        length = re.search(rb"(?i)content-length: (\d+)", head)
                        missing = int(length[1]) - len(body) if length else 0
                elif missing > 0:
                    missing -= len(data)
                target.sendall(data)
                if missing == 0:
                    os.kill(self.pid, signal.SIGINT)
                    missing = -1
            target.shutdown(socket.SHUT_WR)


MOMENTS = {
    "a volume is made": (r"POST /v[\d.]+/volumes/create", 1),
    "the container for files is made": (r"POST /v[\d.]+/containers/create", 1),
    "the tree is put": (r"PUT /v[\d.]+/containers/.*/archive", 1),
    "the container of a command is made": (r"POST /v[\d.]+/containers/create", 2),
    "a command is attached": (r"POST /v[\d.]+/containers/.*/attach", 1),
    "a command is started": (r"POST /v[\d.]+/containers/.*/start", 1),
    "a command is removed": (r"DELETE /v[\d.]+/containers/", 1),
    "a volume is removed": (r"DELETE /v[\d.]+/volumes/", 1),
}


@pytest.fixture
def _socket() -> None:
    if not Path("/var/run/docker.sock").exists():
        pytest.skip("the engine is not at the usual socket")


@pytest.mark.docker
@pytest.mark.usefixtures("_socket")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_while_the_engine_is_at_work_leaves_nothing(
    opener: Opener, tree: Path, tmp_path: Path, moment: str
) -> None:
    opened = opener("docker")
    relay = Treacherous(tmp_path / "relay.sock", *MOMENTS[moment])
    program = RUNNER.replace("time.sleep(100)", "None").replace(
        "with sandbox.open", "input()\n    with sandbox.open"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "docker",
            opened.run_id,
            str(opened.home),
            str(tree),
            IMAGE,
            "m",
            "busy",
        ],
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": f"unix://{relay.path}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    relay.pid = process.pid
    said, _ = process.communicate("\n", timeout=60)
    relay.cut()
    assert relay.seen >= relay._which, "the moment came"
    assert said.endswith("interrupted\n")
    assert left_in_engine(opened.run_id) == []


def interrupted(**how: float) -> None:
    with uninterrupted(**how):  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)
        raise LookupError  # the end of the block


def test_what_is_held_back_comes_afterwards_or_once_patience_is_over() -> None:
    with pytest.raises(KeyboardInterrupt) as late:
        interrupted()
    assert isinstance(late.value.__context__, LookupError)
    with pytest.raises(LookupError):
        interrupted(heed=False)
    with pytest.raises(KeyboardInterrupt) as at_once:
        interrupted(patience=-1)
    assert at_once.value.__context__ is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
