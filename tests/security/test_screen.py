"""Text of strangers is shown, and never obeyed by the terminal, in any command."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.cli.terminal import clean, hidden_shown
from acr_cli.cli.toml import literal
from acr_cli.testing.answers import Answer, Refuse, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import SLUG

Acr = Callable[..., subprocess.CompletedProcess[str]]
EVIL = (
    "\x1b]0;taken\x07\x1b[2J\x1b]52;c;ZXZpbA==\x1b\\\x9b31m\u202eevil\x08\x7f\u200b\ufeff\U000e0041\r"
    "\x1b]8;;x\x07"
)
NAME = EVIL.replace("/", "")
BRANCH = "\x9b2J\u202eevil\u200b"  # git takes no others
# Of a run with colours, colours are left; C0 but newline and tab, DEL, C1, directions, what has no width.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("runs", "list"),
    ("runs", "show", "RUN"),
    ("runs", "replay", "RUN"),
    ("apply", "RUN", "--yes"),
    ("undo", "RUN"),
    ("memory", "list"),
    ("memory", "stats"),
    ("memory", "show", "RUN.s1.1"),
    ("memory", "import", "outcomes.jsonl"),
    ("route", f"mend {EVIL}", "--explain"),
    ("doctor",),
    ("models", "list"),
    ("models", "test", "openai/angry"),
    ("models", "test", f"openai/{EVIL}"),
    ("models", "remove", EVIL),
    ("config", "show", "--origin"),
    ("config", "get", "exclude", "--origin"),
    ("config", "get", EVIL),
    ("config", "set", "image", EVIL),
    ("runs", "show", EVIL),
    ("bench", "replay", "--matrix", "matrix.csv", "--tasks", "tasks.jsonl", "--seeds", "1"),
    ("bench", "replay", "--matrix", NAME),
    ("bench", "compare", "bad.json", NAME),
    ("warm", "--dry-run", "--sandbox", "none"),
    ("completion", "--values", "models"),
    ("completion", "--values", "runs"),
    ("completion", EVIL),
    (EVIL,),
    (f"--{EVIL}",),
    ("fix", "--issue", EVIL),
    ("fix", f"mend {EVIL}", "--log", "build.log", "--sandbox", "none", "--allow", "openai/angry"),
)
CHAT = f"mend it {EVIL}\n/diff\n/cost\n/model {EVIL}\n/{EVIL}\n/test {EVIL}\n/undo\n"


def writes(_: Request) -> Answer:
    code = f"def slugify(text):\n    return text  # {EVIL}\n"
    return Say(text=f"{EVIL}\nslug.py\n```\n{code}```\n{NAME}.py\n```\nx = 1\n```\n{EVIL}")


def refuses(_: Request) -> Answer:
    return Refuse(status=400, message=f"no {EVIL} here", code=EVIL)


@pytest.fixture
def repo(git_repo: Callable[..., Path]) -> Path:
    """A repository in which all that has a name is named by a stranger, and so is its folder."""
    noisy = SLUG["test_slug.py"].replace(
        "assert slugify('')", f"print({EVIL!r})\n    assert slugify('x'), {EVIL!r}"
    )
    known = json.dumps({"type": "outcome", "schema": 1, "id": EVIL, "text": EVIL, "candidate": EVIL})
    files = {
        **SLUG,
        "test_slug.py": f'{noisy}\n\nimport pytest\n\n@pytest.mark.parametrize("x", [{EVIL!r}])\n'
        "def test_named(x):\n    assert not x\n",
        f"{NAME}.txt": "x\n",
        "AGENTS.md": EVIL,
        ".acr.toml": f"{literal(EVIL)} = 1\nexclude = [{literal(EVIL)}]\ntest = {literal(EVIL)}\n",
        "matrix.csv": f"task_id,model,score\nt{EVIL},{EVIL},1\nt{EVIL},m,0\n".replace("\r", ""),
        "tasks.jsonl": json.dumps({"task_id": f"t{EVIL}".replace("\r", ""), "prompt": EVIL}) + "\n",
        "outcomes.jsonl": known + "\n",
        "build.log": f"FAILED test_slug.py::{EVIL} - {EVIL}\n",
        "bad.json": json.dumps({EVIL: EVIL}),
    }
    root = git_repo(files, name=f"here {NAME}")
    for command in (["checkout", "-q", "-b", BRANCH], ["commit", "-q", "--allow-empty", "-m", EVIL]):
        subprocess.run(["git", *command], cwd=root, check=True)
    (root / "test_slug.py").write_text(files["test_slug.py"] + "# more\n")
    subprocess.run(["git", "commit", "-qam", f"fix {EVIL}"], cwd=root, check=True)
    return root


def test_no_command_sends_what_a_stranger_wrote_to_the_terminal(
    acr: Acr, repo: Path, pool: Callable[..., None], acr_home: Path
) -> None:
    shown: dict[str, str] = {}

    def told(name: str, *command: str, given: str = "") -> None:
        done = acr(*command, cwd=repo, input=given, env={} if command[0] == "bench" else {"FORCE_COLOR": "1"})
        shown[name] = COLOUR.sub("", done.stdout + done.stderr)

    with LoopbackServer({"evil": writes, "angry": refuses}) as server:
        pool(server, {"evil": 0.5, "angry": 0.5})
        told("the first fix", "-v", "fix", f"mend it {EVIL}", "--sandbox", "none", "--allow", "openai/evil")
        run = next((acr_home / "runs").iterdir()).name
        for number, command in enumerate(COMMANDS):
            told(f"{number} {' '.join(command[:2])!r}", *(word.replace("RUN", run) for word in command))
        told("chat", "chat", "--sandbox", "none", "--model", "openai/evil", given=CHAT)
    obeyed = {name: text for name, text in shown.items() if OBEYED.search(text)}
    assert obeyed == {}
    assert [name for name, text in shown.items() if "Traceback" in text or "Unexpected" in text] == []
    assert "evil" in shown["the first fix"]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("\x1b[2J\x1b[31mred", "red"),
        ("\x9b2Jred", "red"),
        ("\x1b]52;c;ZXZpbA==\x07a", "a"),
        ("\x9d52;c;ZXZpbA==\x9ca", "a"),
        ("\x1b]8;;https://evil\x1b\\a\x1b]8;;\x1b\\", "a"),
        ("\x1bPq#0\x1b\\a\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\", "a"),
        ("\x1b]0;never ended", ""),
        ("\x1b\x1b[2Ja\x1b", "a"),
        ("\x1b[\x1b[2J2Ja", "2Ja"),
        ("good\rbad", "goodbad"),
        ("a\x08\x7f\x0b\x0c\x85b", "ab"),
        ("x\u202e\u2066\u200ey\u2028z", "xyz"),
        ("pay\u200bpal\ufeff\u2060\u00ad\U000e0041", "paypal"),
        ("a\u200db\u200c", "ab"),
        (
            "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e",
            "\U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e",
        ),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(given: str, want: str) -> None:
    assert clean(given) == want
    assert not OBEYED.search(hidden_shown(given))


def test_a_diff_shows_what_its_reader_would_not_see() -> None:
    assert hidden_shown("if level != '\u202e user\u200b':") == r"if level != '\u202e user\u200b':"
