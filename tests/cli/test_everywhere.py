"""Locales, terminals of any width and kind, and paths that are hard to spell."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pexpect
import pytest

PROGRAM = Path(sys.executable).parent / "acr"
QUICK = {"ACR_SANDBOX": "none"}
# A locale of ASCII that Python is kept from replacing by one of UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
COMMANDS = [
    "-h",
    "fix -h",
    "config show",
    "models list",
    "models list --known",
    "doctor",
    "runs list",
]
ESCAPE = "\x1b["


@pytest.mark.parametrize("locale", [ASCII, {"LC_ALL": "POSIX"}], ids=["ascii", "posix"])
def test_every_locale_is_spoken(acr, acr_home: Path, locale: Mapping[str, str]) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text('test = "prüfe — alles"\n', encoding="utf-8")
    for command in COMMANDS:
        done = acr(*command.split(), env={**QUICK, **locale})
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout


def test_a_fix_and_its_undo_among_names_that_are_hard_to_spell(
    acr, git_repo: Callable[..., Path], tmp_path: Path
) -> None:
    name = "größe & mehr/maß 'n' \"so\".py"
    files = {
        name: "def clamp(x, low, high):\n    return low if x > high else max(x, low)\n",
        "tests/test_größe.py": (
            "import runpy\nclamp = runpy.run_path('größe & mehr/maß \\'n\\' \"so\".py')['clamp']\n\n"
            "def test_high():\n    assert clamp(9, 0, 5) == 5\n\n"
            "def test_low():\n    assert clamp(-1, 0, 5) == 0\n"
        ),
    }
    repo = git_repo(files).rename(tmp_path / 'it\'s a "täst" $dir (1)')
    env = {**QUICK, **ASCII, "ACR_HOME": str(tmp_path / "hö me")}
    done = acr("fix", "--yes", "--json", cwd=repo, env=env, timeout=240)
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["status"], result["files"]) == ("fixed", [name]), done.stderr
    assert "high if x > high" in (repo / name).read_text()
    assert "could not be built" not in done.stderr
    assert acr("undo", cwd=repo, env=env).returncode == 0
    assert (repo / name).read_text() == files[name]


def on_terminal(command: str, *, columns: int, env: Mapping[str, str], cwd: Path) -> str:
    """What a terminal of this width is sent."""
    child = pexpect.spawn(
        str(PROGRAM),
        command.split(),
        encoding="utf-8",
        timeout=60,
        dimensions=(24, columns),
        cwd=str(cwd),
        env={**os.environ, **QUICK, "TERM": "xterm-256color", **env},
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return str(child.before)


@pytest.mark.parametrize("columns", [20, 300])
def test_narrow_and_wide_terminals_lose_nothing(acr_home: Path, tmp_path: Path, columns: int) -> None:
    shown = on_terminal("doctor", columns=columns, env={}, cwd=tmp_path)
    for word in ("python", "embedder", "minilm", "terminal"):
        assert word in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal("models list", columns=columns, env={}, cwd=tmp_path))
    assert "builtin/repair" in "".join(plain.split())


@pytest.mark.parametrize(
    ("env", "flags", "colours"),
    [
        ({}, "", True),
        ({"NO_COLOR": "1"}, "", False),
        ({"TERM": "dumb"}, "", False),
        ({}, " --no-color", False),
    ],
    ids=["usual", "NO_COLOR", "dumb", "flag"],
)
def test_colour_is_sent_where_it_is_wanted(
    acr_home: Path, tmp_path: Path, env: dict[str, str], flags: str, colours: bool
) -> None:
    shown = on_terminal(f"models list{flags}", columns=100, env=env, cwd=tmp_path)
    assert (ESCAPE in shown) == colours
    assert "builtin/repair" in shown


def test_nothing_is_said_by_colour_alone(acr, acr_home: Path, tmp_path: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text('[[model]]\nid = "anthropic/claude-opus-4-6"\n')
    env: dict[str, Any] = {**QUICK}
    plain = acr("models", "list", env={**env, "NO_COLOR": "1"}).stdout
    coloured = acr("models", "list", env={**env, "FORCE_COLOR": "1"}).stdout
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "no key" in plain
