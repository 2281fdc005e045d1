"""What a command cannot do. `none` has no walls: only its time, memory and processes are watched."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.protocols import Recipe, Session
from tests.sandbox.conftest import LIMITS, Opener

CONNECT = """\
import socket, sys
for address in [("127.0.0.1", int(sys.argv[1])), ("192.0.2.1", 80), ("10.255.255.53", 53), ("8.8.8.8", 53)]:
    try:
        socket.create_connection(address, timeout=2)
    except OSError as error:
        print(type(error).__name__, error.errno)
    else:
        print("connected")
"""

LOOPBACK = """\
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(("localhost", server.getsockname()[1]), timeout=5)
print("connected")
"""

FORK_BOMB = """\
import os, time
made = 0
try:
    for _ in range(500):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    print("refused after", made)
    raise SystemExit(9)
time.sleep(30)
"""

EATER = """\
held = []
while True:
    held.append(bytearray(1 << 20))
"""

BEAT = """\
import os, sys, time
if os.fork():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    time.sleep(float(sys.argv[2]))
    os._exit(0)
os.setsid()
if os.fork():
    time.sleep(60)
while True:
    with open(sys.argv[1], "a") as file:
        file.write(".")
    time.sleep(0.02)
"""


def test_there_is_no_network(walled_session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = ["-c", CONNECT, str(server.getsockname()[1])]
        outside = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=False)
        assert outside.stdout.startswith("connected\n")
        said = walled_session.run(["python", *program]).output
    assert "connected" not in said
    assert said.count("Error") == 4


def test_localhost_is_there(walled_session: Session) -> None:
    assert walled_session.run(["python", "-c", LOOPBACK]).output == "connected\n"


@pytest.mark.parametrize("path", ["/planted", "/usr/planted", "/etc/planted", "/dev/planted", "/acr/planted"])
def test_nothing_but_the_copy_can_be_written(walled_session: Session, path: str) -> None:
    result = walled_session.run(f"echo x > {path}")
    assert result.exit_code != 0
    assert not Path(path).exists()


def test_the_root_is_read_only_whoever_writes(walled_session: Session) -> None:
    mounts = [line.split() for line in walled_session.run("cat /proc/self/mounts").output.splitlines()]
    assert [options.split(",")[0] for _, place, _, options, *_ in mounts if place == "/"] == ["ro"]


def test_temporary_files_and_a_home_can_be_written_and_run(walled_session: Session) -> None:
    write = "printf '#!/bin/sh\\necho ran\\n' > {0}/p && chmod +x {0}/p && {0}/p"
    for folder in ("/tmp", '"$HOME"', walled_session.scratch):
        assert walled_session.run(write.format(folder)).output == "ran\n"


def test_temporary_files_do_not_last(walled_session: Session) -> None:
    walled_session.run("echo x > /tmp/x; echo x > $HOME/x")
    assert walled_session.run("test -e /tmp/x || test -e $HOME/x").exit_code == 1


def test_commands_are_an_ordinary_user_without_capabilities(walled_session: Session) -> None:
    assert walled_session.run("id -u; id -g").output == "1000\n1000\n"
    shown = walled_session.run("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status").output.split()
    assert shown == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]


READ = 'test -S "$1" || cat "$1" || ls -A "$1/."'  # a socket, a file or a folder


def test_files_of_the_machine_are_not_seen(walled_session: Session, tmp_path: Path) -> None:
    for folder in (tmp_path, Path.home()):
        (folder / "secret").write_text("secret")
        for path in map(str, (folder, folder / "secret")):
            command = ["/bin/sh", "-c", READ, "sh", path]
            outside = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            inside = walled_session.run(command).output
            assert ("secret" in outside, "secret" in inside.replace(path, "")) == (True, False), path
    for path in ("/etc/shadow", "/etc/ssl/private", "/var/run/docker.sock", "/run/docker.sock"):
        assert walled_session.run(["/bin/sh", "-c", READ, "sh", path]).exit_code != 0, path


@pytest.mark.parametrize("orphans", [False, True])
def test_too_many_processes_are_stopped(session: Session, orphans: bool) -> None:
    program = FORK_BOMB.replace("time.sleep(30)", "os.fork() or time.sleep(30)", 1) if orphans else FORK_BOMB
    result = session.run(["python", "-c", program], limits=replace(LIMITS, seconds=20))
    assert not result.timed_out
    assert result.exit_code in {9, 137}
    assert session.run("echo alive").output == "alive\n"


def test_too_much_memory_is_stopped_and_said(session: Session) -> None:
    result = session.run(["python", "-c", EATER])
    assert result.out_of_memory
    assert result.exit_code == 137
    assert not result.timed_out


def test_memory_shared_by_forks_counts_once(session: Session) -> None:
    program = (
        "import os, time\n"
        "held = bytearray(60 << 20)\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(1); os._exit(0)\n"
        "for _ in range(8): os.wait()\n"
        "print('done')\n"
    )
    assert session.run(["python", "-c", program]).output == "done\n"


def _beats(session: Session, beat: str) -> tuple[int, int]:
    first = len(session.get(beat) or b"")
    time.sleep(0.3)  # fifteen beats, if it still lived
    return first, len(session.get(beat) or b"")


def test_a_time_out_kills_what_left_its_session(session: Session) -> None:
    beat = f"{session.scratch}/beat"
    session.put({"beat.py": BEAT.encode()})
    result = session.run(["python", "beat.py", beat, "60"], limits=replace(LIMITS, seconds=2))
    assert result.timed_out
    first, later = _beats(session, beat)
    assert 0 < first == later


def test_nothing_outlives_its_command(session: Session) -> None:
    beat = f"{session.scratch}/beat"
    session.put({"beat.py": BEAT.encode()})
    result = session.run(["python", "beat.py", beat, "0.3"])
    assert (result.exit_code, result.timed_out) == (0, False)
    first, later = _beats(session, beat)
    assert 0 < first == later


def test_the_network_can_be_allowed(opener: Opener, tree: Path) -> None:
    sandbox = opener("bubblewrap", network=True).sandbox
    sandbox.prepare(Recipe(language="python"), tree)
    with sandbox.open(tree) as session:
        shown = session.run(["python", "-c", "import os; print(os.readlink('/proc/self/ns/net'))"]).output
    assert shown.strip() == str(Path("/proc/self/ns/net").readlink())
