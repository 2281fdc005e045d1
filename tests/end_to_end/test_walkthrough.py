"""The first five minutes of somebody who has only the README: install, set up, fix, ask why, undo."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.demo.picture import SHOP
from tests.docs.pages import ROOT, every
from tests.packaging.builds import built, clean_environment

PROMPT = "newcomer> "


class Terminal:
    """A shell, in which each command is typed as the README writes it."""

    def __init__(self, where: Path, environment: dict[str, str]) -> None:
        self.seconds: dict[str, float] = {}
        self._shell = pexpect.spawn(
            "bash --norc --noprofile",
            cwd=str(where),
            env={**environment, "PS1": PROMPT, "TERM": "xterm", "GIT_PAGER": "cat"},
            encoding="utf-8",
            timeout=200,
            dimensions=(60, 200),
        )
        self._shell.expect_exact(PROMPT)

    def type(self, command: str, *, answers: tuple[tuple[str, str], ...] = ()) -> str:
        """What the command prints; it must succeed."""
        began = time.monotonic()
        self._shell.sendline(f"{command}; echo status=$?")
        said = ""
        for question, answer in answers:
            self._shell.expect(question)
            said += str(self._shell.before)
            self._shell.sendline(answer)
        self._shell.expect(r"status=(\d+)\r\n")
        said += str(self._shell.before)
        status = self._shell.match.group(1)
        self._shell.expect_exact(PROMPT)
        self.seconds[command] = time.monotonic() - began
        assert status == "0", said
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", said)

    def close(self) -> None:
        self._shell.close(force=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    with tarfile.open(built()[0]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("acr_cli-*")
    return folder


@pytest.mark.slow
def test_a_newcomer_fixes_a_test_knows_what_it_cost_and_why_and_takes_it_back(
    tmp_path: Path,
    acr_home: Path,
    checkout: Path,
    git_repo: Callable[..., Path],
    record_property: Callable[[str, object], None],
) -> None:
    (install,) = every("sh install", pages=(ROOT / "README.md",))
    shop = git_repo({name: (SHOP / name).read_text() for name in ("cart.py", "test_cart.py")}, name="shop")
    programs = clean_environment(tmp_path / "environment")
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "VIRTUAL_ENV": sys.prefix,  # the shop's own environment, which has pytest
        "ACR_SANDBOX": "bubblewrap",
        # What acr needs is there; only it is built and installed.
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    assert not (programs / "acr").exists()
    terminal = Terminal(checkout, environment)
    try:
        assert "Successfully installed acr-cli" in terminal.type(install.text.strip())
        assert shutil.which("acr", path=environment["PATH"]) == str(programs / "acr")
        terminal.type(f"cd '{shop}'")

        said = terminal.type(
            "acr config init", answers=((r"At most how many USD for one run\? \[1\] ", "0.50"),)
        )
        assert f"wrote {acr_home / 'config.toml'}" in said
        assert "a run may cost $0.50 at most" in said
        assert "Failing tests can be repaired without any model: `acr fix`." in said

        said = terminal.type("acr fix")
        assert "Fixed and verified." in said
        assert "paid      $0" in said
        assert "`acr undo` reverses it" in said
        assert "+        if self.quantity >= BULK_QUANTITY:" in terminal.type("git diff")

        said = terminal.type('acr route "ten of a kind are no bulk" --explain')
        assert "the only candidate" in said
        assert "solved 1 of 1" in said
        assert "builtin/repair" in terminal.type("acr memory stats")

        assert "Reversed run" in terminal.type("acr undo")
        assert terminal.type("git status --porcelain").splitlines()[1:] == []
        assert "make the failing tests pass" in terminal.type("acr runs list")
    finally:
        terminal.close()
        for command, seconds in terminal.seconds.items():
            record_property(command, round(seconds, 1))
            print(f"{seconds:6.1f} s  {command}")
