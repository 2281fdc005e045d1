"""What code tries in a sandbox to get more than it was given; each attack works outside."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.protocols import Session
from tests.sandbox.conftest import LIMITS, opened, opener, session, tree, walled, walled_session

__all__ = ["opened", "opener", "session", "tree", "walled", "walled_session"]

UNSHARE = """\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, flag in [("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000)]:
    print(name, "made" if libc.unshare(flag) == 0 else "refused")
clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
child = libc.syscall(clone, 0x10000000 | 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
print("child in a user namespace", "refused" if child < 0 else "made")
"""
ADDRESSES = """\
import socket
for address in [("169.254.169.254", 80), ("10.0.0.1", 80), ("192.168.0.1", 80), ("host.docker.internal", 1)]:
    try:
        socket.create_connection(address, timeout=1)
    except OSError as error:
        print("refused", error.errno)
    else:
        print("connected")
"""
PRIVILEGE = """\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
print("chroot", libc.chroot(b"/"))
for deed in (lambda: os.setuid(0), lambda: os.mknod("/tmp/d", 0o20666, os.makedev(1, 1)),
             lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY), lambda: open("/dev/mem", "rb"),
             lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY)):
    try:
        deed()
    except (OSError, PermissionError) as error:
        print("refused")
    else:
        print("DONE")
"""


def test_no_namespace_can_be_made(walled_session: Session) -> None:
    said = walled_session.run(["python", "-c", UNSHARE]).output
    assert "made" not in said
    assert said.count("refused") == 5


def test_outside_they_can_be_made() -> None:
    if Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        pytest.skip("needs a kernel that lets users make namespaces")
    done = subprocess.run([sys.executable, "-c", UNSHARE], capture_output=True, text=True, check=False)
    assert "user made" in done.stdout


def test_no_address_of_the_surroundings_answers(walled_session: Session) -> None:
    said = walled_session.run(["python", "-c", ADDRESSES]).output
    assert [line.split()[0] for line in said.splitlines()] == ["refused"] * 4


def test_no_privilege_is_had(walled_session: Session) -> None:
    said = walled_session.run(["python", "-c", PRIVILEGE]).output
    assert said.splitlines() == ["mount -1", "chroot -1", *["refused"] * 5]


DEEDS = """\
import ctypes, fcntl, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def connect(family, kind, address):
    with socket.socket(family, kind) as there:
        there.settimeout(2)
        there.connect(address)
        there.send(b"x")

deeds = {
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
    "ipv6": lambda: connect(socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53)),
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "abstract": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, sys.argv[1].replace("@", chr(0))),
    "vsock": lambda: connect(40, socket.SOCK_STREAM, (2, 1024)),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packet": lambda: socket.socket(17, socket.SOCK_RAW),
    "keyring": lambda: call(KEYCTL, 0, -3, 0),
    "key": lambda: call(ADD_KEY, b"user", b"acr-test", b"x", 1, -2),
    "bpf": lambda: call(BPF, 72, ctypes.create_string_buffer(72), 72),
    "typing": lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x"),
    "host name": lambda: socket.sethostname("x"),
    "priority": lambda: os.nice(-5),
    "groups": lambda: os.setgroups([0]),
    "owner": lambda: os.chown("/tmp", 0, 0),
    **{path: lambda path=path: os.close(os.open(path, os.O_RDWR)) for path in (
        "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/cgroup.procs", "/var/run/docker.sock",
    )},
    **{path: lambda path=path: os.listdir(path)[0] for path in (
        "/proc/scsi", "/sys/firmware", "/var/lib", "/run/user", "/mnt", "/media", "/boot", "/srv",
    )},
}
for name, deed in deeds.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    if os.fork() == 0:
        try:
            deed()
        except (OSError, LookupError, ValueError, ArithmeticError) as error:
            os._exit(1)
        os._exit(0)
    print(name, "DONE" if os.wait()[1] == 0 else "refused", flush=True)
"""
NUMBERS = {
    "x86_64": {"KEYCTL": 250, "ADD_KEY": 248, "BPF": 321},
    "aarch64": {"KEYCTL": 219, "ADD_KEY": 217, "BPF": 280},
}
CAN_OUTSIDE = {"udp", "abstract"}
"""What works for anybody outside, so that a refusal inside is the sandbox's."""


@pytest.fixture
def deeds() -> Iterator[list[str]]:
    """The program, and the name of a socket of this machine that has no file."""
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        pytest.skip("needs the numbers of this processor's system calls")
    program = DEEDS
    for name, number in numbers.items():
        program = program.replace(name, str(number))
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"@acr-test-{os.getpid()}"
        listener.bind(name.replace("@", "\0"))
        listener.listen()
        yield ["-c", program, name]


def done(said: str, *, tried: int) -> set[str]:
    lines = [line.rpartition(" ") for line in said.splitlines()]
    assert {how for _, _, how in lines} <= {"DONE", "refused"}, said
    assert len(lines) == tried, said
    return {name for name, _, how in lines if how == "DONE"}


def test_what_reaches_out_of_the_sandbox_is_refused(walled_session: Session, deeds: list[str]) -> None:
    assert done(walled_session.run(["python", *deeds]).output, tried=33) == set()


def test_outside_the_same_program_reaches_it(deeds: list[str]) -> None:
    command = [sys.executable, *deeds, *sorted(CAN_OUTSIDE)]  # and nothing else: who runs tests may be root
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done(shown.stdout, tried=len(CAN_OUTSIDE)) == CAN_OUTSIDE


HARD_TO_END = """\
import os, signal, sys, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(3):
    if os.fork():
        os._exit(0) if os.getppid() == 1 else None
    os.setsid()
stopped = os.fork()
if stopped:
    os.kill(stopped, signal.SIGSTOP)
name = os.path.join(sys.argv[1], "alive")
while True:
    with open(name, "a") as file:
        file.write(".")
    time.sleep(0.02)
"""


def test_what_ignores_every_signal_or_is_stopped_is_gone_after_the_time(walled_session: Session) -> None:
    walled_session.put({"hard.py": HARD_TO_END.encode()})
    command = f"(python hard.py {walled_session.scratch} & python hard.py {walled_session.scratch}); sleep 60"
    result = walled_session.run(command, limits=replace(LIMITS, seconds=2))
    assert result.timed_out
    first = walled_session.get(f"{walled_session.scratch}/alive") or b""
    time.sleep(0.3)
    assert first == walled_session.get(f"{walled_session.scratch}/alive") != b""


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "$HOME"])
def test_what_is_not_the_copy_holds_no_more_than_the_memory(walled_session: Session, folder: str) -> None:
    limits = replace(LIMITS, memory_bytes=64 << 20)
    fill = f"dd if=/dev/zero of={folder}/fill bs=1048576 count=300 2>/dev/null; stat -c %s {folder}/fill"
    result = walled_session.run(fill, limits=limits)
    assert result.out_of_memory or 0 < int(result.output) <= limits.memory_bytes
    assert walled_session.run(f"test -e {folder}/fill").exit_code == 1


KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DOCKER_HOST", "SSH_AUTH_SOCK", "ACR_HOME", "AWS_SECRET")


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS[:2] + KEYS[3:4] + KEYS[5:]:
        monkeypatch.setenv(name, "the-users")


@pytest.mark.usefixtures("_keys")
def test_the_environment_holds_nothing_of_the_users(walled_session: Session) -> None:
    shown = walled_session.run(["python", "-c", "import os; print(dict(os.environ))"]).output
    assert "PATH" in shown
    assert not [name for name in (*KEYS, "the-users") if name in shown]
