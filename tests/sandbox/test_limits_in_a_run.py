"""The limits of a user's settings bind all that a run executes: tests, patches, and what a model runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.testing.answers import Say, call
from acr_cli.testing.loopback import LoopbackServer
from tests.conftest import DOCKER_IMAGE
from tests.end_to_end.conftest import _interpreter, result_of
from tests.end_to_end.test_interruptions import labelled
from tests.end_to_end.test_models import writes
from tests.sandbox.conftest import WALLED

__all__ = ["_interpreter"]

Acr = Callable[..., subprocess.CompletedProcess[str]]

LIMITS = 'disk_limit = "16MiB"\nmemory_limit = "300MiB"\npids = 60\ntest_timeout = "50s"\n'
FILL = """\
import time


def fill():
    with open("filled", "wb") as file:
        for _ in range(40):
            file.write(b"x" * (1 << 20))
            file.flush()
        time.sleep(30)
"""
TEST = "from calc import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
CODE = "def double(x):\n    return x * 3\n"


def configure(acr_home: Path, server: LoopbackServer | None = None, more: str = "") -> None:
    model = f'[[model]]\nid = "openai/greedy"\nbase_url = "{server.base_url}"\n{more}' if server else ""
    acr_home.mkdir(parents=True)
    (acr_home / "config.toml").write_text(f"{LIMITS}attempts = 1\n{model}")


def options(sandbox: str) -> tuple[str, ...]:
    return ("--json", "--sandbox", sandbox, *(("--image", DOCKER_IMAGE) if sandbox == "docker" else ()))


def left(acr_home: Path, sandbox: str) -> list[str]:
    copies = [str(path) for path in acr_home.glob("runs/*/*") if path.name in ("tree", "git", "sandbox")]
    return copies + (labelled() if sandbox == "docker" else [])


def test_tests_that_fill_the_disk_end_the_run_with_what_to_do(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    configure(acr_home)
    files = {"calc.py": CODE, "fill.py": FILL}
    repo = git_repo({**files, "test_calc.py": f"import fill\n{TEST}\n\ndef test_fill():\n    fill.fill()\n"})
    done = acr("fix", *options("bubblewrap"), "--model", "builtin/repair", cwd=repo)
    error = result_of(done.stdout)["error"]
    assert (done.returncode, error["id"]) == (4, "baseline-cannot-start"), done.stderr
    assert error["message"].startswith("The tests wrote more to the disk than allowed: ")
    assert "acr config set disk_limit" in error["hint"]
    assert left(acr_home, "bubblewrap") == []


def test_tests_that_run_too_many_processes_end_the_run_with_what_to_do(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    configure(acr_home)
    many = "subprocess.run('for i in $(seq 90); do sleep 30 & done; wait', shell=True)"
    repo = git_repo(
        {"calc.py": CODE, "test_calc.py": f"import subprocess\n{TEST}\n\ndef test_m():\n    {many}\n"}
    )
    done = acr("fix", "--json", "--sandbox", "none", "--model", "builtin/repair", cwd=repo)
    error = result_of(done.stdout)["error"]
    assert (done.returncode, error["id"]) == (4, "baseline-cannot-start"), done.stderr
    assert error["message"].startswith("The tests ran more processes at once than allowed: ")
    assert "`acr config set pids N`" in error["hint"]


@pytest.mark.parametrize("sandbox", WALLED)
def test_a_patch_that_fills_the_disk_is_no_fix(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path], sandbox: str
) -> None:
    patched = f"{FILL}\n\ndef double(x):\n    fill()\n    return x * 2\n"
    repo = git_repo({"calc.py": CODE, "test_calc.py": TEST})
    with LoopbackServer({"greedy": writes(patched, "calc.py")}) as server:
        configure(acr_home, server)
        done = acr("fix", *options(sandbox), "--model", "openai/greedy", cwd=repo)
    assert (done.returncode, result_of(done.stdout)["status"]) == (1, "not_fixed"), done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    verdicts = [event for event in events if event["type"] == "verdict"]
    assert "wrote more to the disk than allowed" in json.dumps(verdicts)
    assert (repo / "calc.py").read_text() == CODE
    assert left(acr_home, sandbox) == []


def test_what_a_model_runs_keeps_the_limits_of_the_user(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    script = [
        Say(tool_calls=(call("run", {"command": "ulimit -v"}),)),
        Say(tool_calls=(call("edit", {"path": "calc.py", "search": "x * 3", "replace": "x * 2"}),)),
        Say(tool_calls=(call("finish", {"summary": "Doubled."}),)),
    ]
    repo = git_repo({"calc.py": CODE, "test_calc.py": TEST})
    with LoopbackServer({"greedy": script}) as server:
        configure(acr_home, server, "tools = true\n")
        done = acr("fix", *options("bubblewrap"), "--model", "openai/greedy", cwd=repo)
        answers = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert done.returncode == 0, done.stdout
    assert answers[0].startswith(f"{2 * 300 * 1024}\n"), "address space is twice the memory"
