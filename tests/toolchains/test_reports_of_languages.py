"""What runners say, read from recorded text: each kind of ending, and reports that nobody should trust."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.protocols import CommandResult
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import c, go, javascript_report, lines, rust, suite
from acr_cli.toolchains.suite import Left


def left(
    files: Mapping[str, str], *, runner: str = "x", code: int | None = 1, output: str = "", folder: str = ""
) -> Left:
    data = {name: text.encode() for name, text in files.items()}
    return Left(run="0", folder=folder, runner=runner, files=data, code=code, output=output)


def outcomes(cases: object) -> dict[str, str]:
    assert isinstance(cases, list | tuple)
    return {case.id: case.outcome for case in cases if isinstance(case, CaseResult)}


# --- the tar ----------------------------------------------------------------------------------------------

PLAN = suite.plan(
    [suite.Run(folder="", runner="command", lines=("true",), command="run it", reason="because")],
    "/s",
    environment={},
)


def packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def read(report: bytes | None, **more: object) -> SuiteReport:
    result = CommandResult(**{"exit_code": 1, "output": "said this\n", "seconds": 2.0, **more})  # type: ignore[arg-type]
    return suite.read(PLAN, report, result, {})


def test_a_command_is_one_test_where_it_says_nothing_more() -> None:
    assert outcomes(read(packed({"./0/exit": b"0\n"}), exit_code=0).cases) == {"run it": "passed"}
    (case,) = read(packed({"./0/exit": b"3\n"})).cases
    assert (case.outcome, case.message) == ("failed", "said this")


def test_a_run_without_a_report_could_not_start() -> None:
    assert "left no report: said this" in read(None).fault


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"timed_out": True}, "did not end within 2 s"),
        ({"out_of_memory": True}, "out of memory"),
        ({"out_of_processes": True}, "more processes at once than allowed"),
    ],
)
def test_what_ended_a_run_is_said_before_all_else(more: dict[str, object], fault: str) -> None:
    assert fault in read(packed({"./0/exit": b"1"}), **more).fault


def test_a_program_that_cannot_be_run_is_no_failed_test() -> None:
    found = read(packed({"./0/exit": b"127\n"}))
    assert found.cases == ()
    assert found.fault == "the test command cannot be run: said this"


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=2000))
def test_no_report_is_too_strange_to_be_read(report: bytes) -> None:
    assert read(report).fault or read(report).cases


KEYS = ["testResults", "assertionResults", "path", "file", "Action", "Package", "Test", "Output"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["report.json", "cases.jsonl", "go.jsonl", "cargo.txt"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(
            st.sampled_from(KEYS), inner,
        ),
        max_leaves=12,
    ),
)  # fmt: skip
def test_no_reader_trusts_what_it_reads(name: str, value: object) -> None:
    found = left({name: json.dumps(value)})
    for reader in (javascript_report.jest, javascript_report.lines, go.read, rust.read):
        reader(found)


# --- TAP and automake -------------------------------------------------------------------------------------


def test_tap() -> None:
    text = (
        "TAP version 13\n1..4\nok 1 - adds\nnot ok 2 - subtracts\n  ---\n  got: 1\n  ...\n"
        "ok 3 # SKIP no net\nnot ok 4 - later # TODO\n"
    )
    cases = lines.cases(text)
    assert outcomes(cases) == {
        "adds": "passed",
        "subtracts": "failed",
        "test 3": "skipped",
        "later": "skipped",
    }
    assert cases[1].message == "got: 1"


def test_automake() -> None:
    text = "PASS: a\nFAIL: b\nXFAIL: c\nSKIP: d\n# TOTAL: 4\n"
    assert outcomes(lines.cases(text)) == {"a": "passed", "b": "failed", "c": "passed", "d": "skipped"}


def test_tap_of_a_run_that_crashed_before_its_plan() -> None:
    text = "TAP version 13\n# parse()\nok 1 one\nnot ok 2 two\n  ---\n  got: 1\n  ...\nTypeError: x\n"
    assert outcomes(lines.cases(text)) == {"one": "passed", "two": "failed"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("AssertionError: 1 == 2\n  at x.js:1\n\nNode.js v20\n", "AssertionError: 1 == 2"),
        ("x.js:3\n\x1b[31mTypeError: no\x1b[0m\n----|----\n lib |\n----|----\n", "TypeError: no"),
        ("one\ntwo\n\n", "two"),
        ("", ""),
    ],
)
def test_what_a_command_says_of_its_failure_is_not_the_table_after_it(output: str, message: str) -> None:
    assert suite._complaint(output) == message


def test_a_line_that_looks_like_tap_is_none_without_a_plan() -> None:
    assert lines.cases("ok then\nPASS: everything\n") == []


# --- Go ---------------------------------------------------------------------------------------------------


def events(*entries: Mapping[str, object]) -> dict[str, str]:
    return {"go.jsonl": "\n".join(json.dumps({"Package": "m/a", **entry}) for entry in entries)}


def test_go_a_test_that_never_ended_has_failed_and_the_panic_is_told() -> None:
    files = events(
        {"Action": "run", "Test": "TestA"},
        {"Action": "output", "Test": "TestA", "Output": "panic: index out of range [recovered]\n"},
        {"Action": "run", "Test": "TestB"},
        {"Action": "fail", "Test": "TestA", "Elapsed": 0.1},
        {"Action": "output", "Output": "exit status 2\n"},
        {"Action": "fail"},
    )
    cases, fault = go.read(left(files))
    assert outcomes(cases) == {"m/a [build]": "passed", "m/a.TestA": "failed", "m/a.TestB": "error"}
    assert [case.id for case in cases if case.is_build] == ["m/a [build]"]
    assert not fault
    assert (cases[1].exception, cases[1].message) == ("panic", "index out of range")


@pytest.mark.parametrize(
    ("files", "output"),
    [
        (
            {"go.jsonl": "FAIL\tm/a [build failed]\n"},
            "# m/a [m/a.test]\na/a_test.go:5:2: undefined: x\nFAIL\tm/a [build failed]\n",
        ),
        (
            events(
                {"Action": "output", "Output": "# m/a [m/a.test]\na/a_test.go:5:2: undefined: x\n"},
                {"Action": "output", "Output": "FAIL\tm/a [build failed]\n"},
                {"Action": "fail", "FailedBuild": "m/a [m/a.test]"},
            ),
            "",
        ),
    ],
)
def test_go_a_package_that_cannot_be_built_is_a_case_of_its_own(files: dict[str, str], output: str) -> None:
    cases, fault = go.read(left(files, output=output))
    assert outcomes(cases) == {"m/a [build]": "error"}
    assert cases[0].message == "a/a_test.go:5:2: undefined: x"
    assert not fault


def test_go_modules_that_are_not_there_are_no_failed_test() -> None:
    output = "a.go:3:8: no required module provides package github.com/x/y; to add it:\n"
    _, fault = go.read(left({"go.jsonl": "FAIL\tm/a [setup failed]\n"}, output=output))
    assert fault.startswith("Go's modules are not all there: a.go:3:8")


# --- Rust -------------------------------------------------------------------------------------------------

CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/small-0123456789abcdef)
test tests::adds ... FAILED
test tests::panics - should panic ... ok
test tests::slow ... ignored, takes long
test tests::single ... some words of the test
ok

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: -1
 right: 3

failures:
    tests::adds

test result: FAILED. 2 passed; 1 failed; 1 ignored
   Doc-tests small
test src/lib.rs - add (line 4) ... ok
test src/lib.rs - add (line 9) ... FAILED
"""


