"""A secret in a log, in a test's output or in a task is nowhere on the disk after a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.memory.store import Memory
from acr_cli.records import Signal
from tests.memory.outcomes import make_outcome
from tests.test_redaction import PLANTED

Acr = Callable[..., subprocess.CompletedProcess[str]]

LIMIT = "def clamp(value, low, high):\n    if value > low:\n        return low\n    return min(value, high)\n"
TEST = '''from limit import clamp


def test_below():
    print("""{texts}""")
    assert clamp(-3, 0, 9) == 0, """{texts}"""


def test_within():
    assert clamp(4, 0, 9) == 4
'''
SECRETS = [(text, secret) for _, text, secret in PLANTED]


def found(folder: Path) -> list[tuple[str, str]]:
    """(secret, file) for every planted secret that stands in a file of a folder, or in the name of one."""
    told = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for _, secret in SECRETS:
            if secret.encode() in content or secret in path.name:
                told.append((secret, path.relative_to(folder).as_posix()))
    return told


def test_there_are_thirty_shapes_of_secrets() -> None:
    assert len(SECRETS) >= 30


def test_no_secret_of_a_log_or_a_test_stays(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path], tmp_path: Path
) -> None:
    texts = "\n".join(text for text, _ in SECRETS).replace("\\", "\\\\")
    repo = git_repo({"limit.py": LIMIT, "test_limit.py": TEST.format(texts=texts)})
    log = tmp_path / "failing.log"
    log.write_text("FAILED test_limit.py::test_below\n" + "\n".join(text for text, _ in SECRETS))

    done = acr("fix", "--json", "--sandbox", "none", "--yes", "--log", log, cwd=repo)

    result = json.loads(done.stdout.splitlines()[-1])
    assert result["status"] == "fixed", done.stderr
    assert list(acr_home.rglob("events.jsonl"))
    assert list(acr_home.rglob("journal.sqlite3"))
    assert list(acr_home.rglob("chroma.sqlite3"))
    assert found(acr_home) == []


@pytest.mark.parametrize("waiting", [False, True])
def test_no_secret_of_a_task_stays_in_memory(tmp_path: Path, waiting: bool) -> None:
    memory = Memory(tmp_path)
    for number, (text, _) in enumerate(SECRETS):
        notes = (Signal(name="tests", value=1.0, weight=1.0, note=text),)
        outcome = make_outcome(f"o{number}", text=f"Fix this: {text}", signals=notes)
        if waiting:
            (tmp_path / "memory").mkdir(exist_ok=True)
            (tmp_path / "memory" / "journal.sqlite3").write_bytes(b"no journal " * 500)
        memory.remember(outcome)
    assert len(list(tmp_path.rglob("pending/*.json"))) == (len(SECRETS) if waiting else 0)
    memory.close()
    assert found(tmp_path) == []
