"""A container beside the one that installs, whose network has nothing but a loopback, and the way from there.

Both share that network. What connects to it is carried on the standard input and output of this container;
here each connection is handed to the gate. The program in the container is small, and runs in Python or
Perl, whichever its image has: those of Debian have one of them at least.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files

from acr_cli.errors import SandboxUnavailable
from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import Limits
from acr_cli.sandbox.attached import Attached
from acr_cli.sandbox.containers import PATIENCE, Labels, making, remove_container, walls
from acr_cli.sandbox.engine import Engine, broken
from acr_cli.sandbox.gate import PORT, Gate

_CHOOSE = """\
for python in python3 python; do
  if "$python" -c "import sys; sys.exit(sys.version_info < (3, 6))" 2>/dev/null; then
    exec "$python" -c "$1" "$3"
  fi
done
exec perl -e "$2" "$3"
"""
_LIMITS = Limits(memory_bytes=512 * 1024**2, pids=16)
_CHUNK = 1 << 16
_MOST = 256  # connections at once: the gate serves no more
_LAST_WORDS = 5.0  # seconds for the threads to end in


@contextlib.contextmanager
def sidecar(engine: Engine, labels: Labels, image: str, gate: Gate) -> Iterator[str]:
    """The id of a container whose network has the gate at `PORT`; it ends with the context.

    Raises: SandboxBroken; SandboxUnavailable where the image can run no such program."""
    from docker.types import LogConfig

    name = labels.name()
    folder = files("acr_cli.sandbox.forwarding")
    program = [(folder / file).read_text() for file in ("forward.py", "forward.pl")]
    try:
        with (
            broken("open a way out of an install step"),
            making(partial(remove_container, engine, name)),
        ):
            container = engine.client.containers.create(
                image,
                entrypoint="/bin/sh",
                command=["-c", _CHOOSE, "sh", *program, str(PORT)],
                name=name,
                labels=labels(),
                network_mode="none",
                stdin_open=True,
                healthcheck={"test": ["NONE"]},
                log_config=LogConfig(type=LogConfig.types.NONE),
                **walls(engine, _LIMITS),
            )
            # A package may be built for long without a word to the network.
            carrier = _Carrier(Attached(engine, name, patience=None), gate)
        try:
            with broken("open a way out of an install step"):
                container.start()
            carrier.begin()
            yield str(container.id)
        finally:
            carrier.close()
    finally:
        with uninterrupted(patience=PATIENCE):
            remove_container(engine, name)


class _Carrier:
    """Both ends of the line: frames to connections, connections to frames."""

    def __init__(self, line: Attached, gate: Gate) -> None:
        self._line = line
        self._gate = gate
        self._lock = threading.Lock()
        self._sending = threading.Lock()  # not the other one: who waits for room on the line must not stop it
        self._ends: dict[int, socket.socket] = {}
        self._half: set[int] = set()  # connections of which one direction has ended
        self._threads: list[threading.Thread] = []
        self._frames = self._read_frames()

    def begin(self) -> None:
        """Wait until the program listens. Raises: SandboxUnavailable with what the image says instead."""
        which, said = next(self._frames, (0, b""))
        if (which, said) != (0, b"ready"):
            raise SandboxUnavailable(
                "The image has neither Python nor Perl, without which its install step cannot be kept to"
                " public addresses.",
                hint="Name another with --image, or give the sandbox the network as it is with --network on.",
            )
        self._start(self._carry_in)

    def close(self) -> None:
        self._line.hang_up()
        with self._lock:
            ends = list(self._ends.values())
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_LAST_WORDS)
        for end in ends:
            end.close()
        self._line.close()

    def _start(self, life: Callable[[], None]) -> None:
        thread = threading.Thread(target=life, name="acr-sidecar", daemon=True)
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()

    def _read_frames(self) -> Iterator[tuple[int, bytes]]:
        """Frames of the program's output; ends where the line does, or says something else."""
        received = b""
        for data in self._line.output():
            received += data
            while len(received) >= 8:
                which, length = struct.unpack(">II", received[:8])
                if length > _CHUNK:
                    return
                if len(received) < 8 + length:
                    break
                yield which, received[8 : 8 + length]
                received = received[8 + length :]

    def _carry_in(self) -> None:
        """From the container to the connections, for the life of the line.

        The program runs in an image that may be the repository's, and may say anything."""
        for which, data in self._frames:
            if which not in self._ends and len(self._ends) >= _MOST:
                self._line.hang_up()
                return
            end = self._ends.get(which) or self._connect(which)
            with contextlib.suppress(OSError):
                end.sendall(data) if data else end.shutdown(socket.SHUT_WR)
            if not data:
                self._ended(which)

    def _connect(self, which: int) -> socket.socket:
        near, far = socket.socketpair()
        with self._lock:
            self._ends[which] = near
        self._gate.serve(far)
        self._start(lambda: self._carry_out(which, near))
        return near

    def _carry_out(self, which: int, end: socket.socket) -> None:
        """From one connection to the container, until the connection ends."""
        with contextlib.suppress(OSError):
            data = b"."
            while data:
                data = end.recv(_CHUNK)
                with self._sending:
                    self._line.send(struct.pack(">II", which, len(data)) + data)
        self._ended(which)

    def _ended(self, which: int) -> None:
        """One direction of a connection has; after both it is closed."""
        with self._lock:
            if which in self._half:
                self._half.discard(which)
                if (end := self._ends.pop(which, None)) is not None:  # one may be said to have ended twice
                    end.close()
            else:
                self._half.add(which)
