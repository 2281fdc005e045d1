"""The fuzzing and the git states of `tests/security`, with other seeds and for as long as wanted."""

from __future__ import annotations

import os
import tempfile
import time
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import IDENTITY
from tests.security.fuzzing import Parser, TooLong, heavy, inputs
from tests.security.git_states import COUNTED, GitStates
from tests.security.test_fuzz import PARSERS

_ROUND = (
    200  # inputs of a parser, a tenth as many of a dear one, and of histories, between two looks at the clock
)


def fuzz(minutes: float, first: int) -> int:
    """Show every parser inputs until the time is up; prints how many, and how often one did harm."""
    until, shown, harmful, number = time.monotonic() + minutes * 60, dict.fromkeys(PARSERS, 0), 0, first
    while number == first or time.monotonic() < until:
        for parser in PARSERS.values():
            harm = _round(parser, number, shown, deep=number == first)
            if harm:
                harmful += 1
                print(f"fuzz: seed {number}: {parser.name}: {harm}", flush=True)
        number += 1
    told = ", ".join(f"{name} {count}" for name, count in shown.items())
    print(f"fuzz: seeds {first} to {number - 1}; {sum(shown.values())} inputs ({told})")
    print(f"fuzz: {harmful or 'no'} rounds in which one did harm", flush=True)
    return harmful


def states(minutes: float, first: int) -> int:
    """Let a user and acr work in repositories until the time is up; prints what was done, and the losses."""
    until, lost, number = time.monotonic() + minutes * 60, 0, first
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, {**IDENTITY, "HOME": home}):
        while number == first or time.monotonic() < until:
            try:
                run_state_machine_as_test(seed(number)(GitStates), settings=_settings(_ROUND // 10))
            except Exception as error:  # noqa: BLE001  whatever it is, it is a loss and is printed
                lost += 1
                print(f"states: seed {number}: {error!r}", flush=True)
            number += 1
    told = ", ".join(f"{what} {count}" for what, count in sorted(COUNTED.items()))
    print(f"states: seeds {first} to {number - 1}; {told}")
    print(f"states: {lost or 'no'} losses", flush=True)
    return lost


def _round(parser: Parser, number: int, shown: dict[str, int], *, deep: bool) -> str:
    """What went wrong in one round, with the input."""
    last = ""

    @seed(number)
    @_settings(_ROUND // 10 if parser.dear else _ROUND)
    @given(st.data())
    def broken(data: st.DataObject) -> None:
        nonlocal last
        last = data.draw(inputs(parser))
        shown[parser.name] += 1
        parser.try_out(last)

    try:
        for last in heavy(parser) if deep else ():
            shown[parser.name] += 1
            parser.try_out(last)
        broken()
    except (Exception, TooLong) as error:  # noqa: BLE001  whatever it is, the parser should not have raised it
        return f"{error!r} of {last[:300]!r}"
    return ""


def _settings(number: int) -> settings:
    return settings(
        max_examples=number,
        stateful_step_count=40,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
