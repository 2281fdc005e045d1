"""The scripts in completions/ are those that the commands make."""

from __future__ import annotations

from pathlib import Path

import pytest

from acr_cli.cli.app import COMMANDS, root
from acr_cli.cli.completion import FILES, script, tree

FOLDER = Path(__file__).parents[2] / "completions"


@pytest.mark.parametrize("shell", FILES)
def test_completions_are_not_stale(shell: str) -> None:
    assert (FOLDER / FILES[shell]).read_text() == script(shell), "run `make completions`"


@pytest.mark.parametrize("shell", FILES)
def test_the_program_prints_the_same_script(acr, shell: str) -> None:
    done = acr("completion", shell)
    assert (done.returncode, done.stdout) == (0, script(shell))


def test_every_command_says_in_the_list_what_its_own_help_says() -> None:
    for name, (_, line) in COMMANDS.items():
        assert str(root().commands[name].help).split("\n")[0].startswith(line.rstrip(".")[:20]), name


def test_every_command_and_option_has_help() -> None:
    for node in tree().walk():
        assert node.help or len(node.path) == 1
        for flag in node.flags:
            assert flag.help, (node.path, flag.names)


def test_an_unknown_shell_is_a_usage_error(acr) -> None:
    done = acr("completion", "csh")
    assert done.returncode == 2
    assert "csh" in done.stderr
