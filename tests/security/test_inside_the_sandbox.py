"""What code tries in a sandbox to get more than it was given; each attack works outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acr_cli.protocols import Session
from tests.sandbox.conftest import opened, opener, session, tree, walled, walled_session

__all__ = ["opened", "opener", "session", "tree", "walled", "walled_session"]

UNSHARE = """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, flag in [("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000)]:
    print(name, "made" if libc.unshare(flag) == 0 else "refused")
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
    assert said.count("refused") == 4


def test_outside_they_can_be_made() -> None:
    if Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        pytest.skip("needs a kernel that lets users make namespaces")
    done = subprocess.run([sys.executable, "-c", UNSHARE], capture_output=True, text=True, check=False)
    assert "user made" in done.stdout


def test_no_address_of_the_surroundings_answers(walled_session: Session) -> None:
    assert "connected" not in walled_session.run(["python", "-c", ADDRESSES]).output


def test_no_privilege_is_had(walled_session: Session) -> None:
    said = walled_session.run(["python", "-c", PRIVILEGE]).output
    assert ("DONE" in said, "mount 0" in said, "chroot 0" in said) == (False, False, False), said


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
