"""One repository of several projects: which are tested, and what a change to one of them reaches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acr_cli.parts import load
from acr_cli.protocols import Limits, Recipe, TestPlan
from acr_cli.records import Failed, Passed
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.toolchains import BUILTIN, monorepo
from acr_cli.toolchains.several import Several
from acr_cli.verifier.verifier import Verifier
from acr_cli.worktree.tree import RunTree
from tests.conftest import DOCKER_IMAGE
from tests.toolchains import node_image
from tests.verifier.conftest import Bench

Tree = Callable[[Mapping[str, str]], Path]

PRICE = "def total(a, b):\n    return a {} b\n"
NODE_TEST = """const test = require("node:test"), assert = require("assert");
const { sum } = require("../src/sum.js");
test("adds", () => assert.equal(sum(1, 2), 3));
"""
SUM = "exports.sum = (a, b) => a {} b;\n"
SHOP = {
    "backend/pyproject.toml": '[project]\nname = "shop"\n',
    "backend/shop/__init__.py": "",
    "backend/shop/price.py": PRICE.format("-"),
    "backend/tests/test_price.py": (
        "from pathlib import Path\n\nfrom shop.price import total\n\n\ndef test_total():\n"
        "    assert total(2, 3) == 5\n\n\ndef test_where():\n    assert Path('pyproject.toml').exists()\n"
    ),
    "frontend/package.json": '{"name": "front", "scripts": {"test": "node --test"}}',
    "frontend/src/sum.js": SUM.format("+"),
    "frontend/test/sum.test.js": NODE_TEST,
}
BACKEND, FRONTEND = "cd backend && python3 -m pytest", "cd frontend && npm test"


def several(**more: str) -> Several:
    return Several([load("toolchains", name, BUILTIN)() for name in BUILTIN], **more)


def planned(root: Path, **more: str) -> TestPlan | None:
    chain = several(**more)
    if chain.recipe(root, setup=None) is None:
        return None
    return chain.plan(root, command=more.get("command"), tests=(), scratch="/s")


# --- which projects ---------------------------------------------------------------------------------------

ARTIFACT = "<artifactId>%s</artifactId>"
JS = '{"name": "%s", "scripts": {"test": "node --test"}, "dependencies": {%s}}'
WORKSPACE = {
    "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}',
    "packages/core/package.json": JS % ("@a/core", ""),
    "packages/web/package.json": JS % ("web", '"@a/core": "*"'),
    "packages/docs/package.json": JS % ("docs", ""),
}


@pytest.mark.parametrize(
    ("files", "more", "command"),
    [
        (SHOP, {}, f"({BACKEND}); ({FRONTEND})"),
        (SHOP, {"where": "frontend/src"}, FRONTEND),
        (SHOP, {"where": "backend"}, BACKEND),
        (SHOP, {"text": "sum in frontend/src/sum.js is wrong"}, FRONTEND),
        (SHOP, {"text": "/home/ci/repo/backend/shop/price.py:2: AssertionError"}, BACKEND),
        (SHOP, {"text": "tests/test_price.py fails"}, BACKEND),
        (SHOP, {"text": "see README.md"}, f"({BACKEND}); ({FRONTEND})"),
        (SHOP, {"where": "backend", "command": "pytest -x tests"}, "cd backend && pytest -x tests"),
        (SHOP, {"where": "frontend", "command": "npm test"}, FRONTEND),
        # What stands on the project is tested with it; what does not, is not.
        (WORKSPACE, {}, "npm test"),
        (
            WORKSPACE,
            {"where": "packages/core"},
            "(cd packages/core && npm test); (cd packages/web && npm test)",
        ),
        (WORKSPACE, {"where": "packages/docs"}, "cd packages/docs && npm test"),
        # The root goes first where it has tests and nobody stands elsewhere.
        ({**SHOP, "pyproject.toml": "", "test_a.py": "def test_a(): pass\n"}, {}, "python3 -m pytest"),
        (
            {**SHOP, "pyproject.toml": "", "test_a.py": "def test_a(): pass\n"},
            {"where": "frontend"},
            FRONTEND,
        ),
        # A root that only holds the workspace together has no tests of its own.
        ({**SHOP, "pyproject.toml": "[tool.uv.workspace]\n"}, {"where": "backend"}, BACKEND),
    ],
)  # fmt: skip
def test_the_nearest_project_is_tested(
    tree: Tree, files: dict[str, str], more: dict[str, str], command: str
) -> None:
    plan = planned(tree(files), **more)
    assert plan is not None
    assert plan.command == command
    assert plan.reason
    assert not plan.below_root


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "", "test_a.py": "def test_a(): pass\n"},
        {"package.json": JS % ("a", ""), "test.js": ""},
        {"a/go.mod": "module a\n", "a/a_test.go": "package a\n", "b/go.mod": "module b\n", "b/b_test.go": ""},
        {"README": ""},
    ],
)
def test_where_one_toolchain_does_it_all_it_is_left_to_it(tree: Tree, files: dict[str, str]) -> None:
    assert planned(tree(files)) is None


@pytest.mark.parametrize(
    ("files", "reached"),
    [
        (WORKSPACE, ["packages/core", "packages/web"]),
        (
            {
                "packages/core/pyproject.toml": '[project]\nname = "My_Core"\n',
                "packages/web/pyproject.toml": '[project]\nname = "web"\ndependencies = ["my-core>=1"]\n',
                "packages/cli/pyproject.toml": '[project]\nname = "cli"\ndependencies = ["web"]\n',
            },
            ["packages/cli", "packages/core", "packages/web"],
        ),
        (
            {
                "packages/core/setup.py": "",
                "packages/web/requirements.txt": "flask\n-e ../core\n",
                "packages/job/pyproject.toml": '[tool.poetry.dependencies]\ncore = {path = "../core"}\n',
            },
            ["packages/core", "packages/job", "packages/web"],
        ),
        (
            {
                "packages/core/Cargo.toml": '[package]\nname = "core"\n',
                "packages/web/Cargo.toml": '[dependencies]\ncore = { path = "../core" }\n',
            },
            ["packages/core", "packages/web"],
        ),
        (
            {
                "go.work": "use (\n\t./packages/core\n\t./packages/web\n)\n",
                "packages/core/go.mod": "module example.org/core\n",
                "packages/web/go.mod": "module example.org/web\n\nrequire example.org/core v0.0.0\n",
                "packages/old/go.mod": "module old\n\nreplace example.org/core => ../core\n",
            },
            ["packages/core", "packages/old", "packages/web"],
        ),
        (
            {
                "packages/core/pom.xml": "<parent><artifactId>top</artifactId></parent>" + ARTIFACT % "core",
                "packages/web/pom.xml": ARTIFACT % "web"
                + "<dependency>"
                + ARTIFACT % "core"
                + "</dependency>",
            },
            ["packages/core", "packages/web"],
        ),
        (
            {
                "packages/core/build.gradle": "",
                "packages/web/build.gradle.kts": 'implementation(project(":packages:core"))',
            },
            ["packages/core", "packages/web"],
        ),
    ],
    ids=["npm", "python-names", "python-paths", "cargo", "go", "maven", "gradle"],
)
def test_what_stands_on_a_project_is_known_by_the_manifests(
    tree: Tree, files: dict[str, str], reached: list[str]
) -> None:
    found = monorepo.projects(tree(files))
    assert sorted(found.with_dependents(["packages/core"])) == reached


def test_a_distribution_of_the_tree_is_never_fetched(tree: Tree) -> None:
    root = tree({
        "core/pyproject.toml": '[project]\nname = "core"\ndependencies = ["attrs==1"]\n',
        "core/src/core/__init__.py": "",
        "web/pyproject.toml": '[project]\nname = "web"\ndependencies = ["core", "flask==2"]\n',
        "web/tests/test_web.py": "import core\n\n\ndef test_web(): pass\n",
    })  # fmt: skip
    chain = several(where="web")
    recipe = chain.recipe(root, setup=None)
    plan = chain.plan(root, command=None, tests=(), scratch="/s")
    assert isinstance(recipe, Recipe)
    assert plan is not None
    commands = "\n".join(recipe.setup)
    assert "flask==2" in commands
    assert "attrs==1" in commands, "what it stands on needs that"
    assert "pip install --disable-pip-version-check --no-input core" not in commands
    assert "../core/src" in plan.environment["PYTHONPATH"].split(":")
    assert {"core/pyproject.toml", "web/pyproject.toml"} <= set(recipe.manifests)
    assert "core/src" in recipe.environment["PYTHONPATH"].split(":")


# --- verdicts ---------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path, acr_home: Path) -> Callable[..., Bench]:
    """The shop as `acr fix` would verify it; its Python is the one that runs these tests."""

    def make(sandbox: str = "bubblewrap", *, image: str | None = None, **more: str) -> Bench:
        source = tmp_path / "source"
        for name, text in SHOP.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        events: list[Any] = []
        opened = open_sandbox(
            sandbox, run_id="r1", home=acr_home, image=image, limits=Limits(seconds=60), emit=events.append,
            environ={**os.environ, "VIRTUAL_ENV": str(Path(sys.executable).parents[1])},
        )  # fmt: skip
        every = [load("toolchains", name, BUILTIN)() for name in BUILTIN]
        verifier = Verifier(
            toolchains=[Several(every, **more), *every], sandbox=opened, emit=events.append, image=image,
            limits=Limits(seconds=60), repository="the shop",
        )  # fmt: skip
        tree = RunTree.copy(source, sorted(SHOP), tmp_path / "run")
        return Bench(tree=tree, verifier=verifier, events=events)

    return make


TARGET, OTHER = "backend/tests/test_price.py::test_total", "backend/tests/test_price.py::test_where"
SUMS = "frontend/test/sum.test.js > adds"


def check(shop: Bench, *, from_root: bool) -> None:
    baseline = shop.baseline()
    assert baseline.targets == (TARGET,), baseline.report
    assert baseline.language == "python"
    assert set(baseline.report.passing()) == ({OTHER, SUMS} if from_root else {OTHER})
    start = shop.tree.checkpoint()
    right = {"backend/shop/price.py": PRICE.format("+")}
    assert isinstance(passed := shop.attempt(baseline, right), Passed), passed
    shop.tree.restore(start)
    # The change reaches the other project, which has been measured or is now.
    broken = shop.attempt(baseline, {**right, "frontend/src/sum.js": SUM.format("-")})
    assert isinstance(broken, Failed), broken
    assert broken.evidence.broken == (SUMS,)
    shop.tree.restore(start)
    cheat = shop.attempt(
        baseline, {**right, "frontend/test/sum.test.js": "", "backend/tests/test_price.py": ""}
    )
    assert isinstance(cheat, Passed), cheat
    assert len(cheat.evidence.undone) == 2


@pytest.mark.parametrize("where", ["", "backend"])
def test_a_verdict_covers_all_projects_that_a_change_reaches(shop: Callable[..., Bench], where: str) -> None:
    check(shop(where=where), from_root=not where)


def test_each_language_runs_in_its_own_environment_in_docker(
    docker_engine: Any, shop: Callable[..., Bench]
) -> None:
    image = node_image.make(docker_engine, DOCKER_IMAGE)
    check(shop("docker", image=image, where="backend"), from_root=False)
