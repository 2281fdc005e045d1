"""A socket that listens inside a sandbox and is answered outside: the sandbox's only opening.

A socket belongs to the network that it was made in, whoever holds it. So a small program of our own enters
the network of the sandbox, makes the socket there and hands it over; nothing has to run inside.
"""

from __future__ import annotations

import socket
import subprocess
import sys

from acr_cli.errors import SandboxUnavailable

# A network's capabilities are had in the user namespace that owns it, which is not the innermost one; and a
# process with threads may enter none, so that it is done by another program.
_ENTER = """\
import ctypes, fcntl, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
network = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
def enter(namespace, kind):
    if libc.setns(namespace, kind):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
try:
    enter(fcntl.ioctl(network, 0xB701), 0x10000000)  # NS_GET_USERNS, CLONE_NEWUSER
except OSError:
    pass  # who may enter the network all the same needs no other user namespace
enter(network, 0x40000000)
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
listener.bind(("127.0.0.1", int(sys.argv[2])))
listener.listen(128)
with socket.socket(fileno=int(sys.argv[3])) as channel:
    socket.send_fds(channel, [b"."], [listener.fileno()])
"""


def listener_in(process: int, port: int) -> socket.socket:
    """A socket that listens on `port` of the loopback of the network that a process is in.

    Raises: SandboxUnavailable where the system does not let that network be entered."""
    near, far = socket.socketpair()
    with near, far:
        command = [sys.executable, "-I", "-S", "-c", _ENTER, str(process), str(port), str(far.fileno())]
        done = subprocess.run(
            command, pass_fds=(far.fileno(),), capture_output=True, cwd="/", timeout=60, check=False
        )
        if done.returncode == 0:
            _, handles, _, _ = socket.recv_fds(near, 1, 1)
            return socket.socket(fileno=handles[0])
    why = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason is given"])[-1]
    raise SandboxUnavailable(
        f"Dependencies cannot be installed in bubblewrap here: its network cannot be entered: {why}.",
        hint="Use --sandbox docker, or give the sandbox the network as it is with --network on.",
    )
