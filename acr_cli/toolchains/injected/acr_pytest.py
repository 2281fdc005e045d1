"""A pytest plugin that runs inside the sandbox: a time limit a test, exact test ids, no interference.

It depends on nothing but the standard library and pytest, and is loaded by `-p acr_pytest`. The limit in
seconds comes from ACR_TEST_SECONDS. It is enforced by SIGALRM, which raises pytest's own outcome for a failed
test: that derives from BaseException, so a loop that swallows Exception ends too.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

LIMIT = float(os.environ.get("ACR_TEST_SECONDS", "60"))
STDERR = os.dup(2)  # the true one: pytest captures descriptor 2 later
PATIENCE = 5  # how many more alarms a test may swallow, one a second

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
