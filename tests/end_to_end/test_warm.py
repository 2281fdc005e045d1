"""`acr warm` on histories in several languages: learnt from, never touched, never paid for twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acr_cli.testing.answers import Answer, Refuse, Say, Stall, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.conftest import DOCKER_IMAGE
from tests.end_to_end.conftest import RIGHT, SLUG, WRONG
from tests.history.repositories import History, snapshot

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]
PRICES = {"weak": 0.5, "strong": 8.0}

pytestmark = pytest.mark.slow
WARM = ("warm", "--json", "--max-cost", "1", "--sandbox", "none")
NO_REPAIR = ("--exclude", "builtin/repair")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    """A history whose repository must be afterwards what it was before the first call, byte for byte."""
    made = History(tmp_path / "project")
    yield made
    before = getattr(made, "before", None)
    assert before is None or snapshot(made.root) == before


def sealed(history: History) -> Path:
    """The repository, written to the end: with something staged and something untracked."""
    (history.root / "staged.txt").write_text("staged\n")
    history.git("add", "staged.txt")
    (history.root / "mine.txt").write_text("not git's\n")
    history.before = snapshot(history.root)  # type: ignore[attr-defined]
    return history.root


def last(stdout: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stdout.strip().splitlines()[-1])
    assert (found["type"], found["schema"]) == ("warm", 1)
    return found


def lines(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def outcomes(acr: Acr) -> list[dict[str, Any]]:
    """All that memory holds, the oldest first."""
    return [json.loads(line) for line in acr("memory", "list", "--json").stdout.splitlines()][::-1]


def noise(history: History, times: int) -> None:
    """Commits that are no tasks, of every kind."""
    for _ in range(times):
        number = history.commits
        history.commit(f"docs {number}", {"README.md": f"{number}\n"})
        history.commit(f"sources {number}", {f"extra_{number}.txt": f"{number}\n"})
        history.commit(f"tests only {number}", {"tests/data.txt": f"{number}\n"})
        history.commit(f"empty {number}", {})
        history.commit(
            f"binary {number}", {"tests/data.txt": f"b{number}\n", "logo.bin": bytes([0, number % 256])}
        )
        history.commit(
            f"huge {number}", {"tests/data.txt": f"h{number}\n", **dict.fromkeys(many(number), "x")}
        )
        history.git("mv", f"extra_{number}.txt", f"renamed_{number}.txt")
        history.commit(f"rename {number}", {"tests/data.txt": f"r{number}\n"})
        history.git("checkout", "--quiet", "-b", f"side-{number}")
        history.commit(f"on the side {number}", {f"side_{number}.txt": "1\n"})
        history.git("checkout", "--quiet", "main")
        history.git("merge", "--quiet", "--no-ff", f"--message=merge {number}", f"side-{number}")


def many(number: int) -> list[str]:
    return [f"many/{number}-{each}.txt" for each in range(31)]


REASONS = {
    *("changes no tests", "changes no sources", "changes nothing", "changes binary files", "renames files"),
    *("changes more than 30 files", "a merge", "the first commit"),
}

# --- Python, without any model ------------------------------------------------------------------------------

CLAMP = (
    "def clamp(value, low, high):\n    if value {} low:\n        return low\n    return min(value, high)\n"
)
MEAN = "def mean(numbers):\n    return sum(numbers) / (len(numbers) {} 1)\n"
MEAN_RIGHT = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"


def numbers_history(history: History) -> None:
    """About thirty commits, two of which repair what a small change can repair."""
    start = {
        "numbers_/__init__.py": "",
        "numbers_/clamp.py": CLAMP.format(">"),
        "numbers_/mean.py": MEAN.format("+"),
    }
    history.commit("first", {**start, "tests/test_there.py": "def test_there():\n    import numbers_\n"})
    noise(history, 1)
    history.commit(
        "clamp: values below the bound (#3)\n\nFixes: #2",
        {
            "numbers_/clamp.py": CLAMP.format("<"),
            "tests/test_clamp.py": "from numbers_.clamp import clamp\n\n\n"
            "def test_below():\n    assert clamp(-3, 0, 9) == 0\n\n\n"
            "def test_within():\n    assert clamp(4, 0, 9) == 4\n",
        },
    )
    noise(history, 1)
    history.commit(
        "mean is too small",
        {
            "numbers_/mean.py": MEAN_RIGHT,
            "tests/test_mean.py": "from numbers_.mean import mean\n\n\n"
            "def test_mean():\n    assert mean([1, 2, 6]) == 3\n\n\n"
            "def test_of_one():\n    assert mean([4]) == 4\n",
        },
    )
    history.commit(
        "a test that proves nothing",
        {"numbers_/more.py": "x = 1\n", "tests/test_more.py": "def test_more():\n    assert True\n"},
    )
    noise(history, 1)


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_repair_alone_learns_from_a_history_in_python(acr: Acr, history: History, sandbox: str) -> None:
    numbers_history(history)
    repo = sealed(history)
    where = ("--sandbox", sandbox, *(("--image", DOCKER_IMAGE) if sandbox == "docker" else ()))

    listed = acr("warm", "--dry-run", "--json", *where, cwd=repo, timeout=280)

    told = last(listed.stdout)
    assert (listed.returncode, told["status"], told["dry_run"]) == (0, "done", True), listed.stderr
    assert [(t["subject"], t["status"]) for t in told["tasks"]] == [
        ("mean is too small", "listed"),
        ("clamp: values below the bound (#3)", "listed"),
    ]
    assert told["tasks"][1]["tests"] == [
        "tests/test_clamp.py::test_below",
        "tests/test_clamp.py::test_within",
    ]
    assert set(told["skipped"]) == REASONS | {"its tests pass without it"}
    assert sum(told["skipped"].values()) + 2 == told["commits"] == 28
    assert (told["outcomes"], told["expected_usd"]) == (0, 0)
    assert outcomes(acr) == []

    done = acr("warm", "--max-cost", "0", "--json", *where, cwd=repo, timeout=280)

    told = last(done.stdout)
    assert (done.returncode, told["status"]) == (0, "done"), done.stderr
    assert [t["status"] for t in told["tasks"]] == ["passed", "passed"]
    assert told["models"]["builtin/repair"]["passed"] == told["outcomes"] == 2
    assert not [e for e in lines(done.stdout) if "examining" in e.get("text", "")]
    kept = outcomes(acr)
    assert {(o["policy"], o["propensity"], o["verdict"]) for o in kept} == {("escalate", 1.0, "passed")}
    assert {o["repository"] for o in kept} == {told["repository"]}
    remembered = [e["outcome"] for e in lines(done.stdout) if e["type"] == "remembered"]
    assert remembered == [o["id"] for o in kept]

    again = acr("warm", "--max-cost", "0", "--json", *where, cwd=repo)

    told = last(again.stdout)
    assert [t["status"] for t in told["tasks"]] == ["done", "done"]
    assert (again.returncode, told["outcomes"], len(outcomes(acr))) == (0, 0, 2)


def test_the_runs_are_listed_and_none_of_them_can_be_applied_or_undone(
    acr: Acr, history: History, acr_home: Path
) -> None:
    one_task(history)
    repo = sealed(history)
    with LoopbackServer({}) as server:
        assert server.models == ()
        done = acr("warm", "--max-cost", "0", "--sandbox", "none", cwd=repo)

    assert done.returncode == 0, done.stderr
    (run,) = [json.loads(line) for line in acr("runs", "list", "--json", cwd=repo).stdout.splitlines()]
    assert run["task"].startswith("acr warm: ")
    assert acr("apply", cwd=repo).returncode == 2
    assert acr("apply", run["run"], cwd=repo).returncode == 2
    assert acr("undo", cwd=repo).returncode == 2
    assert not [p.name for p in (acr_home / "runs").glob("*/*") if p.name in {"tree", "git", "sandbox"}]


def one_task(history: History) -> None:
    history.commit("first", {"clamp.py": CLAMP.format(">")})
    test = "from clamp import clamp\n\n\ndef test_below():\n    assert clamp(-3, 0, 9) == 0\n"
    test += "\n\ndef test_within():\n    assert clamp(4, 0, 9) == 4\n"
    history.commit("clamp: values below the bound", {"clamp.py": CLAMP.format("<"), "test_clamp.py": test})


# --- with models --------------------------------------------------------------------------------------------


def slug_history(history: History) -> None:
    """unittest; two tasks for models, `slug` and `shout`; what came later must not be seen."""
    start = {"slug.py": SLUG["slug.py"], "shout.py": "def shout(text):\n    return text\n"}
    history.commit("first", {**start, "tests/__init__.py": ""})
    noise(history, 1)
    history.commit(
        "slugify loses words\n\nIt uses re.findall(r'[a-z0-9]+', text.lower()) now.\n"
        "Words are to be joined by dashes.",
        {
            "slug.py": RIGHT,
            "tests/test_slug.py": unittest_of("slug", "slugify", "Hello, big World!", "hello-big-world"),
        },
    )
    noise(history, 1)
    history.commit(
        "shout is to be heard",
        {"shout.py": SHOUT, "tests/test_shout.py": unittest_of("shout", "shout", "hear me", "HEAR ME!!")},
    )
    history.commit("later", {"later.py": "LATER = 'what came later'\n"})


SHOUT = "def shout(text):\n    return text.upper() + '!' * len(text.split())\n"
SECRETS = {
    "slugify": ("re.findall", "'!' * len", "what came later"),
    "shout": ("'!' * len", "what came later"),
}
"""What nobody may see in a task: its fix and all that came later. What came before is there to be read."""


def unittest_of(module: str, function: str, given: str, wanted: str) -> str:
    return (
        f"import unittest\n\nfrom {module} import {function}\n\n\nclass Test(unittest.TestCase):\n"
        f"    def test_it(self):\n        self.assertEqual({function}({given!r}), {wanted!r})\n"
    )


def solves(request: Request) -> Answer:
    asked = str(request.messages[-1]["content"])
    path, source = (
        ("shout.py", SHOUT) if "test_shout" in asked.partition("files of the repo")[0] else ("slug.py", RIGHT)
    )
    return Say(text=f"{path}\n```\n{source}```\n")


def fails(request: Request) -> Answer:
    return Say(text=f"slug.py\n```\n{WRONG}```\n")


def test_the_pool_is_asked_cheapest_first_and_nobody_twice(acr: Acr, history: History, pool: Pool) -> None:
    slug_history(history)
    repo = sealed(history)
    with LoopbackServer({"weak": fails, "strong": solves}) as server:
        pool(server, PRICES)
        listed = acr("warm", "--dry-run", "--json", "--sandbox", "none", *NO_REPAIR, cwd=repo)
        assert server.requests == []
        done = acr(*WARM, *NO_REPAIR, cwd=repo)
        asked = len(server.requests)
        again = acr(*WARM, *NO_REPAIR, cwd=repo)
        assert len(server.requests) == asked
        server.assert_clean()

    assert 0 < last(listed.stdout)["expected_usd"] < 1
    assert {t["candidate"] for t in last(listed.stdout)["tasks"]} == {"openai/weak"}
    told = last(done.stdout)
    assert (done.returncode, [t["status"] for t in told["tasks"]]) == (0, ["passed", "passed"]), done.stderr
    assert {t["candidate"] for t in told["tasks"]} == {"openai/strong"}
    assert [(o["candidate"], o["verdict"], o["failed_before"]) for o in outcomes(acr)] == [
        ("openai/weak", "failed", []),
        ("openai/strong", "passed", ["openai/weak"]),
    ] * 2
    assert told["cost_usd"] == pytest.approx(sum(o["cost_usd"] for o in outcomes(acr)))
    assert [t["status"] for t in last(again.stdout)["tasks"]] == ["done", "done"]
    assert last(again.stdout)["cost_usd"] == 0


def test_the_words_of_the_task_are_the_message_and_the_failing_tests_without_the_fix(
    acr: Acr, history: History, pool: Pool, acr_home: Path
) -> None:
    slug_history(history)
    repo = sealed(history)
    leaks: list[str] = []

    def looks_around(request: Request) -> Answer:
        """A model that looks at all that there is: in the words, in the run's folder and git directory."""
        shown = json.dumps(request.messages)
        for run in (acr_home / "runs").glob("*/tree"):
            stored = [
                "git",
                "--git-dir",
                str(run.parent / "git"),
                "cat-file",
                "--batch-all-objects",
                "--batch",
            ]
            shown += subprocess.run(stored, capture_output=True, check=True).stdout.decode("latin-1")
            log = ["git", "--git-dir", str(run.parent / "git"), "rev-list", "--all", "--reflog"]
            leaks.extend(subprocess.run(log, capture_output=True, check=True, text=True).stdout.split())
            shown += "".join(p.read_bytes().decode("latin-1") for p in run.rglob("*") if p.is_file())
        task = "slugify" if "slugify loses words" in str(request.messages[1]["content"]) else "shout"
        leaks.extend(secret for secret in SECRETS[task] if secret in shown)
        if len(request.messages) == 2:
            return Say(tool_calls=(call("run", {"command": "git log --all -p; grep -r findall . ; ls -a"}),))
        leaks.extend(s for s in ("slugify loses", "what came") if s in str(request.messages[-1]["content"]))
        return Say(text="I give up.")

    with LoopbackServer({"curious": looks_around}) as server:
        pool(server, {"curious": 1.0}, attempts=1)
        done = acr(*WARM, *NO_REPAIR, cwd=repo)

    told = last(done.stdout)
    assert (done.returncode, [t["status"] for t in told["tasks"]]) == (0, ["failed", "failed"]), done.stderr
    assert leaks == []
    (first, *_, other) = [r.messages[1]["content"] for r in server.requests if len(r.messages) == 2]
    assert "shout is to be heard" in first
    assert "HEAR ME!!" in first
    assert "slugify loses words" in other
    assert "Words are to be joined by dashes." in other


