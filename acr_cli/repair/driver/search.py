"""The search: try candidate patches one after the other, a few at a time, and report each as it ends."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List, Optional

from .children import Child, Message, reap_strays, spawn, wait  # noqa: TID252 - see the package's docstring
from .runners import Job, run, warm_up  # noqa: TID252
from .slots import Slot  # noqa: TID252
from .survey import preload  # noqa: TID252

FEW_TARGETS = 8  # so many are all run, to see partial progress; of more, the first failure ends the run


class Place:
    """A slot and what runs in it now."""

    def __init__(self, folder: str) -> None:
        self.slot = Slot(folder)
        self.child: Optional[Child] = None
        self.candidate: Dict[str, Any] = {}
        self.in_full = False
        self.result: Message = {}


class Search:
    """One round over a list of candidates, in order; ends early a while after the first success."""

    def __init__(self, request: Dict[str, Any], results: str) -> None:
        self.request = request
        self.workdir = os.path.realpath(request["workdir"])
        self.targets: List[str] = request["targets"]
        self.must_pass: List[str] = request["must_pass"]
        self.deadline = time.monotonic() + float(request["limit"])
        self.left: Optional[int] = None  # candidates still to begin after the first success
        self.places = [Place(folder) for folder in request["folders"]]
        self.queue: List[Dict[str, Any]] = request["candidates"][::-1]
        self.out = open(results, "a")  # noqa: SIM115, PTH123 - open as long as the process lives
        self.tried = 0

    def run(self) -> None:
        preload(self.request["modules"], self.workdir, self.request["scratch"])
        if self.request["runner"] == "pytest":
            warm_up(os.path.join(self.request["scratch"], "warm"))
        while True:
            for place in self.places:
                if place.child is None and self.queue and self._may_begin():
                    self._begin(place)
            running = [place.child for place in self.places if place.child is not None]
            if not running:
                break
            wait(running, self.deadline)
            for place in self.places:
                if place.child is not None and place.child.done:
                    self._advance(place)
        for place in self.places:
            place.slot.restore()
        self._write({"end": True, "tried": self.tried})

    def _may_begin(self) -> bool:
        return time.monotonic() < self.deadline and (self.left is None or self.left > 0)

    def _begin(self, place: Place) -> None:
        place.candidate = self.queue.pop()
        place.slot.write(place.candidate["edits"])
        place.in_full = False
        place.result = {"n": place.candidate["n"], "passed": [], "full": False, "how": "failed"}
        self.tried += 1
        if self.left is not None:
            self.left -= 1
        self._spawn(place, self.targets, float(self.request["timeout"]), stop=len(self.targets) > FEW_TARGETS)

    def _spawn(self, place: Place, wanted: List[str], seconds: float, stop: bool) -> None:
        job = Job(
            place.slot.folder,
            wanted,
            self.request["arguments"],
            stop=stop,
            origin=self.workdir,
            discover=self.request.get("discover"),
        )
        job.quick_end = True
        runner = self.request["runner"]
        memory = int(self.request["memory"])
        place.child = spawn(lambda send: run(job, send, runner), place.slot.folder, seconds, memory)

    def _advance(self, place: Place) -> None:
        child = place.child
        assert child is not None
        reap_strays([p.child for p in self.places if p.child is not None])
        passed = _passed(child.messages)
        if not place.in_full:
            place.result["passed"] = [test for test in self.targets if _holds(test, passed, child.messages)]
            place.result["seconds"] = round(time.monotonic() - child.started, 4)
            place.result["how"] = "timeout" if child.timed_out else "failed"
            if len(place.result["passed"]) == len(self.targets):
                place.in_full = True
                if self.must_pass:
                    self._spawn(place, self.must_pass, float(self.request["full_timeout"]), stop=True)
                    return
        if place.in_full:
            broken = [test for test in self.must_pass if test not in passed]
            place.result["full"] = not broken
            place.result["how"] = "broke others" if broken else "ok"
            if not broken and self.left is None:
                self.left = int(self.request["after_candidates"])
                self.deadline = min(self.deadline, time.monotonic() + float(self.request["after_seconds"]))
        place.child = None
        self._write(place.result)

    def _write(self, message: Message) -> None:
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()


def _passed(messages: List[Message]) -> Dict[str, str]:
    return {m["test"]: "passed" for m in messages if "test" in m and m["outcome"] == "passed"}


def _holds(test: str, passed: Dict[str, str], messages: List[Message]) -> bool:
    """Whether a target passes; a file that could not be collected passes when all of its tests do."""
    if test in passed:
        return True
    inside = [m for m in messages if m.get("test", "").startswith(test + "::")]
    errors = [m for m in messages if m.get("collect_error") == test]
    return bool(inside) and not errors and all(m["outcome"] in ("passed", "skipped") for m in inside)
