"""Every command with standard streams that are closed, full or read by nobody: done all the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pytest

from acr_cli.cli.completion import tree
from acr_cli.memory.store import Memory
from acr_cli.worktree.runs import RunFolder, list_runs, new_run
from tests.bench import synthetic
from tests.cli.forked import AS_USUAL, STREAMS
from tests.conftest import IDENTITY
from tests.memory.outcomes import make_outcome

ROOT = Path(__file__).parents[2]
LEAVES = [" ".join(node.path[1:]) for node in tree().walk() if not node.children]
PATCH = "diff --git a/NAME b/NAME\n--- a/NAME\n+++ b/NAME\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
TEST = ("--sandbox", "none", "--test", "test -f a.txt")
REPLAY = ("--matrix", "matrix.csv", "--seeds", "1", "--policy", "always")
CALLS: tuple[tuple[str, ...], ...] = (
    ("fix", *TEST),
    ("fix", "mend it", *TEST, "--model", "builtin/repair", "--json"),
    ("chat", "--sandbox", "none"),
    ("apply", "KEPT"),
    ("undo", "DONE"),
    ("route", "mend it", "--explain"),
    ("memory", "stats"),
    ("memory", "list"),
    ("memory", "show", "o1"),
    ("memory", "forget", "o1", "--yes"),
    ("memory", "export", "-"),
    ("memory", "import", "outcomes.jsonl"),
    ("memory", "reindex"),
    ("memory", "sync"),
    ("memory", "report"),
    ("bench", "replay", *REPLAY),
    ("bench", "compare", "1.json", "2.json"),
    ("bench", "figure", "1.json", "-o", "drawn.svg"),
    ("train", "policy", "--matrix", "matrix.csv"),
    ("models", "list"),
    ("models", "add", "openai/gpt-5.6"),
    ("models", "remove", "openai/nobody"),
    ("models", "test"),
    ("warm", "--dry-run", *TEST),
    ("runs", "list"),
    ("runs", "show", "KEPT"),
    ("runs", "resume", "KEPT"),
    ("runs", "replay", "KEPT"),
    ("cache", "list"),
    ("cache", "prune"),
    ("config", "show"),
    ("config", "path"),
    ("config", "get", "max_cost"),
    ("config", "set", "max_cost", "0.5"),
    ("config", "unset", "max_cost"),
    ("config", "init", "--yes"),
    ("doctor",),
    ("completion", "bash"),
)
"""Every command, with something to do and, mostly, something to say."""
SLOW = ("fix", "warm", "models test", "memory reindex", "memory forget", "bench figure", "train policy")
"""Tried with one kind of streams, since they take long: a full one, or for data one that nobody reads."""
NO_SENTENCES = ("Traceback", "Unexpected", "Exception ignored")
FULL = "acr: The output cannot be written: no space left on device. [output]\n"

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What came of each call with each kind of streams."""
    folder = tmp_path_factory.mktemp("streams")
    home, repo = folder / "now" / "home", folder / "now" / "repo"
    environ = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
    environ |= {**IDENTITY, "ACR_HOME": str(home), "HOME": str(folder), "PYTHONUTF8": "1"}
    names = _prepared(home, repo, environ)
    for name in ("home", "repo"):
        shutil.copytree(folder / "now" / name, folder / name, symlinks=True)
    calls = [(command, [names.get(word, word) for word in words], kind) for command, words, kind in _calls()]
    (folder / "calls.json").write_text(json.dumps(calls))
    command = [sys.executable, "-m", "tests.cli.forked", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environ, check=True, timeout=400)
    found: Results = json.loads((folder / "results.json").read_text())
    return found


def _calls() -> Iterator[tuple[str, tuple[str, ...], str]]:
    for words in CALLS:
        slow = any(command.split() == list(words[: len(command.split())]) for command in SLOW)
        hard = ("nobody reads the output, unbuffered",) if "--json" in words else ("output full",)
        for kind in (AS_USUAL, *hard) if slow else STREAMS:
            yield " ".join(words), words, kind


