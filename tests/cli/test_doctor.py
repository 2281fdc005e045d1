"""`acr doctor`: what it tries for real, and what `--fix` mends and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acr_cli.build.checking import try_limits
from acr_cli.cli.checks import Check, sandbox
from acr_cli.settings import Settings
from acr_cli.testing.answers import Say
from acr_cli.testing.loopback import LoopbackServer
from acr_cli.worktree.runs import new_run
from tests.conftest import DOCKER_IMAGE

QUICK = {"ACR_SANDBOX": "none"}  # nothing is tried inside a sandbox


def checked(acr: Callable[..., Any], *arguments: str, **more: Any) -> dict[str, dict[str, Any]]:
    done = acr("doctor", "--json", *arguments, **{"env": QUICK, **more})
    assert done.stderr == ""
    return {check["name"]: check for check in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(
    ("wanted", "image", "says"),
    [
        ("auto", None, "docker, if its image can be pulled, else bubblewrap"),
        ("auto", "named:1", "docker, if its image can be pulled"),
        ("docker", None, "docker, as configured, if its image can be pulled"),
        ("bubblewrap", None, "bubblewrap, as configured"),
    ],
)
def test_an_image_that_is_not_there_yet_is_no_promise(
    tmp_path: Path, wanted: str, image: str | None, says: str
) -> None:
    unpulled = Check(name="docker", state="ok", says="not there yet", hint="It is pulled.")
    engines = {"docker": unpulled, "bubblewrap": Check(name="bubblewrap", state="ok", says="/bin/bwrap")}
    assert sandbox(Settings(home=tmp_path, sandbox=wanted, image=image), engines).says == says


def test_limits_bind_inside_docker(docker_engine: Any, tmp_path: Path) -> None:
    tried = try_limits(Settings(home=tmp_path, sandbox="docker", image=DOCKER_IMAGE))
    assert (tried.sandbox, tried.loose) == ("docker", ())


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
def test_limits_bind_inside_bubblewrap(tmp_path: Path) -> None:
    tried = try_limits(Settings(home=tmp_path, sandbox="bubblewrap"))
    assert (tried.sandbox, tried.loose) == ("bubblewrap", ())


def test_a_network_that_is_open_is_seen(tmp_path: Path) -> None:
    routes = Path("/proc/net/route")
    if not routes.exists() or len(routes.read_text().splitlines()) < 2:
        pytest.skip("this machine has no network to be seen")
    assert try_limits(Settings(home=tmp_path, sandbox="none")).loose == ("network",)


def test_a_wrong_config_is_a_failed_check_and_the_others_are_made(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text("max_cots = 1\n")
    done = acr("doctor", env=QUICK)
    assert done.returncode == 3
    assert "line 1: unknown key 'max_cots'; did you mean 'max_cost'?" in done.stdout
    assert "embedder" in done.stdout


def test_keys_are_named_and_not_shown(acr) -> None:
    checks = checked(acr, env={**QUICK, "OPENAI_API_KEY": "sk-not-a-real-one"})
    assert checks["keys"]["says"] == "OPENAI_API_KEY"
    assert "sk-not" not in json.dumps(checks)


def test_online_asks_each_model_and_says_which_does_not_answer(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    with LoopbackServer({"mine": [Say(text="ready")]}) as server:
        (acr_home / "config.toml").write_text(
            f'[[model]]\nid = "openai/mine"\nbase_url = "{server.base_url}"\n'
            '[[model]]\nid = "openai/gone"\nbase_url = "http://127.0.0.1:9/v1"\n'
        )
        assert "openai/mine" not in checked(acr)
        done = acr("doctor", "--online", "--json", env=QUICK)
    checks = {check["name"]: check for check in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 4
    assert (checks["openai/mine"]["state"], checks["openai/gone"]["state"]) == ("ok", "missing")
    assert "cannot be reached" in checks["openai/gone"]["says"]


def test_fix_mends_what_is_safe(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / ".env").write_text("A_KEY=1\n")
    (acr_home / ".env").chmod(0o644)
    run, lock = new_run(acr_home, repository=acr_home, task="")
    (run.path / "tree").mkdir()
    lock.release()  # as the kernel does when a process is killed
    before = checked(acr)
    assert (before["keys"]["state"], before["leftovers"]["state"]) == ("note", "note")
    assert before["leftovers"]["fixable"]
    assert run.id in before["leftovers"]["says"]
    after = checked(acr, "--fix")
    assert (after["keys"]["state"], after["leftovers"]["state"]) == ("ok", "ok")
    assert (acr_home / ".env").stat().st_mode & 0o777 == 0o600
    assert not (run.path / "tree").exists()
    assert checked(acr)["leftovers"]["says"] == "no dead run has left anything"


def test_a_run_at_work_is_no_leftover(acr, acr_home: Path) -> None:
    run, lock = new_run(acr_home, repository=acr_home, task="")
    (run.path / "tree").mkdir()
    try:
        assert checked(acr, "--fix")["leftovers"]["state"] == "ok"
    finally:
        lock.release()
    assert (run.path / "tree").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_with_consent_only(acr, acr_home: Path, tmp_path: Path, shell: str) -> None:
    env = {**QUICK, "SHELL": f"/usr/bin/{shell}", "HOME": str(tmp_path), "ACR_HOME": str(acr_home)}
    unasked = checked(acr, "--fix", env=env)["completion"]
    if unasked["state"] == "ok":
        pytest.skip(f"acr's completion of {shell} is installed on this machine")
    assert "yes" in unasked["hint"]
    installed = checked(acr, "--fix", "--yes", env=env)["completion"]
    assert (installed["state"], installed["says"].startswith("mended: wrote ")) == ("ok", True)
    place = Path(installed["says"].removeprefix("mended: wrote ").partition(";")[0])
    assert place.read_text() == acr("completion", shell).stdout
    assert checked(acr, env=env)["completion"]["says"] == f"{shell}: {place}"


@pytest.mark.shells
@pytest.mark.parametrize("mine", ["", "# mine\nautoload -Uz compinit\ncompinit -u\n"], ids=["none", "own"])
def test_a_new_zsh_completes_once_it_was_told(acr, acr_home: Path, tmp_path: Path, mine: str) -> None:
    (tmp_path / ".zshrc").write_text(mine)
    env = {**QUICK, "SHELL": "/usr/bin/zsh", "HOME": str(tmp_path), "ACR_HOME": str(acr_home)}
    for _ in range(2):
        checked(acr, "--fix", "--yes", env={**env, "ZDOTDIR": str(tmp_path)})
    said = (tmp_path / ".zshrc").read_text()
    assert (said.count(".zfunc"), said.count("compinit"), mine in said) == (1, 2, True)
    asked = ["zsh", "-ic", "print -r -- known=$_comps[acr]"]
    done = subprocess.run(
        asked,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ZDISABLE_COMPFIX": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "known=_acr" in done.stdout, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="root is told from others by capabilities")
def test_a_home_that_cannot_be_read_is_a_finding_like_others(acr_home: Path) -> None:
    (acr_home / "runs").mkdir(parents=True)
    acr_home.chmod(0o000)
    command = [str(Path(sys.executable).parent / "acr"), "doctor", "--json"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    try:
        environ = {**os.environ, **QUICK}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    finally:
        acr_home.chmod(0o700)
    checks = {check["name"]: check for check in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, done.stderr) == (3, "")
    for name in ("config", "home", "disk"):
        assert (checks[name]["state"], str(acr_home) in checks[name]["says"]) == ("missing", True)
    assert checks["terminal"]["state"]


def test_yes_without_fix_is_refused(acr) -> None:
    assert acr("doctor", "--yes").returncode == 2


def test_a_damaged_policy_model_is_named(acr, acr_home: Path) -> None:
    (acr_home / "policies" / "bad").mkdir(parents=True)
    (acr_home / "policies" / "bad" / "card.json").write_text("{")
    found = checked(acr)["policy"]
    assert (found["state"], "bad: " in found["says"]) == ("note", True)
    assert "acr train policy" in found["hint"]
