"""PHP: PHPUnit and Pest, of Composer's `vendor` or of the system, and their JUnit file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import canary, junit, suite, trees
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.suite import Left
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

_TESTS = ["*Test.php"]
_WORK = re.compile(r"^.*?/work/")
_FATAL = re.compile(
    r"^(?:PHP )?(?:Fatal error|Parse error|Warning: (?:require|include)\w*).*$|^Cannot open.*$", re.MULTILINE
)
# Composer's loader asks where its own file lies, so it has to be a copy and no link.
_PRELUDE = (
    'if [ ! -d vendor ] && [ -d "${ACR_DEPENDENCIES:-}/vendor" ]; then',
    '  cp -R "$ACR_DEPENDENCIES/vendor" vendor',
    "fi",
)


class Php(Tabled):
    """The toolchain of PHP; implements `protocols.Toolchain`. Stateless."""

    name = "php"
    language = "php"
    extensions = (".php", ".phpt")

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """`composer install` where composer.json names a package."""
        if not any(path.endswith(self.extensions) for path in trees.walk(tree)):
            return None
        manifest = trees.load_json(tree, "composer.json")
        kinds = [manifest.get("require"), manifest.get("require-dev")]
        wanted = any("/" in name for kind in kinds if isinstance(kind, dict) for name in kind)
        install = "composer install --no-interaction --no-progress --no-scripts --no-autoloader --quiet"
        dump = "composer dump-autoload --no-interaction --quiet"
        inside = 'cp -R . "$ACR_DEPENDENCIES" && cd "$ACR_DEPENDENCIES" && '
        commands = [setup or f"{install} && {dump}"] if setup or wanted else []
        files = tuple(name for name in ("composer.json", "composer.lock") if (tree / name).is_file())
        return Recipe(
            language=self.language,
            setup=tuple(inside + c for c in commands),
            manifests=files,
            installed=("vendor",),
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else PHPUnit or Pest where there are tests."""
        if command:
            environment, words = suite.words_of(command)
            program = words[0].rpartition("/")[2] if words and not environment else ""
            if program not in ("phpunit", "pest"):
                return self.foreign(command, scratch, prelude=_PRELUDE)
            runs = [_run(program, words[1:], tests, command, "given by --test")]
        else:
            run = _detected(tree, tests) or self.by_task(tree)
            runs = [run] if run else []
        if not runs:
            return None
        return suite.plan(runs, scratch, environment=self.environment(scratch), prelude=_PRELUDE)

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`."""
        return canary.added(tree, plan, name)

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"phpunit": read, "pest": read})


def _detected(tree: Path, tests: Sequence[str]) -> suite.Run | None:
    files = [path for path in trees.walk(tree) if path.endswith(".php")]
    cases = [path for path in files if matches(path.rpartition("/")[2], _TESTS)]
    pest = "tests/Pest.php" in files
    if not cases and not pest:
        return None
    runner = "pest" if pest else "phpunit"
    configured = next((n for n in table("php")["detect"]["configuration"] if (tree / n).is_file()), "")
    folders = sorted({path.split("/")[0] for path in cases if "/" in path}) or ["."]
    reason = (
        f"{configured} configures {runner}" if configured else f"{(cases or ['tests/Pest.php'])[0]} is a test"
    )
    return _run(runner, [] if configured else folders, tests, runner, reason)


def _run(runner: str, words: Sequence[str], tests: Sequence[str], command: str, reason: str) -> suite.Run:
    given = [word for word in words if not re.match(r"--(?:colors|coverage|log-|testdox|stop-on)", word)]
    names = "|".join(re.escape(test) for test in tests)
    chosen = f" --filter {shlex.quote(f'/^({names})$/')}" if names else ""
    program = f"$([ -x vendor/bin/{runner} ] && echo vendor/bin/{runner} || echo {runner})"
    line = f"{program} --colors=never --log-junit $ACR_REPORT/phpunit.xml{chosen} {shlex.join(given)}"
    return suite.Run(folder="", runner=runner, lines=(line.rstrip(),), command=command, reason=reason)


def read(left: Left) -> tuple[list[CaseResult], str]:
    """The JUnit file; a run that ends early leaves none, or an empty one."""
    names = [name for name in ("phpunit.xml",) if left.files.get(name)]
    cases, wrong = suite.junit_cases(left, names, lambda raw: _case(left, raw))
    if wrong or (left.code and not any(case.failed for case in cases)):
        fatal = _FATAL.search(left.output)
        said = fatal.group(0).strip() if fatal else suite.last_line(left.output)
        return cases, f"{left.runner} did not end well: {_WORK.sub('', said)}"[: junit.MESSAGE_CHARS]
    return cases, ""


def _case(left: Left, raw: junit.RawCase) -> CaseResult:
    lines = [line.strip() for line in raw.detail.splitlines() if line.strip()]
    # The first line of a failure is the test's own name.
    said = lines[1] if len(lines) > 1 and "::" in lines[0] else (lines[0] if lines else raw.message)
    failed = raw.outcome in ("failed", "error")
    return CaseResult(
        id=f"{raw.classname.replace('.', chr(92))}::{raw.name}",
        outcome=raw.outcome,
        message=(said or "it failed")[: junit.MESSAGE_CHARS] if failed else "",
        exception=raw.kind.rpartition("\\")[2] if failed else "",
        detail=raw.detail or "it printed nothing" if failed else "",
        file=left.path(_WORK.sub("", raw.file)) if raw.file else "",
        seconds=raw.seconds,
    )
