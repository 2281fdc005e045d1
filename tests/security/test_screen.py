"""Text of strangers is shown, and never obeyed by the terminal, in any command."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import SLUG

Acr = Callable[..., subprocess.CompletedProcess[str]]
EVIL = "\x1b]0;taken\x07\x1b[2J\x1b]52;c;ZXZpbA==\x1b\\\x9b31m\u202eevil\x08\x7f"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS = (
    ("runs", "list"),
    ("runs", "show"),
    ("memory", "list"),
    ("memory", "stats"),
    ("route", f"mend {EVIL}", "--explain"),
    ("apply",),
    ("doctor",),
    ("models", "list"),
    ("models", "test", f"openai/{EVIL}"),
    ("config", "get", EVIL),
    ("runs", "show", EVIL),
    ("memory", "show", EVIL),
    ("fix", "--issue", EVIL),
    ("fix", f"mend {EVIL}", "--test", EVIL, "--sandbox", "none", "--model", "builtin/repair"),
)


def writes(_: Request) -> Answer:
    return Say(text=f"{EVIL}\nslug.py\n```\nraise SystemExit({EVIL!r})  # {EVIL}\n```\n{EVIL}")


def test_no_command_sends_what_a_stranger_wrote_to_the_terminal(
    acr: Acr, git_repo: Callable[..., Path], pool: Callable[..., None]
) -> None:
    noisy = SLUG["test_slug.py"].replace("assert slugify('')", f"print({EVIL!r})\n    assert slugify('x')")
    repo = git_repo({**SLUG, "test_slug.py": noisy, f"n{EVIL}.txt".replace("/", ""): "x\n"})
    with LoopbackServer({"evil": writes}) as server:
        pool(server, {"evil": 0.5})
        run = acr("-v", "fix", f"mend it {EVIL}", "--sandbox", "none", "--allow", "openai/evil", cwd=repo)
        shown = {"fix": run.stdout + run.stderr}
        for command in COMMANDS:
            done = acr(*command, cwd=repo, input="")
            shown[" ".join(command[:2])] = done.stdout + done.stderr
    obeyed = {name: text for name, text in shown.items() if OBEYED.search(text)}
    assert obeyed == {}
    assert "evil" in shown["fix"]
