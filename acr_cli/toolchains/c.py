"""C and C++: CMake with CTest, Meson, and `make check` or `make test`."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import junit, suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.suite import Left
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

# A copy has lost what the times of files say, and make would make anew what only automake can.
_GENERATED = "-name aclocal.m4 -o -name configure -o -name Makefile.in -o -name '*.h.in'"
_AS_NEW = f'find . {_GENERATED} | while read -r acr_file; do touch -r "$ACR_REPORT" "$acr_file"; done'
_BUILD = '"$ACR_SCRATCH/build-${ACR_REPORT##*/}"'
# Of Meson's log, which holds all that the tests have printed: their names and results.
_OF_LOG = r"""grep -oE '^[{]"name": "([^"\\]|\\.)*"|"result": "[A-Z]+"'"""
_CTEST = "--output-junit $ACR_REPORT/ctest.xml"
_TELLING = re.compile(r"\b(?:fail(?:ed|ure)?|error|assert\w*|expected|want)\b", re.IGNORECASE)
_NO_CI = re.compile(r"-DCMAKE_(?:\w*COMPILER|TOOLCHAIN|INSTALL|GENERATOR|PREFIX|OSX|MAKE)|\$")


class C(Tabled):
    """The toolchain of C; implements `protocols.Toolchain`. Stateless."""

    name = "c"
    language = "c"
    extensions: tuple[str, ...] = (".c", ".h")
    marks = "c"

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """Nothing says which packages of the system are needed: `setup` does, or the image."""
        endings = tuple(table("c")["detect"][self.marks])
        if not any(path.endswith(endings) for path in trees.walk(tree)):
            return None
        return Recipe(language=self.language, setup=(setup,) if setup else ())

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else CTest, Meson's tests, or the target of a Makefile."""
        if command:
            return self.foreign(command, scratch)
        runs = list(_projects(tree, tests))
        if not runs:
            task = self._make(tree)
            runs = [task] if task else []
        return suite.plan(runs, scratch, environment=self.environment(scratch)) if runs else None

    def _make(self, tree: Path) -> suite.Run | None:
        found = self.by_task(tree)
        if found is not None or not any((tree / name).is_file() for name in ("configure", "configure.ac")):
            return found
        generated = any((tree / name).is_file() for name in ("Makefile.in", "Makefile.am"))
        return suite.Run(
            folder="",
            runner=suite.BY_EXIT_CODE,
            build=("[ -f configure ] || autoreconf -fi", _AS_NEW, "./configure --quiet"),
            build_name="./configure",
            lines=suite.captured("make -k check"),
            command="./configure && make check",
            reason="configure makes a Makefile; its output and its exit code decide",
        ) if generated else None  # fmt: skip

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"ctest": _ctest, "meson": _meson})


