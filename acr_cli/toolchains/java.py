"""Java: Maven and Gradle, offline, and the JUnit files that both write."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import junit, suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.suite import Left
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

_COMPILE = re.compile(r"^.*\.(?:java|kt|groovy)(?::\[?\d+|: \(\d+).*$", re.MULTILINE)
_NOT_COMPILED = re.compile(r"^(?:> Task )?:\S*compile\w* FAILED|COMPILATION ERROR", re.MULTILINE)
_MISSING = re.compile(
    r"^.*(?:could not be resolved|Could not resolve (?:all|dependencies|plugin)|in offline mode"
    r"|No cached version|Plugin .* not found|Non-resolvable parent).*$",
    re.MULTILINE,
)
# Maven writes beside what it reads: into folders of its own, where each file is a link.
_PRELUDE = (
    "ACR_M2=$ACR_SCRATCH/m2; mkdir -p $ACR_M2",
    'if [ -d "${ACR_DEPENDENCIES:-}/repository" ]; then',
    '  ACR_FROM="$ACR_DEPENDENCIES/repository/."',
    '  cp -Rs "$ACR_FROM" $ACR_M2 2>/dev/null || cp -R "$ACR_FROM" $ACR_M2',
    "fi",
    'if [ -d "${ACR_DEPENDENCIES:-}/gradle/caches" ]; then',
    "  GRADLE_RO_DEP_CACHE=$ACR_DEPENDENCIES/gradle/caches; export GRADLE_RO_DEP_CACHE",
    "fi",
)
# The wrapper downloads a Gradle of its own, so it is the second choice.
_GRADLE = "$(command -v gradle || echo ./gradlew)"
_SOURCES = "find . -name '*.java' -path '*est*' -o -name '*.kt' -path '*est*' > $ACR_REPORT/sources"
_COLLECT = (
    "find . -name 'TEST-*.xml' | grep -e '-reports/' -e '/test-results/' | while read -r acr_file; do",
    '  cp "$acr_file" "$ACR_REPORT/$(echo "$acr_file" | tr \'/\' \'_\')"',
    "done",
)


class Java(Tabled):
    """The toolchain of Java; implements `protocols.Toolchain`. Stateless."""

    name = "java"
    language = "java"
    extensions = (".java",)

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """Downloads what the build files name, unless the user has a Maven repository: that is taken."""
        manifests = [path for path in trees.walk(tree) if _is_manifest(path)]
        if not manifests and not any(path.endswith(".java") for path in trees.walk(tree)):
            return None
        files = [
            *manifests,
            *(name for name in (".mvn", "gradle", "gradlew", "mvnw") if (tree / name).exists()),
        ]
        commands = [setup] if setup else list(_download(tree, manifests))
        return Recipe(
            language=self.language,
            setup=tuple(commands),
            manifests=tuple(files),
            installed=("~/.m2/repository",),
            downloads=("repository", "gradle/caches"),
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else Maven's or Gradle's tests where there are some."""
        if command:
            run = _given(command, tests)
            if run is None:
                return self.foreign(command, scratch, prelude=_PRELUDE)
            runs = [run]
        else:
            runs = list(_detected(tree, tests))
            task = None if runs else self.by_task(tree)
            runs += [task] if task else []
        if not runs:
            return None
        return suite.plan(runs, scratch, environment=self.environment(scratch), prelude=_PRELUDE)

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"maven": read, "gradle": read})


def _is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    others = ("gradle.properties", "gradle.lockfile", "libs.versions.toml")
    return name == table("java")["detect"]["maven"] or name in (*table("java")["detect"]["gradle"], *others)


