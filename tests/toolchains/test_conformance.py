"""The small repositories, verified for real: every verdict must be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acr_cli.errors import BaselineCannotStart
from acr_cli.protocols import Limits
from acr_cli.records import Failed, Passed
from tests.conftest import DOCKER_IMAGE
from tests.toolchains import node_image
from tests.toolchains.small_repositories import EVERY, RUST, RUST_INLINE, Small
from tests.toolchains.trial import Ground
from tests.verifier.conftest import Bench

# Compilers and package managers are slow on a machine that is busy with something else.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def bench(ground: Callable[..., Ground]) -> Callable[..., Bench]:
    """Makes a bench of a small repository, as `acr fix` would wire it."""

    def make(small: Small, *, seconds: float | None = None, **more: Any) -> Bench:
        limits = Limits(seconds=seconds or small.seconds)
        return ground(small, limits=limits, **more).bench(dict(small.files))

    return make


every = pytest.mark.parametrize("small", [pytest.param(each, id=each.name) for each in EVERY])


@every
def test_a_verdict_on_each_patch_is_right(small: Small, bench: Callable[..., Bench]) -> None:
    under_test = bench(small)
    baseline = under_test.baseline()
    assert baseline.language == small.toolchain
    assert baseline.test_command.startswith(small.runner), baseline.reason
    assert baseline.targets == (small.target,), baseline.report
    assert small.keeps in baseline.report.passing()
    case = next(case for case in baseline.report.cases if case.id == small.target)
    assert case.message
    assert case.detail

    start = under_test.tree.checkpoint()
    right = under_test.attempt(baseline, {small.source: small.right})
    assert isinstance(right, Passed), right
    assert right.evidence.fixed == (small.target,)

    under_test.tree.restore(start)
    broken = under_test.attempt(baseline, {small.source: small.breaks})
    assert isinstance(broken, Failed), broken
    assert broken.evidence.broken == (small.keeps,)
    assert not broken.evidence.unfixed

    under_test.tree.restore(start)
    garbage = under_test.attempt(baseline, {small.source: small.right + "\n}{ (\n"})
    assert isinstance(garbage, Failed), garbage

    under_test.tree.restore(start)
    cheating = under_test.attempt(baseline, small.cheat)
    assert isinstance(cheating, Failed), cheating
    assert set(cheating.evidence.undone) == set(small.cheat)


def test_a_verdict_in_docker_is_the_same(docker_engine: Any, bench: Callable[..., Bench]) -> None:
    small = next(small for small in EVERY if small.name == "node")
    under_test = bench(small, sandbox="docker", image=node_image.make(docker_engine, DOCKER_IMAGE))
    baseline = under_test.baseline()
    assert baseline.targets == (small.target,)
    start = under_test.tree.checkpoint()
    assert isinstance(under_test.attempt(baseline, {small.source: small.right}), Passed)
    under_test.tree.restore(start)
    broken = under_test.attempt(baseline, {small.source: small.breaks})
    assert isinstance(broken, Failed)
    assert broken.evidence.broken == (small.keeps,)


@every
def test_a_test_that_hangs_is_ended(small: Small, bench: Callable[..., Bench]) -> None:
    under_test = bench(small, seconds=small.hang_seconds)
    under_test.write({small.source: small.hangs})
    with pytest.raises(BaselineCannotStart, match="did not end within"):
        under_test.baseline()


def test_tests_that_stand_in_the_source_cannot_be_weakened(bench: Callable[..., Bench]) -> None:
    files = {"Cargo.toml": RUST.files["Cargo.toml"], "src/lib.rs": RUST.files["src/lib.rs"] + RUST_INLINE}
    small = replace(RUST, files=files)
    under_test = bench(small)
    baseline = under_test.baseline()
    assert baseline.targets == ("small::tests::adds",)
    start = under_test.tree.checkpoint()
    cheat = under_test.attempt(baseline, {"src/lib.rs": files["src/lib.rs"].replace("2), 3", "2), -1")})
    assert isinstance(cheat, Failed), cheat
    assert cheat.evidence.undone == ("the tests in src/lib.rs",)
    under_test.tree.restore(start)
    mended = RUST.right + RUST_INLINE.replace("2), 3", "2), -1")
    both = under_test.attempt(baseline, {"src/lib.rs": mended})
    assert isinstance(both, Passed), both
    assert both.evidence.undone == ("the tests in src/lib.rs",)


@pytest.mark.parametrize("small", [pytest.param(s, id=s.name) for s in EVERY if s.name != "gradle"])
def test_code_that_the_tests_cannot_be_built_with_is_a_target(
    small: Small, bench: Callable[..., Bench]
) -> None:
    under_test = bench(small)
    without = small.right.replace("one", "two").replace("One", "Two")
    under_test.write({small.source: without})
    baseline = under_test.baseline()
    assert baseline.targets
    assert small.keeps not in baseline.report.passing()
    assert all(case.message for case in baseline.failures())
    still = under_test.attempt(baseline, {small.source: without + "\n"})
    assert isinstance(still, Failed), still
    right = under_test.attempt(baseline, {small.source: small.right})
    assert isinstance(right, Passed), right


def test_a_test_that_prints_without_end_is_read_all_the_same(bench: Callable[..., Bench]) -> None:
    go = next(small for small in EVERY if small.name == "go")
    loud = (
        'import "fmt"\n\nfunc init() {\n\tfor i := 0; i < 400000; i++ {\n\t\tfmt.Println("%s")\n\t}\n}\n'
        % ("x" * 99)
    )
    source = go.right.replace("package sum\n", f"package sum\n\n{loud}")
    under_test = bench(go)
    under_test.write({go.source: source.replace("a + b", "a - b")})
    baseline = under_test.baseline()
    assert baseline.targets == (go.target,)
    assert isinstance(under_test.attempt(baseline, {go.source: source}), Passed)


@pytest.mark.parametrize(
    ("name", "setup"),
    [
        ("go", "mkdir -p $GOMODCACHE/cache/download && go build fmt && touch $GOCACHE/built"),
        ("rust", "mkdir -p $CARGO_HOME/registry && touch $CARGO_HOME/.package-cache"),
        ("cmake", "touch $ACR_DEPENDENCIES/seen"),
    ],
)
def test_what_a_setup_has_left_may_not_be_written_and_does_no_harm(
    name: str, setup: str, bench: Callable[..., Bench]
) -> None:
    small = next(small for small in EVERY if small.name == name)
    under_test = bench(small, setup=setup)
    baseline = under_test.baseline()
    assert baseline.targets == (small.target,)
    assert isinstance(under_test.attempt(baseline, {small.source: small.right}), Passed)


LEAVES = {
    "node": ("return a + b", "process.exit(0)"),
    "mocha": ("return a + b", "process.exit(0)"),
    "jest": ("return a + b", "process.exit(0)"),
    "go": ("package sum\n", 'package sum\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n'),
    "rust": ("a + b", "std::process::exit(a - b + 1)"),
    "minitest": ("a + b", "exit!(0)"),
    "rspec": ("a + b", "exit!(0)"),
    "phpunit": ("return $a + $b", "exit(0)"),
    "maven": ("return a + b", "System.exit(0); return 3"),
}


@pytest.mark.parametrize("name", LEAVES)
def test_code_that_ends_the_run_early_does_not_pass(name: str, bench: Callable[..., Bench]) -> None:
    small = next(small for small in EVERY if small.name == name)
    under_test = bench(small)
    baseline = under_test.baseline()
    early = under_test.attempt(baseline, {small.source: small.right.replace(*LEAVES[name])})
    assert isinstance(early, Failed), early
    assert small.target in early.evidence.unfixed