class Cpp(C):
    """The same for a tree with C++ in it; implements `protocols.Toolchain`. Stateless."""

    language = "cpp"
    extensions = (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx")
    marks = "cpp"


def _projects(tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
    """The root where it has tests, else each folder below it that is a project with tests of its own."""
    found: list[suite.Run] = []
    covered: list[str] = []
    for folder in trees.projects(tree, ["CMakeLists.txt", "meson.build"]):
        if any(folder.startswith(f"{one}/") or not one for one in covered):
            continue  # a part of a project that has been found
        run = _cmake(tree, folder, tests) or _meson_run(tree, folder, tests)
        covered.append(folder)
        found += [run] if run else []
    yield from found


def _cmake(tree: Path, folder: str, tests: Sequence[str]) -> suite.Run | None:
    known = table("c")["detect"]
    if not (tree / folder / "CMakeLists.txt").is_file():
        return None
    files = [f for f in trees.files_of(tree, folder) if f.endswith(("CMakeLists.txt", ".cmake"))]
    texts = {file: read_text(tree, folder, file) for file in files}
    where = next((f for f, text in texts.items() if re.search(known["cmake_tests"], text, re.IGNORECASE)), "")
    if not where:
        return None
    given = list(_definitions(tree))
    for text in texts.values():
        for name in re.findall(known["cmake_option"], text, re.MULTILINE | re.IGNORECASE):
            if not re.search(known["not_wanted"], name) and not any(name in word for word in given):
                given.append(f"-D{name}=ON")
    configure = f"cmake -S . -B {_BUILD} -DBUILD_TESTING=ON {shlex.join(given)}".rstrip()
    chosen = f" -R {shlex.quote('|'.join(f'^{re.escape(t)}$' for t in tests))}" if tests else ""
    return suite.Run(
        folder=folder,
        runner="ctest",
        build=(configure, f"cmake --build {_BUILD} -j 2"),
        build_name="cmake --build",
        lines=(
            f"ctest --test-dir {_BUILD} --output-on-failure --output-junit $ACR_REPORT/ctest.xml{chosen}",
        ),
        command="ctest",
        reason=f"{folder + '/' if folder else ''}{where} has tests of CTest",
    )


def _definitions(tree: Path) -> Iterator[str]:
    """The `-D` options of the first `cmake` in a CI file that has some for this machine."""
    for _, words in trees.ci_commands(tree, "cmake"):
        wanted = [word for word in words if word.startswith("-D") and "=" in word and not _NO_CI.search(word)]
        if wanted:
            yield from wanted
            return


def _meson_run(tree: Path, folder: str, tests: Sequence[str]) -> suite.Run | None:
    if not (tree / folder / "meson.build").is_file():
        return None
    files = [f for f in trees.files_of(tree, folder) if f.endswith("meson.build")]
    pattern = table("c")["detect"]["meson_tests"]
    where = next((f for f in files if re.search(pattern, read_text(tree, folder, f), re.MULTILINE)), "")
    if not where:
        return None
    chosen = f" {shlex.join(tests)}" if tests else ""
    return suite.Run(
        folder=folder,
        runner="meson",
        build=(f"meson setup --wrap-mode=nodownload {_BUILD}", f"meson compile -C {_BUILD}"),
        build_name="meson compile",
        lines=(
            f"meson test -C {_BUILD} --no-rebuild --print-errorlogs{chosen}; code=$?",
            f"cp {_BUILD}/meson-logs/testlog.junit.xml $ACR_REPORT/meson.xml 2>/dev/null",
            f"{_OF_LOG} {_BUILD}/meson-logs/testlog.json > $ACR_REPORT/results 2>/dev/null",
            "exit $code",
        ),
        command="meson test",
        reason=f"{folder + '/' if folder else ''}{where} has tests of Meson",
    )


def _ctest(left: Left) -> tuple[list[CaseResult], str]:
    return suite.junit_cases(left, [name for name in ("ctest.xml",) if name in left.files], _case)


def _meson(left: Left) -> tuple[list[CaseResult], str]:
    """Of a test that took too long, or passed though it should fail, the log alone says so."""
    told, wrong = suite.junit_cases(left, [name for name in ("meson.xml",) if name in left.files], _case)
    bad = dict(_results(left.text("results")))
    cases = [
        replace(case, outcome="failed", message=bad[case.id], detail=bad[case.id])
        if case.passed and case.id in bad
        else case
        for case in told
    ]
    if left.code and not any(case.failed for case in cases):
        said = next((f"{name}: {result}" for name, result in bad.items()), suite.last_line(left.output))
        return cases, wrong or f"meson did not end well: {said}"
    return cases, wrong


def _results(log: str) -> Iterator[tuple[str, str]]:
    """The tests that a log of Meson calls neither passed nor left out, and what it calls them."""
    for name, result in re.findall(r'^\{"name": (".*")\n"result": "([A-Z]+)"$', log, re.MULTILINE):
        if result not in ("OK", "EXPECTEDFAIL", "SKIP", "IGNORED"):
            with contextlib.suppress(ValueError):
                yield json.loads(name), result


def _case(raw: junit.RawCase) -> CaseResult:
    lines = [line.strip() for line in suite.plain(raw.detail).splitlines() if line.strip()]
    said = next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else raw.message)
    failed = raw.outcome in ("failed", "error")
    return CaseResult(
        id=raw.name,
        outcome=raw.outcome,
        message=(said or "it failed")[: junit.MESSAGE_CHARS] if failed else "",
        detail=(suite.plain(raw.detail) or "it printed nothing") if failed else "",
        seconds=raw.seconds,
    )
