"""The commands that answer at once load none of the slow libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SLOW = (
    *("litellm", "chromadb", "docker", "git", "onnxruntime", "tokenizers", "numpy"),
    "prompt_toolkit",
    *("torch", "sentence_transformers", "transformers", "peft"),
)
# Runs the program as its entry point does, and says afterwards which of the modules are loaded.
PROBE = """
import json, sys
report, *modules = sys.argv[1].split(",")
sys.argv = ["acr", *sys.argv[2:]]
from acr_cli.cli.main import main
try:
    code = main()
except SystemExit as end:
    code = end.code
with open(report, "w") as file:
    json.dump({"code": code, "loaded": [name for name in modules if name in sys.modules]}, file)
"""


# What short commands have no use for: Typer's conversion by pydantic, tables, HTTP, and the loop itself.
IDLE = ("pydantic", "rich", "http.client", "acr_cli.caf", "acr_cli.records", "acr_cli.build.fixing")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["config", "show"], id="config-show"),
        pytest.param(["config", "set", "max_cost", "1"], id="config-set"),
        pytest.param(["completion", "--values", "models"], id="models-at-tab"),
        pytest.param(["completion", "--values", "known"], id="known-at-tab"),
        pytest.param(["completion", "--values", "runs"], id="runs-at-tab"),
    ],
)
def test_short_commands_load_little(arguments: list[str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        '[[model]]\nid = "anthropic/claude-opus-4-6"\neffort = ["low", "high"]\n'
    )
    assert probed(arguments, IDLE, tmp_path, {"ACR_HOME": str(home)}) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        pytest.param(["--help"], 0, id="help"),
        pytest.param(["--version"], 0, id="version"),
        pytest.param(["fix", "--no-such-flag"], 2, id="argument-error"),
        pytest.param(["completion", "bash"], 0, id="completion"),
        pytest.param(["memory", "--help"], 0, id="help-of-a-group"),
        pytest.param(["config", "path"], 0, id="config"),
    ],
)
def test_nothing_slow_is_loaded(arguments: list[str], exit_code: int, tmp_path: Path) -> None:
    assert probed(arguments, SLOW, tmp_path, {}) == (exit_code, [])


def probed(
    arguments: Sequence[str], modules: Sequence[str], folder: Path, env: Mapping[str, str]
) -> tuple[int, list[str]]:
    """The exit code of a command, and which of the modules it had loaded at its end."""
    report = folder / "report.json"
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join([str(report), *modules]), *arguments],
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert report.exists(), ended.stderr
    told = json.loads(report.read_text())
    return told["code"] or 0, told["loaded"]


def test_the_program_starts_as_a_module_too(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "acr_cli", "--version"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
