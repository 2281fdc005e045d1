"""Tests that flip without a change, suites that take long, and what is run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.protocols import TestPlan
from acr_cli.records import Baseline, CaseResult, Evidence, Failed, Passed, SuiteReport, Verdict
from acr_cli.toolchains.python import Python
from acr_cli.verifier.judge import judge
from acr_cli.verifier.measuring import SLOW

MakeBench = Callable[..., Any]

WRONG = "def add(a, b):\n    return a - b\n\n\ndef one():\n    return 1\n"
RIGHT = WRONG.replace("a - b", "a + b")
ADD = "def test_add():\n    from calc import add\n    assert add(1, 2) == 3\n"
ONE = "def test_one():\n    from calc import one\n    assert one() == 1\n"


def flips(counter: Path, fails_at: str) -> str:
    """A test that fails at these of its runs, counted over all copies of the tree."""
    return (
        f"def test_flips():\n    from pathlib import Path\n    seen = Path({str(counter)!r})\n"
        "    n = len(seen.read_text()) if seen.exists() else 0\n    seen.write_text('x' * (n + 1))\n"
        f"    assert n not in {fails_at}\n"
    )


def evidence(verdict: Verdict, kind: type[Passed | Failed]) -> Evidence:
    assert isinstance(verdict, kind), verdict
    return verdict.evidence


def test_a_target_that_flips_is_quarantined_and_named(bench: MakeBench, tmp_path: Path) -> None:
    at = bench({"calc.py": WRONG, "test_a.py": ADD + "\n\n" + flips(tmp_path / "n", "{0, 2, 4}")})
    baseline = at.baseline()
    assert baseline.targets == ("test_a.py::test_add",)
    assert baseline.flaky == ("test_a.py::test_flips",)
    assert any("test_a.py::test_flips passes and fails without any change" in t for t in at.notices())
    found = evidence(at.attempt(baseline, {"calc.py": RIGHT}), Passed)
    assert found.flaky == ("test_a.py::test_flips",)
    assert (found.fixed, found.broken) == (("test_a.py::test_add",), ())


# Run 0 is the baseline, and run 1 the one after the change; 2 and 3 follow at once, in the same process.
BY_CHANCE = {
    "it flips with the change": "{1, 3, 4}",
    "it flips before the change": "{1, 2, 3, 5}",
    "it passes among all others": "{1, 2, 3, 4, 5}",
}


@pytest.mark.parametrize("how", BY_CHANCE)
def test_a_test_that_broke_by_chance_does_not_count_against_the_attempt(
    bench: MakeBench, tmp_path: Path, how: str
) -> None:
    flipping = flips(tmp_path / "n", BY_CHANCE[how])
    at = bench({"calc.py": WRONG, "test_a.py": ADD + "\n\n" + flipping})
    baseline = at.baseline()
    found = evidence(at.attempt(baseline, {"calc.py": RIGHT}), Passed)
    assert found.flaky == ("test_a.py::test_flips",)
    assert any("test_flips" in text for text in at.notices())


def test_a_test_that_is_truly_broken_stays_broken(bench: MakeBench) -> None:
    at = bench({"calc.py": WRONG, "test_a.py": ADD + "\n\n" + ONE})
    found = evidence(at.attempt(at.baseline(), {"calc.py": RIGHT.replace("return 1", "return 2")}), Failed)
    assert (found.broken, found.flaky) == (("test_a.py::test_one",), ())


def test_a_test_that_fails_only_among_others_is_a_target(bench: MakeBench) -> None:
    first = "import calc\n\ndef test_a():\n    calc.table.append(1)\n"
    second = "import calc\n\ndef test_b():\n    assert calc.fresh() == []\n"
    wrong = "table = []\n\n\ndef fresh():\n    return table\n"
    at = bench({"calc.py": wrong, "test_a.py": first, "test_b.py": second})
    baseline = at.baseline()
    assert (baseline.targets, baseline.flaky) == (("test_b.py::test_b",), ())
    evidence(at.attempt(baseline, {"calc.py": wrong.replace("return table", "return []")}), Passed)


def test_a_target_with_parameters_and_fixtures_is_cleared_at_once(bench: MakeBench, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    test = (
        "import pathlib\nimport pytest\n\n\n@pytest.fixture\ndef own(tmp_path):\n"
        "    assert not list(tmp_path.iterdir())\n    (tmp_path / 'x').touch()\n    return 3\n\n\n"
        "@pytest.mark.parametrize('n', [1])\ndef test_add(own, n):\n    from calc import add\n"
        f"    with pathlib.Path({str(runs)!r}).open('a') as file:\n        file.write('x')\n"
        "    assert add(n, 2) == own\n"
    )
    at = bench({"calc.py": WRONG, "test_a.py": test})
    baseline = at.baseline()
    runs.unlink()
    evidence(at.attempt(baseline, {"calc.py": RIGHT}), Passed)
    assert runs.read_text() == "xxx"  # once among all others and twice again, in one process


@pytest.mark.parametrize("test", ["pytest", "python -m unittest"])
def test_a_target_that_passes_only_sometimes_is_not_fixed(
    bench: MakeBench, tmp_path: Path, test: str
) -> None:
    files = {"calc.py": WRONG, "test_a.py": ADD}
    if test != "pytest":
        case = "import unittest\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
        files["test_a.py"] = case + "        from calc import add\n        self.assertEqual(add(1, 2), 3)\n"
    at = bench(files, test=test)
    lucky = (
        "import pathlib\n\n\ndef add(a, b):\n"
        f"    seen = pathlib.Path({str(tmp_path / 'n')!r})\n"
        "    n = len(seen.read_text()) if seen.exists() else 0\n    seen.write_text('x' * (n + 1))\n"
        "    return a + b if n % 2 == 0 else 0\n"
    )
    found = evidence(at.attempt(at.baseline(), {"calc.py": lucky}), Failed)
    assert len(found.unfixed) == 1
    assert "it passes only sometimes" in found.reason


class Hasty(Python):
    """Python's toolchain, with one second for all tests."""

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        return super().guarded(tree, plan, name=name, seconds=1.0, again=again)


