"""Small trees, and what the toolchain makes of them: reason, command, setup, protection."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acr_cli.toolchains.python import Python
from acr_cli.toolchains.python_install import CONSTRAINTS, PIP, PYTEST
from acr_cli.toolchains.python_requirement import bounds

MakeTree = Callable[[Mapping[str, str]], Path]

BARE = "def test_it():\n    assert True\n"
CASE = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
INI = "[tool.pytest.ini_options]\n"
CHECKS = INI + 'python_files = "check_*.py"\n'


@pytest.mark.parametrize(
    ("files", "command", "reason"),
    [
        ({"pyproject.toml": INI, "test_x.py": CASE}, "pytest", "pyproject.toml configures pytest"),
        ({"pytest.ini": "[pytest]\n", "tests/test_x.py": BARE}, "pytest", "pytest.ini configures pytest"),
        ({"setup.cfg": "[tool:pytest]\n", "x_test.py": BARE}, "pytest", "setup.cfg configures pytest"),
        ({"tox.ini": "[pytest]\n", "test_x.py": BARE}, "pytest", "tox.ini configures pytest"),
        ({"pyproject.toml": CHECKS, "check_x.py": BARE}, "pytest", "pyproject.toml configures pytest"),
        ({"tests/test_x.py": BARE}, "pytest", "tests/test_x.py looks like pytest"),
        ({"tests/test_x.py": "import pytest\n" + CASE}, "pytest", "tests/test_x.py looks like pytest"),
        ({"test_x.py": "class TestA:\n  def test_b(self): pass\n"}, "pytest", "test_x.py looks like pytest"),
        ({"conftest.py": "", "test_x.py": CASE}, "pytest", "conftest.py belongs to pytest"),
        ({"requirements.txt": "pytest\n", "test_x.py": CASE}, "pytest", "requirements.txt mentions pytest"),
        ({"test_x.py": CASE}, "unittest", "test_x.py uses unittest, nothing mentions pytest"),
        ({"tests/testx.py": CASE}, "unittest", "tests/testx.py uses unittest, nothing mentions pytest"),
    ],
)
def test_the_files_say_how_the_tests_are_run(
    tree: MakeTree, files: dict[str, str], command: str, reason: str
) -> None:
    plan = Python().plan(tree(files), command=None, tests=(), scratch="/scratch")
    assert plan is not None
    assert (plan.command, plan.reason) == (f"python3 -m {command}", reason)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "pytest"},
        {"a.js": "test()"},
        {"venv/lib/test_x.py": BARE},
        {".hidden/test_x.py": BARE},
    ],
)
def test_a_tree_without_python_is_not_known(tree: MakeTree, files: dict[str, str]) -> None:
    root = tree(files)
    assert Python().recipe(root, setup=None) is None
    assert Python().plan(root, command=None, tests=(), scratch="/scratch") is None


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "x = 1"},
        {"a.py": "", "pytest.ini": "[pytest]\n"},
        {"conftest.py": ""},
        {"tests/__init__.py": ""},
    ],
)
def test_python_without_tests_has_a_recipe_and_no_plan(tree: MakeTree, files: dict[str, str]) -> None:
    root = tree(files)
    assert Python().recipe(root, setup=None) is not None
    assert Python().plan(root, command=None, tests=(), scratch="/scratch") is None


POETRY = """
[tool.poetry.dependencies]
python = "^3.11"
requests = "^2.31"
rich = {version = "~13.7", extras = ["jupyter"], markers = "sys_platform != 'x'"}
local = {path = "../local"}
maybe = {version = "*", optional = true}
[tool.poetry.group.dev.dependencies]
pytest = "*"
[tool.poetry.group.docs.dependencies]
sphinx = "*"
"""
PROJECT = """
[project]
name = "shop-kit"
dependencies = ["httpx>=0.27"]
[project.optional-dependencies]
test = ["pytest", "shop_kit[extra]"]
extra = ["attrs"]
docs = ["sphinx"]
[dependency-groups]
dev = ["ruff", {include-group = "more"}]
more = ["mypy"]
[build-system]
requires = ["hatchling"]
"""
LOCK = """
[[package]]
name = "httpx"
version = "0.28.1"
source = { registry = "an index" }
[[package]]
name = "shop-kit"
version = "1.0"
source = { editable = "." }
[[package]]
name = "twice"
version = "1"
[[package]]
name = "twice"
version = "2"
"""
SETUP_PY = """
from setuptools import setup
setup(install_requires=["attrs"], extras_require={"test": ["pytest>=8"], "docs": ["sphinx"]}, name=compute())
"""
SETUP_CFG = "[options]\ninstall_requires =\n    attrs\n    # a note\n"
PIPFILE = '[packages]\nflask = "==3.0"\n[dev-packages]\npytest = "*"\n'
TOX = "[testenv]\ndeps =\n    pytest\n    py38: old\n    -r{toxinidir}/r.txt\n"
QUOTED = "'rich[jupyter]>=13.7,<13.8 ; sys_platform != '\"'\"'x'\"'\"''"
HASHED = {"requirements.txt": "a==1 --hash=sha256:00\n", "requirements-dev.txt": "pytest\n"}
INCLUDING = {"requirements.txt": "a\n", "requirements-dev.txt": "-r requirements.txt\npytest\n"}


@pytest.mark.parametrize(
    ("files", "setup", "manifests"),
    [
        ({}, (PYTEST,), ()),
        ({"test_x.py": CASE}, (), ()),
        ({"requirements.txt": "requests\n"}, (f"{PIP} -r requirements.txt", PYTEST), ("requirements.txt",)),
        (INCLUDING, (f"{PIP} -r requirements-dev.txt",), tuple(INCLUDING)),
        (HASHED, (f"{PIP} -r requirements.txt", f"{PIP} -r requirements-dev.txt"), tuple(HASHED)),
        (
            {"pyproject.toml": PROJECT},
            (f"{PIP} 'httpx>=0.27' pytest attrs",),
            ("pyproject.toml",),
        ),
        (
            {"pyproject.toml": PROJECT, "uv.lock": LOCK},
            (
                f"printf '%s\\n' httpx==0.28.1 > {CONSTRAINTS}",
                f"{PIP} -c {CONSTRAINTS} 'httpx>=0.27' pytest attrs",
            ),
            ("pyproject.toml", "uv.lock"),
        ),
        ({"pyproject.toml": POETRY}, (f"{PIP} 'requests>=2.31,<3' {QUOTED} pytest",), ("pyproject.toml",)),
        ({"setup.py": SETUP_PY}, (f"{PIP} attrs 'pytest>=8'",), ("setup.py",)),
        ({"setup.cfg": SETUP_CFG}, (f"{PIP} attrs", PYTEST), ("setup.cfg",)),
        ({"Pipfile": PIPFILE}, (f"{PIP} flask==3.0 pytest",), ("Pipfile",)),
        ({"tox.ini": TOX}, (f"{PIP} pytest",), ("tox.ini",)),
    ],
)
def test_dependencies_are_installed_from_the_manifests(
    tree: MakeTree, files: dict[str, str], setup: tuple[str, ...], manifests: tuple[str, ...]
) -> None:
    recipe = Python().recipe(tree({"test_x.py": BARE, **files}), setup=None)
    assert recipe is not None
    first = tuple(re.split(r" \|\| (?:{ some=; for r in|sed) ", command)[0] for command in recipe.setup)
    assert first == setup
    assert recipe.manifests == manifests


def test_the_repository_itself_is_taken_out_of_its_requirements(tree: MakeTree) -> None:
    lines = "-e .\n.[test]\n./sub\nattrs\n--editable=.\n# .\npytest\n"
    root = tree({"test_x.py": BARE, "requirements.txt": lines})
    recipe = Python().recipe(root, setup=None)
    assert recipe is not None
    assert recipe.setup[0].startswith("sed ")
    subprocess.run(["sh", "-c", recipe.setup[0]], cwd=root, check=True)
    assert (root / "requirements.txt").read_text() == "attrs\n# .\npytest\n"


def test_whatever_runs_in_the_sandbox_finds_the_code_below_src(tree: MakeTree) -> None:
    recipe = Python().recipe(tree({"test_x.py": BARE, "src/shop/__init__.py": ""}), setup=None)
    assert recipe is not None
    assert recipe.environment == {"PYTHONPATH": "src:."}


def test_a_setup_command_of_the_user_replaces_all_others(tree: MakeTree) -> None:
    recipe = Python().recipe(tree({"test_x.py": BARE, "requirements.txt": "a\n"}), setup="make deps")
    assert recipe is not None
    assert recipe.setup == ("make deps",)
    assert recipe.manifests == ("requirements.txt",)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("*", ""),
        ("^1.2", ">=1.2,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^1", ">=1,<2"),
        ("^0", ">=0,<1"),
        ("^1.0b1", ">=1.0b1,<2"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.4", "~=1.4"),
        ("1.2", "==1.2"),
        (">= 1.0, < 2", ">=1.0,<2"),
    ],
)
def test_poetrys_bounds_become_pips(version: str, expected: str) -> None:
    assert bounds(version) == expected


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "tox.ini", "uv.lock"])
def test_a_manifest_that_cannot_be_read_is_left_to_its_own_tool(tree: MakeTree, name: str) -> None:
    recipe = Python().recipe(tree({"test_x.py": BARE, name: "[broken\n = (("}), setup=None)
    assert recipe is not None
    assert recipe.setup == (PYTEST,)


PROTECTED = [
    "tests/test_x.py",
    "pkg/tests/data/a.json",
    "test_x.py",
    "pkg/x_test.py",
    "conftest.py",
    "pkg/conftest.py",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
    ".coveragerc",
    "sitecustomize.py",
    "src/usercustomize.py",
    "a.pth",
    "tests",
    ".github/workflows/ci.yml",
    "__pycache__/test_x.cpython-311.pyc",
    "a.pyc",
    "shop.egg-info/entry_points.txt",
    "pytest.py",
    "_pytest/runner.py",
    "src/unittest/__init__.py",
    "acr_pytest.py",
    "ui/__snapshots__/a.snap",
    "test/a.py",
    "fixtures/a.json",
    "uv.lock",
    "services/api/poetry.lock",
    "tests/cassettes/login.yaml",
    "codecov.yml",
]
FREE = [
    "shop/cart.py",
    "shop/testing.py",
    "django/test/client.py",
    "README.md",
    "requirements.txt",
    "setup.py",
    "shop/contest.py",
    "latest.py",
    "shop/fixtures/load.py",
]


@pytest.mark.parametrize("path", PROTECTED)
def test_tests_and_their_configuration_are_protected(path: str) -> None:
    assert Python().protected(path)


@pytest.mark.parametrize("path", FREE)
def test_the_code_under_test_is_not_protected(path: str) -> None:
    assert not Python().protected(path)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:\n    pass\n", "line 1: "),
        ("x = 1\ny = (1,\n", "line 2: "),
        ("x = [1\n", "line 1: "),
        ("x = 1\n\n\nif x\n    pass\n", "line 4: "),
        ("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", "line 1: "),
    ],
)
def test_the_first_place_that_does_not_parse_is_named(source: str, error: str) -> None:
    assert (Python().syntax_error("a.py", source.encode()) or "").startswith(error)


@pytest.mark.parametrize(
    "source",
    ["", "def f():\n    return 1\n", "match x:\n    case [a, *_]:\n        pass\n", "x = f'{y!r:>{w}}'\n"],
)
def test_source_that_parses_has_no_error(source: str) -> None:
    assert Python().syntax_error("a.py", source.encode()) is None
