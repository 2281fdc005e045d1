"""Engines that are not behind the usual socket: another address, a context, a rootless one, Podman."""

from __future__ import annotations

import hashlib
import json
import os
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acr_cli.protocols import Recipe
from acr_cli.sandbox.engine import own_sockets
from tests.sandbox.conftest import Opener


def _forward(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until both have ended; one side may end before the other."""
    ways = {one: other, other: one}
    while ways:
        for ready in select.select(list(ways), [], [])[0]:
            try:
                data = ready.recv(1 << 16)
                ways[ready].sendall(data)
            except OSError:
                data = b""
            if not data:
                try:
                    ways.pop(ready).shutdown(socket.SHUT_WR)
                except OSError:
                    ways.clear()
    one.close()
    other.close()


@pytest.fixture
def address() -> Iterator[str]:
    """The real engine on a TCP port: nothing of this machine's files is behind it."""
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not engine.startswith("unix://"):
        pytest.skip("needs an engine behind a local socket")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            behind = socket.socket(socket.AF_UNIX)
            behind.connect(engine.removeprefix("unix://"))
            threading.Thread(target=_forward, args=(caller, behind), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


@pytest.mark.docker
@pytest.mark.parametrize("named_by", ["variable", "context"])
def test_an_engine_elsewhere_gets_its_files_through_the_api(
    opener: Opener,
    tree: Path,
    tmp_path: Path,
    address: str,
    *,
    named_by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if named_by == "variable":
        monkeypatch.setenv("DOCKER_HOST", address)
    else:
        folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"away").hexdigest()
        folder.mkdir(parents=True)
        meta = {"Name": "away", "Metadata": {}, "Endpoints": {"docker": {"Host": address}}}
        (folder / "meta.json").write_text(json.dumps(meta))
        (tmp_path / "config.json").write_text(json.dumps({"currentContext": "away"}))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        monkeypatch.delenv("DOCKER_HOST", raising=False)
    sandbox = opener("docker").sandbox
    assert sandbox.engine.client.api.base_url == address.replace("tcp", "http")  # type: ignore[attr-defined]
    sandbox.prepare(Recipe(language="python"), tree)
    with sandbox.open(tree) as session:
        assert session.run("cat plain.txt; echo more > new; exit 3").exit_code == 3
        assert session.get("new") == b"more\n"


def test_a_users_own_engine_is_looked_for_unless_one_is_named(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    assert not [place for place in own_sockets(environ) if str(tmp_path) in place]
    with socket.socket(socket.AF_UNIX) as docker, socket.socket(socket.AF_UNIX) as podman:
        docker.bind(f"{tmp_path}/docker.sock")
        (tmp_path / "podman").mkdir()
        podman.bind(f"{tmp_path}/podman/podman.sock")
        found = [f"unix://{tmp_path}/docker.sock", f"unix://{tmp_path}/podman/podman.sock"]
        assert own_sockets(environ)[:2] == found
        assert own_sockets({**environ, "DOCKER_HOST": "tcp://elsewhere:1"}) == []
        assert own_sockets({**environ, "DOCKER_CONTEXT": "away"}) == []
        (tmp_path / ".docker").mkdir()
        (tmp_path / ".docker" / "config.json").write_text('{"currentContext": "away"}')
        assert own_sockets(environ) == []
