"""A person in the loop: a chat on a terminal and from a pipe, and what is asked before something is done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect

from acr_cli.testing.answers import Answer, Say, Stall, call
from acr_cli.testing.loopback import LoopbackServer, Request
from tests.end_to_end.conftest import RIGHT, SLUG
from tests.end_to_end.test_resume import TASK, Model

Acr = Callable[..., subprocess.CompletedProcess[str]]
PROMPT = "acr>"


def terminal(where: Path, *arguments: str, **environment: str) -> pexpect.spawn[str]:
    """The program on a terminal that answers no question about itself."""
    given = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1", **environment}
    program = str(Path(sys.executable).parent / "acr")
    return pexpect.spawn(
        program,
        list(arguments),
        cwd=str(where),
        env=given,
        encoding="utf-8",
        timeout=150,
        dimensions=(50, 150),
    )


def said_to(request: Request) -> str:
    return str(request.messages[-1]["content"])


def test_a_chat_on_a_terminal(broken: Path, acr_home: Path, pool: Callable[..., None]) -> None:
    heard: list[str] = []

    def model(request: Request) -> Answer:
        heard.append(said_to(request))
        stalls = "think for long" in heard[-1].split("What was said and done")[0]
        return Stall(seconds=120) if stalls else Say(text=f"slug.py\n```\n{RIGHT}```\n")

    with LoopbackServer({"writer": model}) as server:
        pool(server, {"writer": 0.5}, own_tests=False)
        chat = terminal(broken, "chat", "--sandbox", "none", "--model", "openai/writer")
        chat.expect(PROMPT)
        chat.send("/mod\t")
        chat.expect("el")
        chat.send("\r")
        chat.expect("openai/writer takes every step")
        chat.expect(PROMPT)
        chat.send("make slugify join words\\\rso that test_slug.py passes\r")
        chat.expect("Fixed and verified")
        chat.expect(PROMPT)
        fixed = (broken / "slug.py").read_text()
        chat.send("/undo\r")
        chat.expect("Reversed run")
        chat.expect(PROMPT)
        undone = (broken / "slug.py").read_text()
        chat.send("think for long\r")
        chat.expect("openai/writer is at work")
        while len(heard) < 2:
            time.sleep(0.02)
        chat.sendintr()
        chat.expect("Interrupted; your files are as they were")
        chat.expect(PROMPT)
        chat.send("/cost\r")
        chat.expect("in 2 runs of this chat")
        chat.expect(PROMPT)
        chat.sendeof()
        chat.expect(pexpect.EOF)
        chat.close()

    assert chat.exitstatus == 0
    assert (fixed, undone) == (RIGHT, SLUG["slug.py"])
    assert "make slugify join words\nso that test_slug.py passes" in heard[0]
    assert re.search(
        r"What was said and done before.*make slugify join words.*took back", heard[1], re.DOTALL
    )
    assert "think for long" in (acr_home / "chat_history").read_text()
    assert (acr_home / "chat_history").stat().st_mode & 0o077 == 0


def test_a_chat_from_a_pipe_takes_each_line_and_ends_with_the_code_of_the_last(
    acr: Acr, broken: Path
) -> None:
    lines = "/help\n\n/tset\n/test\n/undo\n"

    done = acr("chat", "--sandbox", "none", input=lines, cwd=broken)

    assert done.returncode == 2
    assert "take the last patch back" in done.stdout
    assert "There is no command /tset; did you mean '/test'?" in done.stderr
    assert "1 of 2 tests fail" in done.stderr
    assert "make 1 failing test pass" in done.stdout
    assert "There is nothing here to undo." in done.stderr
    assert (broken / "slug.py").read_text() == SLUG["slug.py"]
    assert acr("chat", "--json", cwd=broken).returncode == 2


def test_nobody_who_could_answer_is_said_before_anything_is_done(
    acr: Acr, acr_home: Path, broken: Path
) -> None:
    done = acr("fix", "--approve", "edits", cwd=broken)

    assert done.returncode == 2
    assert "--approve edits asks before changes are made" in done.stderr
    assert "--approve auto" in done.stderr
    assert not (acr_home / "runs").exists()


def test_commands_and_the_patch_are_asked_about(broken: Path, acr_home: Path) -> None:
    script = [
        Say(tool_calls=(call("run", {"command": "touch made.txt"}),)),
        Say(tool_calls=(call("edit", {"path": "slug.py", "search": SLUG["slug.py"], "replace": RIGHT}),)),
        Say(tool_calls=(call("finish", {"summary": "done"}),)),
    ]
    with LoopbackServer({"writer": script}) as server:
        acr_home.mkdir(parents=True)
        (acr_home / "config.toml").write_text(
            f'[[model]]\nid = "openai/writer"\nbase_url = "{server.base_url}"\ntools = true\n'
        )
        run = terminal(broken, "fix", "--sandbox", "none", "--model", "openai/writer", "--approve", "all")
        run.expect("The model wants to run, in the sandbox:\\s+touch made.txt")
        run.sendline("n")
        run.expect("Apply this patch\\?")
        run.sendline("n")
        run.expect("Not applied; `acr apply")
        run.expect(pexpect.EOF)
        run.close()
        answers = [str(m["content"]) for m in server.requests[-1].messages if m["role"] == "tool"]

    assert run.exitstatus == 0
    assert "The user does not allow this command" in answers[0]
    assert (broken / "slug.py").read_text() == SLUG["slug.py"]


def test_a_plan_is_edited_before_it_is_carried_out(
    git_repo: Callable[..., Path], pool: Callable[..., None], tmp_path: Path
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "/write two/d" "$1"\n')
    editor.chmod(0o755)
    model = Model()
    with LoopbackServer({"writer": model}) as server:
        pool(server, {"writer": 1.0})
        options = ("--sandbox", "none", "--model", "openai/writer", "--approve", "edits")
        run = terminal(git_repo({"a.txt": "old\n"}), "fix", *options, TASK, EDITOR=str(editor))
        run.expect("Which command runs the tests")
        run.sendline("")
        run.expect("3 edit: write three.txt")
        run.expect("Carry it out")
        run.sendline("e")
        run.expect("2 edit: write three.txt")
        run.expect("Carry it out")
        run.sendline("d 1")
        run.expect("1 edit: write three.txt")
        run.expect("Carry it out")
        run.sendline("y")
        run.expect("three.txt")
        run.expect(pexpect.EOF)
        run.close()

    assert run.exitstatus == 8
    assert model.asked == ["plan", "three"]
