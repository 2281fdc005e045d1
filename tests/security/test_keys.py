"""A key is in no byte that a run writes, prints or sends, but in the header for the host of the config."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from acr_cli.cli.invocation import Invocation
from acr_cli.cli.main import guarded
from acr_cli.errors import AuthenticationFailed, ConfigurationError, RequestRefused
from acr_cli.memory.chroma import ServerFailed, failures
from acr_cli.settings import load
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
        unusual = {"DSN": f"postgres://ada:{canary.KEY}@example.org/x", "PGPASSWORD": canary.KEY}
        done = acr("fix", *options, cwd=broken, env={"PATH": path, **unusual})
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


# --- in settings ------------------------------------------------------------------------------------------

SHAPED = f"sk-{canary.drawn()}"
MISPLACED = {
    "a key in an address": f'[[model]]\nid = "openai/m"\nbase_url = "https://example.org/v1?key={SHAPED}"\n',
    "a key of no known shape": '[[model]]\nid = "openai/m"\nbase_url = "https://example.org/v1?api-key=KEY"\n',
    "a key in a path": f'[[model]]\nid = "openai/m"\nbase_url = "https://example.org/{SHAPED}/v1"\n',
    "a password": '[[model]]\nid = "openai/m"\nbase_url = "https://ada:KEY@example.org/v1"\n',
    "the key for its variable": f'[[model]]\nid = "openai/m"\napi_key_env = "{SHAPED}"\n',
    "a key that could be a name": '[[model]]\nid = "openai/m"\napi_key_env = "ghp_0KEY"\n',
    "the token for its variable": f'[memory]\ntoken_env = "{SHAPED}"\n',
    "a number that is a key": f'max_cost = "{SHAPED}"\n',
}


@pytest.mark.parametrize("text", MISPLACED.values(), ids=MISPLACED)
def test_a_key_in_a_setting_that_is_for_none_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    key = SHAPED.removeprefix("sk-")
    (tmp_path / "config.toml").write_text(text.replace("KEY", key))
    with pytest.raises(ConfigurationError, match=r"config\.toml, line \d") as caught:
        load(config=tmp_path / "config.toml", environ={"ACR_HOME": str(tmp_path)})
    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    assert key not in told


def test_what_settings_hold_is_shown_without_keys(acr: Acr, acr_home: Path, tmp_path: Path) -> None:
    acr_home.mkdir(parents=True)
    key = SHAPED.removeprefix("sk-")
    (acr_home / ".env").write_text(f"MY_KEY={key}\n")
    config = (
        f'setup = "pip install --index-url https://ada:{key}@example.org/simple x"\n'
        f'test = "API_KEY={SHAPED} pytest"\n[memory]\nurl = "https://{key}@example.org:1"\n'
        '[[model]]\nid = "openai/m"\napi_key_env = "MY_KEY"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    (acr_home / "config.toml").write_text(config)
    shown = acr("config", "show", cwd=tmp_path).stdout
    for line_ in (
        "https://[password]@example.org/simple x",
        "API_KEY=[key] pytest",
        "https://[password]@example.org:1",
    ):
        assert line_ in shown
    for command in (
        "config show --origin",
        "config get setup",
        "models list",
        "models list --json",
        "models test",
        "doctor --json",
        "completion --values models",
        "memory sync",
        f"models add openai/x --api-key-env {SHAPED}",
        f"models add openai/x --base-url https://ada:{key}@example.org/v1",
        f"config set memory.token_env {SHAPED}",
        f"config set setup curl\xa0-u\xa0ada:{key}",
    ):
        done = acr(*(word.replace("\xa0", " ") for word in command.split(" ")), cwd=tmp_path)
        assert key not in done.stdout + done.stderr, command
        assert "Traceback" not in done.stderr, command


@pytest.mark.parametrize("verbose", [False, True])
def test_a_crash_tells_no_key(
    acr_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verbose: bool,
) -> None:
    acr_home.mkdir(parents=True)
    (acr_home / ".env").write_text(f"MY_KEY={KEY}\n")
    unusual = canary.drawn()
    monkeypatch.setenv("UNUSUAL", f"https://{unusual}@example.org")
    monkeypatch.setenv("DATABASE_PASSWORD", unusual)

    def breaks(arguments: list[str], invocation: Invocation) -> int:
        raise RuntimeError(f"{KEY} {SHAPED} https://ada:{unusual}@example.org {unusual} and more")

    assert guarded([], Invocation(verbose=verbose), breaks) == 1
    (trace,) = (acr_home / "logs").iterdir()
    told = capsys.readouterr().err + trace.read_text()
    assert "and more" in told
    assert ("Traceback" in trace.read_text(), "in breaks" in trace.read_text()) == (True, True)
    assert [key for key in (KEY, SHAPED, unusual) if key in told] == []


@pytest.mark.usefixtures("litellm_is_imported")
@pytest.mark.parametrize("model", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("key", ["canary\nkey", "\u201ccanary-key\u201d", "canary\0key", "\n"])
def test_what_can_be_no_key_is_refused_and_not_repeated(model: str, key: str) -> None:
    with LoopbackServer({"m": []}) as server:
        places = {"openai": server.base_url, "anthropic": server.root_url, "gemini": server.gemini_url("m")}
        with pytest.raises(AuthenticationFailed, match="MY_KEY holds no key") as caught:
            line({"MY_KEY": key}).ask(candidate(places[model], model=f"{model}/m", api_key_env="MY_KEY"))
        assert server.requests == []
    assert "canary" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.usefixtures("litellm_is_imported")
def test_a_key_with_a_line_break_after_it_is_the_key() -> None:
    with LoopbackServer({"m": [Say(text="Hello.")]}, key=KEY) as server:
        line({"MY_KEY": f"{KEY}\r\n"}).ask(candidate(server.base_url, api_key_env="MY_KEY", model="openai/m"))


# --- of git -----------------------------------------------------------------------------------------------

TOKENS = {
    name: canary.drawn(tag=canary.KEY)
    for name in ("remote", "user", "helper", "header", "askpass", "instead", "message", "variable")
}
LOOKING = (
    "git config --list --show-origin; git remote -v; git log --all --format=%B; cat .git/config .git/*HEAD*;"
    " env; echo $GIT_ASKPASS; cat /proc/*/cmdline | tr '\\0' ' ';"
    " find . .. -maxdepth 4 -name config 2>/dev/null | xargs cat; true"
)
ALL = SLUG["test_slug.py"]


def with_credentials(git_repo: Callable[..., Path], programs: Path) -> Path:
    """A repository in whose history words are joined, and in whose files they are not any more.

    git's passwords are in each place that it has for them."""
    repo = git_repo(
        {**SLUG, "test_slug.py": ALL.replace(ALL[ALL.index("def test_words") : ALL.index("def test_no")], "")}
    )
    settings = {
        "remote.origin.url": f"https://ada:{TOKENS['remote']}@example.org/x.git",
        "remote.two.url": f"https://{TOKENS['user']}@example.org/x.git",
        "credential.helper": f"!f() {{ echo password={TOKENS['helper']}; }}; f",
        "http.extraHeader": f"Authorization: Basic {TOKENS['header']}",
        f"url.https://ada:{TOKENS['instead']}@example.org/.insteadOf": "https://example.org/",
    }
    for key, value in settings.items():
        subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    for name, text in {"slug.py": RIGHT, "test_slug.py": ALL}.items():
        (repo / name).write_text(text)
    said = f"Tried with sk-{TOKENS['message']} and https://ada:{TOKENS['remote']}@example.org/x, as before."
    subprocess.run(
        ["git", "commit", "-qam", f"sk-{TOKENS['message']}: join the words\n\n{said}"], cwd=repo, check=True
    )
    (repo / "slug.py").write_text(SLUG["slug.py"])
    programs.mkdir()
    (programs / "asks").write_text(f"#!/bin/sh\necho {TOKENS['askpass']}\n")
    (programs / "asks").chmod(0o755)
    return repo


