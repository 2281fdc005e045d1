"""One repository, several projects: which of them a run tests, and their tests as one.

The nearest project of the files at hand (where the user stands, what the task or log names) is tested, with
all that stand on it; without such files the root where it has tests, else every project below it. A change to
a project that was not among them brings that one in, with its own measurement before the change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acr_cli.protocols import CommandResult, Guards, KeepsInlineTests, Recipe, TestPlan, Toolchain
from acr_cli.records import SuiteReport
from acr_cli.toolchains import monorepo, python_detect, suite
from acr_cli.toolchains.inside import Inside
from acr_cli.toolchains.monorepo import Projects
from acr_cli.toolchains.python import Python, at_root
from acr_cli.toolchains.tables import table


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """The tests of one project, or those that a toolchain takes together."""

    toolchain: Toolchain | Inside
    folder: str  # "" is the root
    plan: TestPlan
    covers: tuple[str, ...] = ()  # further folders that it tests

    def holds(self, path: str) -> tuple[int, bool]:
        """How deep below the root the folder lies that holds a path, -1 for none; whether it is of its
        language. Pure."""
        holders = [f for f in (self.folder, *self.covers) if not f or path == f or path.startswith(f"{f}/")]
        return max((len(f) for f in holders), default=-1), path.endswith(self.toolchain.extensions)


class Several:
    """The toolchain of a tree of several projects; implements `protocols.Toolchain`, `ReachesFurther`."""

    def __init__(
        self,
        toolchains: Sequence[Toolchain],
        *,
        where: str = "",
        text: str = "",
        command: str = "",
    ) -> None:
        """`where`: the folder that the user stands in; `text`: of the task and its log, whose files count;
        `command`: the user's own for the tests, typed in that folder."""
        self._every = tuple(toolchains)
        self._toolchains = [toolchain for toolchain in toolchains if toolchain.language]
        self._where, self._text, self._command = where, text, command
        self._stands = ""  # the project in which `command` runs
        self._projects = Projects(folders=(), manifests={}, needs={})
        self._rest: list[_Part] = []  # not planned yet
        self._scope: list[_Part] = []
        self._setup: str | None = None
        self._owners: dict[str, _Part] = {}  # by id of a test
        self._failing: list[_Part] = []  # when they were first run

    @property
    def language(self) -> str:
        """That of the first project with a failing test, as soon as one is known."""
        failing = [part for part in self._scope if part in self._failing] or self._scope
        return failing[0].toolchain.language if failing else ""

    @property
    def extensions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e for part in self._scope for e in part.toolchain.extensions))

    def guarded(
        self, tree: Path, plan: TestPlan, *, name: str, seconds: float, again: Sequence[str] = ()
    ) -> TestPlan | None:
        """See `protocols.Guards`."""
        toolchain: object = self._part(plan).toolchain
        if not isinstance(toolchain, Guards):
            return None
        return toolchain.guarded(tree, plan, name=name, seconds=seconds, again=again)

    def recipe(self, tree: Path, *, setup: str | None) -> Recipe | None:
        """None where any other toolchain would do the same alone."""
        self._projects, self._setup = monorepo.projects(tree), setup
        self._owners.clear()
        self._failing.clear()
        self._stands = self._projects.nearest(self._where) if self._command else ""
        if self._command:
            parts = list(self._given(tree)) if self._stands else []
            self._scope, self._rest = parts[:1], []
        else:
            parts = self._found(tree) if any(self._projects.folders) else []
            self._scope = self._chosen(tree, parts)
            self._rest = [part for part in parts if part not in self._scope]
        kinds = {part.toolchain for part in self._scope}
        if not self._scope or (len(kinds) == 1 and not self._rest and not isinstance(kinds.pop(), Inside)):
            self._scope, self._rest = [], []
            return None
        return self._recipe(tree)

    def plan(self, tree: Path, *, command: str | None, tests: Sequence[str], scratch: str) -> TestPlan | None:
        """The tests of all projects in the scope, or of those that have these tests."""
        if not self._scope or bool(command) != bool(self._stands):
            return None
        chosen = [part for part in self._scope if any(self._owners.get(t) == part for t in tests)]
        return _together([
            made for part in chosen or self._scope
            if (made := self._plan(tree, part, [t for t in tests if self._owners.get(t) == part], scratch))
        ])  # fmt: skip

    def reached(self, tree: Path, paths: Sequence[str], *, scratch: str) -> tuple[Recipe, TestPlan] | None:
        """See `protocols.ReachesFurther`."""
        touched = [part for path in paths if (part := _nearest([*self._scope, *self._rest], path))]
        more = [p for p in self._with_dependents(touched, [*self._scope, *self._rest]) if p in self._rest]
        if not more:
            return None
        self._scope = [*self._scope, *more]
        self._rest = [part for part in self._rest if part not in more]
        plans = [made for part in more if (made := self._plan(tree, part, (), scratch))]
        together = _together(plans)
        recipe = self._recipe(tree)
        return (recipe, together) if together and recipe else None

    def read(self, plan: TestPlan, report: bytes | None, result: CommandResult) -> SuiteReport:
        part = self._part(plan)
        made = part.toolchain.read(plan, report, result)
        if part not in self._owners.values() and any(case.failed for case in made.cases):
            self._failing.append(part)
        self._owners |= {case.id: part for case in made.cases}
        return made

    def _part(self, plan: TestPlan) -> _Part:
        return next(
            p for p in self._scope if p.toolchain.language == plan.language and p.folder == plan.folder
        )

    def protected(self, path: str) -> bool:
        return any(each.protected(path) for each in self._languages())

    def syntax_error(self, path: str, source: bytes) -> str | None:
        for each in self._toolchains:
            if path.endswith(each.extensions):
                return each.syntax_error(path, source)
        return None

    def with_tests_of(self, path: str, before: bytes, after: bytes, *, new_tests: bool) -> bytes:
        """See `protocols.KeepsInlineTests`."""
        for each in self._languages():
            if isinstance(each, KeepsInlineTests):
                after = each.with_tests_of(path, before, after, new_tests=new_tests)
        return after

    def _languages(self) -> list[Toolchain]:
        """The toolchains behind all parts, those that are not planned too."""
        inner = (
            part.toolchain.toolchain if isinstance(part.toolchain, Inside) else part.toolchain
            for part in [*self._scope, *self._rest]
        )  # fmt: skip
        return list({each.language: each for each in inner}.values())

    # --- what there is ------------------------------------------------------------------------------------

    def _found(self, tree: Path) -> list[_Part]:
        """All tests of the tree, those at the root first, in the order of the toolchains."""
        found: list[_Part] = []
        seen: set[str] = set()
        for toolchain in self._toolchains:
            name = getattr(toolchain, "name", toolchain.language)  # one table may serve two languages
            if name in seen or toolchain.recipe(tree, setup=None) is None:
                continue
            seen.add(name)
            found += self._of(tree, toolchain)
        return sorted(found, key=lambda part: bool(part.folder))

    def _of(self, tree: Path, toolchain: Toolchain) -> Iterator[_Part]:
        folders = self._folders_of_its_own(tree, toolchain)
        if folders:
            names = self._names_in_tree(tree) if toolchain.language == "python" else ()
            inner = Python(in_tree=names) if isinstance(toolchain, Python) else toolchain
            for folder in folders:
                beside = _code_of(tree, self._projects.needed_by(folder)) if inner is not toolchain else ()
                placed = Inside(inner, folder, beside=beside)
                if made := placed.plan(tree, command=None, tests=(), scratch="/"):
                    yield _Part(toolchain=placed, folder=folder, plan=made)
            return
        made = toolchain.plan(tree, command=None, tests=(), scratch="/")
        if made is None:
            return
        every = suite.folders(made)
        at_once = suite.planned(made) if not made.below_root else ()
        if at_once or not every:
            yield _Part(toolchain=toolchain, folder="", plan=made, covers=at_once)
        for folder in every:
            if folder not in at_once and (one := suite.only(made, [folder])):
                yield _Part(toolchain=toolchain, folder=folder, plan=one)

    def _folders_of_its_own(self, tree: Path, toolchain: Toolchain) -> list[str]:
        """The folders below the root to which a toolchain is put that looks at the root alone."""
        known = table("shared")["detect"]["below"].get(toolchain.language, ())
        folders = [
            f
            for f in self._projects.below(known)
            if toolchain.plan(tree / f, command=None, tests=(), scratch="/")
        ]
        folders = [f for f in folders if not any(f.startswith(f"{other}/") for other in folders)]
        if not folders:
            return []
        if toolchain.language == "python":
            return [] if _python_at_root(tree, folders) else folders
        return [] if toolchain.plan(tree, command=None, tests=(), scratch="/") else folders

    def _names_in_tree(self, tree: Path) -> set[str]:
        return {name for f in self._projects.folders for name in monorepo.python_names(tree / f)}

    def _given(self, tree: Path) -> Iterator[_Part]:
        """The user's own command, run where the user stands."""
        for toolchain in self._every:
            placed = Inside(toolchain, self._stands)
            if toolchain.recipe(tree / self._stands, setup=None) is None:
                continue
            if made := placed.plan(tree, command=self._command, tests=(), scratch="/"):
                yield _Part(toolchain=placed, folder=self._stands, plan=made)

    # --- what is chosen -----------------------------------------------------------------------------------

    def _chosen(self, tree: Path, parts: list[_Part]) -> list[_Part]:
        at_hand = [self._where] if self._where else []
        at_hand += self._projects.named(self._text, tree)
        near = [part for path in at_hand if (part := _nearest(parts, path))]
        if near:
            return self._with_dependents(near, parts)
        at_root = [part for part in parts if not part.folder]
        return at_root[:1] or parts[: table("shared")["detect"]["projects"]]

    def _with_dependents(self, chosen: Sequence[_Part], parts: Sequence[_Part]) -> list[_Part]:
        """The chosen parts in their order, then all that stand on one of them."""
        folders = [f for part in chosen for f in (part.folder, *part.covers)]
        reached = self._projects.with_dependents(folders)
        more = [part for part in parts if part.folder in reached]
        every = [*chosen, *more]
        return [part for n, part in enumerate(every) if part not in every[:n]]

    def _plan(self, tree: Path, part: _Part, tests: Sequence[str], scratch: str) -> TestPlan | None:
        command = self._command if self._stands else None
        made = part.toolchain.plan(tree, command=command, tests=tests, scratch=scratch)
        if made is not None and part.folder and not isinstance(part.toolchain, Inside):
            made = suite.only(made, [part.folder])
        return made and replace(made, language=part.toolchain.language, folder=part.folder)

    def _recipe(self, tree: Path) -> Recipe | None:
        """One of each language, that of the first part's with the others in `also`."""
        made: dict[str, Recipe] = {}
        for number, part in enumerate(self._scope):
            own = part.toolchain.recipe(tree, setup=None if number else self._setup)
            language = part.toolchain.language
            if isinstance(part.toolchain, Inside) and language == "python":
                own = self._with_needed(tree, part, own)
            if own is not None and (language not in made or isinstance(part.toolchain, Inside)):
                made[language] = _joined(made[language], own) if language in made else own
        first, *others = made.values() if made else [None]
        return replace(first, also=tuple(o for o in others if o)) if first else None

    def _with_needed(self, tree: Path, part: _Part, own: Recipe | None) -> Recipe | None:
        """With what the projects of the tree need on which this one stands."""
        names = self._names_in_tree(tree)
        for folder in self._projects.needed_by(part.folder):
            other = Inside(Python(in_tree=names), folder).recipe(tree, setup=None) if folder else None
            own = _joined(own, other) if own and other else own
        return own


