"""What the toolchains that are described by a table have in common."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from acr_cli.protocols import TestPlan
from acr_cli.toolchains import grammar, suite, trees
from acr_cli.toolchains.python_tables import matches
from acr_cli.toolchains.tables import table


class Tabled:
    """Half of a `protocols.Toolchain`: what follows from the table `NAME.toml` alone. Stateless."""

    name: ClassVar[str] = ""  # of the table
    language: str = ""
    extensions: tuple[str, ...] = ()

    def protected(self, path: str) -> bool:
        """By the path alone: tests, fixtures, test configuration, manifests, lock files."""
        parts = PurePosixPath(path).parts
        if not parts:
            return False
        for rules in (table("shared")["protected"], table(self.name)["protected"]):
            if (
                matches(parts[-1], rules.get("names", ()))
                or any(p in rules.get("folders", ()) for p in parts[:-1])
                or any(matches(p, rules.get("folder_patterns", ())) for p in parts[:-1])
                or (len(parts) > 1 and parts[0] in rules.get("root_folders", ()))
            ):
                return True
        return False

    def syntax_error(self, path: str, source: bytes) -> str | None:
        """By the grammar that the table names for the file's extension; None where it names none."""
        by_extension: dict[str, str] = table(self.name).get("grammars", {})
        found = by_extension.get(PurePosixPath(path).suffix)
        return grammar.syntax_error(found, source) if found else None

    def foreign(
        self, command: str, scratch: str, *, prelude: Sequence[str] = (), files: Sequence[str] = ()
    ) -> TestPlan:
        """A command of the user's that no reader knows: its output and its exit code decide."""
        run = suite.Run(
            folder="",
            runner=suite.BY_EXIT_CODE,
            lines=suite.captured(f"sh -c {shlex.quote(command)}"),
            command=command,
            reason="given by --test; its output and its exit code decide",
        )
        return suite.plan([run], scratch, environment=self.environment(scratch), prelude=prelude, files=files)

    def environment(self, scratch: str) -> dict[str, str]:
        """The variables of the tests besides those that all languages share."""
        return {
            k: str(v).replace("{scratch}", scratch)
            for k, v in table(self.name).get("environment", {}).items()
        }

    def by_task(self, tree: Path) -> suite.Run | None:
        """The `test` target of a Makefile or justfile, else what CI runs, where a file at the root says whose
        it is."""
        command, reason = trees.task(tree, "")
        if not command:
            command, reason = trees.ci_test(tree, self.name)
        roots = table(self.name).get("detect", {}).get("roots", ())
        ours = not roots or any(matches(path.name, roots) for path in tree.iterdir())
        if not command or not ours:
            return None
        return suite.Run(
            folder="", runner=suite.BY_EXIT_CODE, lines=suite.captured(command), command=command,
            reason=f"{reason}; its output and its exit code decide",
        )  # fmt: skip
