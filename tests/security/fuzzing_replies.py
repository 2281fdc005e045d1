"""The parsers of what models, providers and people write: replies, plans, patches, logs, issues, settings."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from acr_cli.advisor import card, reply
from acr_cli.agent import excerpts, ignoring, planning, toolbox
from acr_cli.agent.formats import FORMATS, read_edits
from acr_cli.agent.matching import replaced
from acr_cli.agent.text import Text
from acr_cli.cli import ci_logs, diff_shown, github, plan_shown
from acr_cli.context.dimension import dimension_of, language_of
from acr_cli.history.wording import task_text
from acr_cli.models.failures import ours
from acr_cli.protocols import ToolCall
from acr_cli.records import Baseline, CaseResult, StepKind, SuiteReport, Task
from acr_cli.redaction import redact
from acr_cli.repair import hints
from acr_cli.settings.sources import load, load_environment
from acr_cli.verifier import added, integrity, opinion, score, special, targets
from acr_cli.worktree.tree import touched
from tests.agent.conftest import candidate, step
from tests.security.fuzzing import Parser, encoded

CASES = (
    CaseResult(
        id="tests/test_a.py::test_adds[1-2]",
        outcome="failed",
        file="tests/test_a.py",
        message="assert 1 == 2",
    ),
    CaseResult(id="tests.test_a.TestA.test_b", outcome="passed", file="tests/test_a.py"),
)
BLOCKS = (
    "Here:\n\nsrc/a.py\n<<<<<<< SEARCH\nreturn a - b\n=======\nreturn a + b\n>>>>>>> REPLACE\n",
    "**src/a.py**\n```python\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n```\nDELETE FILE old.py\n",
    "MOVE FILE a.py TO b/a.py\nDELETE FILE: `c.py`\n",
)
FENCES = (
    "src/a.py\n```python\ndef f():\n    return 1\n```\n",
    "### `b.md`\n````\n```\ninner\n```\n````\n~~~ c.txt\nx\n~~~\n",
)
DIFF = (
    "diff --git a/src/a.py b/src/a.py\nindex 1..2 100644\n--- a/src/a.py\n+++ b/src/a.py\n"
    "@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n d\n\\ No newline at end of file\n"
)
DIFFS = (
    DIFF,
    "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
    "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
    "diff --git a/o b/o\ndeleted file mode 120000\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    (
        "diff --git a/b.bin b/b.bin\nnew file mode 100644\nindex 0000000000000000000000000000000000000000.."
        "5e07d261855586626d75321e8ab899341f972802\nGIT binary patch\nliteral 6\nNcmZQzWJ*j*1^@zG0V)6h\n\n"
        "literal 0\nHcmV?d00001\n\n"
    ),
    'diff --git "a/\\303\\244.py" "b/\\303\\244.py"\nold mode 100644\nnew mode 100755\n',
)
FILE = b"def f(a, b):\n    return a - b\n\n\ndef g():\n\treturn 1\n"
ISSUE = (
    '{"title": "t", "body": "b ![x](y)", "comments": 1, "user": {"login": "u"}, "all": [{"user": {"login"'
    ': "u"}, '
    '"author_association": "OWNER", "body": "c"}]}'
)
CALL = '{"path": "src/a.py", "search": "a", "replace": "b"}'
PLAN = (
    'I would:\n```json\n{"steps": [{"kind": "edit", "text": "Add it", "files": ["a.py"], "check": "it wor'
    'ks"}, '
    '{"kind": "test", "text": "Test it"}]}\n```\n'
)
GRADES = "{" + ", ".join(f'"{name}": 3' for name in opinion.RUBRIC) + "}"
RULING = f'{{"A": {GRADES}, "B": {GRADES}, "better": "B", "why": "It is right."}}'
LOG = (
    "2024-05-01T10:00:00.0000000Z ##[group]Run tests\n\x1b[31mE   AssertionError: assert 1 == 2\x1b[0m\n"
    "FAILED tests/test_a.py::test_adds[1-2] - assert 1 == 2\nERROR: test_b (tests.test_a.TestA)\n"
    'Traceback (most recent call last):\n  File "/home/u/a.py", line 3, in f\n##[error]Process exit code 1\n'
)
SETTINGS = (
    'max_cost = 0.5\nallow = ["a/*"]\nsandbox = "docker"\nallow_path = ["x/**"]\n[memory]\nstore_text = f'
    "alse\n"
    '[[model]]\nid = "openai/x"\nprice = {input = 1, output = 2}\neffort = ["low"]\n'
)
CARD = (
    '{"schema": 1, "kind": "classifier", "name": "x", "source": "s", "fingerprint": "f", "base": "b", "ac'
    'r_version": "1", '
    '"candidates": ["a"], "characters": 10, "tasks": 2, "held_out": 1, "made": 1.0, "temperature": 1.0, '
    '"chances": [0.0, 1.0, 0.0], "rates": {"bug": {"a": [0.5, 0.1]}}, "scores": {}}'
)


def beneath(name: str, read: Callable[[Path], object]) -> Callable[[str], object]:
    """Shows a reader a folder with one file in it, of this content."""

    def feed(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(encoded(text))
            return read(Path(folder))

    return feed


def _settings(folder: Path) -> object:
    """As a project's own file, and as the user's."""
    (folder / ".git").mkdir()
    environ = {"HOME": str(folder), "ACR_HOME": str(folder / "home")}
    project = load(where=folder, environ=environ)
    assert project.settings.max_cost <= 1.0, "a project has raised the cap"
    return load(environ={**environ, "ACR_CONFIG": str(folder / ".acr.toml")})


def _failure(text: str) -> object:
    """What a library raises for what a provider has answered."""
    error: Any = ConnectionError(text)
    for status in (None, 400, 429, 500):
        error.status_code, error.response = status, SimpleNamespace(headers={"retry-after": text})
        ours(error, candidate(), key="sk-secret", now=lambda: 0.0)
    return None


def _issue(text: str) -> object:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):  # as whoever asks for it does
        return None
    comments = said.get("all") if isinstance(said, dict) else None
    return github.told("https://github.com/o/r/issues/1", said, comments)


def _ignored(text: str) -> object:
    patterns = ignoring.ignored_by(encoded(text).split(b"\n"))
    return [path in patterns for path in ("a/b/c.py", "a" * 200, "a/" * 40 + "b", ".env")]


def _diff(text: str) -> object:
    lines = added.lines(text)
    case = CaseResult(id="t", outcome="failed", file="t.py", detail=text)
    findings = [*integrity.of_code(lines, lambda *_: False)]
    findings += special.find(
        lines, [case], {"t.py": text}, {line.path: text for line in lines}, lambda _: False
    )
    return opinion.reversed_diff(text), diff_shown.by_file(text), score.heuristic(text), findings


def _log(text: str) -> object:
    task = Task(text=text, log=text)
    return (
        *(ci_logs.failing_part(text), targets.choose(task, CASES), dimension_of(text), language_of((), text)),
        redact(text),
    )


def _wish(text: str) -> object:
    report = SuiteReport(cases=CASES, exit_code=1)
    return planning.RepositoryPlanner().outline(
        Task(text=text), Baseline(report=report, targets=(CASES[0].id,))
    )


def _sources(text: str) -> object:
    about = step(text=text)
    return excerpts.excerpt("a.py", text, about, room=2000), excerpts.outline(text), excerpts.stems_in(text)


def _hints(text: str) -> object:
    return hints.read([("AssertionError", text), ("TypeError", text), ("KeyError", text)])


_MARKS = ("<<<<<<< SEARCH\n", "=======\n", "```\n", "DELETE FILE: a ", "MOVE FILE a TO ", "@@", "+\n")
PARSERS = (
    *(
        Parser(
            name=f"reply as {form.name}",
            feed=partial(read_edits, asked=form),
            samples=samples,
            repeats=_MARKS,
        )
        for form, samples in zip(FORMATS, (BLOCKS, FENCES, DIFFS[:3]), strict=True)
    ),
    Parser(
        name="search text",
        feed=lambda text: replaced(FILE, text, "x", inline=True),
        samples=("    return a - b\n", "1: def f(a, b):\n2:     return a - b\n", "return a - b"),
        repeats=("return a - b\n", "1: "),
    ),
    Parser(
        name="file to edit",
        feed=lambda text: replaced(encoded(text), "return a - b\n", "return a + b\n"),
        samples=("def f(a, b):\n    return a - b\n", "\ufeffx = 1\r\nreturn a - b\r\n"),
        repeats=("return a - b\n", "return a -b\n"),
    ),
    Parser(
        name="text of a file", feed=lambda text: Text.of(encoded(text)), samples=("x = 1\r\ny\n", "\ufeffx")
    ),
    Parser(
        name="arguments of a tool",
        feed=lambda text: toolbox.arguments_of(ToolCall(id="c", name="edit", arguments=text), toolbox.EDIT),
        samples=(CALL,),
        shape="json",
    ),
    Parser(
        name="plan",
        feed=lambda text: planning.read_plan(text, step(kind=StepKind.PLAN)),
        samples=(PLAN, "1. Do it\n2. Test it\n- then this"),
        repeats=(" \n", "1. ", '{"steps": ['),
    ),
    Parser(
        name="plan as lines",
        feed=lambda text: plan_shown.from_lines(text, (step(), step())),
        samples=("1 edit: Add it\n2 test: Test it\nreview: look\n",),
        repeats=("1 ", "edit: "),
    ),
    Parser(
        name="wish",
        feed=_wish,
        samples=("- Add it\n- and test it\n", "please tidy up a"),
        repeats=("please ", "- a"),
    ),
    Parser(
        name="ruling of a judge",
        feed=opinion.read_ruling,
        samples=(RULING,),
        shape="json",
        repeats=("```", "` "),
    ),
    Parser(
        name="choice of a router",
        feed=lambda text: reply.chosen(text, ("openai/gpt-5", "anthropic/claude")),
        samples=('{"model": "gpt-5"}', "I take anthropic/claude."),
        repeats=("{", "model=", "model: "),
    ),
    Parser(
        name="failure of a provider",
        feed=_failure,
        samples=(
            "litellm.BadRequestError: OpenAIException - {'message': \"context_length_exceeded\"}",
            "Sat, 01 Jan 2028 00:00:00 GMT",
            '{"error": {"message": "no", "details": [{"retryDelay": "3s"}]}}',
        ),
        repeats=("Error: ", "aError: ", "'message': '", '"message": "\\"', "litellm."),
    ),
    Parser(
        name="patch", feed=touched, samples=DIFFS, repeats=("@@ -1 +1 @@\n", "diff --git a/x b/x\n", "a/")
    ),
    Parser(
        name="added lines",
        feed=_diff,
        samples=DIFFS,
        repeats=("@@ -1 +1 @@\n", "+os._exit(0)\n", "+'a", "+("),
    ),
    Parser(
        name="log",
        feed=_log,
        samples=(LOG,),
        repeats=("\x1b[", "FAILED a", "test_a.py::", "a/", "[", "section_"),
    ),
    Parser(
        name="source at hand",
        feed=_sources,
        samples=("def f(a):\n    return a\n",),
        repeats=("def f", "class "),
    ),
    Parser(
        name="message of a failure",
        feed=_hints,
        samples=(
            "assert 1 == 2",
            "AssertionError: 'a' != 'b' : x",
            "DID NOT RAISE <class 'ValueError'>",
            "X not raised",
        ),
        repeats=("assert ", " == ", "DID NOT RAISE ", "name '", " != ", "(1,"),
    ),
    Parser(
        name="issue of GitHub",
        feed=_issue,
        samples=(ISSUE,),
        shape="json",
        repeats=("![", "<img "),
    ),
    Parser(
        name="message of a commit",
        feed=lambda text: task_text(text, new=["x = 1"], seen=[]),
        samples=("Fix #12: it (closes o/r#3)\n\nSee https://x.y/z\n\nSigned-off-by: A <a@b.c>\n",),
        repeats=("fix ", "https://", "a-", "A-", "[("),
    ),
    Parser(
        name="ignore file",
        feed=_ignored,
        samples=("*.log\n!keep/\n/a/**/b\n[a-z]?[!x]\\ \n**/x/**\n",),
        repeats=("*", "**/", "[", "?", "*a", "[a-"),
    ),
    Parser(
        name="settings",
        feed=beneath(".acr.toml", _settings),
        samples=(SETTINGS,),
        shape="toml",
        repeats=("[x]\n",),
    ),
    Parser(
        name="file of keys",
        feed=beneath(".env", lambda folder: load_environment({}, home=folder)),
        samples=("export A=1 # x\nB='2'\n",),
        repeats=("A=", " #"),
    ),
    Parser(
        name="card of a policy model",
        feed=beneath("card.json", card.read_card),
        samples=(CARD,),
        shape="json",
    ),
)
