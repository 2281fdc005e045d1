"""A key is in no byte that a run writes, prints or sends, but in the header for the host of the config."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from acr_cli.errors import RequestRefused
from acr_cli.testing.answers import Answer, Refuse, Say, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import RIGHT, SLUG, result_of
from tests.models.conftest import candidate, line
from tests.security import canary

Acr = Callable[..., subprocess.CompletedProcess[str]]
KEY = "canary-4c1f0e7d9b2a5566"
STEAL = (
    "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat {home}/.env .env 2>&1;"
    " ls -la /proc/self/fd; cat $HOME/.acr/.env 2>&1; true"
)
TEST = SLUG["test_slug.py"] + (
    "\n\ndef test_tells_all_that_it_sees():\n    import os\n    print(dict(os.environ))\n"
    "    print(open('/proc/1/environ').read())\n"
)


def holding(folder: Path) -> list[str]:
    """Files below a folder whose name or content has the key."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if KEY in path.name or (path.is_file() and KEY.encode() in path.read_bytes())
    ]


def test_a_key_is_nowhere_but_where_it_belongs(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    theirs = "OPENAI_API_KEY=theirs\nMY_KEY=theirs\nOPENAI_API_BASE=http://192.0.2.1:9\nACR_SANDBOX=none\n"
    repo = git_repo({**SLUG, "test_slug.py": TEST, ".env": theirs, ".envrc": theirs, "env/.env": theirs})
    replies = iter(
        [
            Say(tool_calls=(call("run", {"command": STEAL.format(home=acr_home)}),)),
            Say(tool_calls=(call("edit", {"path": "slug.py", "search": SLUG["slug.py"], "replace": RIGHT}),)),
            Say(tool_calls=(call("run"),)),
            Say(tool_calls=(call("finish", {"summary": "Done."}),)),
        ]
    )

    def obeys(_: Request) -> Answer:
        return next(replies, Say(text="Done."))

    with LoopbackServer({"obedient": obeys}) as server:
        acr_home.mkdir(parents=True)
        (acr_home / ".env").write_text(f"MY_KEY={KEY}\n")
        (acr_home / "config.toml").write_text(
            '[[model]]\nid = "openai/obedient"\ntools = true\napi_key_env = "MY_KEY"\n'
            f'base_url = "{server.base_url}"\nprice = {{input = 1, output = 1}}\n'
        )
        options = ("--sandbox", "bubblewrap", "--model", "openai/obedient")
        done = acr("-v", "fix", "--json", *options, cwd=repo, env={"VIRTUAL_ENV": sys.prefix})
        requests = server.requests_for("obedient")
    assert result_of(done.stdout)["status"] == "fixed", done.stderr + done.stdout[-2000:]
    assert len(requests) >= 4
    assert {request.key for request in requests} == {KEY}
    told = json.dumps([request.messages for request in requests])
    assert "PATH=" in told  # the command did see an environment
    assert KEY not in told
    assert KEY not in done.stdout + done.stderr
    (acr_home / ".env").unlink()
    assert holding(acr_home) == holding(repo) == []


def test_a_provider_that_tells_the_key_back_tells_nobody(
    acr: Acr, acr_home: Path, broken: Path, pool: Callable[..., None]
) -> None:
    """What the commands print, and what they write, is searched by the fixture and as the test ends."""

    def echoes(request: Request) -> Answer:
        told = f"Incorrect API key provided: {request.key}. Headers: {dict(request.headers)}"
        return Refuse(status=401, message=told, code="invalid_api_key")

    with LoopbackServer({"echo": echoes}) as server:
        pool(server, {"echo": 1.0})
        done = acr("-v", "fix", "--json", "--sandbox", "none", "--model", "openai/echo", cwd=broken)
        tested = acr("-v", "models", "test", "openai/echo", cwd=broken)
        asked = server.requests_for("echo")
    assert (done.returncode, tested.returncode) == (5, 5), done.stderr
    assert {request.key for request in asked} == {canary.KEY}
    assert "Incorrect API key provided: ***" in done.stderr + done.stdout
    run = result_of(done.stdout)["run"]
    for command in (
        "doctor",
        "config show --origin",
        "models list",
        "runs list",
        f"runs show {run}",
        "memory stats",
    ):
        assert acr(*command.split(), cwd=broken, env={"ACR_SANDBOX": "none"}).returncode in (0, 4), command


def test_git_is_given_no_key(
    acr: Acr, acr_home: Path, broken: Path, pool: Callable[..., None], tmp_path: Path
) -> None:
    seen, programs = tmp_path / "seen", tmp_path / "programs"
    seen.mkdir()
    programs.mkdir()
    # GitPython asks for the version by itself; nothing that is configured runs for that.
    note = f'[ "$1" = version ] || {{ env; echo "$@"; }} >> {shlex.quote(str(seen))}/$$\n'
    note += f'exec {shutil.which("git")} "$@"\n'
    (programs / "git").write_text(f"#!/bin/sh\n{note}")
    (programs / "git").chmod(0o755)
    with LoopbackServer({"right": [Say(text=f"slug.py\n```\n{RIGHT}```\n")]}) as server:
        pool(server, {"right": 1.0})
        path = f"{programs}:{os.environ['PATH']}"
        options = ("--json", "--sandbox", "bubblewrap", "--model", "openai/right")
        done = acr("fix", *options, cwd=broken, env={"PATH": path})
    assert result_of(done.stdout)["status"] == "fixed", done.stderr
    assert len(list(seen.iterdir())) > 5


class Elsewhere(BaseHTTPRequestHandler):
    """Sends every request on to `/elsewhere` of another port, as a provider that is taken over might."""

    asked: list[str]
    to: str
    status: int

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.asked.append(f"{self.path} {self.headers}")
        self.send_response(self.status)
        self.send_header("Location", f"{self.to}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on stderr."""


@pytest.fixture
def sends_on() -> Iterator[Callable[[int, str], tuple[str, list[str]]]]:
    """Starts one of them: `sends_on(status, to) -> (its address, what it was asked)`."""
    servers = []

    def start(status: int, to: str) -> tuple[str, list[str]]:
        kind = type("Sending", (Elsewhere,), {"asked": [], "to": to, "status": status})
        server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", kind.asked  # type: ignore[attr-defined]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.usefixtures("litellm_is_imported")
@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("openai", "/v1"),
        ("anthropic", ""),
        ("gemini", "/v1beta/models/m"),
        ("ollama_chat", ""),
        ("xai", "/v1"),
    ],
)
def test_no_key_follows_a_redirect(
    sends_on: Callable[[int, str], tuple[str, list[str]]], model: str, path: str, status: int
) -> None:
    thief, stolen = sends_on(status, "http://127.0.0.1:9")
    provider, asked = sends_on(status, thief)
    asking = line({"MY_KEY": KEY})
    with pytest.raises(RequestRefused, match="sends requests on to another address") as caught:
        asking.ask(candidate(provider + path, model=f"{model}/m", api_key_env="MY_KEY"))
    assert "base_url" in caught.value.hint
    assert [KEY in each for each in asked] == [True]
    assert stolen == []
