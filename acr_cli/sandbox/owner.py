"""Who owns a leftover: a process named by host, boot, pid and start time, and never mistaken."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SHAPE = re.compile(r"(?P<host>[0-9A-Za-z_-]+)\.(?P<boot>[0-9a-z]+)\.(?P<pid>[0-9]+)\.(?P<started>[0-9]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A process. Its text form fits a label, and a folder's name."""

    host: str  # host name and pid namespace: the pid means nothing elsewhere
    boot: str
    pid: int
    started: int  # unit of the system; only compared

    def __str__(self) -> str:
        return f"{self.host}.{self.boot}.{self.pid}.{self.started}"

    def dead(self) -> bool:
        """Whether the process certainly has ended. False for another host's: nobody here can know."""
        here = current()
        if self.host != here.host:
            return False
        if self.boot != here.boot:
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            # Another user's process: it exists, and its start time may be hidden.
            pass
        now = started(self.pid)
        return now is not None and now != self.started


def current() -> Owner:
    """This process."""
    return _owner(os.getpid())


def parse(text: str) -> Owner | None:
    """The owner in a label or at the start of a folder's name; None where there is none."""
    found = _SHAPE.match(text)
    if found is None:
        return None
    return Owner(host=found["host"], boot=found["boot"], pid=int(found["pid"]), started=int(found["started"]))


@cache
def _owner(pid: int) -> Owner:
    return Owner(host=_host(), boot=_boot(), pid=pid, started=started(pid) or 0)


def _host() -> str:
    name = re.sub(r"[^0-9A-Za-z-]", "-", socket.gethostname()) or "host"
    try:
        namespace = re.sub(r"[^0-9]", "", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        namespace = ""
    return f"{name}_{namespace}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "").strip()[:12]
    except OSError:
        return "0"


def started(pid: int) -> int | None:
    """When a process began, or None when it cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    # The command's name, in parentheses, may hold anything; field 22 counts from before it.
    return int(stat.rpartition(b")")[2].split()[19])


def _started_by_ps(pid: int) -> int | None:
    """Where there is no /proc (macOS)."""
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return int.from_bytes(shown.encode(), "big") if shown else None
