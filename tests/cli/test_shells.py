"""Completion as a person meets it: Tab, typed in the real shells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

COMPLETIONS = Path(__file__).parents[2] / "completions"
PROMPT = "READY:"

pytestmark = pytest.mark.shells

CASES = [
    ("acr mem", "acr memory"),
    ("acr fix --sand", "acr fix --sandbox"),
    ("acr fix --sandbox bub", "acr fix --sandbox bubblewrap"),
    ("acr fix --dry", "acr fix --dry-run"),
    ("acr -v route --expl", "acr -v route --explain"),
    ("acr memory st", "acr memory stats"),
    ("acr memory list --verd", "acr memory list --verdict"),
    ("acr -C . config se", "acr -C . config set"),
    ("acr config set max_st", "acr config set max_steps"),
    ("acr config set sandbox bub", "acr config set sandbox bubblewrap"),
    ("acr config set commit tr", "acr config set commit true"),
    ("acr models remove openai/m", "acr models remove openai/mine"),
    ("acr completion zs", "acr completion zsh"),
    ("acr fix --model openai/m", "acr fix --model openai/mine"),
    ("acr fix --allow openai/mine,ollama/q", "acr fix --allow openai/mine,ollama/qwen:8b"),
    ("acr fix --model ollama/qwen:", "acr fix --model ollama/qwen:8b"),
    ("acr runs show 2026", "acr runs show 20260102-000000-abcd"),
    ("acr models test openai/m", "acr models test openai/mine"),
    ("acr fix --network=o", "acr fix --network=on"),
    ("acr fix --issue some-iss", "acr fix --issue some-issue.txt"),
    ("acr memory list --dimension bug", "acr memory list --dimension bug_fixing"),
    ("acr models add anthropic/claude-haiku-5", "acr models add anthropic/claude-haiku-5-5"),
    ("acr fix --policy lear", "acr fix --policy learned"),
    ("acr config unset sandb", "acr config unset sandbox"),
]


@pytest.fixture
def place(acr_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (acr_home / "runs" / "20260102-000000-abcd").mkdir(parents=True)
    (acr_home / "config.toml").write_text("""
        [[model]]
        id = "openai/mine"
        base_url = "http://127.0.0.1:9/v1"
        [[model]]
        id = "ollama/qwen:8b"
        base_url = "http://127.0.0.1:9"
    """)
    (tmp_path / "some-issue.txt").write_text("")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Typist:
    """Types a line and a Tab, and has the shell print the words that it then holds."""

    def __init__(self, shell: pexpect.spawn[str]) -> None:
        self._shell = shell

    def run(self, command: str) -> None:
        self._shell.sendline(command)
        self._shell.expect(PROMPT)

    def tab(self, line: str) -> str:
        self._shell.send(line + "\t")
        # To the start of the line, and the words go to printf instead of acr.
        self._shell.send("\x01printf '<%s>' \x05 END\r")
        self._shell.expect(r"((?:<[^<>\r\n]*>)+)<END>")
        words = re.findall(r"<([^<>]*)>", self._shell.match.group(1))
        self._shell.expect(PROMPT)
        return " ".join(words)


@pytest.fixture
def bash(place: Path) -> Iterator[Typist]:
    shell = pexpect.spawn("bash --norc --noprofile", encoding="utf-8", timeout=60, echo=False, cwd=str(place))
    typist = Typist(shell)
    shell.sendline(f"PS1={PROMPT[0]}''{PROMPT[1:]}")
    shell.expect(PROMPT)
    typist.run("bind 'set enable-bracketed-paste off'")
    typist.run(f"source '{COMPLETIONS / 'acr.bash'}'")
    yield typist
    shell.close(force=True)


@pytest.fixture
def zsh(place: Path) -> Iterator[Typist]:
    shell = pexpect.spawn("zsh -f", encoding="utf-8", timeout=60, cwd=str(place), dimensions=(24, 200))
    typist = Typist(shell)
    shell.sendline(
        f"PS1={PROMPT[0]}''{PROMPT[1:]}; unsetopt prompt_cr prompt_sp; bindkey -e; unset zle_bracketed_paste"
    )
    shell.expect(PROMPT)
    typist.run(f"fpath=('{COMPLETIONS}' $fpath); autoload -Uz compinit; compinit -u -D")
    yield typist
    shell.close(force=True)


@pytest.mark.parametrize(("typed", "want"), CASES)
def test_bash_completes(bash: Typist, typed: str, want: str) -> None:
    assert bash.tab(typed) == want


@pytest.mark.parametrize(("typed", "want"), CASES)
def test_zsh_completes(zsh: Typist, typed: str, want: str) -> None:
    # An option that takes a value is completed with a = that a space removes.
    assert zsh.tab(typed).removesuffix("=") == want


def fish(line: str, cwd: Path) -> list[str]:
    command = f"source '{COMPLETIONS / 'acr.fish'}'; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", command],
        cwd=cwd,
        text=True,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return [candidate.split("\t")[0] for candidate in done.stdout.splitlines()]


@pytest.fixture
def typed_in_fish(place: Path) -> Iterator[Typist]:
    shell = pexpect.spawn(
        "fish --no-config", encoding="utf-8", timeout=60, cwd=str(place), dimensions=(24, 200)
    )
    typist = Typist(shell)
    typist.run(
        f"function fish_prompt; echo -n {PROMPT[0]}''{PROMPT[1:]}; end; set -g fish_autosuggestion_enabled 0"
    )
    typist.run(f"source '{COMPLETIONS / 'acr.fish'}'")
    yield typist
    shell.close(force=True)


@pytest.mark.parametrize(("typed", "want"), CASES)
def test_fish_completes(typed_in_fish: Typist, typed: str, want: str) -> None:
    assert typed_in_fish.tab(typed) == want


def test_fish_offers_every_command_with_a_line_about_it(place: Path) -> None:
    assert {"fix", "route", "memory", "models", "runs", "config", "doctor", "undo"} <= set(
        fish("acr ", place)
    )


def test_a_model_name_is_never_run_by_the_shell(bash: Typist, acr_home: Path, place: Path) -> None:
    (acr_home / "config.toml").write_text("[[model]]\nid = 'openai/$(touch pwned)'\n")
    bash.tab("acr fix --model openai/")
    assert not (place / "pwned").exists()
