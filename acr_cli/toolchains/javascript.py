"""JavaScript and TypeScript: jest, vitest, mocha and node's own runner, behind npm, pnpm or yarn."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import SuiteReport
from acr_cli.toolchains import canary, javascript_install, javascript_report, suite, trees
from acr_cli.toolchains import javascript_detect as detecting
from acr_cli.toolchains.javascript_detect import Found
from acr_cli.toolchains.tabled import Tabled

_PRELUDE = (
    ". $ACR_SCRATCH/acr/acr_link.sh",
    "acr_link",
    'PATH="$PWD/node_modules/.bin:${ACR_DEPENDENCIES:-$PWD}/node_modules/.bin:$PATH"; export PATH',
)
_FILES = ("acr_link.sh", "acr_mocha.cjs", "acr_node.mjs")


class JavaScript(Tabled):
    """The toolchain of JavaScript; implements `protocols.Toolchain`. Stateless."""

    name = "javascript"
    language = "javascript"
    extensions = (".js", ".jsx", ".mjs", ".cjs")

    def knows(self, tree: Path) -> bool:
        return any(
            path.rpartition("/")[2] == "package.json" or path.endswith(self.extensions)
            for path in trees.walk(tree)
        )

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """What installs the dependencies: `setup` alone where it is given, else by the lock file."""
        if not self.knows(tree):
            return None
        manifests, commands = javascript_install.commands(tree)
        given = (f'cp -R . "$ACR_DEPENDENCIES" && cd "$ACR_DEPENDENCIES" && {setup}',) if setup else ()
        return Recipe(
            language=self.language, setup=given or commands, manifests=manifests, installed=("node_modules",)
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else what the tree's files say. None: no tests were found."""
        if command:
            found = detecting.recognise("", command, reason="given by --test", shown=command) or self._named(
                tree, command
            )
            if found is None or found.runner == suite.BY_EXIT_CODE:
                return self.foreign(command, scratch, prelude=_PRELUDE, files=_FILES)
            projects = [found]
        else:
            projects = detecting.detect(tree)
        if tests:
            projects = [p for p in projects if any(_inside(test, p.folder) for test in tests)] or projects
        runs = [_run(project, tests) for project in projects]
        if not runs:
            task = self.by_task(tree)
            runs = [task] if task else []
        if not runs:
            return None
        # The root speaks for its workspaces, unless only these are asked for.
        count = 1 if not runs[0].folder else None
        return suite.plan(
            runs, scratch, environment=self.environment(scratch), prelude=_PRELUDE, files=_FILES, count=count
        )

    def _named(self, tree: Path, command: str) -> Found | None:
        """`npm test` and the like, given by the user."""
        scripts = trees.load_json(tree, "package.json").get("scripts")
        _, words = suite.words_of(command)
        if not isinstance(scripts, dict) or words[:1] not in (["npm"], ["pnpm"], ["yarn"]):
            return None
        rest = [word for word in words[1:] if word not in ("run", "-s", "--silent")]
        name = "test" if rest[:1] in (["t"], ["test"]) else rest[0] if rest else ""
        if len(rest) != 1 or not isinstance(scripts.get(name), str):
            return None
        known = {key: value for key, value in scripts.items() if isinstance(value, str)}
        return detecting.of_script("", name, known, "given by --test")

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`; these runners neither stop by themselves nor run a test again."""
        return canary.added(tree, plan, name)

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return suite.read(plan, report, result, javascript_report.READERS)


class TypeScript(JavaScript):
    """The same for a tree that is written in TypeScript; implements `protocols.Toolchain`. Stateless."""

    language = "typescript"
    extensions = (".ts", ".tsx", ".mts", ".cts")

    def knows(self, tree: Path) -> bool:
        return any(path.endswith(self.extensions) and not path.endswith(".d.ts") for path in trees.walk(tree))


def _inside(test: str, folder: str) -> bool:
    return not folder or test.startswith(f"{folder}/")


def _run(found: Found, tests: Sequence[str]) -> suite.Run:
    if found.runner == suite.BY_EXIT_CODE:
        lines = suite.captured(" ".join(found.words))
    else:
        lines = (_line(found, tests),)
    local = 'PATH="$PWD/node_modules/.bin:$PATH"; export PATH'
    return suite.Run(
        folder=found.folder,
        runner=found.runner,
        lines=(local, *lines),
        command=found.command,
        reason=found.reason,
        build=(local, *found.before) if found.before else (),
        build_name=" && ".join(found.before),
    )


def _line(found: Found, tests: Sequence[str]) -> str:
    """All tests, or those of these ids: their files, and a pattern of their names."""
    base = detecting.line(found)
    start = f"{found.folder}/" if found.folder else ""
    parts = [t.removeprefix(start).split(javascript_report.SEPARATOR) for t in tests if t.startswith(start)]
    if not parts:
        return base
    files = " ".join(shlex.quote(file) for file in dict.fromkeys(part[0] for part in parts))
    names = [" ".join(part[1:]) for part in parts if len(part) > 1]
    pattern = "|".join(re.escape(name) for name in dict.fromkeys(names))
    option = {"node": "--test-name-pattern", "mocha": "--grep"}.get(found.runner, "-t")
    if found.runner == "node":  # which matches the name of each test alone
        pattern = "|".join(f"^{re.escape(part[-1])}$" for part in parts if len(part) > 1)
    chosen = f" {option} {shlex.quote(pattern)}" if pattern and len(names) == len(parts) else ""
    if found.runner == "node":
        base = base.replace(" --test ", f" --test{chosen} ", 1)
        return f"{base} {files}"
    return f"{base}{chosen} {'--runTestsByPath ' if found.runner == 'jest' else ''}{files}"
