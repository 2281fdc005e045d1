"""A unittest runner that runs inside the sandbox: finds the tests, limits each in time, writes JUnit XML.

It depends on nothing but the standard library. Discovery differs from `python -m unittest discover` in that
test folders need no `__init__.py`: a module's name is counted from its first ancestor that is no package, and
that goes to the front of the import path.

A test's id is `module.Class.method`. A module that cannot be imported is one case in error, named by its
path. When a class or module fixture fails, its tests are in error: they exist, and did not run.

ACR_GUARD holds the name of a canary, and the seconds after which no further test begins: see acr_pytest.
"""
# Relative paths as text are what it works on, and printing is its job; the canary asserts as tests do.
# ruff: noqa: PT009, PT027, PTH100, PTH105, PTH109, PTH113, PTH118, PTH123, T201

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
import unittest
from typing import Any
from xml.sax.saxutils import escape, quoteattr

LIMIT = float(os.environ.get("ACR_TEST_SECONDS", "60"))
LINGER = 3.0  # seconds that threads have which the tests have left behind, once all is told
PATIENCE = 5  # how many more alarms a test may swallow, one a second
CANARY, _, _SECONDS = os.environ.pop("ACR_GUARD", "").partition(" ")
END = time.monotonic() + float(_SECONDS) if float(_SECONDS or 0) else None