def _nearest(parts: Sequence[_Part], path: str) -> _Part | None:
    """The part that holds a path in its deepest folder; the first one of several. Pure."""
    best = max(parts, key=lambda part: part.holds(path), default=None)
    return best if best is not None and best.holds(path)[0] >= 0 else None


def _together(plans: Sequence[TestPlan]) -> TestPlan | None:
    if len(plans) <= 1:
        return replace(plans[0], below_root=False) if plans else None
    return TestPlan(
        command=suite.together([plan.command for plan in plans]),
        argv=(),
        reason="; ".join(dict.fromkeys(plan.reason for plan in plans)),
        parts=tuple(plans),
    )


def _joined(one: Recipe, other: Recipe) -> Recipe:
    """Both in one environment. Pure."""
    path = [r.environment["PYTHONPATH"] for r in (one, other) if "PYTHONPATH" in r.environment]
    joined = {"PYTHONPATH": ":".join(dict.fromkeys(":".join(path).split(":")))} if path else {}
    return replace(
        one,
        setup=tuple(dict.fromkeys((*one.setup, *other.setup))),
        manifests=tuple(dict.fromkeys((*one.manifests, *other.manifests))),
        downloads=tuple(dict.fromkeys((*one.downloads, *other.downloads))),
        environment={**other.environment, **one.environment, **joined},
        unnamed=one.unnamed and other.unnamed,
    )


def _python_at_root(tree: Path, below: Collection[str]) -> bool:
    """Whether the tests of Python are the root's, and not only those of the projects below it."""
    if not at_root(tree):
        return False
    found = python_detect.detect(tree)
    inside = tuple(f"{folder}/" for folder in below)
    loose = [path for path in (found.test_files if found else ()) if not path.startswith(inside)]
    return bool(loose) or bool(python_detect.pytest_configuration(tree))


def _code_of(tree: Path, folders: Sequence[str]) -> tuple[str, ...]:
    """The folders that hold the packages of some projects."""
    roots = ((f, root) for f in folders for root in [*python_detect.source_roots(tree / f), "."])
    return tuple(f if root == "." else f"{f}/{root}".lstrip("/") for f, root in roots)
