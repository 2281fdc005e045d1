"""Python: pytest and unittest, whatever the repository installs its dependencies with."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from acr_cli.protocols import CommandResult, Recipe, TestPlan
from acr_cli.records import SuiteReport
from acr_cli.toolchains import (
    grammar,
    python_command,
    python_detect,
    python_install,
    python_report,
    python_tasks,
)
from acr_cli.toolchains.python_tables import TABLES, matches


def at_root(tree: Path) -> bool:
    """Whether the root itself is a project of Python's, and not only a folder below it."""
    known = [*TABLES["detect"]["manifests"], "pytest.ini", ".pytest.ini", "pytest.toml", "*.py"]
    return any(matches(path.name, known) for path in tree.iterdir())


def _task(tree: Path) -> tuple[str, str]:
    manifest = any((tree / name).is_file() for name in TABLES["detect"]["manifests"])
    return python_tasks.task(tree) if manifest else ("", "")


class Python:
    """The toolchain of Python; implements `protocols.Toolchain`. Stateless."""

    language = "python"
    extensions: tuple[str, ...] = (".py", ".pyi")

    def __init__(self, *, in_tree: Collection[str] = ()) -> None:
        """`in_tree`: see `python_install.commands`."""
        self._in_tree = frozenset(in_tree)

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """What installs the dependencies: `setup` alone where it is given, else by the tree's manifests."""
        found = python_detect.detect(tree)
        if found is None:
            return None
        manifests, commands = python_install.commands(
            tree,
            needs_pytest=found.runner == "pytest" or "pytest" in _task(tree)[0],
            tests=found.test_files,
            in_tree=self._in_tree,
        )
        # Whoever runs the tests in the sandbox by other means than the plan needs these as well.
        roots = python_detect.source_roots(tree)
        return Recipe(
            language=self.language,
            setup=(setup,) if setup else commands,
            manifests=manifests,
            unnamed=not (setup or manifests),
            environment={"PYTHONPATH": ":".join([*roots, "."])} if roots else {},
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The user's command if there is one, else what the tree's files say. None: no tests were found."""
        found = python_detect.detect(tree)
        if command:
            others = TABLES["detect"]["others"]
            if (
                found is not None
                and not found.runner
                and command.split()[:1]
                and command.split()[0] in others
            ):
                return None
            return python_command.given(tree, command, tests, scratch)
        if found is not None and not found.runner and not command:
            task, reason = _task(tree)
            if not task:
                return None
            return replace(python_command.given(tree, task, tests, scratch), reason=reason)
        if found is None:
            return None
        make = python_command.unittest if found.runner == "unittest" else python_command.pytest
        plan = make(tree, (), tests, scratch, reason=found.reason)
        return replace(plan, below_root=not at_root(tree))

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        return python_report.read(plan, report, result)

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`: our plugin and our runner of unittest know what to do.

        Not for another command: the tests may be one of several things that it does."""
        if python_command.is_foreign(plan):
            return None
        ours = next(path for path in plan.files if path.endswith(".py")).rpartition("/")[0]
        return replace(
            plan,
            environment={**plan.environment, "ACR_GUARD": f"{name} {seconds:.1f}"},
            files={**plan.files, f"{ours}/acr_again.json": json.dumps(again).encode()},
        )

    def protected(self, path: str) -> bool:
        """By the path alone: tests, fixtures, test configuration, what could take the test runner's place."""
        table = TABLES["protected"]
        parts = PurePosixPath(path).parts
        if not parts:
            return False
        return (
            matches(parts[-1], table["names"])
            or any(part in table["folders"] or matches(part, table["folder_patterns"]) for part in parts)
            or parts[0] in table["root_folders"]
            or any(part.removesuffix(".py") in table["modules"] for part in parts[:2])
        )

    def syntax_error(self, path: str, source: bytes) -> str | None:
        """The first place that tree-sitter's grammar cannot take, as "line N: ..."."""
        return grammar.syntax_error("tree_sitter_python", source)