def test_a_model_that_edits_the_tests_has_solved_nothing(acr: Acr, history: History, pool: Pool) -> None:
    history.commit("first", {"a.sh": "echo 1\n"})
    history.commit("two", {"a.sh": "echo 2\n", "check.sh": 'test "$(sh a.sh)" = 2\n', "a.spec.txt": "2\n"})
    repo = sealed(history)

    def cheats(request: Request) -> Answer:
        return Say(text="check.sh\n```\ntrue\n```\n\na.spec.txt\n```\n1\n```\n")

    with LoopbackServer({"cheat": cheats}) as server:
        pool(server, {"cheat": 1.0}, attempts=1)
        done = acr(*WARM, "--test", "sh check.sh", *NO_REPAIR, cwd=repo)

    assert [t["status"] for t in last(done.stdout)["tasks"]] == ["failed"], done.stderr


def test_a_budget_is_hard_and_what_was_paid_is_not_paid_again(acr: Acr, history: History, pool: Pool) -> None:
    slug_history(history)
    repo = sealed(history)
    with LoopbackServer({"weak": fails, "strong": solves}) as server:
        pool(server, {"weak": 0.5, "strong": 2000.0})
        stopped = acr(*WARM[:3], "0.5", "--sandbox", "none", *NO_REPAIR, cwd=repo)
        told = last(stopped.stdout)
        assert (stopped.returncode, told["status"], told["error"]["id"]) == (6, "budget", "budget")
        assert told["cost_usd"] <= 0.5
        assert [t["status"] for t in told["tasks"]] == ["stopped"]
        weak = len(server.requests_for("weak"))
        pool(server, PRICES)
        done = acr(*WARM, *NO_REPAIR, cwd=repo)
        asked_of_weak = [str(r.messages[-1]["content"]) for r in server.requests_for("weak")[weak:]]

    told = last(done.stdout)
    assert (done.returncode, [t["status"] for t in told["tasks"]]) == (0, ["passed", "passed"]), done.stderr
    assert not [text for text in asked_of_weak if "shout is to be heard" in text]
    assert [o["failed_before"] for o in outcomes(acr) if o["candidate"] == "openai/strong"] == [
        ["openai/weak"]
    ] * 2