def _detected(tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
    known = table("java")["detect"]
    covered: list[str] = []
    for folder in trees.projects(tree, [known["maven"], *known["gradle"]]):
        if any(folder.startswith(f"{one}/") or not one for one in covered):
            continue  # a module of a project that has been found
        covered.append(folder)
        files = [f for f in trees.files_of(tree, folder) if f.endswith((".java", ".kt", ".groovy"))]
        pattern = re.compile(known["tests"])
        test = next(
            (f for f in files if "test" in f.lower() and pattern.search(read_text(tree, folder, f))), ""
        )
        if not test:
            continue
        prefix = f"{folder}/" if folder else ""
        if (tree / folder / known["maven"]).is_file():
            yield _maven(folder, [], tests, "mvn test", f"{prefix}pom.xml is there, and tests as {test}")
        else:
            name = next(n for n in known["gradle"] if (tree / folder / n).is_file())
            yield _gradle(folder, [], tests, "gradle test", f"{prefix}{name} is there, and tests as {test}")


def _given(command: str, tests: Sequence[str]) -> suite.Run | None:
    """`mvn test` or `gradle test`, with options and without clean, of the user's."""
    environment, words = suite.words_of(command)
    program = PurePosixPath(words[0]).name if words and not environment else ""
    rest = [
        word
        for word in words[1:]
        if word not in ("clean", "test", "-q", "-B", "-o", "--offline", "--no-daemon")
    ]
    if "test" not in words or any(not word.startswith("-") for word in rest):
        return None
    if program in ("mvn", "mvnw"):
        return _maven("", rest, tests, command, "given by --test")
    if program in ("gradle", "gradlew"):
        return _gradle("", rest, tests, command, "given by --test")
    return None


def _maven(folder: str, options: Sequence[str], tests: Sequence[str], command: str, reason: str) -> suite.Run:
    """Failing tests do not fail the build here, so its exit code tells of the build alone."""
    names = ",".join(f"{c}#{m}" for c, _, m in (t.rpartition(".") for t in tests))
    chosen = f" -Dtest={shlex.quote(names)} -DfailIfNoTests=false" if names else ""
    ours = "-B -o -fae -Dstyle.color=never -Dmaven.repo.local=$ACR_M2 -Dmaven.test.failure.ignore=true"
    line = f"mvn {ours} {shlex.join(options)}{chosen} test; acr_built=$?"
    return suite.Run(
        folder=folder,
        runner="maven",
        lines=(_SOURCES, line, *_COLLECT, "exit $acr_built"),
        command=command,
        reason=reason,
    )


def _gradle(
    folder: str, options: Sequence[str], tests: Sequence[str], command: str, reason: str
) -> suite.Run:
    chosen = "".join(f" --tests {shlex.quote(test)}" for test in tests)
    line = f"{_GRADLE} --offline --no-daemon --continue --console=plain {shlex.join(options)} test{chosen}"
    return suite.Run(
        folder=folder,
        runner="gradle",
        lines=(_SOURCES, f"{line}; acr_built=$?", *_COLLECT, "exit $acr_built"),
        command=command,
        reason=reason,
    )


def _download(tree: Path, manifests: Sequence[str]) -> Iterator[str]:
    known = table("java")["detect"]
    for folder in (m.rpartition("/")[0] or "." for m in manifests if m.rpartition("/")[2] == known["maven"]):
        text = read_text(tree, folder, known["maven"])
        stub = next((s for s in table("java")["stubs"] if re.search(s["mentions"], text)), None)
        if stub:
            inside = shlex.quote(f"{folder}/src/test/java")
            yield f"mkdir -p {inside} && echo {shlex.quote(stub['source'])} > {inside}/AcrStubTest.java"
    if (tree / known["maven"]).is_file():
        local = '-B -q -Dmaven.repo.local="$ACR_DEPENDENCIES/repository"'
        yield f"mvn {local} dependency:go-offline || true"
        yield f"mvn {local} -fae -Dmaven.test.failure.ignore=true test || true"
    elif any((tree / name).is_file() for name in known["gradle"]):
        home = 'export GRADLE_USER_HOME="$ACR_DEPENDENCIES/gradle"'
        yield f"{home}; {_GRADLE} --no-daemon --console=plain testClasses || true"


# --- the report -------------------------------------------------------------------------------------------


def read(left: Left) -> tuple[list[CaseResult], str]:
    """The TEST-*.xml of all modules, and one case for the build."""
    names = sorted(name for name in left.files if name.endswith(".xml"))
    places = _places(left)
    cases, wrong = suite.junit_cases(left, names, lambda raw: _case(raw, places))
    log = left.output
    # Gradle's exit code tells of failing tests as well.
    told = left.runner == "gradle" and any(case.failed for case in cases)
    failed = _NOT_COMPILED.search(log) is not None or (bool(left.code) and not told)
    if failed and left.code not in (126, 127):
        errors = _COMPILE.findall(log)
        missing = _MISSING.search(log)
        if missing and not errors:
            return cases, f"{left.runner} misses something: {_short(missing.group(0))}"
        built = suite.build_case("compile", "\n".join(map(_short, errors)) or log, failed=True)
    elif cases:
        built = suite.build_case("compile", "", failed=False)
    else:
        return cases, wrong
    return [built, *cases], wrong


def _short(line: str) -> str:
    return re.sub(r"^\[ERROR\]\s*|/acr/work/", "", line.strip())[: junit.MESSAGE_CHARS]


def _places(left: Left) -> dict[str, str]:
    """The files of tests by class, as far as folders are packages."""
    found: dict[str, str] = {}
    for line in left.text("sources").splitlines():
        path = line.removeprefix("./")
        package = re.sub(r"^.*?src/[^/]+/(?:java|kotlin|groovy)/", "", path)
        found[package.rpartition(".")[0].replace("/", ".")] = left.path(path)
    return found


def _case(raw: junit.RawCase, places: dict[str, str]) -> CaseResult:
    exception, message = junit.exception_and_message(raw)
    name = raw.name.removesuffix("()")
    failed = raw.outcome in ("failed", "error")
    return CaseResult(
        id=f"{raw.classname}.{name}",
        outcome=raw.outcome,
        message=message or ("it failed" if failed else ""),
        exception=exception,
        detail=(raw.detail or raw.message or "it printed nothing") if failed else "",
        file=places.get(raw.classname.partition("$")[0], ""),
        seconds=raw.seconds,
    )
