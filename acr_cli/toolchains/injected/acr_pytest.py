"""A pytest plugin that runs inside the sandbox: time limits, exact test ids, no interference, a canary.

It depends on nothing but the standard library and pytest, and is loaded by `-p acr_pytest`. The limit in
seconds comes from ACR_TEST_SECONDS. It is enforced by SIGALRM, which raises pytest's own outcome for a failed
test: that derives from BaseException, so a loop that swallows Exception ends too.

The canary is a test that must fail. It is told to no one but the report, and comes last: code that makes
failures pass, or that ends the run early, is seen by it. Its name comes from ACR_GUARD, with the seconds
after which no further test begins; no code but this finds them in the environment.
"""
# What is tried out are the ways in which tests of all styles fail.
# ruff: noqa: PT009, PT027

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

import pytest

LIMIT = float(os.environ.get("ACR_TEST_SECONDS", "60"))
STDERR = os.dup(2)  # the true one: pytest captures descriptor 2 later
PATIENCE = 5  # how many more alarms a test may swallow, one a second
CANARY, _, _SECONDS = os.environ.pop("ACR_GUARD", "").partition(" ")
END = time.monotonic() + float(_SECONDS) if float(_SECONDS or 0) else None

# Relative to the tree so far: a program that a test starts in another folder finds the code, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    str(Path(entry).absolute()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
)

# Options of pytest and its plugins that would hide tests, reorder them or run them in other processes.
# Each is set only where the option exists.
NEUTRAL = {
    "numprocesses": 0,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    "cov_source": [],
    "cov_fail_under": 0,
    "maxfail": 0,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "randomly_seed": 0,
    "randomly_reorganize": False,
    "random_order_bucket": "none",
    "usepdb": False,
}


def _neutralise(options: Any) -> None:
    for name, value in NEUTRAL.items():
        if hasattr(options, name):
            setattr(options, name, value)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> Any:
    _neutralise(early_config.known_args_namespace)
    yield


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_cmdline_main(config: Any) -> Any:
    _neutralise(config.option)
    yield


def pytest_itemcollected(item: Any) -> None:
    item.user_properties.append(("acr_nodeid", item.nodeid))


class _Alarm:
    """Raises pytest's failure in the main thread when the time is up, again every second after that."""

    def __init__(self, nodeid: str) -> None:
        self._nodeid = nodeid
        self._fired = 0

    def __call__(self, _signal: int, _frame: Any) -> None:
        __tracebackhide__ = True
        self._fired += 1
        if self._fired > PATIENCE:
            os.write(STDERR, f"\nacr: {self._nodeid} went on after its time limit of {LIMIT:g} s\n".encode())
            os._exit(124)
        pytest.fail(f"time limit of {LIMIT:g} s reached")


def _limited(item: Any) -> Any:
    if LIMIT <= 0:
        yield
        return
    before = signal.signal(signal.SIGALRM, _Alarm(item.nodeid))
    signal.setitimer(signal.ITIMER_REAL, LIMIT, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: Any) -> Any:
    yield from _limited(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    yield from _limited(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: Any) -> Any:
    yield from _limited(item)


# --- threads that the tests leave behind: the interpreter would wait for them for ever --------------------

LINGER = 3.0  # seconds that they have, once all is told
_status: list[int] = []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus: int) -> None:
    _status.append(int(exitstatus))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    threading.Thread(target=_end, daemon=True).start()


def _end() -> None:
    time.sleep(LINGER)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(_status[-1] if _status else 1)


# --- the time of the run, and the canary ------------------------------------------------------------------

_left_out: list[str] = []
_failed: set[str] = set()
_took: dict[str, float] = {}
AGAIN_QUICK = 1.0  # seconds that a test may take which is run again
AGAIN_SECONDS = 5.0  # for all of them together
AGAIN_MANY = 30
AGAIN_TIMES = 2
_again_file = Path(__file__).with_name("acr_again.json")
AGAIN = set(json.loads(_again_file.read_text("utf-8"))) if CANARY and _again_file.is_file() else set()


def pytest_runtest_logreport(report: Any) -> None:
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failed.add(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Any:
    """Once the time is up, tests are not run and stand in no report."""
    if END is None or time.monotonic() < END:
        return None
    _left_out.append(item.nodeid)
    return True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtestloop(session: Any) -> Any:
    yield
    if _left_out:
        os.write(STDERR, f"\n{CANARY}: stopped, as its time was up\n".encode())
    if CANARY and (session.items or session.testsfailed) and not session.config.option.collectonly:
        try:
            _run_again(session)
            _run_canary(session)
        except Exception as error:  # noqa: BLE001 - whatever a plugin makes of it: then there is no canary
            os.write(STDERR, f"\n{CANARY}: {error!r}\n".encode())


def _run_again(session: Any) -> None:
    """What failed, and what failed before the change, once more: whether it passes then is printed."""
    from _pytest.runner import runtestprotocol

    end = time.monotonic() + AGAIN_SECONDS
    wanted = [item for item in session.items if item.nodeid in AGAIN | (_failed & set(_took))]
    for item in [item for item in wanted if _took.get(item.nodeid, 60.0) < AGAIN_QUICK][:AGAIN_MANY]:
        for left in reversed(range(AGAIN_TIMES)):
            if time.monotonic() > end or not hasattr(item, "_initrequest"):
                return
            item._initrequest()  # noqa: SLF001 - as plugins do that run a test again
            reports = runtestprotocol(item, log=False, nextitem=item.parent if left else None)
            passed = all(report.passed for report in reports)
            os.write(STDERR, f"\n{CANARY} {'passed' if passed else 'failed'} again: {item.nodeid}\n".encode())


def _run_canary(session: Any) -> None:
    """With the terminal's reporter away, and the count of failures as it was."""
    from _pytest.runner import runtestprotocol

    item, manager = _canary(session), session.config.pluginmanager
    terminal, failed = manager.getplugin("terminalreporter"), session.testsfailed
    if terminal is not None:
        manager.unregister(terminal)
    try:
        runtestprotocol(item, log=True, nextitem=None)
    finally:
        if terminal is not None:
            manager.register(terminal, "terminalreporter")
        session.testsfailed = failed


def _canary(session: Any) -> Any:
    module = pytest.Module.from_parent(session, path=Path(__file__))
    item: Any = pytest.Function.from_parent(module, name=CANARY, callobj=_must_fail)
    item.fixturenames[:] = []  # nobody's fixtures are for it
    item.user_properties.append(("acr_nodeid", CANARY))
    return item


def _must_fail() -> None:
    """Passes, as it must not, where one of the ways in which tests fail has been taken away."""
    case = unittest.TestCase()
    for check in (
        lambda: pytest.fail("as it must"),
        _raises,
        lambda: _same(1, pytest.approx(2)),
        lambda: _same([1], [2]),
        lambda: case.assertEqual(1, 2),
        lambda: case.assertTrue(False),
        lambda: case.assertRaises(ValueError, int, "1"),
    ):
        try:
            check()
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError("as it must")


def _raises() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - nothing is raised
        int("1")


def _same(one: Any, other: Any) -> None:
    assert one == other  # noqa: S101 - what is tried out
