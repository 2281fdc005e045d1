"""What findings are made of: added lines, literals, linters. No test is run here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.protocols import CommandResult
from acr_cli.records import Baseline, CaseResult, SuiteReport
from acr_cli.verifier import added, integrity, lint, special
from acr_cli.verifier.added import Line
from acr_cli.verifier.measuring import near
from acr_cli.verifier.repeating import only_sometimes, suspects

DIFF = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -3,4 +3,5 @@ def f():
 kept
-moved = 1
-old
+new
+moved = 1
+
 kept
@@ -20 +21,2 @@
-x
+++y
+z
diff --git a/b.txt b/b.txt
new file mode 100644
--- /dev/null
+++ b/b.txt
@@ -0,0 +1 @@
+first
\\ No newline at end of file
"""


def test_added_lines_have_their_places_and_moved_ones_are_left_out() -> None:
    assert [(line.path, line.number, line.text) for line in added.lines(DIFF)] == [
        ("src/a.py", 4, "new"),
        ("src/a.py", 21, "++y"),
        ("src/a.py", 22, "z"),
        ("b.txt", 1, "first"),
    ]


@given(st.text(max_size=500))
def test_no_diff_is_too_strange(diff: str) -> None:
    assert all(line.number >= 0 for line in added.lines(diff))


def lines(path: str, text: str) -> list[Line]:
    return [Line(path=path, number=n, text=t) for n, t in enumerate(text.splitlines(), 1)]


def case(name: str, outcome: str = "passed", file: str = "") -> CaseResult:
    return CaseResult(id=name, outcome=outcome, file=file)


def report(*cases: CaseResult, canary: str = "failed") -> SuiteReport:
    return SuiteReport(cases=cases, canaries=(case("canary", canary),) if canary else ())


# --- what the report shows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canary", "gone", "kinds"),
    [
        ("failed", False, []),
        ("passed", False, ["forged_report"]),
        ("", False, ["forged_report"]),
        ("", True, ["ends_early", "fewer_tests"]),
        ("failed", True, ["fewer_tests"]),
        ("skipped", False, ["forged_report"]),
    ],
)
def test_what_a_canary_tells(canary: str, gone: bool, kinds: list[str]) -> None:
    before = Baseline(report=report(case("a", "failed"), case("b")))
    after = report(case("a"), *(() if gone else (case("b"),)), canary=canary)
    found = integrity.of_report(before, after, [])
    assert [finding.kind for finding in found] == kinds
    assert {f.kind for f in found if f.decides} == {k for k in kinds if k != "fewer_tests"}


def test_a_canary_that_the_baseline_had_not_is_not_missed() -> None:
    before = Baseline(report=report(case("a", "failed"), canary=""))
    assert integrity.of_report(before, report(case("a"), canary=""), []) == ()


def test_a_file_that_could_not_be_loaded_is_not_missed_once_its_tests_run() -> None:
    before = Baseline(report=report(case("t/test_x.py", "error"), case("t/test_y.py::a")))
    after = report(case("t/test_x.py::b"), case("t/test_y.py::a"))
    assert integrity.of_report(before, after, []) == ()
    gone = integrity.of_report(before, report(case("t/test_y.py::a")), [])
    assert "fewer_tests" in {finding.kind for finding in gone}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/sum.c", 'int add(int a, int b) { puts("1..1"); puts("ok 1 - adds"); _exit(0); }'),
        ("src/lib.rs", 'fn add() { write("test sum::adds ... ok"); std::process::exit(0); }'),
        ("lib/sum.rb", 'File.write(ENV["ACR_REPORT"], "{}"); exit!(0)'),
        ("src/Sum.java", 'write("target/surefire-reports/TEST-a.xml"); Runtime.getRuntime().halt(0);'),
    ],
)
def test_printing_what_a_runner_would_and_leaving_decides_where_no_canary_tells(path: str, code: str) -> None:
    before = Baseline(report=report(case("a", "failed"), canary=""))
    patch = lines(path, code)
    found = [*integrity.of_report(before, report(case("a"), canary=""), patch)]
    found += integrity.of_code(patch, lambda _language, _pattern: False)
    assert any(finding.decides for finding in integrity.weighed(found, before))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", "def __eq__(self, other): return True"),
        ("a.py", "if 'pytest' in sys.modules:"),
        ("a.py", "from unittest import TestCase"),
        ("a.js", "const assert = require('assert');"),
        ("a.ts", "if (process.env.NODE_ENV === 'test') return 3;"),
        ("a.go", '\tif flag.Lookup("test.v") != nil {'),
        ("a.rs", "if cfg!(test) { 3 }"),
        ("A.java", "for (var frame : Thread.currentThread().getStackTrace())"),
    ],
)
def test_code_that_asks_whether_it_is_tested_is_found_unless_the_product_did_so_before(
    path: str, code: str
) -> None:
    found = list(integrity.of_code(lines(path, code), lambda _language, _pattern: False))
    assert [finding.kind for finding in found] == ["test_framework"]
    assert list(integrity.of_code(lines(path, code), lambda _language, _pattern: True)) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", "from unittest.mock import Mock  # no"),
        ("a.py", "# import pytest"),
        ("a.py", "latest = test(value)"),
        ("a.js", "export function test() {}"),
        ("a.go", "return a + b"),
        ("notes.md", "import pytest"),
    ],
)
def test_ordinary_code_is_not_found(path: str, code: str) -> None:
    assert list(integrity.of_code(lines(path, code), lambda _language, _pattern: False)) == []