def test_providers_that_are_down_end_it_and_count_against_nobody(
    acr: Acr, history: History, pool: Pool
) -> None:
    slug_history(history)
    repo = sealed(history)
    refuses: Callable[[Request], Answer] = lambda _: Refuse(status=401, message="Incorrect API key provided.")  # noqa: E731
    with LoopbackServer({"weak": refuses, "strong": refuses}) as server:
        pool(server, PRICES)
        done = acr(*WARM, *NO_REPAIR, cwd=repo)

    told = last(done.stdout)
    assert (done.returncode, told["status"]) == (5, "error")
    assert [t["status"] for t in told["tasks"]] == ["void"]
    assert outcomes(acr) == []


def test_another_model_takes_what_others_had_solved(acr: Acr, history: History, pool: Pool) -> None:
    slug_history(history)
    repo = sealed(history)
    with LoopbackServer({"weak": solves, "strong": solves}) as server:
        pool(server, PRICES)
        acr(*WARM, "--model", "openai/weak", cwd=repo)
        done = acr(*WARM, "--allow", "openai/strong", cwd=repo)

    assert [t["candidate"] for t in last(done.stdout)["tasks"]] == ["openai/strong"] * 2, done.stderr
    assert sorted(o["candidate"] for o in outcomes(acr)) == ["openai/strong"] * 2 + ["openai/weak"] * 2


