"""A test that must fail in each run: where it is added, that nobody sees it, and what it tells."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.protocols import Guards
from acr_cli.records import SuiteReport
from acr_cli.toolchains.go import Go
from acr_cli.toolchains.javascript import JavaScript
from acr_cli.toolchains.php import Php
from acr_cli.toolchains.python import Python
from acr_cli.toolchains.ruby import Ruby
from acr_cli.verifier.running import without_canary
from tests.toolchains.conftest import execute
from tests.toolchains.small_repositories import EVERY, Small

NAME = "acrcanary0123456789ab"
CHAINS: Mapping[str, Any] = {
    "go": Go(),
    "node": JavaScript(),
    "mocha": JavaScript(),
    "minitest": Ruby(),
    "rspec": Ruby(),
    "phpunit": Php(),
}


@pytest.fixture
def guarded(tree: Callable[..., Path], tmp_path: Path) -> Callable[..., SuiteReport]:
    """Runs a small repository with its canary: `guarded(small, source)`."""

    def run(small: Small, source: str) -> SuiteReport:
        missing = [program for program in small.needs if shutil.which(program) is None]
        if missing:
            pytest.skip(f"needs {', '.join(missing)}; install with the system's packages")
        root, scratch, chain = (
            tree({**small.files, small.source: source}),
            tmp_path / "scratch",
            CHAINS[small.name],
        )
        plan = chain.plan(root, command=None, tests=(), scratch=str(scratch))
        assert plan is not None
        made = chain.guarded(root, plan, name=NAME, seconds=100)
        assert made is not None
        files = {str(root / path): data for path, data in made.files.items()}
        result = execute(replace(made, files=files), root, environment={}, seconds=300)
        report = Path(made.report)
        return without_canary(
            chain.read(made, report.read_bytes() if report.exists() else None, result), NAME
        )

    return run


@pytest.mark.parametrize("name", ["node", "go", "minitest", "rspec", "phpunit"])
def test_a_canary_fails_and_is_seen_by_nobody(name: str, guarded: Callable[..., SuiteReport]) -> None:
    small = next(each for each in EVERY if each.name == name)
    report = guarded(small, small.right)
    assert [case.failed for case in report.canaries] == [True]
    assert "canary" in report.canaries[0].id
    passing = {test.rpartition("/tree/")[2] for test in report.passing()}
    assert {small.target, small.keeps} <= passing
    assert (report.exit_code, report.fault, report.failing()) == (0, "", ())
    assert NAME not in report.output


def test_go_code_that_prints_a_pass_and_leaves_lacks_the_canary(guarded: Callable[..., SuiteReport]) -> None:
    small = next(each for each in EVERY if each.name == "go")
    forging = (
        'package sum\n\nimport (\n\t"fmt"\n\t"syscall"\n)\n\nfunc Add(a, b int) int {\n'
        '\tfmt.Print("--- PASS: TestAdd (0.00s)\\n=== RUN   TestOne\\n--- PASS: TestOne (0.00s)\\nPASS\\n")\n'
        "\tsyscall.Exit(0)\n\treturn 0\n}\n\nfunc One() int { return 1 }\n"
    )
    report = guarded(small, forging)
    assert {small.target, small.keeps} <= set(report.passing())
    assert report.canaries == ()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("minitest", "class Minitest::Test\n  def assert_equal(*) = nil\nend\n"),
        ("rspec", "module RSpec::Matchers\n  def eq(_) = be_truthy\nend\n"),
    ],
)
def test_a_canary_passes_where_an_assertion_is_taken_away(
    name: str, code: str, guarded: Callable[..., SuiteReport]
) -> None:
    small = next(each for each in EVERY if each.name == name)
    report = guarded(small, small.files[small.source] + code)
    assert small.target in report.passing()
    assert [case.failed for case in report.canaries] == [False]


def test_all_toolchains_that_take_a_canary_say_so() -> None:
    assert all(isinstance(chain, Guards) for chain in (Python(), *CHAINS.values()))
