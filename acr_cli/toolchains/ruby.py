"""Ruby: minitest and RSpec, with Bundler where a Gemfile asks for it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import canary, junit, suite, trees
from acr_cli.toolchains.python_detect import read_text
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.suite import Left
from acr_cli.toolchains.tabled import Tabled
from acr_cli.toolchains.tables import table

_TESTS, _SPECS = ["*_test.rb", "test_*.rb"], ["*_spec.rb"]
_GEM = re.compile(r"^[ \t]*gem\s|^[ \t]*gemspec\b", re.MULTILINE)
_MISSING = re.compile(
    r"cannot load such file -- ([^\s(]+)|Could not find gem '([^' ]+)|Could not find (\S+) in"
)
_WORK = re.compile(r"^(?:\./|.*?/work/)")
_PRELUDE = (
    "ACR_BUNDLE=",
    'if [ -d "${ACR_DEPENDENCIES:-}/bundle" ]; then',
    '  ACR_BUNDLE="bundle exec"; BUNDLE_PATH=$ACR_DEPENDENCIES/bundle; export BUNDLE_PATH',
    "fi",
)


class Ruby(Tabled):
    """The toolchain of Ruby; implements `protocols.Toolchain`. Stateless."""

    name = "ruby"
    language = "ruby"
    extensions = (".rb", ".rake", ".gemspec")

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """`bundle install` where the Gemfile names a gem."""
        if not any(path.endswith(self.extensions) for path in trees.walk(tree)):
            return None
        names = ("Gemfile", "Gemfile.lock", ".ruby-version")
        manifests = [name for name in names if (tree / name).is_file()]
        manifests += [path for path in trees.walk(tree) if path.endswith((".gemspec", "/version.rb"))]
        wanted = (tree / "Gemfile").is_file() and _GEM.search(read_text(tree, "Gemfile"))
        place = 'export BUNDLE_PATH="$ACR_DEPENDENCIES/bundle"; '
        commands = [setup] if setup else [f"{place}bundle install --jobs 4 --quiet"] if wanted else []
        return Recipe(language=self.language, setup=tuple(commands), manifests=tuple(manifests))

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else RSpec's examples and minitest's tests."""
        if command:
            _, words = suite.words_of(command)
            words = words[2:] if words[:2] == ["bundle", "exec"] else words
            if words[:1] != ["rspec"]:
                return self.foreign(command, scratch, prelude=_PRELUDE)
            runs = [_rspec(words[1:], tests, command, "given by --test")]
        else:
            runs = list(_detected(tree, tests))
            task = None if runs else self._rake(tree) or self.by_task(tree)
            runs += [task] if task else []
        if not runs:
            return None
        environment = self.environment(scratch)
        return suite.plan(
            runs,
            scratch,
            environment=environment,
            prelude=_PRELUDE,
            files=("acr_minitest.rb", "acr_rspec.rb"),
        )

    def _rake(self, tree: Path) -> suite.Run | None:
        files = [f for f in trees.walk(tree) if matches(f.rpartition("/")[2], _TESTS)]
        if not files or not (tree / "Rakefile").is_file():
            return None
        return suite.Run(
            folder="",
            runner=suite.BY_EXIT_CODE,
            lines=suite.captured("$ACR_BUNDLE rake test"),
            command="rake test",
            reason=f"{files[0]} is a test; its output and its exit code decide",
        )

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`."""
        return canary.added(tree, plan, name)

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, {"rspec": read_rspec, "minitest": read_minitest})


def _detected(tree: Path, tests: Sequence[str]) -> Iterator[suite.Run]:
    known = table("ruby")["detect"]
    files = [f for f in trees.walk(tree) if f.endswith(".rb")]
    specs = [f for f in files if matches(f.rpartition("/")[2], _SPECS) and f.split("/")[0] == "spec"]
    named = [
        f for f in files if matches(f.rpartition("/")[2], _TESTS) and f.split("/")[0] in ("test", "tests")
    ]
    own = [f for f in named if re.search(known["minitest"], read_text(tree, f))]
    if specs:
        yield _rspec([], tests, "rspec", f"{specs[0]} is a spec of RSpec")
    if own and not any(re.search(known["other"], read_text(tree, f)) for f in named):
        yield _minitest(own, tests, f"{own[0]} uses minitest")


def _rspec(words: Sequence[str], tests: Sequence[str], command: str, reason: str) -> suite.Run:
    given = [word for word in words if word not in ("--color", "--colour", "-c", "--fail-fast", "--profile")]
    chosen = [test.partition(" > ")[0] for test in tests if " > " in test]
    names = [flag for t in tests if " > " in t for flag in ("-e", t.partition(" > ")[2])]
    given = [*(word for word in given if not chosen or word.startswith("-")), *dict.fromkeys(chosen), *names]
    line = (
        "$ACR_BUNDLE rspec --no-color --no-fail-fast -r $ACR_SCRATCH/acr/acr_rspec.rb"
        " --format progress --format json --out $ACR_REPORT/rspec.json"
    )
    return suite.Run(
        folder="",
        runner="rspec",
        lines=(f"{line} {shlex.join(given)}".rstrip(),),
        command=command,
        reason=reason,
    )


def _minitest(files: Sequence[str], tests: Sequence[str], reason: str) -> suite.Run:
    names = "|".join(re.escape(test) for test in tests)
    chosen = f" -n {shlex.quote(f'/^({names})$/')}" if names else ""
    base = "$ACR_BUNDLE ruby -Ilib -Itest -I. -r $ACR_SCRATCH/acr/acr_minitest.rb -r minitest/autorun"
    # minitest reads what is left of the arguments once the files are required.
    script = f"ARGV.shift({len(files)}).each {{ |file| require File.expand_path(file) }}"
    shown = files[0] if len(files) == 1 else "test/**/*_test.rb"
    return suite.Run(
        folder="",
        runner="minitest",
        lines=(f"{base} -e {shlex.quote(script)} {shlex.join(files)}{chosen}",),
        command=f"ruby -Itest {shown}",
        reason=reason,
    )


# --- the report -------------------------------------------------------------------------------------------


def read_rspec(left: Left) -> tuple[list[CaseResult], str]:
    """`--format json`; errors outside of examples keep a file from being loaded."""
    try:
        report = json.loads(left.files.get("rspec.json", b"{}"))
    except (ValueError, RecursionError):
        report = {}
    examples = report.get("examples") if isinstance(report, dict) else None
    cases = [_example(left, e) for e in examples if isinstance(e, dict)] if isinstance(examples, list) else []
    if left.code and not any(case.failed for case in cases):
        return cases, _why(left, "rspec")
    return cases, ""


def _example(left: Left, entry: dict[str, Any]) -> CaseResult:
    file = left.path(_WORK.sub("", str(entry.get("file_path", ""))))
    said = entry.get("exception")
    exception: dict[str, Any] = said if isinstance(said, dict) else {}
    return _case(
        f"{file} > {entry.get('full_description', '')}",
        {"passed": "passed", "failed": "failed"}.get(str(entry.get("status")), "skipped"),
        file=file,
        name=str(exception.get("class", "")),
        message=str(exception.get("message", "")),
        stack="\n".join(map(str, trace if isinstance(trace := exception.get("backtrace"), list) else ())),
        seconds=entry.get("run_time"),
    )


def read_minitest(left: Left) -> tuple[list[CaseResult], str]:
    """The lines of our reporter."""
    cases = []
    for line in left.text("cases.jsonl").splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            outcome = str(entry.get("outcome"))
            said = {key: str(entry.get(key, "")) for key in ("name", "message", "stack")}
            file = left.path(_WORK.sub("", str(entry.get("file", ""))))
            cases.append(
                _case(str(entry.get("id")), outcome, file=file, seconds=entry.get("seconds"), **said)
            )
    if left.code and not any(case.failed for case in cases):
        return cases, _why(left, "minitest")
    return cases, ""


def _case(
    case_id: str, outcome: str, *, file: str, name: str, message: str, stack: str, seconds: object
) -> CaseResult:
    failed = outcome not in ("passed", "skipped")
    lines = [line.strip() for line in suite.plain(message).splitlines() if line.strip()]
    return CaseResult(
        id=case_id,
        outcome="failed" if failed else outcome,
        message="; ".join(lines[:2])[: junit.MESSAGE_CHARS] if failed else "",
        exception=name.rpartition("::")[2] if failed else "",
        detail=junit.cut(f"{suite.plain(message).strip()}\n{stack}".strip(), junit.DETAIL_CHARS)
        if failed
        else "",
        file=file,
        seconds=junit.seconds(seconds),
    )


def _why(left: Left, runner: str) -> str:
    """Why no test failed and the run did all the same."""
    missing = _MISSING.search(left.output)
    if missing:
        return f"{next(filter(None, missing.groups()))} is missing"
    wrong = next((line.strip() for line in left.output.splitlines() if re.search(r"Error\b", line)), "")
    return f"{runner} did not end well: {wrong or suite.last_line(left.output)}"[: junit.MESSAGE_CHARS]
