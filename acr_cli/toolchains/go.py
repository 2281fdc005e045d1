"""Go: `go test -json`, one case a test and subtest, and one a package for its build."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import arguments, canary, junit, suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.suite import Left, plain
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

_BUILD = " [build]"
_REQUIRE = re.compile(r"^[ \t]*(?:require[ \t]+)?[\w-]+\.[\w.-]+/\S+[ \t]+v\d", re.MULTILINE)
_NAMED = re.compile(r'^package \w+ // import "([\w./-]+)"', re.MULTILINE)
_NOT_BUILT = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]", re.MULTILINE)
_PLACE = re.compile(r"^[ \t]*(?:\S*/)?([\w.-]+_test\.go):\d+: ?(.*)$", re.MULTILINE)
_PANIC = re.compile(r"^panic: (.*?)(?: \[recovered\])?$", re.MULTILINE)
_MISSING = re.compile(
    r"^.*(?:no required module provides package|module lookup disabled|missing go\.sum entry"
    r"|cannot find module|go: updates to go\.mod needed|toolchain not available).*$",
    re.MULTILINE,
)
# Modules that a download has brought; a build cache of the standard library, which may be written to.
_PRELUDE = (
    'if [ -d "${ACR_DEPENDENCIES:-}/mod" ]; then GOMODCACHE=$ACR_DEPENDENCIES/mod; export GOMODCACHE; fi',
    'if [ -d "${ACR_DEPENDENCIES:-}/go-build" ]; then cp -R "$ACR_DEPENDENCIES/go-build" "$GOCACHE"; fi',
)
_FORMAT = "{{.ImportPath}}\t{{.Dir}}\t{{with .Module}}{{.Dir}}{{end}}"
_LIST = f"go list -e -f '{_FORMAT}' ./... > $ACR_REPORT/packages 2>/dev/null"
_FUNCTIONS = "'^func Test\\|^func Fuzz\\|^func Example'"
_GREP = f"grep -rn {_FUNCTIONS} . --include=*_test.go > $ACR_REPORT/functions 2>/dev/null"
_MANIFESTS = ("go.mod", "go.sum", "go.work", "go.work.sum")


class Go(Tabled):
    """The toolchain of Go; implements `protocols.Toolchain`. Stateless."""

    name = "go"
    language = "go"
    extensions = (".go",)

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """Downloads the modules that go.mod asks for, unless they are in `vendor`."""
        if not any(path.endswith(".go") for path in trees.walk(tree)):
            return None
        modules = trees.projects(tree, ["go.mod"])
        files = tuple(
            p
            for p in trees.walk(tree)
            if p.rpartition("/")[2] in ("go.mod", "go.sum", "go.work", "go.work.sum")
        )
        needed = [m for m in modules if not (tree / m / "vendor").is_dir() and _requires(tree / m / "go.mod")]
        commands = [f"cd ./{shlex.quote(m)} && go mod download" for m in needed]
        warm = ["go build std || true"] if needed else []
        return Recipe(
            language=self.language,
            setup=tuple(map(_cached, [setup] if setup else [*commands, *warm])),
            manifests=files,
            downloads=("mod/cache/download", "go-build"),
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else `go test ./...` in every module that has tests."""
        if command:
            given = _given(command)
            if given is None:
                return self.foreign(command, scratch, prelude=_PRELUDE)
            runs = [_run("", given, tests, command, "given by --test")]
        else:
            runs = list(self._detected(tree, tests))
            task = None if runs else self.by_task(tree)
            runs += [task] if task else []
        if not runs:
            return None
        return suite.plan(runs, scratch, environment=self.environment(scratch), prelude=_PRELUDE)

    def _detected(self, tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
        modules = trees.projects(tree, ["go.mod"])
        options, where = arguments.of_ci(tree, ("go", "test"), table("go")["arguments"]["from_ci"])
        for module in modules:
            files = trees.files_of(tree, module, others=modules)
            test = next((f for f in files if f.endswith("_test.go")), "")
            if not test:
                continue
            shown = f"{module}/go.mod" if module else "go.mod"
            reason = f"{shown} is there, and tests as {test}" + (
                f"; {where} runs go test {' '.join(options)}" if options else ""
            )
            yield _run(module, [*options, "./..."], tests, " ".join(["go test", *options, "./..."]), reason)
        if not modules:
            yield from _without_module(tree, tests)

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`; these runners neither stop by themselves nor run a test again."""
        return canary.added(tree, plan, name)

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"go": read})


def _without_module(tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
    """A tree from before modules: it becomes one in its copy, under the name that its packages say."""
    files = [path for path in trees.walk(tree) if path.endswith(".go")]
    test = next((path for path in files if path.endswith("_test.go")), "")
    if not test:
        return
    texts = [read_text(tree, path) for path in files if "/" not in path]
    name = next(filter(None, map(_module_name, texts)), "local.test/tree")
    run = _run("", ["./..."], tests, "go test ./...", f"there is no go.mod, but tests as {test}")
    yield replace(run, lines=(f"go mod init {shlex.quote(name)} 2>/dev/null", *run.lines))


def _module_name(text: str) -> str:
    """What a source at the root says of its place: an import comment, or what a test of it imports."""
    said = _NAMED.search(text)
    own = re.search(r"^package (\w+)_test$", text, re.MULTILINE)
    tested = re.search(rf'"([\w.-]+/[\w./-]*\b{own.group(1)})"', text) if own else None
    return said.group(1) if said else tested.group(1) if tested else ""


def _requires(file: Path) -> bool:
    return file.is_file() and _REQUIRE.search(read_text(file.parent, file.name)) is not None


def _cached(command: str) -> str:
    places = 'GOMODCACHE="$ACR_DEPENDENCIES/mod" GOCACHE="$ACR_DEPENDENCIES/go-build" GOFLAGS=-modcacherw'
    return f"export {places}; {command}"


def _given(command: str) -> list[str] | None:
    """The arguments of the user's `go test`, without those that the table drops; None for another command."""
    environment, words = suite.words_of(command)
    if environment or words[:2] != ["go", "test"]:
        return None
    single = [re.sub(r"^--", "-", word) for word in words[2:]]
    return arguments.kept(single, table("go")["arguments"]["dropped"])


def _run(folder: str, words: Sequence[str], tests: Sequence[str], command: str, reason: str) -> suite.Run:
    chosen = [_split(test) for test in tests if not test.endswith(_BUILD)]
    if chosen:
        packages = dict.fromkeys(package for package, _ in chosen)
        names = "|".join(dict.fromkeys(re.escape(name.split("/")[0]) for _, name in chosen))
        options = [word for word in words if word.startswith("-")]
        words = [*options, "-run", f"^({names})$", *packages]
    line = f"go test -json -count=1 {shlex.join(words)}"
    keep = 'awk -v mere=\'"Action":"output"\' -f $ACR_SCRATCH/acr/acr_cut.awk > $ACR_REPORT/go.jsonl'
    last = 'exit "$(cat $ACR_REPORT/code)"'
    return suite.Run(
        folder=folder,
        runner="go",
        lines=(_LIST, _GREP, *suite.piped(line, keep), last),
        command=command,
        reason=reason,
    )


def _split(test: str) -> tuple[str, str]:
    """Package and name of a test's id."""
    found = re.match(r"(.*?)\.((?:Test|Fuzz|Example|Benchmark)[^.]*.*)\Z", test, re.DOTALL)
    return (found.group(1), found.group(2)) if found else (test, "")


# --- the report -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Test:
    outcome: str = ""  # "" while it runs
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)


def read(left: Left) -> tuple[list[CaseResult], str]:
    """The lines of `go test -json`. A test that began and never ended has failed."""
    tests: dict[tuple[str, str], _Test] = {}
    text = left.text("go.jsonl")
    for event in _events(text):
        package, name = str(event.get("Package", "")), str(event.get("Test", ""))
        if not package:
            continue
        test = tests.setdefault((package, name), _Test())
        match event.get("Action"):
            case "output":
                test.output.append(str(event.get("Output", "")))
            case "pass" | "fail" | "skip" as action:
                test.outcome = {"pass": "passed", "fail": "failed", "skip": "skipped"}[action]
                test.seconds = junit.seconds(event.get("Elapsed"))
    unbuilt = {*_NOT_BUILT.findall(text)}
    for (package, name), test in tests.items():
        if not name and any(_NOT_BUILT.match(line) for line in test.output):
            unbuilt.add(package)
    places = _Places(left)
    cases = [_case(key, test, tests[key[0], ""] if (key[0], "") in tests else _Test(), places)
             for key, test in tests.items() if key[1]]  # fmt: skip
    packages = dict.fromkeys([*(package for package, name in tests if name), *sorted(unbuilt)])
    log = "\n".join(
        [left.output, *("".join(t.output) for (p, n), t in tests.items() if p in unbuilt and not n)]
    )
    built = [_built(package, log, failed=package in unbuilt) for package in packages]
    return [*built, *cases], _fault(left, cases, log)


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _case(key: tuple[str, str], test: _Test, package: _Test, places: _Places) -> CaseResult:
    outcome = test.outcome or "error"
    case_id, file = f"{key[0]}.{key[1]}", places.file(*key)
    if outcome in ("passed", "skipped"):
        return CaseResult(id=case_id, outcome=outcome, file=file, seconds=test.seconds)
    output = plain("".join(test.output))
    if not test.outcome:
        output += plain("".join(package.output))
    panic, place = _PANIC.search(output), _PLACE.search(output)
    lines = [line.strip() for line in output.splitlines() if not re.match(r"\s*(?:===|---) ", line)]
    said = panic.group(1) if panic else place.group(2) if place else next(filter(None, lines), "")
    return CaseResult(
        id=case_id,
        outcome=outcome,
        message=said[: junit.MESSAGE_CHARS] or ("it did not end" if not test.outcome else "it failed"),
        exception="panic" if panic else "",
        detail=junit.cut(output, junit.DETAIL_CHARS),
        file=file,
        seconds=test.seconds,
    )


def _built(package: str, log: str, *, failed: bool) -> CaseResult:
    if not failed:
        return CaseResult(id=package + _BUILD, outcome="passed", is_build=True)
    own = re.search(rf"^# {re.escape(package)}\b.*\n((?:(?!# |FAIL).*\n?)*)", log, re.MULTILINE)
    said = own.group(1) if own else log
    first = next((line.strip() for line in said.splitlines() if re.search(r"\.go:\d+", line)), "")
    last = suite.last_line(said)
    return CaseResult(
        id=package + _BUILD,
        outcome="error",
        message=(first or last)[: junit.MESSAGE_CHARS],
        exception="BuildFailed",
        detail=junit.cut(said, junit.DETAIL_CHARS),
        is_build=True,
    )


def _fault(left: Left, cases: Sequence[CaseResult], log: str) -> str:
    missing = _MISSING.search(log)
    if missing and not any(case.passed for case in cases):
        return f"Go's modules are not all there: {missing.group(0).strip()}"[: junit.MESSAGE_CHARS]
    if not cases and left.code and "build failed" not in log and not _NOT_BUILT.search(left.text("go.jsonl")):
        return f"go test did not start: {suite.last_line(left.output) or f'exit code {left.code}'}"
    return ""


class _Places:
    """In which file a test stands, by what the run has listed."""

    def __init__(self, left: Left) -> None:
        self._folders: dict[str, str] = {}
        for line in left.text("packages").splitlines():
            package, _, rest = line.partition("\t")
            folder, _, module = rest.partition("\t")
            inside = folder.removeprefix(module).strip("/") if module and folder.startswith(module) else ""
            self._folders[package] = inside
        self._files: dict[tuple[str, str], str] = {}
        for line in left.text("functions").splitlines():
            found = re.match(r"(?:\./)?([^:]+):\d+:func (\w+)", line)
            if found:
                self._files[found.group(1).rpartition("/")[0], found.group(2)] = left.path(found.group(1))

    def file(self, package: str, name: str) -> str:
        return self._files.get((self._folders.get(package, ""), name.split("/", maxsplit=1)[0]), "")
