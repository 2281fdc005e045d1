"""Forked children: one piece of work each, with limits of time and memory, killed with all they started."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import time
from typing import Any, Callable, Dict

Message = Dict[str, Any]
Work = Callable[[Callable[[Message], None]], None]

PR_SET_CHILD_SUBREAPER = 36


class Child:
    """A running child: its messages so far, and when it must be done (monotonic seconds)."""

    def __init__(self, pid: int, pipe: int, deadline: float) -> None:
        self.pid = pid
        self.pipe = pipe
        self.started = time.monotonic()
        self.deadline = deadline
        self.messages: list[Message] = []
        self.timed_out = False
        self.done = False
        self._rest = b""

    def read(self) -> None:
        """Take what the pipe holds; at its end, or past the deadline, finish the child."""
        if self.done:
            return
        while select.select([self.pipe], [], [], 0)[0]:
            data = os.read(self.pipe, 1 << 16)
            if not data:
                self._finish()
                return
            self._rest += data
            *lines, self._rest = self._rest.split(b"\n")
            self.messages.extend(json.loads(line) for line in lines if line)
            # A process that the tests left running may hold the pipe open: its end is not waited for.
            if self.messages and "end" in self.messages[-1]:
                self._finish()
                return
        if time.monotonic() > self.deadline:
            self.timed_out = True
            self._finish()

    def _finish(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self.pipe)
        self.done = True


def spawn(work: Work, folder: str, seconds: float, memory: int) -> Child:
    """Fork a child that does `work(send)` in `folder`; `send` writes one JSON message to its `Child`."""
    read_end, write_end = os.pipe()
    pid = _fork()
    if pid:
        os.close(write_end)
        return Child(pid, read_end, time.monotonic() + seconds)
    try:
        os.setsid()
        os.close(read_end)
        _limit(seconds, memory)
        _silence()
        os.chdir(folder)

        def send(message: Message) -> None:
            data = json.dumps(message).encode() + b"\n"
            while data:
                data = data[os.write(write_end, data) :]

        work(send)
        send({"end": True})
    except BaseException as error:  # noqa: BLE001 - whatever the tests raise must not run the parent's code
        with contextlib.suppress(OSError, ValueError):
            os.write(write_end, json.dumps({"crash": repr(error)[:500]}).encode() + b"\n")
    finally:
        os._exit(0)


def _fork() -> int:
    """Fork, patiently where the machine is out of processes for the moment."""
    for _ in range(40):
        with contextlib.suppress(BlockingIOError):
            return os.fork()
        time.sleep(0.25)
    return os.fork()


def finish(child: Child) -> list[Message]:
    """Wait until a child is done, or its time is up; all its messages."""
    wait([child], child.deadline + 0.1)
    while not child.done:
        wait([child], time.monotonic() + 0.1)
    return child.messages


def wait(children: list[Child], until: float) -> None:
    """Sleep until a child has news, one is overdue, or `until`; then take the news in."""
    running = [child for child in children if not child.done]
    if not running:
        return
    first = min([until] + [child.deadline for child in running])
    select.select([child.pipe for child in running], [], [], max(0.0, first - time.monotonic()) + 0.001)
    for child in running:
        child.read()


def adopt_orphans() -> None:
    """Become the parent of what a killed child leaves behind, so that `reap_strays` can find it."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_strays(children: list[Child]) -> None:
    """Kill every process below this one that is no running child: daemons that the tests started."""
    known = {child.pid for child in children if not child.done}
    for pid in _offspring():
        if pid not in known:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)


def _offspring() -> list[int]:
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as listing:
            return [int(pid) for pid in listing.read().split()]
    except (OSError, ValueError):
        return []


def _limit(seconds: float, memory: int) -> None:
    if memory > 0:
        _set_limit(resource.RLIMIT_AS, memory)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_CPU, int(seconds * 2) + 5)
    _set_limit(resource.RLIMIT_FSIZE, 256 << 20)


def _set_limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, hard))


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def peak_memory() -> int:
    """Bytes of address space that this process has taken so far at most; 0 where that is not known."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmPeak:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def exception_facts(error: BaseException | None, root: str, traceback: Any = None) -> Message:
    """Type, first lines of the message, and the frames below `root` as [path, line], outermost first."""
    if error is None:
        return {"exception": "", "message": "", "frames": []}
    root = os.path.join(os.path.realpath(root), "")
    frames: list[list[Any]] = []
    step = traceback if traceback is not None else error.__traceback__
    while step is not None and len(frames) < 400:
        path = os.path.realpath(step.tb_frame.f_code.co_filename)
        if path.startswith(root):
            frames.append([path[len(root) :], step.tb_lineno])
        step = step.tb_next
    try:
        message = str(error)[:2000]
    except Exception:  # noqa: BLE001 - the tests' own __str__
        message = ""
    return {"exception": type(error).__name__, "message": message, "frames": frames[-60:]}
