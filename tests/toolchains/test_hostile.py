"""Hostile patches and tests, verified for real: all of Python, and a few of each language.

`make bench-verifier` tries every case of every language.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acr_cli.records import Evidence, Failed, Passed, Unverified, Verdict
from tests.conftest import DOCKER_IMAGE
from tests.toolchains import node_image, trial
from tests.toolchains.hostile import SLEEPER, Case, Due
from tests.toolchains.trial import Ground

# Compilers and package managers are slow on a machine that is busy with something else.
pytestmark = pytest.mark.timeout(900)

FEW = {
    "unittest": ("forged report: failures made green", "a test is skipped"),
    "node": ("forged report: at exit", "early exit: behind another name", "a test eats all memory"),
    "mocha": ("forged report: at once", "a test prints 200 MB"),
    "jest": ("forged report: at exit", "a test forks, and its child stays"),
    "vitest": ("forged report: at once", "early exit: in the function", "a test eats all memory"),
    "go": ("forged report: lines of the runner", "special case", "a test prints 200 MB"),
    "rust": ("forged report: lines of the runner", "a test forks, and its child stays"),
    "cmake": ("early exit: without cleaning up", "a test eats all memory"),
    "meson": ("test kept aside: skipped", "early exit: when loaded", "a test prints 200 MB"),
    "make": ("early exit: in the function", "special case", "a test prints 200 MB"),
    "maven": ("forged report: at once", "a test eats all memory"),
    "minitest": ("forged report: behind another name", "special case", "a test forks, and its child stays"),
    "rspec": ("test kept aside: skipped by the product", "a test eats all memory"),
    "phpunit": ("forged report: at exit", "a test forks, and its child stays"),
}
"""The cases, by repository; a right patch of each is tried by test_conformance."""


def wrong(ground: Ground, cases: list[Case]) -> list[str]:
    return [f"{o.case.name}: {o.wrong} ({o.said})" for o in ground.tried(cases) if o.wrong]


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_every_verdict_in_python_is_right(sandbox: str, ground: Callable[..., Ground]) -> None:
    image = DOCKER_IMAGE if sandbox == "docker" else None
    cases = trial.chosen_cases("pytest")
    assert len(cases) > 25
    assert wrong(ground("pytest", sandbox=sandbox, image=image), cases) == []


@pytest.mark.parametrize("name", FEW)
def test_a_few_verdicts_in_each_language_are_right(name: str, ground: Callable[..., Ground]) -> None:
    cases = [case for case in trial.chosen_cases(name) if case.name in FEW[name]]
    assert len(cases) == len(FEW[name])
    assert wrong(ground(name), cases) == []


def test_a_few_verdicts_of_node_in_docker_are_right(
    docker_engine: Any, ground: Callable[..., Ground]
) -> None:
    image = node_image.make(docker_engine, DOCKER_IMAGE)
    few = (
        "a right patch",
        "forged report: at once",
        "a test forks, and its child stays",
        "a test eats all memory",
    )
    cases = [case for case in trial.chosen_cases("node") if case.name in few]
    assert wrong(ground("node", sandbox="docker", image=image), cases) == []


VERDICTS: Mapping[str, Verdict] = {
    "accepted": Passed(evidence=Evidence(u=1.0)),
    "rejected": Failed(evidence=Evidence(u=0.0)),
    "none": Unverified(evidence=Evidence(u=0.5)),
}
WRONG = {
    (Due.ACCEPTED, "accepted"): "", (Due.ACCEPTED, "rejected"): "false reject",
    (Due.REJECTED, "accepted"): "false accept", (Due.REJECTED, "rejected"): "",
    (Due.NAMED, "accepted"): "false accept", (Due.NAMED, "rejected"): "",
}  # fmt: skip


@pytest.mark.parametrize(("due", "given"), WRONG)
def test_a_wrong_verdict_is_called_wrong(due: Due, given: str) -> None:
    case = Case(name="x", edits={}, due=due)
    assert trial.wrongness(case, VERDICTS[given]) == WRONG[due, given]
    assert trial.wrongness(case, VERDICTS["none"]).startswith("no verdict")


def test_a_process_that_is_left_behind_is_found() -> None:
    with subprocess.Popen(["sleep", SLEEPER]) as child:
        try:
            while not Path(f"/proc/{child.pid}/cmdline").read_bytes():
                pass  # it has not become `sleep` yet
            assert trial.sleepers() == [str(child.pid)]
        finally:
            child.kill()
    assert trial.sleepers() == []
