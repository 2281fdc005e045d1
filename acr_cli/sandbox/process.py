"""One command on this machine, watched until it and all it started are gone: time, memory, disk, output.

No thread is needed: one loop waits for output and for the end, and looks at the processes in between. There
is no cgroup here, so memory and the number of processes are measured every few hundredths of a second, and
whoever is over the limit is killed; in between a command may overshoot.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from acr_cli.interrupts import uninterrupted
from acr_cli.protocols import CommandResult, Limits
from acr_cli.sandbox.disk import LOOK, Disk, said
from acr_cli.sandbox.output import HeadAndTail

_LOOK = 0.05  # seconds between two looks at the processes
_LAST_WORDS = 0.3  # seconds for what is still in the pipe
_CHUNK = 1 << 16
_OWN = 2  # what runs a command may be two processes of its own
KILLED = 128 + signal.SIGKILL
# What runs first: an interrupt while the command is being started closes its input, and it never runs. And a
# program that does not exist is exit code 127, as elsewhere.
WAITING = 'read -r _ || exit 125; exec "$@" </dev/null'


def watch(
    process: subprocess.Popen[bytes],
    *,
    limits: Limits,
    disk: Disk,
    kill: Callable[[], None],
    family: Callable[[], Sequence[int]] | None = None,
) -> CommandResult:
    """Let a command begin, and wait for it, then kill all that it has left behind.

    It was started with `stdin=PIPE, stdout=PIPE`, and waits for a line (`WAITING`).

    `kill` must end every process of the command, and may be called more than once; on any exception it is
    called too. `family` gives the ids of these processes; by default all below the first."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  the caller started it so
    everyone = family or partial(descendants, process.pid)
    begun = time.monotonic()
    output = HeadAndTail(limits.output_bytes)
    verdict = ""
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"\n")
            process.stdin.close()
        os.set_blocking(process.stdout.fileno(), False)
        verdict = _until_over(process, output, everyone, limits=limits, disk=disk)
        seconds = time.monotonic() - begun
    finally:
        with uninterrupted():
            kill()
            code = process.wait()
    _drain(process.stdout.fileno(), output)
    process.stdout.close()
    if verdict == "processes":
        output.add(f"\nacr: killed, for it ran more than {limits.pids} processes at once\n".encode())
    if verdict == "disk":
        output.add(said(limits))
    return CommandResult(
        exit_code=KILLED if verdict else _as_shell(code),
        output=output.text(),
        seconds=seconds,
        timed_out=verdict == "time",
        out_of_memory=verdict == "memory",
        out_of_disk=verdict == "disk",
        out_of_processes=verdict == "processes",
        truncated=output.truncated,
    )


def _until_over(
    process: subprocess.Popen[bytes],
    output: HeadAndTail,
    family: Callable[[], Sequence[int]],
    *,
    limits: Limits,
    disk: Disk,
) -> str:
    """Why it has to be killed ("time", "memory", "processes", "disk"), or "" when it has ended by itself."""
    assert process.stdout is not None  # noqa: S101  as above
    deadline = time.monotonic() + limits.seconds
    look = time.monotonic() + _LOOK
    look_at_disk = time.monotonic() + LOOK
    with _end_of(process) as end, selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        if end is not None:
            ready.register(end, selectors.EVENT_READ)
        while process.poll() is None:
            now = time.monotonic()
            if now >= deadline:
                return "time"
            if now >= look:
                if reason := over_limit(family(), limits):
                    return reason
                look = time.monotonic() + _LOOK
            if now >= look_at_disk:
                if disk.over(limits):
                    return "disk"
                look_at_disk = time.monotonic() + LOOK
            for key, _ in ready.select(max(0.0, min(look, deadline) - now)):
                if key.fileobj is process.stdout and not _read(process.stdout.fileno(), output):
                    ready.unregister(process.stdout)
    return ""


@contextlib.contextmanager
def _end_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that becomes readable when the process ends, where the system has one."""
    opener = getattr(os, "pidfd_open", None)
    handle: int | None = None
    if opener is not None:
        with contextlib.suppress(OSError):
            handle = opener(process.pid)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _read(handle: int, output: HeadAndTail) -> bool:
    """Take one piece; False at the end of the stream."""
    try:
        data = os.read(handle, _CHUNK)
    except BlockingIOError:
        return True
    output.add(data)
    return bool(data)


def _drain(handle: int, output: HeadAndTail) -> None:
    """What was written before the end. Bounded, for on the host an escaped process may still be writing."""
    until = time.monotonic() + _LAST_WORDS
    while (left := until - time.monotonic()) > 0:
        if not select.select([handle], [], [], left)[0] or not _read(handle, output):
            return


def _as_shell(code: int) -> int:
    return 128 - code if code < 0 else code


# --- the processes of a command ---------------------------------------------------------------------------


def over_limit(family: Sequence[int], limits: Limits) -> str:
    """ "memory" or "processes" when these processes together use more than allowed, else ""."""
    if len(family) > limits.pids + _OWN:
        return "processes"
    # Resident sizes count shared pages once for each process: forked workers would look far too large. They
    # are an upper bound that is cheap, so the exact share is asked for only beyond it.
    if sum(map(_resident, family)) > limits.memory_bytes and (sum(map(_share, family)) > limits.memory_bytes):
        return "memory"
    return ""


def descendants(root: int) -> list[int]:
    """The process ids of `root` and of all below it, as far as they can be seen."""
    children = _all_children() if not Path("/proc/self/task").exists() else None
    family, todo = [], [root]
    while todo:
        pid = todo.pop()
        family.append(pid)
        todo += _children(pid) if children is None else children.get(pid, [])
    return family


def in_session(leader: int) -> list[int]:
    """The processes of a session, orphans too; none where there is no /proc."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  many times a second
            with contextlib.suppress(OSError):
                if os.getsid(int(name)) == leader:
                    found.append(int(name))
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  plain names, many times a second
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split())
    return found


def _all_children() -> Mapping[int, Sequence[int]]:
    """Parent -> children, where there is no /proc."""
    shown = subprocess.run(["ps", "-axo", "ppid=,pid="], capture_output=True, text=True, check=False).stdout
    children: dict[int, list[int]] = {}
    for line in shown.splitlines():
        parent, child = map(int, line.split())
        children.setdefault(parent, []).append(child)
    return children


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    """Its own memory and its share of what is common with others; resident size where that is hidden."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _resident(pid)