def _prepared(home: Path, repo: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """A repository, and a home with a run to apply, one to undo, outcomes; what these runs are called."""
    repo.mkdir(parents=True)
    synthetic.write(synthetic.outcomes(1, tasks=8), repo / "matrix.csv")
    for name in ("a.txt", "b.txt"):
        (repo / name).write_text("x = 1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=repo, env=environ, check=True)
    memory = Memory(home)
    for i in range(3):
        memory.remember(make_outcome(f"o{i}"))
    memory.close()
    (repo / "outcomes.jsonl").write_text("no outcome\n")
    (home / "config.toml").write_text(
        'max_cost = 0.25\n[[model]]\nid = "openai/nobody"\nbase_url = "http://127.0.0.1:9/v1"\n'
        "price = {input = 1, output = 1}\n"
    )
    names = {}
    for name, file in (("KEPT", "a.txt"), ("DONE", "b.txt")):
        folder, lock = new_run(home, repository=repo, task="mend it")
        folder.update(status="fixed", applied=False, files=[file])
        folder.keep_patch(PATCH.replace("NAME", file))
        lock.release()
        names[name] = folder.id
    program = Path(sys.executable).parent / "acr"
    for words in (["apply", names["DONE"]], *(["bench", "replay", *REPLAY, "-o", f"{n}.json"] for n in "12")):
        subprocess.run([program, *words], cwd=repo, env=environ, check=True, capture_output=True)
    return names


def test_no_command_is_forgotten() -> None:
    tried = {leaf for leaf in LEAVES for words in CALLS if leaf.split() == list(words[: len(leaf.split())])}
    assert tried == set(LEAVES)


@pytest.mark.parametrize("call", [" ".join(words) for words in CALLS])
def test_what_a_command_does_does_not_depend_on_who_reads(results: Results, call: str) -> None:
    usual = results[call][AS_USUAL]
    for kind, done in results[call].items():
        full = "output full" in kind and bool(usual["out"])
        assert done["code"] == (usual["code"] or int(full)), (kind, done)
        assert [word for word in NO_SENTENCES if word in done["err"]] == [], (kind, done)
        assert done["err"].count(FULL) == int(full), (kind, done)
        assert done["made"] == usual["made"], kind
        assert done["logs"] == [], kind


# --- a terminal that closes -------------------------------------------------------------------------------


@pytest.fixture
def slow(git_repo: Callable[..., Path]) -> Path:
    """A repository whose test takes its time."""
    return git_repo({"a.txt": "x = 1\n"})


SLOW_TEST = ("--sandbox", "none", "--test", "sleep 2; test -f nothing", "--model", "builtin/repair")


def hang_up(where: Path, words: Sequence[str], until: str, *, typed: str = "", heard: bool = True) -> int:
    """The exit code of a command whose terminal closes once it says `until`; without `heard` under nohup."""
    child = pexpect.spawn(
        str(Path(sys.executable).parent / "acr"),
        list(words),
        cwd=str(where),
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=60,
        ignore_sighup=not heard,
    )
    if typed:
        child.expect("acr>")
        child.send(typed)
    child.expect(until)
    os.close(child.child_fd)
    child.child_fd, child.closed = -1, True
    assert child.pid is not None
    _, status = os.waitpid(child.pid, 0)
    return os.waitstatus_to_exitcode(status)


def at_rest(home: Path, repo: Path) -> tuple[RunFolder, ...]:
    """The runs, once nothing of them is left but what is kept, and nothing was unforeseen."""
    assert (repo / "a.txt").read_text() == "x = 1\n"
    assert not (home / "logs").exists()
    runs = list_runs(home)
    assert [copy for run in runs for copy in run.copies()] == []
    return runs


def test_a_run_whose_terminal_closes_is_interrupted_and_can_go_on(slow: Path, acr_home: Path) -> None:
    assert hang_up(slow, ("fix", *SLOW_TEST), "running the tests") == 130
    (run,) = at_rest(acr_home, slow)
    assert run.describe()["status"] == "interrupted"
    assert hang_up(slow, ("runs", "resume", run.id), "running the tests") == 130
    (run,) = at_rest(acr_home, slow)
    assert run.describe()["status"] == "interrupted"


def test_a_run_that_goes_on_without_its_terminal_ends_as_any_other(slow: Path, acr_home: Path) -> None:
    assert hang_up(slow, ("fix", *SLOW_TEST), "running the tests", heard=False) == 3
    (run,) = at_rest(acr_home, slow)
    assert (run.describe()["status"], run.describe()["summary"][:9]) == ("error", "This task")


@pytest.mark.parametrize(("typed", "until"), [("", "acr>"), ("/fix\r", "running the tests")])
def test_a_chat_whose_terminal_closes_is_interrupted(
    slow: Path, acr_home: Path, typed: str, until: str
) -> None:
    assert hang_up(slow, ("chat", *SLOW_TEST), until, typed=typed) == 130
    assert [run.describe()["status"] for run in at_rest(acr_home, slow)] == ["interrupted"] * bool(typed)


@pytest.mark.parametrize("heard", [True, False])
def test_a_question_whose_terminal_closes_is_no_yes(slow: Path, acr_home: Path, heard: bool) -> None:
    memory = Memory(acr_home)
    memory.remember(make_outcome("o1", repository="here"))
    code = hang_up(slow, ("memory", "forget", "--repository", "here"), r"\[y/N\]", heard=heard)
    assert code in ((130,) if heard else (0, 1))  # it reads the end of a file, or an error
    assert [outcome.id for outcome in memory.list()] == ["o1"]
    memory.close()
    at_rest(acr_home, slow)
