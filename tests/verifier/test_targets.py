"""Which tests a task or a log names."""

from __future__ import annotations

import pytest

from acr_cli.records import CaseResult, Task
from acr_cli.verifier.targets import choose, lacking

CASES = (
    CaseResult(id="tests/test_cart.py::TestCart::test_total", outcome="failed", file="tests/test_cart.py"),
    CaseResult(id="tests/test_cart.py::TestCart::test_empty", outcome="passed", file="tests/test_cart.py"),
    CaseResult(id="tests/test_tax.py::test_rate[de-19]", outcome="failed", file="tests/test_tax.py"),
    CaseResult(id="tests/test_tax.py::test_rate[fr-20]", outcome="failed", file="tests/test_tax.py"),
    CaseResult(id="tests/test_tax.py::test_total", outcome="error", file="tests/test_tax.py"),
    CaseResult(id="tests/test_io.py", outcome="error", file="tests/test_io.py"),
    CaseResult(id="checks.test_old.OldTest.test_read", outcome="failed", file="checks/test_old.py"),
)
CART, EMPTY, DE, FR, TOTAL, IO, READ = (case.id for case in CASES)
ALL = (CART, DE, FR, TOTAL, IO, READ)

PYTEST_LOG = """
tests/test_cart.py::TestCart::test_empty PASSED
=================================== FAILURES ===================================
________________________________ test_rate[de-19] ________________________________
    def test_rate():
>       assert rate() == 19
=========================== short test summary info ============================
FAILED tests/test_tax.py::test_rate[de-19] - AssertionError: assert 0 == 19
============== 1 failed, 1 passed in 0.12s ==============
"""
UNITTEST_LOG = """
test_empty (checks.test_old.OldTest) ... ok
======================================================================
FAIL: test_read (checks.test_old.OldTest)
----------------------------------------------------------------------
AssertionError: 1 != 2
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ALL),
        ("Make the tests pass, please.", ALL),
        ("Fix tests/test_cart.py::TestCart::test_total", (CART,)),
        ("test_cart.py::TestCart::test_total is red", (CART,)),
        ("test_rate fails", (DE, FR)),
        ("tests/test_tax.py::test_rate[fr-20] fails", (FR,)),
        ("tests/test_tax.py::test_rate fails", (DE, FR)),
        ("`test_total` fails", (CART, TOTAL)),
        ("my_test_total_2 and test_totals are other words", ALL),
        ("TestCart.test_total", (CART,)),
        ("checks.test_old.OldTest.test_read is old", (READ,)),
        ("python -m unittest test_old.OldTest.test_read", (READ,)),
        ("see tests/test_tax.py for what is wanted", (DE, FR, TOTAL)),
        ("tests/test_io.py cannot be imported", (IO,)),
        ("the total in shop/cart.py is wrong", ALL),
    ],
)
def test_a_task_names_tests_in_many_ways(text: str, expected: tuple[str, ...]) -> None:
    assert choose(Task(text=text), CASES).ids == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (PYTEST_LOG, (DE,)),
        (UNITTEST_LOG, (READ,)),
        ("FAIL: test_read (checks.test_old.OldTest.test_read)\n", (READ,)),
        ("ERROR tests/test_io.py - NameError: name 'x' is not defined\n", (IO,)),
        ("FAILED backend/tests/test_tax.py::test_total - KeyError\n", (TOTAL,)),
        ('File "/build/tests/test_tax.py", line 9, in test_rate\n', (DE, FR)),
        ("Segmentation fault\n", ALL),
    ],
)
def test_a_log_names_the_tests_that_failed_in_it(log: str, expected: tuple[str, ...]) -> None:
    assert choose(Task(log=log), CASES).ids == expected


def test_a_named_test_that_passes_is_said_to_pass() -> None:
    chosen = choose(Task(text="test_empty fails"), CASES)
    assert chosen.ids == ALL
    assert chosen.note == f"{EMPTY}, named by the task, passes before any change."


OFFLINE = CaseResult(
    id="test_net.py::test_get",
    outcome="failed",
    exception="ConnectionError",
    message="HTTPConnectionPool(host='example.org', port=80): Max retries exceeded",
    detail="E   socket.gaierror: [Errno -3] Temporary failure in name resolution",
)
LOCALE = CaseResult(
    id="test_l.py::test_de", outcome="error", exception="Error", message="unsupported locale setting"
)


@pytest.mark.parametrize(
    ("case", "need"), [(OFFLINE, "the network"), (LOCALE, "a locale that is not installed"), (CASES[0], "")]
)
def test_what_the_sandbox_lacks_for_a_test_is_told_from_its_failure(case: CaseResult, need: str) -> None:
    assert lacking(case) == need


def test_a_test_that_the_sandbox_lacks_something_for_is_no_target() -> None:
    chosen = choose(Task(), (*CASES, OFFLINE))
    assert chosen.ids == ALL
    assert chosen.note == f"{OFFLINE.id} needs the network, which the sandbox has not: no target of this run."


def test_such_a_test_is_a_target_when_the_task_names_it_or_nothing_else_fails() -> None:
    assert choose(Task(text="test_get fails"), (*CASES, OFFLINE)).ids == (OFFLINE.id,)
    assert choose(Task(), (OFFLINE, LOCALE)).ids == (OFFLINE.id, LOCALE.id)