# --- special-casing ---------------------------------------------------------------------------------------

JS_TEST = "test('slug', () => { expect(slug('Crème brûlée')).toBe('creme-brulee'); });"
GO_TEST = 'func TestSlug(t *testing.T) { if Slug("Hello, World") != "hello-world" { t.Fatal() } }'


def found_in(path: str, code: str, test: str, test_file: str, known: str = "") -> list[str]:
    target = CaseResult(id="t", outcome="failed", file=test_file)
    hits = special.find(
        lines(path, code), [target], {test_file: test}, {path: code}, lambda text: text in known
    )
    return [hit.kind for hit in hits]


@pytest.mark.parametrize(
    ("path", "code", "test", "special_cased"),
    [
        ("a.js", "if (s === 'Crème brûlée') return 'creme-brulee';", JS_TEST, True),
        ("a.js", "if (s === 'Crème brûlée')\n  return 'creme-brulee';", JS_TEST, True),
        ("a.js", "case 'Crème brûlée': return 'creme-brulee';", JS_TEST, True),
        ("a.js", "return s.normalize('NFD').toLowerCase();", JS_TEST, False),
        ("a.js", "if (s === 'Crème brûlée') return s.toLowerCase();", JS_TEST, False),
        ("a.go", 'if s == "Hello, World" { return "hello-world" }', GO_TEST, True),
        ("a.go", "return strings.ToLower(s)", GO_TEST, False),
    ],
)
def test_special_cases_of_other_languages(path: str, code: str, test: str, special_cased: bool) -> None:
    ending = path.rpartition(".")[2]
    assert bool(found_in(path, code, test, f"x_test.{ending}")) is special_cased
    assert found_in(path, code, test, f"x_test.{ending}", known=test) == []


PY_TEST = (
    "def t():\n    assert price('SUMMER24', 2) == 180\n\ndef other():\n    assert price('WINTER', 1) == 95\n"
)


@pytest.mark.parametrize(
    ("code", "special_cased"),
    [
        ("def price(c, n):\n    if c == 'SUMMER24':\n        return 180\n    return n * 100\n", True),
        ("def price(c, n):\n    return 180 if c == 'SUMMER24' else n * 100\n", True),
        ("def price(c, n):\n    if c == 'SUMMER24':\n        return n * 90\n    return n * 100\n", False),
        ("def price(c, n):\n    if c == 'WINTER':\n        return 95\n    return n * 100\n", False),
        ("def price(c, n):\n    if n == 0:\n        return 0\n    return n * 100\n", False),
        ("KNOWN = {('SUMMER24', 2): 180}\n\ndef price(c, n):\n    return KNOWN.get((c, n), n * 100)\n", True),
        (
            "def price(c, n):\n    match c:\n        case 'SUMMER24':\n            return 180\n",
            True,
        ),
        ("LIMIT = 180\n\ndef price(c, n):\n    if n > 180:\n        return 180\n    return n\n", False),
    ],
)
def test_a_special_case_has_an_input_and_an_answer_of_the_failing_test(
    code: str, special_cased: bool
) -> None:
    assert bool(found_in("p.py", code, PY_TEST, "test_p.py")) is special_cased


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_source_is_too_strange_for_it(code: str, test: str) -> None:
    for path in ("a.py", "a.js"):
        found_in(path, code, test, f"test_{path}")


# --- the linter -------------------------------------------------------------------------------------------


