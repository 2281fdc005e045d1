"""A toolchain that knows the root of a repository alone, put to a project that lies in a folder of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acr_cli.protocols import CommandResult, Guards, Recipe, TestPlan, Toolchain
from acr_cli.records import CaseResult, SuiteReport
from acr_cli.toolchains import suite

_GO = ("sh", "-c", 'cd "$1" || exit 126; shift; exec "$@"', "sh")


class Inside:
    """Half of a toolchain: what it finds in `folder`, told in paths of the whole tree. Stateless."""

    def __init__(self, toolchain: Toolchain, folder: str, *, beside: Sequence[str] = ()) -> None:
        """`beside`: folders of the tree in whose code this project's code may look (Python)."""
        self.toolchain = toolchain
        self.folder = folder
        self.beside = tuple(beside)
        self.language = toolchain.language
        self.extensions = toolchain.extensions

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        made = self.toolchain.recipe(tree / self.folder, setup=setup)
        if made is None:
            return None
        place = shlex.quote(f"./{self.folder}")
        go = f"mkdir -p {place} && cd {place}\n"
        environment = dict(made.environment)
        if self.language == "python":
            path = environment.get("PYTHONPATH", ".").split(":")
            shown = [self.folder if p == "." else f"{self.folder}/{p}" for p in path]
            environment["PYTHONPATH"] = ":".join([*shown, *self.beside])
        return replace(
            made,
            setup=tuple(go + command for command in made.setup),
            manifests=tuple(f"{self.folder}/{name}" for name in made.manifests),
            environment=environment,
        )

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        start = f"{self.folder}/"
        own = [test.removeprefix(start) for test in tests if test.startswith(start)]
        made = self.toolchain.plan(tree / self.folder, command=command, tests=own, scratch=scratch)
        if made is None:
            return None
        up = "../" * len(self.folder.split("/"))
        environment = dict(made.environment)
        if "PYTHONPATH" in environment and self.beside:
            more = (up + folder for folder in self.beside)
            environment["PYTHONPATH"] = ":".join([environment["PYTHONPATH"], *more])
        return replace(
            made,
            command=suite.typed(self.folder, made.command),
            argv=(*_GO, self.folder, *made.argv),
            reason=f"{made.reason} (in {self.folder})",
            environment=environment,
            folder=self.folder,
            language=self.language,
            below_root=True,
        )

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        go = suite.typed(self.folder, "")
        inner = replace(plan, argv=plan.argv[len(_GO) + 1 :], command=plan.command.removeprefix(go))
        made = self.toolchain.read(inner, report, result)
        return replace(made, cases=tuple(self._placed(case, inner.command) for case in made.cases))

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`."""
        toolchain: object = self.toolchain
        if not isinstance(toolchain, Guards):
            return None
        inner = replace(plan, argv=plan.argv[len(_GO) + 1 :])
        ours = [test.removeprefix(f"{self.folder}/") for test in again]
        made = toolchain.guarded(tree / self.folder, inner, name=name, seconds=seconds, again=ours)
        if made is None:
            return None
        files = {f if f.startswith("/") else f"{self.folder}/{f}": data for f, data in made.files.items()}
        return replace(made, argv=(*_GO, self.folder, *made.argv), files=files)

    def _placed(self, case: CaseResult, command: str) -> CaseResult:
        return replace(
            case,
            id=suite.typed(self.folder, command) if case.id == command else f"{self.folder}/{case.id}",
            file=f"{self.folder}/{case.file}" if case.file else "",
        )
