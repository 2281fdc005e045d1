"""unittest as a runner: what its discovery finds, or every file that looks like one of tests."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import unittest
from typing import Any

from .children import Message, exception_facts
from .runners import Job, Reporter

NO_TESTS = frozenset(["node_modules", "build", "dist", "venv", "env", "site-packages", "__pycache__"])
NAMES: dict[str, str] = {}  # of the test files that this process has imported


class Result(unittest.TestResult):
    """Our eyes inside unittest."""

    def __init__(self, job: Job, reporter: Reporter) -> None:
        super().__init__()
        self.job = job
        self.reporter = reporter
        self.outcome = "passed"
        self.facts: Message | None = None
        self.failfast = job.stop

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.outcome, self.facts = "passed", None
        self.reporter.begin(test.id())

    def stopTest(self, test: unittest.TestCase) -> None:
        self.reporter.end(self.outcome, self.facts)
        super().stopTest(test)

    def _note(self, error: Any) -> None:
        self.outcome = "failed"
        if self.job.tracer is not None and self.facts is None:
            self.facts = exception_facts(error[1], self.job.root, error[2])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._note(err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._note(err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.outcome = "skipped"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.outcome = "failed"


def run_unittest(job: Job, reporter: Reporter) -> None:
    if job.tracer is not None:
        job.tracer.start()
    found = _discovered(job) if job.discover else _in_test_files(job)
    tests = [test for test in found if test.id() not in job.unwanted]
    if job.tracer is not None:
        reporter.send({"collected": [test.id() for test in tests]})
    if job.collect_only:
        return
    result = Result(job, reporter)
    unittest.TestSuite(tests).run(result)
    reporter.send({"exit": 0 if result.wasSuccessful() else 1})


def _discovered(job: Job) -> list[unittest.TestCase]:
    """The job's tests by unittest's own discovery, as the command asks for it."""
    discover = job.discover or {}
    start = os.path.join(job.root, discover.get("start", "."))
    top = os.path.join(job.root, discover["top"]) if "top" in discover else None
    sys.path.insert(0, top or start)
    loader = unittest.TestLoader()
    pattern = discover.get("pattern", "test*.py")
    if job.wanted is None:
        return _flat(loader.discover(start, pattern, top))
    names = [test for test in job.wanted if not test.startswith("unittest.")]
    tests: list[unittest.TestCase] = []
    for name in names:
        with contextlib.suppress(AttributeError, ImportError, TypeError):
            tests += _flat(loader.loadTestsFromName(name))
    # What a `load_tests` adds, doctests say, has an id that is no name of a test.
    missing = set(names) - {test.id() for test in tests}
    if missing:
        tests += [test for test in _flat(loader.discover(start, pattern, top)) if test.id() in missing]
    return tests


def _in_test_files(job: Job) -> list[unittest.TestCase]:
    """The job's tests in whatever file looks like one of tests, in a package or not."""
    files = _test_files(job.root)
    if job.wanted is None:
        return [test for test in _loaded(files) if not isinstance(test, WholeFile) or test.error]
    wanted = set(job.wanted)
    near = [
        path
        for path in files
        if path in wanted or any(test.startswith(_module(path)[1] + ".") for test in wanted)
    ]
    tests = _loaded(near)
    if wanted - {test.id() for test in tests}:  # doctests, say, or a file whose name another one has too
        tests = _loaded(near + [path for path in files if path not in near])
    return [test for test in tests if test.id() in wanted]


def _test_files(root: str) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in NO_TESTS)
        fitting = [n for n in sorted(names) if re.match(r"test.*\.py$|.*_test\.py$", n)]
        found += (os.path.relpath(os.path.join(folder, name), root) for name in fitting)
    return found


def _module(path: str) -> tuple[str, str]:
    """The folder that a test file is imported from, and its dotted name there."""
    folder, name = os.path.split(path)
    parts = [name[:-3]]
    while folder and os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, last = os.path.split(folder)
        parts.insert(0, last)
    return folder, ".".join(parts)


def _loaded(files: list[str]) -> list[unittest.TestCase]:
    """The tests of these files, each once, and each file as a whole."""
    tests: dict[str, unittest.TestCase] = {}
    for path in files:
        folder, name = _module(path)
        if NAMES.get(path, name) != name or (name in sys.modules and path not in NAMES):
            folder, name = "", path[:-3].replace(os.sep, ".")  # another folder holds a module of this name
        where = os.path.abspath(folder)
        if where not in sys.path:
            sys.path.insert(0, where)
        own: list[unittest.TestCase] = []
        error: BaseException | None = None
        try:
            own = _flat(unittest.TestLoader().loadTestsFromModule(importlib.import_module(name)))
        except BaseException as raised:  # noqa: BLE001 - whatever a test file raises is its outcome
            error = raised
        NAMES[path] = name
        for test in [*own, WholeFile(path, own, error)]:
            tests.setdefault(test.id(), test)
    return list(tests.values())


class WholeFile(unittest.TestCase):
    """A file of tests as one test: for a target that could not even be imported."""

    def __init__(self, path: str, tests: list[unittest.TestCase], error: BaseException | None) -> None:
        super().__init__()
        self.path = path
        self.tests = tests
        self.error = error

    def id(self) -> str:
        return self.path

    def runTest(self) -> None:
        if self.error is not None:
            raise self.error if isinstance(self.error, Exception) else ImportError(repr(self.error))
        result = unittest.TestResult()
        unittest.TestSuite(self.tests).run(result)
        for _, what in result.errors + result.failures:
            self.fail(what[-2000:])


def _flat(suite: Any) -> list[unittest.TestCase]:
    tests: list[unittest.TestCase] = []
    for entry in suite:
        tests.extend(_flat(entry) if isinstance(entry, unittest.TestSuite) else [entry])
    return tests
