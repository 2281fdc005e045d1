"""The survey: which tests there are, which lines each runs, how the targets fail, how long it all takes."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from typing import Any

from .children import Child, Message, finish, reap_strays, spawn
from .runners import Job, has_pytest, run
from .slots import copies
from .trace import Tracer

MAX_HANGS = 3  # tests of one pass that may hang before the pass is given up


class Survey:
    """One survey of a session's folder; `report` is what the host reads."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.workdir = os.path.realpath(request["workdir"])
        self.runner = request.get("runner") or ("pytest" if has_pytest() else "unittest")
        self.deadline = time.monotonic() + float(request["limit"])
        self.each = float(request["each"])
        self.skip: frozenset[str] = frozenset(request.get("tests", ()))
        self.imported: dict[str, list[int]] = {}
        self.types: dict[str, dict[str, list[str]]] = {}
        self.modules: dict[str, str] = {}
        self.errors: list[Message] = []
        self.peak = 0

    def report(self) -> dict[str, Any]:
        folders = copies(self.workdir, self.request["scratch"], int(self.request["workers"]))
        collected = self._collect(folders[-1])
        if len(folders) > 1 and self._leaks(folders[-1]):
            folders = folders[:1]
        targets = match(self.request["targets"], collected, self.errors)
        outside = self._outside()
        preload(outside)
        ids = sorted({own for own in targets.values() if own})
        failing = self._traced(ids, frozenset(), self.deadline)
        hung = {test for test, seen in failing.items() if seen["outcome"] == "hung"}
        # A test that fails although it was not named so (and the like) is no target.
        plain = [test for test in ids if test not in hung]
        seconds = self._plain(folders, plain) if plain else 0.0
        started = time.monotonic()
        others = self._traced(None, frozenset(ids), self.deadline)
        everything = time.monotonic() - started
        if not plain:
            seconds = self._plain(
                folders, [test for test, seen in others.items() if seen["outcome"] == "passed"][:3]
            )
        return {
            "runner": self.runner,
            "folders": folders,
            "targets": targets,
            "failing": failing,
            "others": others,
            "collected": len(collected),
            "imported": self.imported,
            "types": self.types,
            "errors": self.errors,
            "modules": outside,
            "seconds": seconds,
            "everything": everything,
            "peak": self.peak,
        }

    def _job(self, root: str, wanted: list[str] | None, **more: Any) -> Job:
        arguments = list(self.request.get("arguments", ()))
        if wanted is None:
            arguments += self.request.get("paths", ())
        more.setdefault("arguments", arguments)
        return Job(
            root, wanted, origin=self.workdir, bytecode=True, discover=self.request.get("discover"), **more
        )

    def _run(self, job: Job, until: float) -> Child:
        """Run one job to its end or its time; learn what every job can teach."""
        seconds = max(0.5, until - time.monotonic())
        child = spawn(lambda send: run(job, send, self.runner), job.root, seconds, 0)
        for message in finish(child):
            self.peak = max(self.peak, message.get("peak", 0))
            if "collect_error" in message:
                self.errors.append(message)
            for path, lines in message.get("imported", {}).items():
                self.imported[path] = sorted(set(self.imported.get(path, ())) | set(lines))
            for place, names in message.get("types", {}).items():
                known = self.types.setdefault(place, {})
                for name, kinds in names.items():
                    known[name] = sorted(set(known.get(name, ())) | set(kinds))
            self.modules.update(message.get("modules", {}))
        reap_strays([])
        return child

    def _collect(self, folder: str) -> list[str]:
        arguments = list(self.request.get("arguments", ())) + list(self.request.get("paths", ()))
        if self.runner == "pytest":
            arguments.append("--collect-only")
        job = self._job(
            folder, None, tracer=Tracer(folder, self.skip), arguments=arguments, collect_only=True
        )
        child = self._run(job, self.deadline)
        found: list[str] = []
        for message in child.messages:
            found += message.get("collected", ())
        given = self.request.setdefault("arguments", [])
        if self.runner == "pytest" and not found and self._exit(child) == 4 and "addopts=" not in given:
            # Options in the repository's configuration that do not go with ours.
            given += ["-o", "addopts="]
            return self._collect(folder)
        return found

    @staticmethod
    def _exit(child: Child) -> int | None:
        return next((message["exit"] for message in child.messages if "exit" in message), None)

    def _leaks(self, folder: str) -> bool:
        """Whether tests in a copy import from the session's folder: then a copy shows nothing."""
        inside, copy = os.path.join(self.workdir, ""), os.path.join(os.path.realpath(folder), "")
        files = [os.path.realpath(path) for path in self.modules.values() if path]
        return any(path.startswith(inside) and not path.startswith(copy) for path in files)

    def _outside(self) -> list[str]:
        """Modules that the tests import from elsewhere than the tree, in the order of their import.

        None of a package that is in the tree, wherever the module lies: it would import the package."""
        folders = (self.workdir, self.request["scratch"])
        places = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        inside = {
            name for name, path in self.modules.items() if os.path.realpath(path or "/").startswith(places)
        }
        packages = {name.split(".")[0] for name in inside} | {"__main__"}
        return [name for name in self.modules if name.split(".")[0] not in packages]

    def _traced(self, wanted: list[str] | None, unwanted: frozenset[str], until: float) -> dict[str, Message]:
        """Results with lines by test id; a test that hangs is noted, and the rest goes on without it."""
        results: dict[str, Message] = {}
        first = frozenset(test.split("::")[0] for test in unwanted)
        for _ in range(MAX_HANGS):
            left = None if wanted is None else [test for test in wanted if test not in results]
            if left == [] or time.monotonic() > until:
                break
            job = self._job(
                self.workdir,
                left,
                unwanted=unwanted | set(results),
                tracer=Tracer(self.workdir, self.skip),
                each=self.each,
                first=first,
            )
            child = self._run(job, until)
            begun = ""
            for message in child.messages:
                begun = message.get("begin", begun)
                if "test" in message:
                    results[message["test"]] = message
            if child.timed_out and begun and begun not in results and wanted is not None:
                results[begun] = {"test": begun, "outcome": "hung", "seconds": self.each, "lines": {}}
            elif not any(message.get("outcome") == "hung" for message in child.messages):
                break
        return results

    def _plain(self, folders: list[str], wanted: list[str]) -> float:
        """Seconds that the targets take untraced; leaves compiled modules behind in every folder."""
        seconds = 0.0
        for folder in folders if wanted else ():
            for _ in range(2):
                started = time.monotonic()
                self._run(self._job(folder, wanted), time.monotonic() + max(10.0, 4 * self.each))
                seconds = time.monotonic() - started
        return seconds


def match(wanted: list[str], collected: list[str], errors: list[Message]) -> dict[str, str]:
    """Our id for each of the host's: equal, else equal but for separators, else a common end; "" if none."""
    own = {test: test for test in collected}
    own.update({error["collect_error"]: error["collect_error"] for error in errors})
    loose = {_loose(test): test for test in own}
    found: dict[str, str] = {}
    for test in wanted:
        key = _loose(test)
        ends = [loose[k] for k in loose if k.endswith("." + key) or key.endswith("." + k)]
        found[test] = own.get(test) or loose.get(key) or (ends[0] if len(ends) == 1 else "")
    return found


def _loose(test: str) -> str:
    head, bracket, rest = test.partition("[")
    return head.replace(".py::", ".").replace("::", ".").replace("/", ".") + bracket + rest


def preload(modules: list[str]) -> None:
    """Import here, once, what the tests import from outside the tree, so that every child has it already."""
    for name in modules:
        with contextlib.suppress(
            BaseException
        ):  # foreign code; the child imports what cannot be imported here
            importlib.import_module(name)
