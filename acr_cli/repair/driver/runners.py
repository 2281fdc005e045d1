"""Test runners behind one function: run some tests in this process and report each as it ends."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

from .children import Message, exception_facts, finish, peak_memory, spawn
from .trace import Tracer

Send = Callable[[Message], None]


@dataclass
class Job:
    """What to run, and how."""

    root: str
    wanted: list[str] | None  # ids; None: all but `unwanted`
    arguments: list[str]  # for pytest
    unwanted: frozenset[str] = frozenset()
    tracer: Tracer | None = None
    stop: bool = False  # at the first failure
    first: frozenset[str] = frozenset()  # files whose tests go first
    each: float = 0.0  # seconds that one traced test may take; 0: no limit
    discover: dict[str, str] | None = None  # start, pattern and top of unittest's discovery
    origin: str = ""  # the session's folder, of which `root` may be a copy; "": `root` itself
    bytecode: bool = False  # whether compiled modules are kept: only while nothing is mutated
    collect_only: bool = False
    quick_end: bool = False  # leave the process as soon as all tests are told
    config: Any = None  # pytest's configuration, when it is ready before the fork
    plugin: Plugin | None = None


class Reporter:
    """Sends one message a test, with its lines when the job is traced, and one about a test that hangs."""

    def __init__(self, job: Job, send: Send) -> None:
        self.job = job
        self.send = send
        self.current = ""
        self.started = 0.0
        self._lock = threading.Lock()

    def begin(self, test: str) -> None:
        self.current, self.started = test, time.monotonic()
        if self.job.tracer is not None:
            imported = self.job.tracer.take(whole=True)
            if imported:
                self.send({"imported": imported})
            self.send({"begin": test})
            self.job.tracer.start()

    def end(self, outcome: str, facts: Message | None = None) -> None:
        with self._lock:
            test, self.current = self.current, ""
        message: Message = {"test": test, "outcome": outcome, "seconds": time.monotonic() - self.started}
        if self.job.tracer is not None:
            self.job.tracer.stop()
            message["lines"] = self.job.tracer.take(whole=True)
            message.update(facts or {})
        self.send(message)
        if self.job.tracer is not None:
            self.job.tracer.start()  # what is imported between tests counts as imported

    def watch(self) -> None:
        """From a thread: when a test takes too long, say where it is and end the process."""
        main = threading.main_thread().ident
        early: dict[str, list[int]] = {}
        halfway = ""
        while True:
            time.sleep(0.05)
            with self._lock:
                taken = time.monotonic() - self.started
                if self.current and taken > self.job.each / 2 and halfway != self.current:
                    # Lines that still run in the second half are those of the loop that does not end.
                    early, halfway = (
                        self.job.tracer.take() if self.job.tracer is not None else {},
                        self.current,
                    )
                if self.current and taken > self.job.each:
                    self._give_up(sys._current_frames().get(main or 0), early)

    def _give_up(self, frame: Any, early: dict[str, list[int]]) -> None:
        root = os.path.join(os.path.realpath(self.job.root), "")
        frames = []
        while frame is not None:
            path = os.path.realpath(frame.f_code.co_filename)
            if path.startswith(root):
                frames.append([path[len(root) :], frame.f_lineno])
            frame = frame.f_back
        late = self.job.tracer.take() if self.job.tracer is not None else {}
        lines = {path: sorted({*early.get(path, ()), *late.get(path, ())}) for path in {**early, **late}}
        self.send(
            {
                "test": self.current,
                "outcome": "hung",
                "seconds": time.monotonic() - self.started,
                "lines": lines,
                "late": late,
                "frames": frames[::-1][-60:],
                "exception": "",
                "message": "",
            }
        )
        self.summary()
        self.send({"end": True})
        os._exit(0)

    def summary(self) -> None:
        """After all tests: memory taken, types seen, modules loaded and where they come from."""
        self.send({"peak": peak_memory()})
        if self.job.tracer is None:
            return
        self.job.tracer.stop()
        imported = self.job.tracer.take(whole=True)
        if imported:
            self.send({"imported": imported})
        types = {
            place: {n: sorted(t) for n, t in names.items()} for place, names in self.job.tracer.types.items()
        }
        modules = {
            name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())
        }
        self.send({"types": types, "modules": modules})


def has_pytest() -> bool:
    return importlib.util.find_spec("pytest") is not None


def run(job: Job, send: Send, runner: str) -> None:
    """Run the job's tests here; the process is good for nothing else afterwards."""
    if job.config is None:
        _look_only_in(job)
    reporter = Reporter(job, send)
    if job.tracer is not None and job.each > 0:
        threading.Thread(target=reporter.watch, daemon=True).start()
    if runner == "pytest":
        _run_pytest(job, reporter)
    else:
        from .unittests import run_unittest

        run_unittest(job, reporter)
    reporter.summary()