# --- other languages ----------------------------------------------------------------------------------------

SHELL = {
    "source": ("greet.sh", 'echo "hello"\n', 'echo "hello, $1"\n'),
    "test": ("check.sh", 'test "$(sh greet.sh you)" = "hello, you" || { echo "no greeting" >&2; exit 1; }\n'),
    "command": "sh check.sh",
}
NODE = {
    "source": ("add.js", "exports.add = (a, b) => a;\n", "exports.add = (a, b) => a + b;\n"),
    "test": (
        "add.test.js",
        (
            "const test = require('node:test');\nconst { add } = require('./add.js');\n"
            "test('add', () => require('node:assert').strictEqual(add(1, 2), 3));\n"
        ),
    ),
    "command": "node --test",
}
LANGUAGES = {"shell": SHELL, **({"node": NODE} if shutil.which("node") else {})}


@pytest.mark.parametrize("language", LANGUAGES)
def test_any_language_with_a_test_command(acr: Acr, history: History, pool: Pool, language: str) -> None:
    kit = LANGUAGES[language]
    path, wrong, right = kit["source"]
    test, checks = kit["test"]
    history.commit("first", {path: wrong})
    noise(history, 2)
    history.commit("it does what it says", {path: right, test: checks})
    noise(history, 1)
    repo = sealed(history)

    def writes(request: Request) -> Answer:
        return Say(text=f"{path}\n```\n{right}```\n")

    with LoopbackServer({"weak": writes}) as server:
        pool(server, {"weak": 1.0})
        done = acr(
            *("warm", "--json", "--max-cost", "1", "--sandbox", "bubblewrap", "--test", str(kit["command"])),
            cwd=repo,
        )

    told = last(done.stdout)
    assert [(t["status"], t["candidate"]) for t in told["tasks"]] == [("passed", "openai/weak")], done.stderr
    assert told["tasks"][0]["tests"] in ([kit["command"]], ["add.test.js > add"])