def test_rust_every_line_of_a_test_counts_and_line_numbers_do_not() -> None:
    cases, fault = rust.read(left({"cargo.txt": CARGO}, code=101))
    assert outcomes(cases) == {
        "small::tests::adds": "failed",
        "small::tests::panics": "passed",
        "small::tests::slow": "skipped",
        "small::tests::single": "passed",
        "small (documentation)::src/lib.rs - add #1": "passed",
        "small (documentation)::src/lib.rs - add #2": "failed",
    }
    assert not fault
    assert (cases[0].exception, cases[0].message) == ("panic", "assertion `left == right` failed")
    assert cases[0].file == "src/lib.rs"


def test_rust_a_test_program_that_dies_is_said() -> None:
    text = "     Running tests/a.rs (target/debug/deps/a-0123456789abcdef)\ntest one ... ok\n"
    died = "  process didn't exit successfully: `a` (signal: 11, SIGSEGV: invalid memory reference)\n"
    cases, fault = rust.read(
        left({"cargo.txt": text + "error: test failed, to rerun pass `--test a`\n" + died})
    )
    assert outcomes(cases) == {"a::one": "passed"}
    assert "SIGSEGV" in fault


# --- JavaScript -------------------------------------------------------------------------------------------


def jest(**suite_result: object) -> dict[str, str]:
    result = {"name": "/acr/work/src/a.test.js", "status": "failed", "message": "", **suite_result}
    return {"report.json": json.dumps({"testResults": [result]})}


