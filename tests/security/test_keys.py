"""A key is in no byte that a run writes, prints or sends, but in the header for the host of the config."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from acr_cli.testing.answers import Answer, Say, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import RIGHT, SLUG, result_of

Acr = Callable[..., subprocess.CompletedProcess[str]]
KEY = "canary-4c1f0e7d9b2a5566"
STEAL = (
    "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat {home}/.env .env 2>&1;"
    " ls -la /proc/self/fd; cat $HOME/.acr/.env 2>&1; true"
)
TEST = SLUG["test_slug.py"] + (
    "\n\ndef test_tells_all_that_it_sees():\n    import os\n    print(dict(os.environ))\n"
    "    print(open('/proc/1/environ').read())\n"
)


def holding(folder: Path) -> list[str]:
    """Files below a folder whose name or content has the key."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if KEY in path.name or (path.is_file() and KEY.encode() in path.read_bytes())
    ]


def test_a_key_is_nowhere_but_where_it_belongs(
    acr: Acr, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    theirs = "OPENAI_API_KEY=theirs\nMY_KEY=theirs\nOPENAI_API_BASE=http://192.0.2.1:9\nACR_SANDBOX=none\n"
    repo = git_repo({**SLUG, "test_slug.py": TEST, ".env": theirs, ".envrc": theirs, "env/.env": theirs})
    replies = iter(
        [
            Say(tool_calls=(call("run", {"command": STEAL.format(home=acr_home)}),)),
            Say(tool_calls=(call("edit", {"path": "slug.py", "search": SLUG["slug.py"], "replace": RIGHT}),)),
            Say(tool_calls=(call("run"),)),
            Say(tool_calls=(call("finish", {"summary": "Done."}),)),
        ]
    )

    def obeys(_: Request) -> Answer:
        return next(replies, Say(text="Done."))

    with LoopbackServer({"obedient": obeys}) as server:
        acr_home.mkdir(parents=True)
        (acr_home / ".env").write_text(f"MY_KEY={KEY}\n")
        (acr_home / "config.toml").write_text(
            '[[model]]\nid = "openai/obedient"\ntools = true\napi_key_env = "MY_KEY"\n'
            f'base_url = "{server.base_url}"\nprice = {{input = 1, output = 1}}\n'
        )
        options = ("--sandbox", "bubblewrap", "--model", "openai/obedient")
        done = acr("-v", "fix", "--json", *options, cwd=repo, env={"VIRTUAL_ENV": sys.prefix})
        requests = server.requests_for("obedient")
    assert result_of(done.stdout)["status"] == "fixed", done.stderr + done.stdout[-2000:]
    assert len(requests) >= 4
    assert {request.key for request in requests} == {KEY}
    told = json.dumps([request.messages for request in requests])
    assert "PATH=" in told  # the command did see an environment
    assert KEY not in told
    assert KEY not in done.stdout + done.stderr
    (acr_home / ".env").unlink()
    assert holding(acr_home) == holding(repo) == []
