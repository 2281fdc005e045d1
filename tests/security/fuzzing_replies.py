"""The parsers of what models, providers and people write: replies, plans, rulings, patches, logs, issues, settings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from acr_cli.advisor import card, reply
from acr_cli.agent import excerpts, planning, toolbox, unseen
from acr_cli.agent.formats import FORMATS, read_edits
from acr_cli.agent.matching import replaced
from acr_cli.agent.text import Text
from acr_cli.cli import ci_logs, diff_shown, github, plan_shown
from acr_cli.context.dimension import dimension_of, language_of
from acr_cli.errors import BadReply
from acr_cli.history.wording import task_text
from acr_cli.models.failures import ours
from acr_cli.models.hearing import Hearing
from acr_cli.protocols import ToolCall
from acr_cli.records import CaseResult, Price, StepKind, Task
from acr_cli.redaction import redact
from acr_cli.repair import hints
from acr_cli.settings.sources import load, load_environment
from acr_cli.verifier import added, integrity, opinion, score, special, targets
from acr_cli.worktree.tree import touched
from tests.agent.conftest import candidate, step
from tests.security.fuzzing import Parser, encoded

CASES = (
    CaseResult(id="tests/test_a.py::test_adds[1-2]", outcome="failed", file="tests/test_a.py", message="assert 1 == 2"),
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
    "diff --git a/b.bin b/b.bin\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 3\nKc$@(M0ssI2\n\n"
    "literal 0\nHcmV?d00001\n\n",
    'diff --git "a/\\303\\244.py" "b/\\303\\244.py"\nold mode 100644\nnew mode 100755\n',
)
CALL = '{"path": "src/a.py", "search": "a", "replace": "b"}'
PLAN = (
    'I would:\n```json\n{"steps": [{"kind": "edit", "text": "Add it", "files": ["a.py"], "check": "it works"}, '
    '{"kind": "test", "text": "Test it"}]}\n```\n'
)
GRADES = "{" + ", ".join(f'"{name}": 3' for name in opinion.RUBRIC) + "}"
RULING = f'{{"A": {GRADES}, "B": {GRADES}, "better": "B", "why": "It is right."}}'
LOG = (
    "2024-05-01T10:00:00.0000000Z ##[group]Run tests\n\x1b[31mE   AssertionError: assert 1 == 2\x1b[0m\n"
    "FAILED tests/test_a.py::test_adds[1-2] - assert 1 == 2\nERROR: test_b (tests.test_a.TestA)\n"
    "Traceback (most recent call last):\n  File \"/home/u/a.py\", line 3, in f\n##[error]Process exit code 1\n"
)
CHUNK = (
    '{"choices": [{"finish_reason": "stop", "delta": {"content": "Hello", "reasoning_content": "Hm", '
    '"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "open", "arguments": "{}"}}], '
    '"thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "s"}]}}], "usage": {"prompt_tokens": 3, '
    '"completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1, "cache_creation_tokens": 1}}}'
)
SETTINGS = (
    'max_cost = 0.5\nmodels = ["a/*"]\nsandbox = "docker"\nallow_path = ["x/**"]\n[memory]\nstore_text = false\n'
    '[[model]]\nid = "openai/x"\nprice = {input = 1, output = 2}\neffort = ["low"]\n'
)
CARD = (
    '{"schema": 1, "kind": "classifier", "name": "x", "source": "s", "fingerprint": "f", "base": "b", '
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


def _settings(*, project: bool) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        environ = {"HOME": str(folder), "ACR_HOME": str(folder / "home")}
        user = folder / ("absent.toml" if project else "x.toml")
        where = folder if project else None
        return load(where=where, environ={**environ, "ACR_CONFIG": str(user)} if not project else environ)

    return read


def _chunk(text: str) -> object:
    import json

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return SimpleNamespace(**{str(key): plain(each) for key, each in value.items()})
        return [plain(each) for each in value] if isinstance(value, list) else value

    heard = Hearing()
    for _ in range(2):
        heard.hear(plain(json.loads(text)))
    return heard.usage(1), heard.tool_calls, heard.extras, heard.said


def _issue(text: str) -> object:
    from acr_cli.testing.pages import Pages

    with Pages({"/": encoded(text)}) as server:
        return github.read_issue(f"{server.url}/o/r/issues/1", {})


def _arguments(text: str) -> object:
    tool = toolbox.TOOLS["edit"] if isinstance(toolbox.TOOLS, Mapping) else toolbox.TOOLS[0]
    return toolbox._arguments(ToolCall(id="c", name="edit", arguments=text), tool)