@pytest.mark.parametrize("product", [RIGHT, RIGHT.replace("return 1", "return 2")])
def test_a_suite_that_is_stopped_gives_a_partial_verdict_that_says_so(bench: MakeBench, product: str) -> None:
    late = "import time\n\ndef test_slow():\n    time.sleep(1.1)\n\ndef test_last():\n    pass\n"
    at = bench({"calc.py": WRONG, "test_a.py": ADD + "\n\n" + ONE, "test_z.py": late})
    at.verifier._toolchains = (Hasty(),)
    baseline = at.baseline()
    assert baseline.report.partial
    assert "test_z.py::test_last" not in {case.id for case in baseline.report.cases}
    assert any("did not end within" in text and "3 of them ran" in text for text in at.notices())
    found = evidence(at.attempt(baseline, {"calc.py": product}), Passed if product == RIGHT else Failed)
    if product == RIGHT:
        assert any(note.startswith("Partial: ") for note in found.notes)


def test_tests_that_a_stopped_run_did_not_come_to_are_not_broken_but_cost_u() -> None:
    before = SuiteReport(
        cases=tuple(CaseResult(id=n, outcome="failed" if n == "a" else "passed") for n in "abcd")
    )
    after = SuiteReport(cases=tuple(CaseResult(id=n, outcome="passed") for n in "ab"), partial=True)
    baseline = Baseline(report=before, targets=("a",))
    whole = SuiteReport(cases=tuple(CaseResult(id=n, outcome="passed") for n in "abcd"))
    part, all_of_it = (judge(baseline, r, patch="", alternatives=0, undone=()) for r in (after, whole))
    assert isinstance(part, Passed)
    assert isinstance(all_of_it, Passed)
    assert part.evidence.broken == ()
    assert "as far as they were run: 2 others were not" in part.evidence.reason
    assert 0.7 < part.evidence.u < all_of_it.evidence.u
    missing = judge(baseline, replace(after, partial=False), patch="", alternatives=0, undone=())
    assert isinstance(missing, Failed)
    assert missing.evidence.broken == ("c", "d")


SLOW_SUITE = (
    "import time\n\ndef test_slow():\n    time.sleep(0.4)\n\ndef test_count():\n"
    "    open({counter!r}, 'a').write('x')\n"
)


def test_of_a_slow_suite_the_targets_are_run_first_and_the_rest_only_if_they_pass(
    bench: MakeBench, tmp_path: Path
) -> None:
    counter = tmp_path / "runs"
    late = SLOW_SUITE.format(counter=str(counter))
    at = bench({"calc.py": WRONG, "test_a.py": ADD + "\n\n" + ONE, "test_z.py": late})
    baseline = at.baseline()
    slow = replace(baseline, report=replace(baseline.report, seconds=SLOW + 1))
    assert counter.read_text() == "x"
    start = at.tree.checkpoint()
    found = evidence(at.attempt(slow, {"calc.py": WRONG + "# no\n"}), Failed)
    assert counter.read_text() == "x"
    assert (found.unfixed, found.broken) == (("test_a.py::test_add",), ())
    assert found.notes == (
        "Only the targets and the tests of the touched files were run, as a target still fails.",
    )
    at.tree.restore(start)
    evidence(at.attempt(slow, {"calc.py": RIGHT}), Passed)
    assert counter.read_text() == "xx"
