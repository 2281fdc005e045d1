"""The built program with a wish of several parts: a plan, and a second one once it is known to be wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from acr_cli.testing.answers import Answer, Say
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]
Pool = Callable[..., None]

REPOSITORY = {"a.py": "x = 1\n", "test_a.py": "import a\n\n\ndef test_x():\n    assert a.x == 1\n"}
WISH = "In a.py:\n- add y, which is 2\n- add z, which is 3\n- keep x\n"


def kind_of(request: Request) -> str:
    system = str(request.messages[0]["content"])
    if "Plan the task" in system:
        return "plan"
    return "test" if "Write one small test" in system else "edit"


def test_a_step_that_breaks_something_leads_to_one_new_plan(
    acr: Acr, git_repo: Callable[..., Path], pool: Pool
) -> None:
    repo = git_repo(REPOSITORY)
    plans = iter(
        [
            [{"text": "Add y.", "check": "y is there"}, {"text": "Replace x by z."}],
            [{"text": "Add z beside x."}],
        ]
    )

    def answer(request: Request) -> Answer:
        if kind_of(request) == "plan":
            return Say(text=json.dumps(next(plans)))
        asked = str(request.messages[1]["content"])
        content = "x = 1\ny = 2\n"
        if "Replace x by z." in asked:
            content = "z = 3\ny = 2\n"
        elif "Add z beside x." in asked:
            content = "x = 1\ny = 2\nz = 3\n"
        return Say(text=f"a.py\n```\n{content}```\n")

    with LoopbackServer({"weak": answer}) as server:
        pool(server, {"weak": 0.5})
        done = acr("fix", WISH, "--json", "--sandbox", "none", cwd=repo)
    result = result_of(done.stdout)

    # Nothing shows that it works, as the plan had no test step; but nothing broke in the end.
    assert (done.returncode, result["status"]) == (8, "changed_unverified"), done.stderr
    assert [kind_of(request) for request in server.requests] == ["plan", "edit", "edit", "plan", "edit"]
    again = str(server.requests[3].messages[1]["content"])
    assert "Now it is known: this step failed: Replace x by z." in again
    assert "- edit: Add y." in again
    assert "test_a.py::test_x passed before and fails now" in again
    assert "+z = 3" in result["patch"]
    assert "-x = 1" not in result["patch"]
    events = [json.loads(line) for line in done.stdout.splitlines()]
    steps = [step for event in events if event["type"] == "plan" for step in event["steps"]]
    assert {(step["kind"], step["dimension"]) for step in steps} == {
        ("plan", "agentic_programming"),
        ("edit", "agentic_programming"),
    }
    assert "y is there" in {step["check"] for step in steps}
    server.assert_clean()