def _look_only_in(job: Job) -> None:
    """Let imports, here and in subprocesses, find the job's copy of the tree and no other."""

    def moved(entries: list[str]) -> list[str]:
        inside = os.path.join(job.origin or job.root, "")
        places = [job.root + "/" + e[len(inside) :] if (e + "/").startswith(inside) else e for e in entries]
        return [job.root] + [place for place in places if place]

    sys.path[:] = moved(sys.path)
    os.environ["PYTHONPATH"] = os.pathsep.join(moved(os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    sys.dont_write_bytecode = not job.bytecode
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


# --- pytest -----------------------------------------------------------------------------------------------


class Plugin:
    """Our eyes inside pytest."""

    def __init__(self, job: Job, reporter: Reporter) -> None:
        self.job = job
        self.reporter = reporter
        self.outcome = ""
        self.facts: Message | None = None
        self.wanted: set[str] | None = None if job.wanted is None else set(job.wanted)

    def pytest_collection_modifyitems(self, session: Any, config: Any, items: list[Any]) -> None:
        keep: list[Any] = []
        drop: list[Any] = []
        for item in items:
            test = item.nodeid
            chosen = test not in self.job.unwanted and (
                self.wanted is None or test in self.wanted or test.split("::")[0] in self.wanted
            )
            (keep if chosen else drop).append(item)
        keep.sort(key=lambda item: item.nodeid.split("::")[0] not in self.job.first)
        items[:] = keep
        if drop:
            config.hook.pytest_deselected(items=drop)
        if self.job.tracer is not None:
            self.reporter.send(
                {"collected": [item.nodeid for item in items] + [item.nodeid for item in drop]}
            )

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            message = str(report.longrepr)[-2000:] if self.job.tracer is not None else ""
            self.reporter.send({"collect_error": report.nodeid, "message": message})

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.outcome, self.facts = "passed", None
        self.reporter.begin(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.outcome = "failed"
        elif report.skipped and self.outcome == "passed":
            self.outcome = "skipped"

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self.reporter.end(self.outcome, self.facts)

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        # All is told, and what pytest would still tidy up goes with the process.
        if self.job.quick_end:
            self.reporter.summary()
            self.reporter.send({"end": True})
            os._exit(0)

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        if self.job.tracer is not None and call.excinfo is not None:
            self.job.tracer.stop()
            self.facts = exception_facts(call.excinfo.value, self.job.root, call.excinfo.tb)
            if report.when == "collect":
                self.reporter.send(dict(self.facts, collect_error=report.nodeid))


def _tell_nobody(message: Message) -> None:
    """Where the messages go of a run that nobody waits for."""


def warm_up(folder: str) -> None:
    """Run one trivial test here, so that every fork finds pytest's plugins and caches ready."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "test_acr_warm_up.py"), "w") as target:
        target.write("class TestWarmUp:\n    def test_nothing(self):\n        assert True\n")
    job = Job(folder, None, ["-c", os.devnull, "-o", "addopts=", "--import-mode=importlib", folder])
    reporter = Reporter(job, _tell_nobody)
    _run_pytest(job, reporter)
    gc.collect()
    gc.freeze()


def prepare(job: Job) -> Job | None:
    """Read pytest's configuration here, once for all forks to come; None where a fork must do that itself.

    Not possible where the configuration imports modules of the tree (a conftest.py does that easily): a fork
    would then find them as they were. That is found out in a child first.
    """
    child = spawn(lambda send: send({"usable": _prepare(job)}), job.root, 20.0, 0)
    if {"usable": True} in finish(child):
        _prepare(job)
        return job
    return None


def _prepare(job: Job) -> bool:
    from _pytest.config import _prepareconfig

    _look_only_in(job)
    job.plugin = Plugin(job, Reporter(job, _tell_nobody))
    job.config = _prepareconfig(_pytest_arguments(job), [job.plugin])
    inside = os.path.join(os.path.realpath(job.root), "")
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    own = [path for path in map(os.path.realpath, files) if path.startswith(inside)]
    return all(os.path.basename(path) in ("conftest.py", "__init__.py") for path in own) and not any(
        os.path.basename(path) == "__init__.py" and os.path.getsize(path) for path in own
    )


def _pytest_arguments(job: Job) -> list[str]:
    arguments = ["--rootdir=%s" % job.root, "-s", "-q", "--tb=no", "--no-header"]
    for plugin in ("cacheprovider", "randomly", "faulthandler"):
        arguments += ["-p", "no:%s" % plugin]
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if importlib.util.find_spec("xdist") is not None:
        arguments += ["-n0"]
    if importlib.util.find_spec("pytest_cov") is not None:
        arguments += ["--no-cov"]
    # A file that cannot be collected says nothing of the tests in the others.
    arguments += ["--maxfail=1"] if job.stop else ["--maxfail=0", "--continue-on-collection-errors"]
    arguments += job.arguments
    if job.wanted is not None:
        arguments += sorted({test.split("::")[0] for test in job.wanted})
    return arguments


def _run_pytest(job: Job, reporter: Reporter) -> None:
    import pytest

    if job.config is not None and job.plugin is not None:
        job.plugin.reporter = reporter
        code = job.config.hook.pytest_cmdline_main(config=job.config)
    else:
        if job.tracer is not None:
            job.tracer.start()
        code = pytest.main(_pytest_arguments(job), plugins=[Plugin(job, reporter)])
    reporter.send({"exit": int(code)})