def test_without_a_model_a_task_that_repair_does_not_take_is_refused_with_the_remedy(
    acr: Acr, history: History
) -> None:
    path, wrong, right = SHELL["source"]
    history.commit("first", {path: wrong})
    history.commit("fix", {path: right, SHELL["test"][0]: SHELL["test"][1]})
    repo = sealed(history)

    done = acr(*WARM, "--test", "sh check.sh", cwd=repo)

    assert (done.returncode, last(done.stdout)["tasks"][0]["status"]) == (3, "no_candidate")
    assert "acr config init" in last(done.stdout)["error"]["hint"]


# --- ends in mid-air ----------------------------------------------------------------------------------------


@contextmanager
def running(repo: Path) -> Iterator[subprocess.Popen[str]]:
    program = Path(sys.executable).parent / "acr"
    process = subprocess.Popen(
        [program, *WARM, *NO_REPAIR],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_choice_of(process: subprocess.Popen[str], candidate: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "choice" and event["choice"]["candidate"] == candidate:
            return
    raise AssertionError(process.stderr.read() if process.stderr else "")


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGINT])
def test_what_was_paid_before_the_end_is_not_paid_again(
    acr: Acr, history: History, pool: Pool, acr_home: Path, ends: signal.Signals
) -> None:
    slug_history(history)
    repo = sealed(history)
    with LoopbackServer({"weak": fails, "strong": lambda _: Stall(seconds=60.0)}) as server:
        pool(server, PRICES)
        with running(repo) as process:
            wait_for_choice_of(process, "openai/strong")
            os.kill(process.pid, ends)
            stdout, _ = process.communicate(timeout=30)
            code = process.returncode
    if ends == signal.SIGINT:
        told = last(stdout)
        assert (code, told["status"], told["exit_code"]) == (130, "interrupted", 130)
        assert told["outcomes"] == 1
        assert not [p.name for p in (acr_home / "runs").glob("*/*") if p.name in {"tree", "git", "sandbox"}]
    assert [(o["candidate"], o["verdict"]) for o in outcomes(acr)] == [("openai/weak", "failed")]

    with LoopbackServer({"weak": fails, "strong": solves}) as server:
        pool(server, PRICES)
        done = acr(*WARM, *NO_REPAIR, cwd=repo)
        asked_of_weak = [str(r.messages[-1]["content"]) for r in server.requests_for("weak")]

    assert [t["status"] for t in last(done.stdout)["tasks"]] == ["passed", "passed"], done.stderr
    assert not [text for text in asked_of_weak if "shout is to be heard" in text]
    assert len(outcomes(acr)) == 4
    assert not [p.name for p in (acr_home / "runs").glob("*/*") if p.name in {"tree", "git", "sandbox"}]


