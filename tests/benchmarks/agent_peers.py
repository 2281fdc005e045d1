"""The programs that are compared, each with its best documented settings for a run without a person.

The others are installed from PyPI, each into an environment of its own below a cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.agent_oracle import Sample

AIDER = "aider-chat==0.86.2"
MINI = "mini-swe-agent==2.4.6"
MODEL = "openai/gpt-4o"
"""The name that the oracle goes by: all three know it, and have their best settings for it."""

_TEST = f"{sys.executable} -m pytest -q"


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A program under measurement. `speaks` names its format to the oracle."""

    name: str
    speaks: str
    package: str = ""  # "": acr itself
    names_files: bool = False  # the user names the files that are to be changed
    sandbox: str = ""
    edits: str = ""  # how acr lets the model write edits

    def command(self, sample: Sample, peers: Path) -> list[str]:
        match self.speaks:
            case "acr":
                acr = str(Path(sys.executable).with_name("acr"))
                return [acr, "fix", sample.text, "--model", MODEL, "--sandbox", self.sandbox, "--yes"]
            case "aider":
                # Commit messages would be asked of a model, too: they are left out.
                plain = ("--no-auto-commits", "--no-check-update", "--no-pretty", "--no-gitignore")
                quiet = ("--analytics-disable", "--no-show-model-warnings", "--no-detect-urls")
                told = ("--yes-always", "--auto-test", "--test-cmd", _TEST, *plain, *quiet)
                named = [path for path in sample.after if self.names_files]
                return [self._at(peers, "aider"), "--model", MODEL, *told, "--message", sample.text, *named]
            case _:
                told = ("--yolo", "--exit-immediately", "-m", MODEL, "-o", "last.traj.json")
                return [self._at(peers, "mini"), *told, "-t", sample.text]

    def _at(self, peers: Path, command: str) -> str:
        return str(environment(peers, self.package) / "bin" / command)

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """What the program finds in its environment; `url` is the oracle's."""
        found = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(home),
            "ACR_HOME": str(home / "acr"),
            "VIRTUAL_ENV": sys.prefix,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "OPENAI_API_KEY": "sk-oracle",
            "OPENAI_API_BASE": url,
            # Nobody waits for a network that may not be there.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_GLOBAL_CONFIG_DIR": str(home / "mini"),
        }
        if self.speaks == "acr":
            self._configure(home / "acr", url)
        return found

    def _configure(self, home: Path, url: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        price = "{input = 2.5, output = 10}"
        lines = [
            "exploration = 0.0",
            "[[model]]",
            f"id = {json.dumps(MODEL)}",
            f"base_url = {json.dumps(url)}",
            'api_key_env = "OPENAI_API_KEY"',
            f"price = {price}",
            # A server on this machine passes for a small model, which would write whole files.
            f"edit = {json.dumps(self.edits)}",
        ]
        (home / "config.toml").write_text("\n".join(lines) + "\n")


PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(name="acr", speaks="acr", sandbox="none", edits="tools"),
        Program(name="acr, in a sandbox", speaks="acr", sandbox="bubblewrap", edits="tools"),
        Program(name="acr, in text", speaks="acr", sandbox="none", edits="search-replace"),
        Program(name="aider", speaks="aider", package=AIDER),
        Program(name="aider, files named", speaks="aider", package=AIDER, names_files=True),
        Program(name="mini-swe-agent", speaks="mini", package=MINI),
    )
}


def environment(peers: Path, package: str) -> Path:
    return peers / package.replace("==", "-")


def install(peers: Path, packages: Sequence[str]) -> None:
    """An environment for each package that has none yet. Raises: CalledProcessError."""
    for package in packages:
        folder = environment(peers, package)
        stamp = folder / ".complete"
        if stamp.exists():
            continue
        print(f"installing {package} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
        ]
        subprocess.run([*pip, package], check=True)
        stamp.touch()
