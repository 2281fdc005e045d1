"""The driver with real processes: survey and search in a folder."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from acr_cli.errors import SandboxBroken
from acr_cli.protocols import Limits
from acr_cli.repair import answers
from acr_cli.repair.answers import DriverFailed
from acr_cli.repair.driver.survey import match
from acr_cli.repair.mutation import Mutation
from acr_cli.repair.wire import DRIVER, Driver, Result, read_command
from tests.repair.folders import FolderSandbox, FolderSession

MODULE = """
def double(x):
    return x + x + 1


def forever(n):
    while n != 0:
        n = n - 2
    return n
"""
TESTS = """
from calc import double, forever

def test_double():
    assert double(2) == 4

def test_type():
    assert isinstance(double(1), int)

def test_forever():
    assert forever(3) == 0
"""


def session_of(place: Path, files: dict[str, str]) -> Iterator[FolderSession]:
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(dedent(text), encoding="utf-8")
    with FolderSandbox().open(place) as session:
        yield session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[FolderSession]:
    yield from session_of(tmp_path, {"calc.py": MODULE, "tests/test_calc.py": TESTS})


def driver(session: FolderSession, command: str = "python -m pytest") -> Driver:
    return Driver(
        session, command=read_command(command), interpreter=sys.executable, workers=2, limits=Limits()
    )


def change(path: str, text: str, old: str, new: str) -> Mutation:
    start = text.encode().index(old.encode())
    end = start + len(old.encode())
    return Mutation(path=path, start=start, end=end, text=new.encode(), kind="k", weight=1.0, line=1)


def try_out(
    made: Driver, session: FolderSession, changes: list[tuple[str, str]], **more: object
) -> list[Result]:
    text = (session.get("calc.py") or b"").decode()
    candidates = [(n, [change("calc.py", text, *pair)]) for n, pair in enumerate(changes)]
    settings: dict[str, object] = {
        "targets": ["tests/test_calc.py::test_double"],
        "must_pass": ["tests/test_calc.py::test_type"],
        "timeout": 5.0,
        "full_timeout": 5.0,
        "limit": 60.0,
        "after": (30.0, 50),
    }
    return sorted(made.try_out(candidates, **{**settings, **more}), key=lambda r: r.number)  # type: ignore[arg-type]


def test_a_survey_tells_lines_failures_and_types(session: FolderSession) -> None:
    survey = driver(session).look(
        ["tests/test_calc.py::test_double"], ["tests/test_calc.py"], limit=60, each=1.0
    )
    failing = survey["failing"]["tests/test_calc.py::test_double"]
    assert failing["lines"] == {"calc.py": [3]}
    assert failing["exception"] == "AssertionError"
    assert failing["message"].startswith("assert 5 == 4")
    assert survey["types"]["calc.py:2"] == {"x": ["int"]}
    assert survey["others"]["tests/test_calc.py::test_type"]["outcome"] == "passed"
    assert len(survey["folders"]) == 2


@pytest.mark.parametrize(
    "survey",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b'{"error": ""}',
        b'{"runner": "pytest", "folders": [], "targets": {"t": 1}}',
    ],
)
def test_a_survey_that_the_tests_have_written_over_is_refused(survey: bytes) -> None:
    with pytest.raises(DriverFailed) as caught:
        answers.surveyed(survey)
    assert caught.value.message.endswith((".", "say why"))


@pytest.mark.parametrize(
    "line",
    [
        b'{"n": 7, "passed": [], "full": true, "how": "ok"}',
        b'{"n": 1, "passed": [[]], "full": true, "how": "ok"}',
        b'{"n": true, "passed": [], "full": true, "how": "ok"}',
        b'{"n": 1, "passed": []}',
        b"7",
    ],
)
def test_results_of_what_was_not_tried_or_of_another_shape_are_refused(line: bytes) -> None:
    with pytest.raises(DriverFailed, match="damaged"):
        list(answers.tried(line, {1}))


def test_a_test_that_hangs_is_told_with_the_lines_of_its_loop(session: FolderSession) -> None:
    survey = driver(session).look(
        ["tests/test_calc.py::test_forever"], ["tests/test_calc.py"], limit=60, each=1.0
    )
    hung = survey["failing"]["tests/test_calc.py::test_forever"]
    assert hung["outcome"] == "hung"
    assert set(hung["late"]["calc.py"]) == {7, 8}
    assert survey["others"]["tests/test_calc.py::test_type"]["outcome"] == "passed"


def test_candidates_are_told_apart(session: FolderSession) -> None:
    made = driver(session)
    made.look(["tests/test_calc.py::test_double"], ["tests/test_calc.py"], limit=60, each=1.0)
    before = session.get("calc.py")
    changes = [(" + 1", " + 2"), (" + 1", ""), ("x + x + 1", "float(x + x)"), ("return x", "while True: x")]
    results = try_out(made, session, changes, timeout=1.5)
    assert [r.how for r in results] == ["failed", "ok", "broke others", "timeout"]
    assert [r.full for r in results] == [False, True, False, False]
    assert results[2].passed == {"tests/test_calc.py::test_double"}
    assert session.get("calc.py") == before


def test_a_success_ends_the_search_after_a_while(session: FolderSession) -> None:
    made = driver(session)
    made.look(["tests/test_calc.py::test_double"], ["tests/test_calc.py"], limit=60, each=1.0)
    changes = [(" + 1", "")] + [(" + 1", f" + {n}") for n in range(2, 40)]
    # The other worker goes on while the first candidate is still being tried on all tests.
    assert len(try_out(made, session, changes, after=(60.0, 3))) <= 20


def test_subprocesses_of_tests_see_the_candidate(tmp_path: Path) -> None:
    tests = """
    import subprocess, sys

    def test_double():
        code = "from calc import double; print(double(2))"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout.strip() == b"4"

    def test_type():
        pass
    """
    for session in session_of(tmp_path, {"calc.py": MODULE, "tests/test_calc.py": tests}):
        made = driver(session)
        made.look(["tests/test_calc.py::test_double"], ["tests/test_calc.py"], limit=60, each=3.0)
        assert [r.how for r in try_out(made, session, [(" + 1", " + 2"), (" + 1", "")])] == ["failed", "ok"]


def test_a_conftest_that_imports_the_tree_hides_no_candidate(tmp_path: Path) -> None:
    conftest = "import pytest, calc\n\n@pytest.fixture\ndef double():\n    return calc.double\n"
    tests = "def test_double(double):\n    assert double(2) == 4\n\ndef test_type():\n    pass\n"
    files = {"calc.py": MODULE, "tests/test_calc.py": tests, "conftest.py": conftest}
    for session in session_of(tmp_path, files):
        made = driver(session)
        made.look(
            ["tests/test_calc.py::test_double"], ["tests/test_calc.py", "conftest.py"], limit=60, each=3.0
        )
        assert [r.how for r in try_out(made, session, [(" + 1", " + 2"), (" + 1", "")])] == ["failed", "ok"]


def test_unittest_is_driven_where_the_command_says_so(tmp_path: Path) -> None:
    tests = """
    import unittest
    from calc import double

    class TestCalc(unittest.TestCase):
        def test_double(self):
            self.assertEqual(double(2), 4)

        def test_type(self):
            self.assertIsInstance(double(1), int)
    """
    files = {"calc.py": MODULE, "tests/__init__.py": "", "tests/test_calc.py": tests}
    target, other = (f"tests.test_calc.TestCalc.{name}" for name in ("test_double", "test_type"))
    for session in session_of(tmp_path, files):
        made = driver(session, "python -m unittest discover")
        survey = made.look([target], ["tests/test_calc.py"], limit=60, each=3.0)
        assert survey["runner"] == "unittest"
        assert survey["failing"][target]["message"] == "5 != 4"
        results = try_out(
            made,
            session,
            [(" + 1", " + 2"), (" + 1", ""), ("x + x + 1", "float(x + x)")],
            targets=[target],
            must_pass=[other],
        )
        assert [r.how for r in results] == ["failed", "ok", "broke others"]


def test_a_doctest_that_unittest_loads_is_a_target_beside_others(tmp_path: Path) -> None:
    module = """
    def double(x):
        \"\"\"Twice x.

        >>> double(2)
        4
        \"\"\"
        return x + x + 1
    """
    tests = """
    import doctest
    import unittest
    import calc

    class TestCalc(unittest.TestCase):
        def test_double(self):
            self.assertEqual(calc.double(3), 6)

    def load_tests(loader, tests, ignore):
        tests.addTests(doctest.DocTestSuite(calc))
        return tests
    """
    files = {"calc.py": module, "tests/__init__.py": "", "tests/test_calc.py": tests}
    targets = ["calc.double", "tests.test_calc.TestCalc.test_double"]
    for session in session_of(tmp_path, files):
        made = driver(session, "python -m unittest discover")
        survey = made.look(targets, ["tests/test_calc.py"], limit=60, each=3.0)
        assert sorted(survey["failing"]) == targets
        results = try_out(made, session, [(" + 1", " + 2"), (" + 1", "")], targets=targets, must_pass=[])
        assert [r.how for r in results] == ["failed", "ok"]


def test_unittest_files_are_found_in_folders_that_are_no_packages(tmp_path: Path) -> None:
    tests = """
    import unittest
    from calc import double

    class TestCalc(unittest.TestCase):
        def test_double(self):
            self.assertEqual(double(2), 4)

        def test_type(self):
            self.assertIsInstance(double(1), int)
    """
    files = {"calc.py": MODULE, "one/test_calc.py": tests, "two/test_calc.py": tests, "two/test.py": tests}
    names = ("test_calc.TestCalc", "two.test_calc.TestCalc", "test.TestCalc")
    targets = [f"{name}.test_double" for name in names]
    others = [f"{name}.test_type" for name in names]
    for session in session_of(tmp_path, files):
        made = driver(session, "python -m unittest")
        survey = made.look(targets, list(files)[1:], limit=60, each=3.0)
        assert sorted(survey["failing"]) == sorted(targets)
        assert {t for t, seen in survey["others"].items() if seen["outcome"] == "passed"} == set(others)
        changes = [(" + 1", " + 2"), (" + 1", ""), ("x + x + 1", "float(x + x)")]
        results = try_out(made, session, changes, targets=targets, must_pass=others)
        assert [r.how for r in results] == ["failed", "ok", "broke others"]


def test_a_unittest_file_that_cannot_be_imported_is_a_target(tmp_path: Path) -> None:
    tests = """
    import unittest
    import calc

    assert calc.double(2) == 4

    class TestCalc(unittest.TestCase):
        def test_zero(self):
            self.assertEqual(calc.double(0), 0)
    """
    target = "tests/test_calc.py"
    for session in session_of(tmp_path, {"calc.py": MODULE, target: tests}):
        made = driver(session, "python -m unittest")
        survey = made.look([target], [target], limit=60, each=3.0)
        assert survey["failing"][target]["exception"] == "AssertionError"
        changes = [(" + 1", " + 2"), (" + 1", "")]
        results = try_out(made, session, changes, targets=[target], must_pass=[])
        assert [r.how for r in results] == ["failed", "ok"]


def test_coverage_and_parallel_options_of_the_repository_do_not_disturb(tmp_path: Path) -> None:
    options = '[tool.pytest.ini_options]\naddopts = ["-n", "2", "-v", "--maxfail=1"]\n'
    files = {"calc.py": MODULE, "tests/test_calc.py": TESTS, "pyproject.toml": options}
    for session in session_of(tmp_path, files):
        made = driver(session)
        survey = made.look(["tests/test_calc.py::test_double"], ["tests/test_calc.py"], limit=60, each=1.0)
        assert survey["failing"]["tests/test_calc.py::test_double"]["outcome"] == "failed"


def test_a_driver_that_cannot_run_is_a_broken_sandbox(session: FolderSession) -> None:
    made = Driver(
        session, command=read_command("pytest"), interpreter="/nowhere/python", workers=1, limits=Limits()
    )
    with pytest.raises(SandboxBroken, match="exit code 127"):
        made.look(["tests/test_calc.py::test_double"], [], limit=10, each=1.0)


def test_the_interpreter_is_found(session: FolderSession) -> None:
    made = Driver(
        session,
        command=read_command(f"{sys.executable} -m pytest"),
        interpreter=None,
        workers=1,
        limits=Limits(),
    )
    assert made.interpreter == sys.executable


@pytest.mark.parametrize("path", sorted(DRIVER.glob("*.py")), ids=lambda path: path.name)
def test_the_driver_is_written_in_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {
        node.module.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
    }
    imported |= {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= set(sys.stdlib_module_names) | {"pytest", "_pytest", "__future__"}


@pytest.mark.parametrize(
    ("wanted", "own"),
    [
        ("tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("tests.test_a.test_x", "tests/test_a.py::test_x"),
        ("test_a.test_x", "tests/test_a.py::test_x"),
        ("tests/test_a.py::test_y[a.b::c]", "tests/test_a.py::test_y[a.b::c]"),
        ("tests/test_b.py", "tests/test_b.py"),
        ("test_z", ""),
    ],
)
def test_ids_are_matched(wanted: str, own: str) -> None:
    collected = ["tests/test_a.py::test_x", "tests/test_a.py::test_y[a.b::c]"]
    assert match([wanted], collected, [{"collect_error": "tests/test_b.py"}]) == {wanted: own}


@pytest.mark.parametrize(
    ("command", "runner", "arguments", "paths"),
    [
        ("python -m pytest", "pytest", (), ()),
        ("pytest -q tests/unit -k 'not slow' -n 4", "pytest", ("-k", "not slow"), ("tests/unit", "4")),
        ("pytest --import-mode=importlib", "pytest", ("--import-mode=importlib",), ()),
        ("python3 -m unittest discover -s tests", "unittest", (), ()),
        ("make test", "", (), ()),
        ("pytest 'unclosed", "", (), ()),
    ],
)
def test_commands_are_read(
    command: str, runner: str, arguments: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    read = read_command(command)
    assert (read.runner, read.arguments) == (runner, arguments)
    assert set(read.paths) <= set(paths)


def test_discovery_options_are_read() -> None:
    read = read_command("/usr/bin/python3 -m unittest discover -s tests -p 'check_*.py' -t .")
    assert read.discover == {"start": "tests", "pattern": "check_*.py", "top": "."}
    assert read.interpreters == ("/usr/bin/python3",)