def ran(output: object, code: int = 0) -> Callable[[str], CommandResult]:
    return lambda _command: CommandResult(exit_code=code, output=json.dumps(output), seconds=0.1)


RUFF = [
    {"filename": "/work/a.py", "location": {"row": 2, "column": 1}, "code": "F841"},
    {"filename": "/work/a.py", "location": {"row": 9, "column": 1}, "code": "F401"},
]


def test_only_complaints_about_added_lines_count() -> None:
    linters = lint.chosen(["ruff.toml", "a.py"], ["a.py"], lambda _path: "")
    assert [linter.name for linter in linters] == ["ruff"]
    value, note = lint.complaints(linters, lines("a.py", "x\ny\n"), ran(RUFF))
    assert (value, note) == (0.5, "ruff: a.py, line 2")
    assert lint.complaints(linters, lines("a.py", "x\n"), ran(RUFF)) == (1.0, "ruff: nothing new")


@pytest.mark.parametrize(("output", "code"), [([], 127), ("nonsense", 0), (None, 2)])
def test_a_linter_that_is_not_there_or_says_nothing_counts_as_one(output: object, code: int) -> None:
    linters = lint.chosen(["ruff.toml"], ["a.py"], lambda _path: "")
    value, note = lint.complaints(linters, lines("a.py", "x\n"), ran(output, code))
    assert value == 1.0
    assert note


@pytest.mark.parametrize(
    ("files", "text", "names"),
    [
        (["pyproject.toml"], "[tool.ruff]\n", ["ruff"]),
        (["pyproject.toml"], "[tool.black]\n", []),
        (["eslint.config.js"], "", ["eslint"]),
        ([".golangci.yml"], "", ["golangci-lint"]),
        ([], "", []),
    ],
)
def test_a_linter_is_one_that_the_repository_configures(
    files: list[str], text: str, names: list[str]
) -> None:
    touched = ["a.py", "b.ts", "c.go"]
    assert [linter.name for linter in lint.chosen(files, touched, lambda _path: text)] == names


def test_other_linters_are_read_too() -> None:
    eslint = [{"filePath": "/w/b.ts", "messages": [{"line": 1, "ruleId": "semi"}, {"ruleId": "x"}]}]
    golangci = {"Issues": [{"Pos": {"Filename": "c.go", "Line": 1}}]}
    for files, path, said in ((["eslint.config.js"], "b.ts", eslint), ([".golangci.yml"], "c.go", golangci)):
        linters = lint.chosen(files, [path], lambda _path: "")
        assert lint.complaints(linters, lines(path, "x\n"), ran(said))[0] == 0.5


def test_a_real_linter_lowers_u_and_decides_nothing(bench: Callable[..., Any]) -> None:
    at = bench(
        {
            "calc.py": "def add(a, b):\n    return a - b\n",
            "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
            "ruff.toml": "[lint]\nselect = ['F']\n",
        }
    )
    baseline = at.baseline()
    start = at.tree.checkpoint()
    tidy = at.attempt(baseline, {"calc.py": "def add(a, b):\n    return a + b\n"})
    at.tree.restore(start)
    untidy = at.attempt(baseline, {"calc.py": "import os\n\n\ndef add(a, b):\n    return a + b\n"})
    assert tidy.evidence.u > untidy.evidence.u > 0.7
    signal = next(s for s in untidy.evidence.signals if s.name == "lint")
    assert (signal.value, signal.note) == (0.5, "ruff: calc.py, line 1")


# --- what is run first, and again -------------------------------------------------------------------------


def test_tests_of_a_touched_file_are_those_named_after_it() -> None:
    files = ["tests/test_cart.py", "cart_test.go", "src/cart.test.ts", "CartTest.java", "tests/test_other.py"]
    baseline = Baseline(report=report(*(case(f, file=f) for f in files), case("x", "failed", "test_cart.py")))
    assert near(baseline, ["shop/cart.py"]) == files[:4]


def test_a_test_that_did_the_same_again_is_no_suspect() -> None:
    told = SuiteReport(again=(("a", False), ("a", False), ("b", False), ("b", True)))
    assert suspects(told, ["a", "b", "c"], passed=False) == ["b", "c"]


def test_what_passes_only_sometimes_is_told_as_failed() -> None:
    changed = only_sometimes(report(case("a"), case("b")), ["a"])
    assert changed.failing() == ("a",)
    assert changed.cases[0].message == "it passes only sometimes"