def looks_and_mends(request: Request) -> Answer:
    """A model that looks for all that git knows, and then does its work."""
    said = sum(message["role"] == "assistant" for message in request.messages)
    edit = {"path": "slug.py", "search": SLUG["slug.py"], "replace": RIGHT}
    does = (call("run", {"command": LOOKING}), call("edit", edit), call("finish", {"summary": "Done."}))
    return Say(tool_calls=(does[said],)) if said < len(does) else Say(text="Done.")


AFTERWARDS: tuple[tuple[str, ...], ...] = (
    ("warm", "--dry-run", "--json", "--sandbox", "bubblewrap"),
    ("runs", "show"),
    ("memory", "list"),
    ("memory", "report", "-o", "report.html"),
    ("completion", "--values", "runs"),
    ("completion", "--values", "outcomes"),
)


@contextlib.contextmanager
def overlooked(search: canary.Search) -> Iterator[list[str]]:
    """The command lines with a key that this machine's processes have meanwhile."""
    found: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if search.hits(line := path.read_bytes()):
                        found.append(line.decode(errors="replace"))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield found
    over.set()
    thread.join()


def test_no_password_of_git_and_no_key_of_an_unusual_variable_is_told(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path], tmp_path: Path, pool: Callable[..., None]
) -> None:
    repo = with_credentials(git_repo, tmp_path / "programs")
    search = canary.Search(*TOKENS.values())
    environ = {
        "GIT_ASKPASS": f"{tmp_path}/programs/asks",
        "UNUSUAL": f"ghp_{TOKENS['variable']}",
        "DSN": f"postgres://ada:{TOKENS['variable']}@example.org/x",
        "VIRTUAL_ENV": sys.prefix,
    }
    told: list[str] = []

    def run(*command: str) -> str:
        done = acr(*command, cwd=repo, env=environ)
        told.append(f"{command} {done.stdout} {done.stderr}")
        return done.stdout

    with LoopbackServer({"looks": looks_and_mends}) as server, overlooked(search) as seen:
        pool(server, {"looks": 1.0})
        config = acr_home / "config.toml"
        config.write_text(config.read_text().replace("[[model]]", "[[model]]\ntools = true"))
        options = ("--sandbox", "bubblewrap", "--model", "openai/looks")
        fixed = result_of(run("-v", "fix", "--json", *options))
        warmed = run("-v", "warm", "--max-cost", "1", *options)
        for command in AFTERWARDS:
            run(*command)
    sent = [json.dumps(request.body) for request in server.requests]
    assert (fixed["status"], fixed["verified"]) == ("fixed", True)
    assert "Tried with [key]" in sent[-1], warmed  # the past task was asked for, without its key
    assert all("PATH=" in each for each in (sent[1], sent[-1]))
    report = (repo / "report.html").read_text()
    assert [each for each in (*told, *sent, report) if search.hits(each.encode())] == []
    assert (list(canary.holding(acr_home, search)), seen) == ([], [])


