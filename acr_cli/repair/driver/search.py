"""The search: workers, one a slot, try candidate patches one after the other and report each as it ends."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import time
from typing import Any

from .children import Child, Message, adopt_orphans, finish, reap_strays, spawn
from .runners import Job, prepare, run, warm_up
from .slots import Slot
from .survey import preload

FEW_TARGETS = 8  # so many are all run, to see partial progress; of more, the first failure ends the run
NUMBER = struct.Struct("=i")
STATE = struct.Struct("=dq")


class Shared:
    """What the workers share: the queue of candidates, the deadline, and how many may still begin."""

    def __init__(self, count: int, deadline: float) -> None:
        self._state = mmap.mmap(-1, STATE.size)
        self._state[:] = STATE.pack(deadline, -1)
        self._queue, write_end = os.pipe()
        os.set_blocking(write_end, False)
        self._more = list(range(count))
        self._write_end = write_end
        self.refill()

    def refill(self) -> bool:
        """Put numbers into the pipe as long as there is room; True when all are in."""
        while self._more:
            try:
                os.write(self._write_end, NUMBER.pack(self._more[0]))
            except BlockingIOError:
                return False
            del self._more[0]
        return True

    def close(self) -> None:
        os.close(self._write_end)

    def take(self) -> int | None:
        """The number of the next candidate; None when it is over. A read of four bytes is one piece."""
        deadline, left = STATE.unpack(self._state[:])
        if time.monotonic() >= deadline or left == 0:
            return None
        if left > 0:
            self._state[:] = STATE.pack(deadline, left - 1)
        data = os.read(self._queue, NUMBER.size)
        return NUMBER.unpack(data)[0] if len(data) == NUMBER.size else None

    def succeeded(self, seconds: float, candidates: int) -> None:
        """The first success sets how long the search still goes on. A race of two successes does no harm."""
        deadline, left = STATE.unpack(self._state[:])
        if left < 0:
            self._state[:] = STATE.pack(min(deadline, time.monotonic() + seconds), candidates)


class Worker:
    """One slot and what is tried in it."""

    def __init__(self, request: dict[str, Any], folder: str, shared: Shared, out: int) -> None:
        self.request = request
        self.folder = folder
        self.slot = Slot(folder)
        self.shared = shared
        self.out = out
        self.targets: list[str] = request["targets"]
        self.must_pass: list[str] = request["must_pass"]

    def run(self) -> None:
        job = self._job(self.targets, stop=len(self.targets) > FEW_TARGETS)
        prepared = prepare(job) if self.request["runner"] == "pytest" else None
        try:
            while True:
                number = self.shared.take()
                if number is None:
                    break
                self._write(self._try(self.request["candidates"][number], prepared or job))
        finally:
            self.slot.restore()

    def _try(self, candidate: dict[str, Any], job: Job) -> Message:
        self.slot.write(candidate["edits"])
        child = self._child(job, float(self.request["timeout"]))
        passed = [test for test in self.targets if _holds(test, child.messages)]
        result: Message = {"n": candidate["n"], "passed": passed, "full": False}
        result["how"] = "timeout" if child.timed_out else "failed"
        if len(passed) == len(self.targets):
            broken = self._broken()
            result.update(full=not broken, how="broke others" if broken else "ok")
            if not broken:
                self.shared.succeeded(self.request["after_seconds"], self.request["after_candidates"])
        return result

    def _broken(self) -> list[str]:
        if not self.must_pass:
            return []
        child = self._child(self._job(self.must_pass, stop=True), float(self.request["full_timeout"]))
        return [test for test in self.must_pass if not _holds(test, child.messages)]

    def _job(self, wanted: list[str], stop: bool) -> Job:
        return Job(
            self.folder,
            wanted,
            self.request["arguments"],
            stop=stop,
            origin=os.path.realpath(self.request["workdir"]),
            discover=self.request.get("discover"),
            quick_end=True,
        )

    def _child(self, job: Job, seconds: float) -> Child:
        runner = self.request["runner"]
        child = spawn(lambda send: run(job, send, runner), self.folder, seconds, int(self.request["memory"]))
        finish(child)
        reap_strays([])
        return child

    def _write(self, message: Message) -> None:
        os.write(self.out, json.dumps(message).encode() + b"\n")


def search(request: dict[str, Any], results: str) -> None:
    """One round over the request's candidates, in order; ends early a while after the first success."""
    deadline = time.monotonic() + float(request["limit"])
    preload(request["modules"])
    if request["runner"] == "pytest":
        warm_up(os.path.join(request["scratch"], "warm"))
    # Appended in one write each, so that the lines of two workers do not mix.
    out = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    shared = Shared(len(request["candidates"]), deadline)
    workers = [_fork_worker(request, folder, shared, out) for folder in request["folders"]]
    while not shared.refill() and time.monotonic() < deadline:
        time.sleep(0.05)
    shared.close()
    for pid in workers:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    os.write(out, b'{"end": true}\n')


def _fork_worker(request: dict[str, Any], folder: str, shared: Shared, out: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        shared.close()
        adopt_orphans()
        os.chdir(folder)
        Worker(request, folder, shared, out).run()
    finally:
        os._exit(0)


def _holds(test: str, messages: list[Message]) -> bool:
    """Whether a test passes; a file that could not be collected passes when all of its tests do."""
    if any(m.get("test") == test and m["outcome"] == "passed" for m in messages):
        return True
    inside = [m for m in messages if m.get("test", "").startswith(test + "::")]
    errors = [m for m in messages if m.get("collect_error") == test]
    return bool(inside) and not errors and all(m["outcome"] in ("passed", "skipped") for m in inside)
