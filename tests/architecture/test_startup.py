"""The commands that answer at once load none of the slow libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = (
    *("litellm", "chromadb", "docker", "git", "onnxruntime", "tokenizers", "numpy"),
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
    report = tmp_path / "report.json"

    ended = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join([str(report), *SLOW]), *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert report.exists(), ended.stderr
    told = json.loads(report.read_text())
    assert (told["code"] or 0, told["loaded"]) == (exit_code, []), ended.stderr


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