# Relative to the tree so far: a program that a test starts in another folder finds the code, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
)
SKIPPED_FOLDERS = {"node_modules", "build", "dist", "venv", "env", "site-packages", "__pycache__"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FIXTURE = re.compile(r"(setUpClass|tearDownClass|setUpModule|tearDownModule) \((.*)\)")
RANK = {"passed": 0, "skipped": 1, "failure": 2, "error": 3}


class TimeLimit(BaseException):
    """A test took too long. Not an Exception, so that a loop that swallows those ends too."""


class Recorder(unittest.TestResult):
    """Keeps one outcome a test: (kind, exception type, message, detail, seconds)."""

    def __init__(self, tests: list[unittest.TestCase]) -> None:
        super().__init__()
        self.tests = tests
        self.outcomes: dict[str, tuple[str, str, str, str, float]] = {}
        self._began = 0.0
        self._fired = 0
        self._name = ""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self._began = time.monotonic()
        self._fired = 0
        self._name = test.id()
        if LIMIT > 0:
            signal.signal(signal.SIGALRM, self._alarm)
            signal.setitimer(signal.ITIMER_REAL, LIMIT, 1.0)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        signal.setitimer(signal.ITIMER_REAL, 0)
        super().stopTest(test)
        if END is not None and time.monotonic() >= END and not self.shouldStop:
            self.stop()
            os.write(2, f"\n{CANARY}: stopped, as its time was up\n".encode())

    def _alarm(self, _signal: int, _frame: Any) -> None:
        self._fired += 1
        if self._fired > PATIENCE:
            os.write(2, f"\nacr: {self._name} went on after its time limit of {LIMIT:g} s\n".encode())
            os._exit(124)
        raise TimeLimit(f"time limit of {LIMIT:g} s reached")

    def record(self, test_id: str, kind: str, error: Any = None, note: str = "") -> None:
        known = self.outcomes.get(test_id)
        if known and RANK[known[0]] >= RANK[kind]:
            return
        exception, message, detail = "", note, ""
        if error is not None:
            exception, message = error[0].__name__, str(error[1])
            detail = "".join(traceback.format_exception(*error))
        seconds = time.monotonic() - self._began if self._began else 0.0
        self.outcomes[test_id] = (kind, exception, message, detail, seconds)

    def _spread(self, test: Any, kind: str, error: Any = None, note: str = "") -> None:
        """An outcome of a fixture is one of the tests that it serves."""
        fixture = FIXTURE.match(test.id())
        if fixture is None:
            self.record(test.id(), kind, error, note)
            return
        served = [t.id() for t in self.tests if t.id().startswith(fixture.group(2) + ".")]
        for test_id in served[-1:] if fixture.group(1).startswith("tearDown") else served:
            self.record(test_id, kind, error, note)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.record(test.id(), "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self.record(test.id(), "failure", err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self._spread(test, "error", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's name
        self._spread(test, "skipped", note=reason)

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        if err is not None:
            kind = "failure" if issubclass(err[0], test.failureException) else "error"
            self.record(test.id(), kind, err)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self.record(test.id(), "skipped", err)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.record(test.id(), "failure", note="unexpected success")


def run_again(tests: list[unittest.TestCase], result: Recorder) -> None:
    """What failed, and what failed before the change, once more: whether it passes then is printed."""
    end = time.monotonic() + 5.0
    file = os.path.join(os.path.split(os.path.abspath(__file__))[0], "acr_again.json")
    listed: set[str] = set()
    if os.path.isfile(file):
        with open(file, encoding="utf-8") as handle:
            listed = set(json.load(handle))
    for test in tests:
        kind, *_, seconds = result.outcomes.get(test.id(), ("", "", "", "", 60.0))
        if seconds > 1.0 or not (kind in ("failure", "error") or test.id() in listed):
            continue
        for _ in range(2):
            if time.monotonic() > end:
                return
            second = Recorder([test])
            unittest.TestSuite([test]).run(second)
            passed = all(row[0] == "passed" for row in second.outcomes.values())
            os.write(2, f"\n{CANARY} {'passed' if passed else 'failed'} again: {test.id()}\n".encode())


class Canary(unittest.TestCase):
    """A test that must fail, and comes last; it passes where a way in which tests fail was taken away."""

    def id(self) -> str:
        return f"acr.{CANARY}"

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        checks: tuple[Any, ...] = (
            lambda: self.fail("as it must"),
            lambda: self.assertEqual(1, 2),
            lambda: self.assertTrue(False),
            lambda: self.assertIn(1, [2]),
            lambda: self.assertRaises(ValueError, int, "1"),
        )
        for check in checks:
            try:
                check()
            except self.failureException:
                continue
            return
        raise AssertionError("as it must")


def test_files(start: str, patterns: list[str]) -> list[str]:
    """Paths of the test files below `start`, sorted."""
    found: list[str] = []
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED_FOLDERS)
        fitting = [
            n for n in sorted(names) if n.endswith(".py") and any(fnmatch.fnmatch(n, p) for p in patterns)
        ]
        found += (os.path.normpath(os.path.join(folder, name)) for name in fitting)
    return found


def module_name(path: str) -> tuple[str, str]:
    """The folder to import from, and the dotted name below it."""
    folder, name = os.path.split(path)
    parts = [name[:-3]]
    while folder and os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, last = os.path.split(folder)
        parts.insert(0, last)
    return folder or ".", ".".join(parts)


def tests_of(suite: Any) -> list[unittest.TestCase]:
    if isinstance(suite, unittest.TestSuite):
        return [test for part in suite for test in tests_of(part)]
    return [suite]


def load(paths: list[str]) -> tuple[dict[str, list[unittest.TestCase]], dict[str, Any]]:
    """The tests of each file, and what went wrong at import, both by path."""
    loaded: dict[str, tuple[str, list[unittest.TestCase]]] = {}
    broken: dict[str, Any] = {}
    for path in paths:
        folder, name = module_name(path)
        if name in sys.modules:  # two folders hold a module of this name: count it from the root
            folder, name = ".", path[:-3].replace(os.sep, ".")
        where = os.path.abspath(folder)
        if where not in sys.path:
            sys.path.insert(0, where)
        try:
            loaded[path] = (name, tests_in(importlib.import_module(name)))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - whatever a test file raises, sys.exit included, is its outcome
            broken[path] = sys.exc_info()
    # A test class that one test file imports from another is run where it was written.
    homes = {name for name, _ in loaded.values()}
    own = {
        path: [t for t in tests if type(t).__module__ == name or type(t).__module__ not in homes]
        for path, (name, tests) in loaded.items()
    }
    return own, broken


def tests_in(module: Any) -> list[unittest.TestCase]:
    tests = tests_of(unittest.TestLoader().loadTestsFromModule(module))
    for test in tests:
        if type(test).__module__ == "unittest.loader":  # its stand-in for a load_tests that failed
            raise ImportError(str(getattr(test, "_exception", test)))
    return tests


def chosen(tests: dict[str, list[unittest.TestCase]], names: list[str]) -> dict[str, list[unittest.TestCase]]:
    """The tests that the names stand for: ids, classes, modules or paths of files."""

    def fits(path: str, test_id: str) -> bool:
        return any(
            name == path.replace(os.sep, "/") or f".{name}." in f".{test_id}." or name.endswith("." + test_id)
            for name in names
        )

    return {path: [t for t in group if fits(path, t.id())] for path, group in tests.items()}


def clean(text: str) -> str:
    return NOT_XML.sub(lambda found: f"#x{ord(found.group()):02X}", text)


def case_xml(test_id: str, file: str, outcome: tuple[str, str, str, str, float]) -> str:
    kind, exception, message, detail, seconds = outcome
    classname, _, name = test_id.rpartition(".") if not test_id.endswith(".py") else ("", "", test_id)
    opening = (
        f"<testcase classname={quoteattr(clean(classname))} name={quoteattr(clean(name))} "
        f'file={quoteattr(clean(file))} time="{seconds:.3f}"'
    )
    if kind == "passed":
        return opening + "/>"
    lines = quoteattr(clean(message), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    inner = f"<{kind} message={lines} type={quoteattr(clean(exception))}>{escape(clean(detail))}</{kind}>"
    return f"{opening}>{inner}</testcase>"


def write(
    path: str, tests: dict[str, list[unittest.TestCase]], result: Recorder, broken: dict[str, Any]
) -> None:
    """The whole report at once: a run that ends early leaves none."""
    files = {test.id(): file.replace(os.sep, "/") for file, group in tests.items() for test in group}
    rows = []
    for file, error in broken.items():
        outcome = (
            "error",
            error[0].__name__,
            str(error[1]),
            "".join(traceback.format_exception(*error)),
            0.0,
        )
        rows.append(case_xml(file.replace(os.sep, "/"), file.replace(os.sep, "/"), outcome))
    rows += [case_xml(test_id, files.get(test_id, ""), row) for test_id, row in result.outcomes.items()]
    with open(path + ".part", "w", encoding="utf-8") as handle:
        handle.write('<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="unittest">')
        handle.write("".join(rows) + "</testsuite></testsuites>")
    os.replace(path + ".part", path)


def print_failures(result: Recorder, broken: dict[str, Any]) -> bool:
    """Print what went wrong, for people; whether anything did."""
    told = {name: row for name, row in result.outcomes.items() if not CANARY or not name.endswith(CANARY)}
    bad = [(name, row[3]) for name, row in told.items() if row[0] in ("failure", "error")]
    bad += [(path, "".join(traceback.format_exception(*error))) for path, error in broken.items()]
    for name, detail in bad:
        print(f"FAILED {name}\n{detail}")
    print(f"ran {len(told)} tests, {len(broken)} files could not be imported")
    return bool(bad)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--start", default=".")
    parser.add_argument("--pattern", action="append", default=[])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sys.path[0] = os.getcwd()
    tests, broken = load(test_files(options.start, options.pattern or ["test*.py", "*_test.py"]))
    if options.names:
        tests = chosen(tests, options.names)
        broken = {path: error for path, error in broken.items() if path.replace(os.sep, "/") in options.names}
    every = [test for group in tests.values() for test in group]
    result = Recorder(every)
    unittest.TestSuite(every).run(result)
    if CANARY and (every or broken):
        run_again(every, result)
        result.shouldStop = False
        unittest.TestSuite([Canary()]).run(result)
    write(options.report, tests, result, broken)
    return 1 if print_failures(result, broken) else 0


def end(status: int) -> None:
    """Leave, without waiting for ever for threads that the tests have left behind."""

    def leave() -> None:
        time.sleep(LINGER)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)

    threading.Thread(target=leave, daemon=True).start()
    sys.exit(status)


if __name__ == "__main__":
    end(main())
