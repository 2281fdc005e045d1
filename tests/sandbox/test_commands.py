"""What a command gives back, what files go in and out: the same in every sandbox."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.errors import PathRefused
from acr_cli.protocols import Recipe, Session
from tests.sandbox.conftest import LIMITS, Opened, Opener


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        (["sh", "-c", "exit 4"], 4),
        ("kill -9 $$", 137),
        ("kill -15 $$", 143),
        (["no-such-program"], 127),
        (["./plain.txt"], 126),
    ],
)
def test_exit_codes_are_those_of_a_shell(
    session: Session, command: Sequence[str] | str, exit_code: int
) -> None:
    result = session.run(command)
    assert result.exit_code == exit_code
    assert not result.timed_out
    assert not result.out_of_memory


def test_output_and_errors_come_together(session: Session) -> None:
    result = session.run("echo out; echo err >&2; printf 'gr\\303\\274n \\377'")
    # Two streams: which piece comes first is not said.
    assert all(piece in result.output for piece in ("out\n", "err\n", "grün \ufffd"))
    assert len(result.output) == len("out\nerr\ngrün \ufffd")


def test_argv_is_taken_literally(session: Session) -> None:
    assert session.run(["echo", "$HOME; *", "ü b"]).output == "$HOME; * ü b\n"


def test_the_copy_has_bits_links_and_names(session: Session) -> None:
    assert session.run("./run.sh").output == "it runs\n"
    assert session.run("cat link.txt 'a folder/größe/ein file.txt'").output == "plain\ngrüße\n"
    assert session.run("python -c \"import os; print(os.readlink('dangling'))\"").output == "nowhere\n"
    assert session.run("test -L link.txt && test -L dangling && ! test -x plain.txt").exit_code == 0


def test_the_history_is_not_copied(session: Session) -> None:
    assert session.run("test -e .git").exit_code == 1


def test_the_tree_itself_is_never_written(session: Session, tree: Path) -> None:
    session.run("echo changed > plain.txt; rm run.sh; echo new > new.txt")
    assert (tree / "plain.txt").read_text() == "plain\n"
    assert (tree / "run.sh").exists()
    assert not (tree / "new.txt").exists()


def test_the_copy_and_scratch_last_from_command_to_command(session: Session) -> None:
    session.run(f"echo one > new.txt; echo two > {session.scratch}/two.txt")
    assert session.run(f"cat new.txt {session.scratch}/two.txt").output == "one\ntwo\n"


def test_files_go_in_and_come_out(session: Session) -> None:
    data = bytes(range(256)) * 1000
    session.put({"neu/ö/b in.bin": data, f"{session.scratch}/deep/x": b"x", "plain.txt": b"other"})
    assert session.get("neu/ö/b in.bin") == data
    assert session.get(f"{session.scratch}/deep/x") == b"x"
    assert session.run("cat plain.txt; echo more >> neu/ö/other; cat neu/ö/other").output == "othermore\n"
    assert session.get("neu/ö/other") == b"more\n"


def test_putting_keeps_the_executable_bit(session: Session) -> None:
    session.put({"run.sh": b"#!/bin/sh\necho it still runs\n"})
    assert session.run("./run.sh").output == "it still runs\n"


def test_a_change_within_one_second_is_seen_by_python(session: Session) -> None:
    for number in range(4):
        session.put({"module.py": b"value = %d\n" % number})
        assert session.run(["python", "-c", "import module; print(module.value)"]).output == f"{number}\n"


@pytest.mark.parametrize(
    "path", ["missing", "a folder", "dangling", "link.txt", "plain.txt/x", "outside/passwd"]
)
def test_only_regular_files_come_out(session: Session, path: str) -> None:
    assert session.get(path) is None


def test_a_pipe_or_a_link_planted_by_a_command_does_not_come_out(session: Session) -> None:
    session.run("python -c \"import os; os.mkfifo('pipe'); os.symlink('/etc/passwd', 'report.xml')\"")
    assert session.get("pipe") is None
    assert session.get("report.xml") is None


def test_a_file_is_not_written_through_a_planted_link(session: Session, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    session.run(f"ln -s {victim} planted || python -c \"import os; os.symlink('{victim}', 'planted')\"")
    with pytest.raises(PathRefused):
        session.put({"planted/x": b"x"})
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ""])
def test_paths_outside_are_refused(session: Session, path: str) -> None:
    with pytest.raises(PathRefused):
        session.put({path: b"x"})
    with pytest.raises(PathRefused):
        session.get(path)


def test_the_environment_holds_what_is_given_and_no_secret(
    opener: Opener, opened: Opened, tree: Path
) -> None:
    environ = {**os.environ, "OPENAI_API_KEY": "planted-secret", "AWS_SECRET_ACCESS_KEY": "planted-secret"}
    sandbox = opener(opened.sandbox.name, environ=environ).sandbox
    sandbox.prepare(Recipe(language="python", environment={"FROM_RECIPE": "1", "BOTH": "recipe"}), tree)
    with sandbox.open(tree) as session:
        shown = session.run("env", environment={"FROM_RUN": "2", "BOTH": "run"}).output
    assert "planted-secret" not in shown
    lines = shown.splitlines()
    assert {"FROM_RECIPE=1", "FROM_RUN=2", "BOTH=run"} <= set(lines)
    assert any(line.startswith("HOME=/") for line in lines)


def test_head_and_tail_of_a_long_output_are_kept(session: Session) -> None:
    program = "import sys\nprint('begin')\nfor _ in range(20): sys.stdout.write('x' * 10**6)\nprint('end')"
    result = session.run(["python", "-c", program])
    assert result.exit_code == 0
    assert result.truncated
    assert len(result.output) < LIMITS.output_bytes + 100
    assert result.output.startswith("begin")
    assert result.output.endswith("end\n")
    assert "bytes left out" in result.output


def test_standard_input_is_empty(session: Session) -> None:
    assert session.run("cat; echo done").output == "done\n"


def test_limits_can_be_given_for_one_command(session: Session) -> None:
    result = session.run("echo begun; sleep 60", limits=replace(LIMITS, seconds=1.0))
    assert result.timed_out
    assert result.exit_code == 137
    assert result.output == "begun\n"
    assert session.run("echo alive").output == "alive\n"