# --- of proxies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("HTTPS_PROXY", f"http://ada:{KEY}/1@127.0.0.1:9", "is no proxy that can be used"),
        ("ALL_PROXY", f"ftp://ada:{KEY}@127.0.0.1:9", "is no proxy that can be used"),
        ("all_proxy", f"socks5://ada:{KEY}@127.0.0.1:9", "package socksio"),
        ("SSL_CERT_FILE", "/nowhere", "no certificates can be read there"),
    ],
)
def test_what_the_environment_has_wrong_is_named_and_not_repeated(
    acr: Acr, broken: Path, pool: Callable[..., None], *, variable: str, value: str, says: str
) -> None:
    with LoopbackServer({"m": []}) as server:
        pool(server, {"m": 1.0})
        done = acr("-v", "models", "test", "openai/m", cwd=broken, env={variable: value})
    assert (done.returncode, variable in done.stderr, says in done.stderr) == (3, True, True), done.stderr
    assert KEY[:10] not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_proxy_that_the_team_memory_cannot_use_is_not_repeated() -> None:
    with pytest.raises(ServerFailed) as caught, failures("example.org"):
        raise httpx.InvalidURL(f"Invalid port: {KEY!r}")
    assert "proxy" in caught.value.message
    assert KEY not in "".join(traceback.format_exception(caught.value))