def test_jest_a_file_that_cannot_be_loaded_is_a_case_of_its_name() -> None:
    said = "\x1b[1m● Test suite failed to run\n\n    SyntaxError: Unexpected token (1:8)\n"
    (case,), fault = javascript_report.jest(left(jest(assertionResults=[], message=said)))
    assert (case.id, case.outcome, case.exception) == ("src/a.test.js", "error", "SyntaxError")
    assert case.message == "Unexpected token (1:8)"
    assert not fault


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("Cannot find module 'lodash' from 'src/a.js'", "lodash"),
        ("Cannot find package '@x/y' imported from /acr/work/a.js", "@x/y"),
        ("Cannot find module './b' from 'src/a.js'", ""),
        ('Failed to resolve import "@/b" from "src/a.js"', ""),
    ],
)
def test_jest_a_package_that_is_not_there_is_no_failed_test(said: str, missing: str) -> None:
    _, fault = javascript_report.jest(left(jest(assertionResults=[], message=said)))
    assert fault == (f"the package {missing} is not installed, needed by src/a.test.js" if missing else "")


def test_jest_a_test_is_named_by_its_file_and_all_that_it_stands_in() -> None:
    test = {
        "ancestorTitles": ["outer", "inner"], "title": "adds", "status": "failed", "duration": 1500,
        "failureMessages": ["Error: expect(received).toBe(expected)\n\nExpected: 3\nReceived: -1"],
    }  # fmt: skip
    cases, _ = javascript_report.jest(left(jest(assertionResults=[test])))
    assert cases[0].id == "src/a.test.js > outer > inner > adds"
    assert (cases[0].exception, cases[0].message) == ("Error", "expect(received).toBe(expected)")
    assert cases[0].seconds == 1.5


def test_mocha_and_node_the_same_by_lines() -> None:
    entries = [
        {"file": "/acr/work/p/a.mjs", "path": ["s", "a"], "outcome": "passed"},
        {
            "file": "/acr/work/p/a.mjs",
            "path": ["/acr/work/p/a.mjs"],
            "outcome": "failed",
            "message": "test failed",
        },
    ]
    text = "\n".join([*map(json.dumps, entries), "{no json", "[]"])
    cases, _ = javascript_report.lines(left({"cases.jsonl": text}, runner="node"))
    assert outcomes(cases) == {"p/a.mjs > s > a": "passed", "p/a.mjs": "error"}


def test_a_run_that_fails_without_a_failing_test_could_not_start() -> None:
    found = left(
        {"cases.jsonl": json.dumps({"path": ["a"], "outcome": "passed"})},
        runner="mocha",
        output="Error: bad\n",
    )
    assert javascript_report.lines(found)[1] == "mocha left no report: Error: bad"


def test_meson_a_test_that_took_too_long_has_failed_though_its_report_does_not_say_so() -> None:
    cases = "".join(f'<testcase name="{name}" classname="small" time="30"/>' for name in ("adds", "one"))
    files = {
        "meson.xml": f"<testsuites><testsuite name='small'>{cases}</testsuite></testsuites>".encode(),
        "results": b'{"name": "adds"\n"result": "TIMEOUT"\n{"name": "one"\n"result": "OK"\n',
    }
    found, fault = c._meson(Left(run="0", folder="", runner="meson", files=files, code=1))
    assert [(case.id, case.outcome, case.message) for case in found] == [
        ("adds", "failed", "TIMEOUT"), ("one", "passed", ""),
    ]  # fmt: skip
    assert fault == ""
    without = Left(run="0", folder="", runner="meson", files={**files, "results": b""}, code=1)
    assert c._meson(without)[1].startswith("meson did not end well")
