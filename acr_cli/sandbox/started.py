"""A command that bubblewrap has started and that waits for a word, so that limits bind from the beginning."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import resource
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence

from acr_cli.errors import SandboxBroken
from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import Limits
from acr_cli.sandbox import seccomp
from acr_cli.sandbox.listening import listener_in
from acr_cli.sandbox.process import WAITING

_LARGEST_FILE = 2 * 1024**3  # bytes, unless more may be written

# What runs first inside. bwrap binds the sandbox's life to its own only when this is running; until then it
# would outlive an acr that is killed. So it says that it runs, and waits.
_READY = b"acr: ready\n"
FIRST = f'echo "acr: ready"; {WAITING}'


class Started:
    """A bwrap that waits with its command, so that limits bind from the command's first moment."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._status, status_in = os.pipe()
        block_out, self._block = os.pipe()
        self._first: int | None = None  # pid 1 of the sandbox, as this process sees it
        self._handle: int | None = None
        rules = seccomp.handed_over()
        passed = (status_in, block_out, *([rules] if rules is not None else []))
        try:
            own = ["--json-status-fd", str(status_in), "--block-fd", str(block_out)]
            own += ["--seccomp", str(rules)] if rules is not None else []
            self.process = subprocess.Popen(
                [command[0], *own, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd="/",
                pass_fds=passed,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._close()
            raise SandboxBroken(f"bubblewrap cannot be started: {error}.") from error
        finally:
            for handle in passed:
                os.close(handle)

    def __enter__(self) -> Started:
        try:
            with contextlib.suppress(OSError):
                self._first = self._first_process()
                if self._first is not None:
                    self._handle = os.pidfd_open(self._first)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            self.kill()
            self.process.wait()
            self._close()

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout) if hasattr(self, "process") else ():
            if stream is not None:
                stream.close()
        for handle in (self._status, self._block, self._handle):
            if handle is not None:
                with contextlib.suppress(OSError):
                    os.close(handle)

    def _first_process(self) -> int | None:
        """The first line of what bwrap reports; None when it has ended before."""
        line = _line(self._status)
        return int(json.loads(line)["child-pid"]) if line.endswith(b"\n") else None

    def limit(self, limits: Limits, *, reserving: bool) -> None:
        if self._first is None:
            return
        values = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: max(_LARGEST_FILE, limits.disk_bytes),
            resource.RLIMIT_CPU: math.ceil(limits.seconds * max(1.0, limits.cpus)) + 1,
        }
        if not reserving:
            # Twice the memory: what is reserved is more than what is used, and the sum in use is watched.
            values[resource.RLIMIT_AS] = 2 * limits.memory_bytes
        if _counts_by_namespace():
            values[resource.RLIMIT_NPROC] = limits.pids
        with contextlib.suppress(ProcessLookupError):
            for which, value in values.items():
                hard = resource.prlimit(self._first, which)[1]
                new = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(self._first, which, (new, new))
            available = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(self._first, available[: max(1, math.ceil(limits.cpus))])

    def ready(self) -> None:
        """Wait until the sandbox is made.

        Raises: SandboxBroken with what bwrap says when it cannot."""
        assert self.process.stdout is not None  # noqa: S101  made so
        said = b""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._block, b"1")
            while not said.endswith(_READY):
                line = _line(self.process.stdout.fileno())
                said += line
                if not line:
                    reason = said.decode(errors="replace").strip()
                    raise SandboxBroken(f"bubblewrap cannot start a command: {reason or 'it ended'}.")

    def listener(self, port: int) -> socket.socket:
        """A socket that listens inside, on the loopback. Raises: SandboxUnavailable."""
        assert self._first is not None  # noqa: S101  it is ready
        return listener_in(self._first, port)

    def kill(self) -> None:
        """End pid 1 of the sandbox, with which the kernel ends all others; wait until they are gone."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            select.select([self._handle], [], [], 10)
        self.process.kill()


def _line(handle: int) -> bytes:
    """One line and nothing of what follows; shorter at the end of the stream."""
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(handle, 1)):
        line += piece
    return line


def _counts_by_namespace() -> bool:
    """Whether RLIMIT_NPROC counts the sandbox's processes only, and not all of the user's (Linux 5.14)."""
    release = platform.release().split(".")
    try:
        return (int(release[0]), int(release[1])) >= (5, 14)
    except (ValueError, IndexError):
        return False