# --- what is no history -------------------------------------------------------------------------------------


def test_what_is_no_repository_is_refused(acr: Acr, tmp_path: Path) -> None:
    done = acr(*WARM, cwd=tmp_path)

    told = last(done.stdout)
    assert (done.returncode, told["status"], told["error"]["id"]) == (9, "refused", "repository")


@pytest.mark.parametrize("commits", [0, 1])
def test_a_short_history_offers_nothing(acr: Acr, history: History, commits: int) -> None:
    if commits:
        history.commit("first", {"a.py": "x = 1\n"})
    repo = sealed(history)

    done = acr(*WARM, cwd=repo)

    told = last(done.stdout)
    assert (done.returncode, told["status"], told["tasks"], told["commits"]) == (0, "done", [], commits)


def test_tests_that_cannot_start_say_what_is_missing(acr: Acr, history: History) -> None:
    history.commit("first", {"a.py": "x = 1\n"})
    test = "import no_such_package\n\n\ndef test_a():\n    assert no_such_package\n"
    history.commit("fix", {"a.py": "x = 2\n", "test_a.py": test})
    repo = sealed(history)

    done = acr(*WARM, cwd=repo)

    told = last(done.stdout)
    assert (done.returncode, told["error"]["id"]) == (4, "baseline-cannot-start")
    assert "no_such_package" in told["error"]["message"]
    assert told["skipped"] == {"its tests cannot start": 1, "the first commit": 1}
